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

// Sparse rows: their Hessian in any order of the columns, and Newton's direction by products.
static void test_sparse_directions() {
    const Index n = 24, d = 120;
    Shuffler random{5};
    std::vector<double> X(n * d, 0.0), values, y(n), c(n), g(d), p(d), A(d * d, 0.0);
    std::vector<std::int32_t> columns;
    std::vector<std::int64_t> starts{0};
    std::vector<Index> which;
    for (Index i = 0; i < n; ++i) {
        for (Index k = 0; k < 6; ++k) {
            const Index j = (i * 37 + k * (i % 2 ? 11 : 109)) % d;  // these do not ascend
            columns.push_back(static_cast<std::int32_t>(j));
            values.push_back(static_cast<double>(random.below(2001) - 1000) / 1000.0);
            X[i * d + j] += values.back();
        }
        starts.push_back(static_cast<std::int64_t>(values.size()));
        which.push_back(i);
        y[i] = i % 3 ? 1.0 : -1.0;
        c[i] = i % 4 ? static_cast<double>(i) : 0.0;
    }
    for (double& v : g) v = static_cast<double>(random.below(2001) - 1000) / 1000.0;
    for (Index j = 0; j < d; ++j)
        for (Index k = 0; k < d; ++k)
            for (Index i = 0; i < n; ++i) A[j * d + k] += c[i] * X[i * d + j] * X[i * d + k];
    const SparseRows<double> rows(values.data(), Indices(columns.data()), Indices(starts.data()), n, d);
    SparseChosen chosen;
    chosen.take(rows, y.data(), which, nullptr);
    Gram gram(d);
    gram.clear();
    for (Index i = 0; i < n; ++i) chosen.add_to(gram, i, c[i]);
    std::vector<double> found(d * d, 0.0);
    gram.copy_to(found.data());
    bool same = true;
    for (Index j = 0; j < d; ++j)
        for (Index k = 0; k <= j; ++k) same &= close(found[j * d + k], A[j * d + k]);
    expect(same, "the Hessian of rows whose columns do not ascend");
    ConjugateDirection<SparseChosen> products;
    expect(products.solve(chosen, c.data(), {g, 1e-5, nullptr}, p), "products are cheaper here");
    double off = 0;
    for (Index j = 0; j < d; ++j) {
        double left = g[j] - p[j];
        for (Index k = 0; k < d; ++k) left -= A[j * d + k] * p[k];
        off += left * left;
    }
    expect(off < 1.001e-5, "and solve the same system");
    std::fill(c.begin(), c.end(), 1e12);
    expect(!products.solve(chosen, c.data(), {g, 1e-5, nullptr}, p), "what they cannot solve they give up");
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

static void test_exponentials() {
    double worst = 0;
    for (double x = 0; x < 690; x += 0.37)
        worst = std::max(worst, std::fabs(exp_of_negative<13>(-x) / std::exp(-x) - 1));
    for (double e = 1e-12; e <= 1; e *= 1.01) worst = std::max(worst, std::fabs(log_one_plus(e) / std::log1p(e) - 1));
    expect(worst < 2e-15, "exp and log to the rounding of a double");
    expect(exp_of_negative<13>(-HUGE_VAL) == 0 && log_one_plus(0) == 0, "at the ends");
}

// Margins, forces and Hessian of chosen rows, dense and CSR, against sums that anyone can read.
template <class C, class R>
static void test_chosen(const R& rows, const Data& data) {
    std::vector<Index> which;
    for (Index i = 0; i < data.n; i += 2) which.push_back(i);
    C chosen;
    chosen.take(rows, data.y.data(), which, nullptr);
    const std::size_t size = static_cast<std::size_t>(chosen.n_blocks() * block_rows),
                      d = static_cast<std::size_t>(data.d);
    std::vector<double> w(d, 0.5), m(size), f(size, 0.0), v(4 * d, 0.0), H(d * d), wanted_v(d), wanted_H(d * d);
    w[0] = -2;
    for (std::size_t k = 0; k < which.size(); ++k) f[k] = 0.1 * static_cast<double>(k % 7);
    Gram gram(data.d);
    gram.clear();
    for (Index b = 0; b < chosen.n_blocks(); ++b) {
        chosen.margins(b, w.data(), m.data() + b * block_rows);
        chosen.pull(b, f.data() + b * block_rows, v.data());
    }
    bool right = true;
    for (std::size_t k = 0; k < which.size(); ++k) {
        const double* x = data.X.data() + which[k] * data.d;
        double sum = 0;
        for (std::size_t j = 0; j < d; ++j) {
            sum += data.y[which[k]] * x[j] * w[j];
            wanted_v[j] += f[k] * data.y[which[k]] * x[j];
            for (std::size_t l = 0; l < d; ++l) wanted_H[j * d + l] += f[k] * x[j] * x[l];
        }
        if (f[k] != 0) chosen.add_to(gram, static_cast<Index>(k), f[k]);
        right = right && close(m[k], sum);
    }
    gram.flush();
    gram.copy_to(H.data());
    for (std::size_t j = 0; j < d; ++j) {
        right = right && close(sum_of(lanes_at(v.data() + 4 * j)), wanted_v[j]);
        for (std::size_t l = 0; l <= j; ++l) right = right && close(H[j * d + l], wanted_H[j * d + l]);
    }
    expect(right, "chosen rows");
}

static void test_chosen_rows() {
    const Data data = make(301, 11);
    std::vector<std::int32_t> columns;
    std::vector<std::int64_t> starts{0};
    for (Index i = 0; i < data.n; ++i) {
        for (Index j = 0; j < data.d; ++j) columns.push_back(static_cast<std::int32_t>(j));
        starts.push_back(static_cast<std::int64_t>(columns.size()));
    }
    test_chosen<DenseChosen<double>>(DenseRows<double>{data.X.data(), data.n, data.d}, data);
    test_chosen<SparseChosen>(SparseRows<double>{data.X.data(), columns.data(), starts.data(), data.n, data.d}, data);
}

static void test_sample() {
    Data data = make(5000, 3);
    for (Index i = 0; i < data.n; ++i) data.y[i] = i % 50 ? -1.0 : 1.0;
    const DenseRows<double> rows{data.X.data(), data.n, data.d};
    Sample<DenseChosen<double>> sample;
    sample.draw(rows, data.y.data(), nullptr, 1000, 7, nullptr);
    double sum[2] = {0, 0};
    for (Index k = 0; k < sample.chosen.n; ++k) sum[sample.chosen.positive[k] != 0] += sample.chosen.weight[k];
    expect(sample.chosen.n == 1000 && close(sum[1], 100) && close(sum[0], 4900),
           "all of the rare class; each stands for its own");
    expect(std::is_sorted(sample.which.begin(), sample.which.end()), "in order");
}

// Lanes agree with one problem at a time.
template <class L>
static void test_lanes() {
    const Data data = make(900, 5);
    const DenseRows<double> rows{data.X.data(), data.n, data.d};
    const std::vector<double> square = squares(rows);
    const double costs[3][2] = {{0.1, 0.1}, {0.02, 0.3}, {1.0, 0.5}};
    std::vector<Solution> found(3);
    std::vector<DescentLane> lanes;
    for (int k = 0; k < 3; ++k) {
        const double b = L::kind == LossKind::logistic ? 0.5 : 0.0;
        lanes.push_back(
            {{costs[k][0], costs[k][1]}, &found[k], std::vector<double>(900, b), std::vector<double>(5, 0.0)});
        for (Index i = 0; i < data.n; ++i)
            rows.row(i).add_to(lanes[k].pull.data(), costs[k][data.y[i] > 0] * b * data.y[i]);
    }
    const Stopping stopping{1e-6, 1e4, 0};
    CoordinateLanes<L, DenseRows<double>>(rows, data.y.data(), nullptr, square).solve(lanes, stopping);
    for (int k = 0; k < 3; ++k) {
        std::vector<double> cost;
        cost.reserve(static_cast<std::size_t>(data.n));
        for (Index i = 0; i < data.n; ++i) cost.push_back(costs[k][data.y[i] > 0]);
        CoordinateDescent<L, DenseRows<double>> alone(rows, square);
        const Solution one = alone.solve({data.y.data(), cost.data()}, stopping, nullptr);
        expect(found[k].converged() && found[k].gap() <= 1e-6, "a lane is certified");
        expect(found[k].primal >= one.dual && one.primal >= found[k].dual, "by a bound that holds");
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
    test_sparse_directions();
    test_shuffler_is_splitmix();
    test_blocks();
    test_stop();
    test_overflow_is_trouble();
    test_exponentials();
    test_chosen_rows();
    test_sample();
    test_lanes<Hinge>();
    test_lanes<SquaredHinge>();
    test_lanes<Logistic>();
    test_solvers_agree<Hinge>();
    test_solvers_agree<SquaredHinge>();
    test_solvers_agree<Logistic>();
    test_nothing_asked_nothing_done();
    return verdict();
}
