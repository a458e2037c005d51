// The batch solvers and their parts, built plain and under the sanitizers.

#include "linear/cost_grid.hpp"

#include "linear/masters.hpp"

#include "check.hpp"

using namespace steelyard;

static void test_crossing() {
    std::vector<Kink> kinks{{3.0, 1.0}, {1.0, 2.0}, {2.0, 5.0}};
    expect(close(crossing(kinks, -4.0, 1.0), 2.0), "the slope jumps past zero at the second kink");
    expect(close(crossing(kinks, -0.5, 1.0), 0.5), "it passes zero before the first");
    expect(close(crossing(kinks, -20.0, 1.0), 12.0), "and beyond the last");
    std::vector<Kink> none;
    expect(close(crossing(none, -3.0, 2.0), 1.5), "no kinks at all");
}

static void test_master() {
    // max 2 a + b - 1/2 (a^2 + b^2) with a <= 1 (side 1) and b <= 5 (side 0): a = 1 at its cap, b = 1.
    CutPool pool(2);
    const double e1[] = {1.0, 0.0}, e2[] = {0.0, 1.0};
    pool.add(1, e1, 2.0);
    pool.add(0, e2, 1.0);
    Master master(pool);
    master.set_caps(5.0, 1.0);
    expect(close(master.solve(1e-12, 50), 2.0), "value");
    double w[2];
    master.primal(w);
    expect(close(w[0], -1.0) && close(w[1], -1.0), "w = -(a g)");
    master.set_caps(5.0, 4.0);
    expect(close(master.solve(1e-12, 50), 2.5), "a cap that no longer binds is let go");
    pool.add(1, e1, 2.0);  // the same cut again: singular, and nothing to gain
    expect(close(master.solve(1e-12, 50), 2.5), "a repeated cut changes nothing");
}

static void test_blocks() {
    std::vector<int> seen(1000, 0);
    parallel_for(3, 1000, [&](Index k) { ++seen[static_cast<std::size_t>(k)]; });
    bool once = true;
    for (int s : seen) once = once && s == 1;
    expect(once, "each task runs once");
    bool caught = false;
    try {
        parallel_for(2, 10, [](Index k) {
            if (k == 7) throw 7;
        });
    } catch (int) {
        caught = true;
    }
    expect(caught, "an exception of a task comes back");
}

struct Data {
    std::vector<double> X, y, weight;
    Index n, d;
};

static Data make(Index n, Index d) {
    Data data{{}, {}, std::vector<double>(static_cast<std::size_t>(n), 1.0), n, d};
    Shuffler random{1};
    for (Index i = 0; i < n; ++i) {
        double sum = 0;
        for (Index j = 0; j < d; ++j) {
            const double x = static_cast<double>(random.below(2001) - 1000) / 500.0;
            data.X.push_back(x);
            sum += x;
        }
        data.y.push_back(sum + static_cast<double>(random.below(5)) - 2.0 > 0 ? 1.0 : -1.0);
    }
    return data;
}

template <class L>
static void test_solvers_agree() {
    const Data data = make(300, 5);
    const DenseRows<double> rows{data.X.data(), data.n, data.d};
    double bound = 0;
    for (SolverKind solver :
         {SolverKind::newton, SolverKind::coordinate, SolverKind::newton_first, SolverKind::coordinate_first}) {
        Grid grid{
            data.y.data(), data.weight.data(), {{1.0, 1.0}, {0.5, 1.5}}, {0.01, 0.1, 1.0}, solver, {1e-4, 1e4, 0}, {}};
        const auto found = solve_grid<L>(rows, grid);
        expect(found.size() == 6, "pairs times Cs");
        for (const auto& s : found) expect(s.converged() && s.gap() <= 1e-4 && s.w.size() == 5, "certified");
        if (bound == 0) bound = found[5].dual;
        expect(found[5].primal >= bound * (1 - 1e-12), "no objective below another solver's bound");
    }
}

static void test_nothing_asked_nothing_done() {
    const Data data = make(10, 2);
    const Grid grid{data.y.data(), data.weight.data(), {}, {1.0}, SolverKind::newton, {}, {}};
    expect(solve_grid<Hinge>(DenseRows<double>{data.X.data(), 10, 2}, grid).empty(), "no pairs");
}

int main() {
    test_crossing();
    test_master();
    test_blocks();
    test_solvers_agree<Hinge>();
    test_solvers_agree<SquaredHinge>();
    test_solvers_agree<Logistic>();
    test_nothing_asked_nothing_done();
    return verdict();
}
