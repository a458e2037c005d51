// The batch solvers and their parts, built plain and under the sanitizers.

#include "linear/cost_grid.hpp"

#include <thread>

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

static void test_cuts_are_dropped() {
    CutPool pool(3);
    std::vector<double> g{1, 2, 3, 4, 5, 6, 7, 8, 10, -1, 0, 2};
    for (int j = 0; j < 4; ++j) pool.add(j % 2, g.data() + std::ptrdiff_t{3} * j, j);
    const double before[3] = {pool.gram(0, 3), pool.gram(3, 3), pool.gram(0, 0)};
    const auto number = pool.drop({1, 0, 0, 1});
    expect(number == std::vector<Index>({0, -1, -1, 1}), "new numbers");
    expect(pool.size() == 2 && pool.h(1) == 3 && pool.side(1) == 1 && pool.g(1)[0] == -1, "the cut itself");
    expect(pool.gram(1, 0) == before[0] && pool.gram(1, 1) == before[1] && pool.gram(0, 0) == before[2],
           "its Gram row");
}

static void test_masters_drop_what_is_idle() {
    const Stop stop;
    Masters masters(1, 2, {true, 3});
    masters.set_caps(0, 1.0, 1.0);
    const std::int64_t which[] = {0};
    const Tracks tracks{which, 1};
    const double slack[] = {1e-12}, useful[] = {1.0, 0.0, 0.0, 1.0}, useless[] = {0.1, 0.0, 0.0, 0.1};
    double value, w[2];
    for (int round = 0; round < 200; ++round) {
        masters.propose(tracks, slack, &value, w, 1, stop);
        const double h[] = {round ? -5.0 : 1.0, round ? -5.0 : 1.0};
        masters.add(tracks, round ? useless : useful, h, stop);
    }
    masters.propose(tracks, slack, &value, w, 1, stop);
    expect(masters.n_cuts() < 100, "of 400 cuts few are left");
    expect(close(value, 1.0) && close(w[0], -1.0) && close(w[1], -1.0), "and the two that count are among them");
}

static void test_cholesky() {
    // A = B B' + I, made at once, by rows, and after a row was taken out.
    const Index n = 40;
    Shuffler random{3};
    std::vector<double> B(n * n), A(n * n), b(n), x;
    for (double& v : B) v = static_cast<double>(random.below(2001) - 1000) / 1000.0;
    for (double& v : b) v = static_cast<double>(random.below(2001) - 1000) / 1000.0;
    for (Index i = 0; i < n; ++i)
        for (Index j = 0; j < n; ++j) {
            A[i * n + j] = i == j;
            for (Index k = 0; k < n; ++k) A[i * n + j] += B[i * n + k] * B[j * n + k];
        }
    GrowingCholesky factor;
    expect(factor.factor(A.data(), n), "positive definite");
    const auto residual = [&](Index gone) {
        x.clear();
        for (Index i = 0; i < n; ++i)
            if (i != gone) x.push_back(b[i]);
        factor.solve(x.data());
        double worst = 0;
        for (Index i = 0; i < n; ++i) {
            if (i == gone) continue;
            double sum = -b[i];
            for (Index j = 0, k = 0; j < n; ++j)
                if (j != gone) sum += A[i * n + j] * x[k++];
            worst = std::max(worst, std::fabs(sum));
        }
        return worst;
    };
    expect(residual(-1) < 1e-10, "solves");
    factor.remove(7);
    expect(factor.size() == n - 1 && residual(7) < 1e-10, "and without a row");
    factor.cut(7);  // the rows above the one that went stand
    for (Index i = 7; i < n; ++i) factor.append(factor.schur(A.data() + i * n, A[i * n + i]));
    expect(factor.size() == n && residual(-1) < 1e-10, "and after it came back");
    A[5 * n + 5] = -1;
    expect(!factor.factor(A.data(), n), "not positive definite");
    A[5 * n + 5] = HUGE_VAL;
    expect(!factor.factor(A.data(), n), "not finite");
}

static void test_shuffler_is_splitmix() {
    Shuffler random{42};
    for (std::uint64_t k = 0; k < 3; ++k) expect(random.next() == mix(42 + k * golden_ratio), "the one generator");
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

class Now : public Stop {
    bool look() const override { return true; }
};

// Asked for an end, every solver leaves by `Stopped`, on worker threads too.
static void test_stop() {
    const Data data = make(3000, 5);
    const DenseRows<double> rows{data.X.data(), data.n, data.d};
    for (SolverKind solver : {SolverKind::newton, SolverKind::coordinate, SolverKind::newton_first}) {
        const Now now;
        std::this_thread::sleep_for(2 * Stop::between_looks);
        Grid grid{data.y.data(), nullptr, {{1.0, 1.0}, {0.5, 1.5}}, {1.0, 10.0}, solver, {1e-12, 1e9, 0, &now}, 2};
        bool stopped = false;
        try {
            solve_grid<Logistic>(rows, grid);
        } catch (const Stopped&) {
            stopped = true;
        }
        expect(stopped, "stopped");
    }
    const Now now;
    ClassRisks risks(rows, data.y.data(), nullptr, LossKind::hinge, 2);
    risks.begin(1);
    std::this_thread::sleep_for(2 * Stop::between_looks);
    const std::int64_t which[] = {0};
    const double w[5] = {1, 1, 1, 1, 1};
    bool stopped = false;
    try {
        risks.look({which, 1}, w, now);
    } catch (const Stopped&) {
        stopped = true;
    }
    expect(stopped, "the class risks too");
}

static void test_overflow_is_trouble() {
    const Data data = make(50, 3);
    const DenseRows<double> rows{data.X.data(), data.n, data.d};
    for (double C : {1e308, 1e300})
        for (SolverKind solver : {SolverKind::newton, SolverKind::coordinate, SolverKind::newton_first}) {
            const auto found = solve_grid<Logistic>(rows, {data.y.data(), nullptr, {{1, 1}}, {C}, solver, {}, 1});
            const Solution& s = found[0];
            expect(!s.converged() && !(s.gap() <= 1e-3) && *s.status.where, "no certificate, and a reason");
            expect(s.w.size() == 3 && all_finite(s.w), "w is finite");
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
    test_cuts_are_dropped();
    test_masters_drop_what_is_idle();
    test_cholesky();
    test_shuffler_is_splitmix();
    test_blocks();
    test_stop();
    test_overflow_is_trouble();
    test_solvers_agree<Hinge>();
    test_solvers_agree<SquaredHinge>();
    test_solvers_agree<Logistic>();
    test_nothing_asked_nothing_done();
    return verdict();
}
