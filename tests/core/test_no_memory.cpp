// Every request for memory failing in turn, in every room of the core: std::bad_alloc comes back, and what was given
// before is given back (the address sanitizer's build sees to that).
#include <initializer_list>
#include <random>

#include "check.hpp"
#include "kernel/smo.hpp"
#include "linear/cost_grid.hpp"
#include "measure/class_sweep.hpp"
#include "measure/frontier.hpp"
#include "path/approximate.hpp"
#include "path/audit.hpp"
#include "path/kernel_space.hpp"
#include "path/trace.hpp"
#include "scarce.hpp"
#include "structural/cutting_planes.hpp"

using namespace steelyard;

namespace {

constexpr long most_requests = 2000;  // a call is tried with so many granted, and fewer

struct Data {
    static constexpr Index n = 40, d = 4;
    std::vector<double> X, y, target;
    std::vector<CostBox> box;
    bool positive[n];

    Data() : X(n * d), y(n), target(n, 1.0) {
        std::mt19937_64 random(3);
        std::normal_distribution<double> normal;
        for (double& x : X) x = normal(random);
        for (Index i = 0; i < n; ++i) {
            X[i * d + d - 1] = 1.0;
            positive[i] = X[i * d] + 0.5 * normal(random) > 0.2;
            y[i] = positive[i] ? 1.0 : -1.0;
            target[i] += 1e-9 * normal(random);
            box.push_back(positive[i] ? CostBox{0, 0, 2, -2} : CostBox{0, 0, 0, 2});
        }
    }
    DenseRows<double> rows() const { return {X.data(), n, d}; }
    PathData given() const { return {y.data(), target.data(), box.data()}; }
};

// The task with 0, 1, 2, ... requests granted, until it needs no more; then it works as ever.
template <class Task>
void scarcely(const char* what, const Task& task) {
    const long before = refusals;
    bool done = false;
    for (long granted = 0; granted < most_requests && !done; ++granted) {
        const long refused = refusals;
        requests_left = granted;
        try {
            task();
            done = refusals == refused;
        } catch (const std::bad_alloc&) {
            done = false;
        }
        requests_left = -1;
    }
    expect(refusals > before, what);
    task();
}

template <class L>
void grids(const Data& data, std::initializer_list<SolverKind> solvers) {
    for (const auto solver : solvers)
        for (const int n_threads : {1, 2})
            scarcely("a grid", [&] {
                const Grid grid{data.y.data(),           nullptr,  {{1, 2}, {2, 1}}, {0.1, 1.0}, solver,
                                {1e-3, 100, 0, nullptr}, n_threads};
                solve_grid<L>(data.rows(), grid);
            });
}

void paths(const Data& data) {
    scarcely("the exact path", [&] {
        const LinearSpace<DenseRows<double>> space(data.rows());
        const auto legs = PathTrace<LinearSpace<DenseRows<double>>>(space, {data.given(), 0, 1}).trace();
        for (const PathLog& log : legs) PathReplay<LinearSpace<DenseRows<double>>>(space, data.given(), log);
    });
    scarcely("a kernel's path", [&] {
        KernelRowsOf<double> kernel(Rows(data.rows()), {KernelKind::rbf, 0.5, 0.0, 3, 1.0}, 1e6);
        const KernelSpace space(kernel);
        PathTrace<KernelSpace>(space, {data.given(), 0, 1}).trace();
    });
    scarcely("the approximate path", [&] {
        ApproximateTrace<DenseRows<double>>(data.rows(), {data.y.data(), nullptr, 1.0, 0.1, 0.9, 0.05}).trace();
    });
}

void machines(const Data& data) {
    scarcely("a kernel machine", [&] {
        KernelRows kernel(Rows(data.rows()), {KernelKind::rbf, 0.5, 0.0, 3, 0.0}, 1e6);
        std::vector<double> low(Data::n), high(Data::n);
        for (Index i = 0; i < Data::n; ++i) (data.positive[i] ? high : low)[i] = data.y[i];
        Smo smo(kernel, {data.y.data(), low.data(), high.data()}, {}, std::vector<double>(Data::n),
                std::vector<double>(Data::n));
        smo.run(500);
        smo.finish();
    });
    scarcely("a structural machine", [&] {
        ConfusionLoss loss;
        loss.tape.emplace(std::vector<Instruction>{{Op::input, 0, 0, 0}, {Op::input, 1, 0, 0}, {Op::add, 0, 1, 0}});
        loss.top = 2;
        loss.mixed = 1;
        loss.calls = {0, Data::n};
        StructuralSvm svm(data.rows(), data.positive, loss, {});
        for (int round = 0; round < 5; ++round) svm.step(1e-3, Stop());
    });
}

void scores(const Data& data) {
    scarcely("a frontier", [&] { scan_frontier({data.X.data(), data.positive, nullptr, Data::n}); });
    scarcely("an offset", [&] {
        const Tape rate({{Op::input, 0, 0, 0}});
        const ClassMeasure mean({{LiftKind::macro, 0, rate}}, Tape({{Op::input, 0, 0, 0}}, 2));
        ClassGoal goal{mean, {}, 0.01, true, 1e-9, 1e-9, 1e-9};
        const std::vector<double> offsets(Data::d), labels(data.X.size(), 1.0);
        ClassSweep({data.X.data(), labels.data(), Data::n, Data::d}, offsets.data(), 1, goal, nullptr).best(nullptr);
    });
}

}  // namespace

int main() {
    const Data data;
    grids<Hinge>(data, {SolverKind::coordinate, SolverKind::newton_first});
    grids<SquaredHinge>(data, {SolverKind::coordinate, SolverKind::newton});
    grids<Logistic>(data, {SolverKind::newton});
    paths(data);
    machines(data);
    scores(data);
    return verdict();
}
