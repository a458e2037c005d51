// The cost path and its parts, built plain and under the sanitizers.

#include <thread>

#include "path/approximate.hpp"
#include "path/audit.hpp"
#include "path/crossings.hpp"
#include "path/equal_rows.hpp"
#include "path/kernel_space.hpp"
#include "path/trace.hpp"

#include "check.hpp"
#include "path_data.hpp"

using namespace steelyard;

// The same a and w from a factor that was updated and downdated many times as from one made at once.
static void test_margin_set() {
    const Data data = make(60, 12, Ties::none, 1);
    const auto space = data.space();
    MarginSet<Linear> set(space, data.sign.data()), fresh(space, data.sign.data());
    Shuffler random{2};
    std::vector<double> a, a_fresh;
    const PathVector base{std::vector<double>(12, 0.5), {}, {}};
    PathVector w, w_fresh;
    std::vector<char> in(60, 0);
    double worst = 0;
    for (int step = 0; step < 2000; ++step) {
        const Index i = random.below(60);
        if (set.size() == 11 || (set.size() > 0 && random.below(3) == 0)) {
            const Index k = random.below(set.size());
            in[set.members()[k]] = 0;
            set.remove(k);
        } else if (!in[i] && set.add(i)) {
            in[i] = 1;
        }
        const bool refactored = set.solve(base, data.target.data(), a, w);
        expect(!refactored, "the factor does not degrade on random rows");
        fresh.assign(set.members());
        fresh.solve(base, data.target.data(), a_fresh, w_fresh);
        worst = std::max(worst, std::max(largest_difference(a, a_fresh), largest_difference(w.v, w_fresh.v)));
    }
    expect(worst < 1e-8, "updates and downdates equal a fresh factor");
    for (Index k = 0; k < set.size(); ++k)
        expect(std::fabs(data.sign[set.members()[k]] * space.value(set.members()[k], w) -
                         data.target[set.members()[k]]) < 1e-12,
               "members are on their target");
}

static void test_dependent_rows_are_refused() {
    const double X[] = {1, 0, 0, 0, 1, 0, 1, 1, 0, 1, 1, 1e-6, 2, 2, 1e-13};
    const double sign[] = {1, 1, -1, 1, 1};
    const Linear space(DenseRows<double>{X, 5, 3});
    MarginSet<Linear> set(space, sign);
    expect(set.add(0) && set.add(1), "two independent rows");
    expect(!set.add(2), "their sum, with the other sign, is in the span");
    expect(!set.add(4), "so is what leaves it by rounding only");
    expect(set.add(3), "a row that leaves the span by 1e-6 is not");
    expect(set.size() == 3, "three members");
}

static void test_rows_that_belong_are_taken_whatever_rounding_leaves() {
    const double X[] = {1, 0, 1, 0, HUGE_VAL, 0, NAN, 0, 0, 0};
    const double sign[] = {1, 1, 1, 1, 1};
    const Linear space(DenseRows<double>{X, 5, 2});
    MarginSet<Linear> set(space, sign);
    for (Index i = 0; i < 5; ++i) set.add_always(i);
    expect(set.size() == 5, "equal, infinite, NaN or zero: every member has its place");
}

static void test_equal_rows() {
    const double X[] = {1, 0, 0, 2, 1, -0.0, 1, 0, 0, 2}, label[] = {1, 1, 1, -1, 1};
    const DenseRows<double> dense{X, 5, 2};
    const std::vector<Index> expected{0, 1, 0, 3, 1};
    expect(EqualRows<DenseRows<double>>(dense, label).first() == expected, "dense; the label counts, and -0 is 0");
    const double values[] = {1, 2, 1, 1, 2};
    const std::int32_t columns[] = {0, 1, 0, 0, 1}, starts[] = {0, 1, 2, 3, 4, 5};
    const SparseRows<double> sparse{values, columns, starts, 5, 2};
    expect(EqualRows<SparseRows<double>>(sparse, label).first() == expected, "sparse");
    const Index which[] = {4, 3, 1, 0};
    const auto view = viewed(sparse, {which, 4, 1.0});
    expect(EqualRows<SparseRows<double>>(view, label).first() == std::vector<Index>({0, 1, 0, 3}), "a view");
}

static void test_optimal_at_every_kink(Ties ties, const char* what) {
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
        const Data data = make(80, 4, ties, seed);
        const auto space = data.space();
        const PathLog log = trace(data);
        PathAudit<Linear> audit(space, {data.given(), data.original.data(), 1.0}, log);
        expect(log.size() > 20 && log.end == 1, what);
        expect(std::is_sorted(log.tau.begin(), log.tau.end()), "kinks are sorted");
        expect(audit.worst(1) < 1e-8, what);
    }
}

// The audit is not blind: a log with one event at an earlier tau is found out.
static void test_audit_finds_a_wrong_path() {
    const Data data = make(80, 4, Ties::none, 7);
    const auto space = data.space();
    PathLog log = trace(data);
    Index widest = 0;
    for (Index k = 0; k + 1 < log.size(); ++k)
        if (log.tau[k + 1] - log.tau[k] > log.tau[widest + 1] - log.tau[widest]) widest = k;
    log.tau[widest + 1] = (log.tau[widest] + log.tau[widest + 1]) / 2;
    expect(PathAudit<Linear>(space, {data.given(), data.original.data(), 1.0}, log).worst(1) > 1e-8,
           "a wrong kink is seen");
}

// Every knot from the nearest checkpoint equals the knot of the walk; between knots the path is linear.
static void test_replay_equals_trace() {
    const Data data = make(400, 5, Ties::copies, 3);
    const auto space = data.space();
    const PathLog log = trace(data);
    expect(log.checkpoints.size() > 4, "several checkpoints");
    expect(static_cast<Index>(log.checkpoints.size()) <= 2 * log.stride + 1, "and not too many");
    PathReplay<Linear> one(space, data.given(), log), all(space, data.given(), log);
    std::vector<double> single(5), before;
    double worst = 0, tau_before = 0, bend = 0;
    all.visit(0, log.size() + 2, [&](Index, const PathPoint& at) {
        one.recover(at.tau, single.data());
        worst = std::max(worst, largest_difference(single, at.w.v));
        if (!before.empty() && at.tau > tau_before) {
            std::vector<double> half(5), middle(5);
            for (std::size_t j = 0; j < 5; ++j) half[j] = (before[j] + at.w.v[j]) / 2;
            one.recover((tau_before + at.tau) / 2, middle.data());
            bend = std::max(bend, largest_difference(half, middle));
        }
        before = at.w.v;
        tau_before = at.tau;
    });
    expect(worst < 1e-8, "recover equals the walk at every knot");
    expect(bend < 1e-8, "and is linear between them");
}

// Every row of the positive class is tied at tau = 0: a start with hundreds of steps of no length, which must end.
static void test_ties_at_the_start() {
    Data data = make(300, 3, Ties::integers, 4);
    for (CostBox& b : data.box) b.high *= 100, b.high_rate *= 100;
    const auto space = data.space();
    const PathLog log = trace(data);
    expect(log.end == 1 && PathAudit<Linear>(space, {data.given(), data.original.data(), 1.0}, log).worst(1) < 1e-8,
           "ties at the start");
}

// Rows that depend on each other but for the rounding of float: members that pass from bound to bound within the last
// digits of tau, with multipliers that the sets alone would give to no digit.
static void test_ties_up_to_rounding() {
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        Data data = make(400, 6, Ties::integers, seed);
        Shuffler random{seed + 100};
        for (Index i = 0; i < data.n; ++i)
            for (Index j = 0; j + 1 < data.d; ++j) {
                double& x = data.X[i * data.d + j];
                x = static_cast<double>(static_cast<float>(x * 0.7310585 + 0.1192029));
                x += 1e-7 * (static_cast<double>(random.below(1000)) / 1000 - 0.5);
            }
        const double C = seed % 2 ? 0.01 : 1;
        for (CostBox& b : data.box) b.high *= C, b.high_rate *= C;
        const auto space = data.space();
        const PathLog log = trace(data);
        expect(log.end == 1, "ties up to rounding: to the end");
        expect(PathAudit<Linear>(space, {data.given(), data.original.data(), 1.0}, log).worst(1) < 1e-8,
               "ties up to rounding: optimal at every kink");
    }
}

// Targets without a perturbation, so that rows tie exactly and depend on each other as they tie: no proof holds there.
// The path must end all the same, at the end or before it, and be optimal as far as it goes.
static void test_ties_without_perturbation() {
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        Data data = make(150, 4, Ties::integers, seed);
        data.target = data.original;
        const auto space = data.space();
        const PathLog log = trace(data);
        expect(log.end >= 0 && log.end <= 1, "exact ties: an end");
        if (log.checkpoints.empty()) continue;
        expect(PathAudit<Linear>(space, {data.given(), data.original.data(), 1.0}, log).worst(1) < 1e-8,
               "exact ties: optimal as far as it goes");
    }
}

// A token that wants an end at its first look, 50 ms after it was made.
struct Now : Stop {
    bool look() const override { return true; }
};

template <class Task>
static bool is_stopped(Task&& task) {
    const Now now;
    std::this_thread::sleep_for(2 * Stop::between_looks);
    try {
        task(&now);
        return false;
    } catch (const Stopped&) {
        return true;
    }
}

static void test_everything_stops() {
    const Data data = make(600, 6, Ties::none, 5);
    const auto space = data.space();
    const auto rows = data.rows();
    const PathLog log = trace(data);
    const PathProblem problem{data.given(), 0, 1};
    expect(is_stopped([&](const Stop* stop) { PathTrace<Linear>(space, problem, stop).trace(); }), "the trace");
    std::vector<double> w(6);
    expect(
        is_stopped([&](const Stop* stop) { PathReplay<Linear>(space, data.given(), log, stop).recover(0.5, &w[0]); }),
        "one model");
    expect(is_stopped([&](const Stop* stop) {
               PathReplay<Linear>(space, data.given(), log, stop).visit(0, log.size() + 2, [](Index, const auto&) {});
           }),
           "a walk");
    const AuditProblem audited{data.given(), data.original.data(), 1.0};
    PathProblem halves = problem;
    halves.middle = 0.4, halves.n_threads = 2;
    expect(is_stopped([&](const Stop* stop) { PathTrace<Linear>(space, halves, stop).trace(); }), "two halves");
    expect(is_stopped([&](const Stop* stop) { PathAudit<Linear>(space, audited, log, stop).worst(1); }), "the audit");
    KernelRowsOf<double> kernel(data.rows(), {KernelKind::rbf, 0.7, 0, 1, 1.0}, 1e7);
    const KernelSpace functions(kernel);
    expect(is_stopped([&](const Stop* stop) { PathTrace<KernelSpace>(functions, problem, stop).trace(); }), "a kernel");
    const std::vector<double> weight(600, 1.0);
    const ApproximateProblem approximate{data.sign.data(), weight.data(), 1.0, 0, 1, 1e-4};
    using Trace = ApproximateTrace<DenseRows<double>>;
    expect(is_stopped([&](const Stop* stop) { Trace(rows, approximate, stop).trace(); }), "the approximate path");
    Data large = make(50000, 30, Ties::none, 6);
    const auto many = large.rows();
    expect(is_stopped([&](const Stop* stop) { EqualRows<DenseRows<double>>(many, &large.sign[0], stop).first(); }),
           "equal rows");
    const std::vector<double> tau{0, 1}, models(60, 0.5), way{0, 1}, norm(50000, 1.0);
    const PathKnots knots{tau.data(), models.data(), way.data(), 2, 30};
    expect(is_stopped([&](const Stop* stop) { find_crossings(many, norm.data(), knots, stop); }), "crossings");
}

// A view with a constant column has the path of the matrix with a column of ones; float and 64-bit indices too.
template <class R>
static void expect_same_path(const R& rows, const Data& data, const PathLog& log, const char* what) {
    const LinearSpace<R> space(rows);
    const PathLog found = one_leg(space, {data.given(), 0, 1});
    double apart = found.size() == log.size() ? 0 : 1;
    for (Index k = 0; k < std::min(log.size(), found.size()); ++k)
        apart = std::max(apart, std::fabs(log.tau[k] - found.tau[k]));
    expect(apart < 1e-9, what);
    PathAudit<LinearSpace<R>> audit(space, {data.given(), data.original.data(), 1.0}, found);
    expect(audit.worst(1) < 1e-8, what);
}

static void test_all_kinds_of_rows() {
    const Index n = 80, d = 5;
    Data data = make(n, d, Ties::none, 8);
    for (double& x : data.X) x = static_cast<double>(static_cast<float>(x));
    const PathLog log = trace(data);
    std::vector<double> dense;
    std::vector<float> narrow;
    std::vector<Index> columns, starts{0}, which;
    for (Index i = n - 1; i >= 0; --i) {  // the other way round, and each row once more: the view puts it right
        for (int copy = 0; copy < 2; ++copy)
            for (Index j = 0; j + 1 < d; ++j) {
                dense.push_back(data.X[i * d + j]);
                narrow.push_back(static_cast<float>(data.X[i * d + j]));
                columns.push_back(j);
            }
        starts.push_back(static_cast<Index>(columns.size()) - (d - 1));
        starts.push_back(static_cast<Index>(columns.size()));
    }
    for (Index i = 0; i < n; ++i) which.push_back(2 * (n - 1 - i));
    const View view{which.data(), n, 1.0};
    expect_same_path(viewed(DenseRows<double>(dense.data(), 2 * n, d - 1), view), data, log, "a dense view");
    expect_same_path(viewed(DenseRows<float>(narrow.data(), 2 * n, d - 1), view), data, log, "float");
    expect_same_path(viewed(SparseRows<float>(narrow.data(), columns.data(), starts.data(), 2 * n, d - 1), view), data,
                     log, "sparse floats, 64-bit indices");
    expect_same_path(viewed(SparseRows<double>(dense.data(), columns.data(), starts.data(), 2 * n, d - 1), view), data,
                     log, "sparse");
}

// The gap against every l of a fine grid, for random parabolas U >= 0 and D, among them D < 0 at a knot.
static void test_the_certified_gap_is_one() {
    Shuffler random{1};
    const auto uniform = [&] { return static_cast<double>(random.below(1 << 20)) / (1 << 20); };
    const double tol = 0.1;
    int proved = 0, negative = 0;
    for (int trial = 0; trial < 3000; ++trial) {
        const double u0 = trial % 3 ? 1 + uniform() : 0, u1 = uniform(), u2 = uniform();
        const double d0 = u0 - (trial % 2 ? 0.1 : 2) * uniform(), d1 = u1 * uniform() + 0.2 * uniform(), d2 = uniform();
        const auto U = [&](double l) { return u0 + u1 * l + u2 * l * l; };
        const auto D = [&](double l) { return d0 + d1 * l - d2 * l * l; };
        const double gap = certified_gap({{U(0), D(0)}, {U(0.5), D(0.5)}, {U(1), D(1)}}, tol);
        negative += D(0) < 0;
        if (gap == 1) continue;
        ++proved;
        double least = -1;  // of D - (1 - t) U with a t a little smaller than the gap: the bound is not idle
        for (double l = 0; l <= 1; l += 1e-3) {
            expect(D(l) - (1 - gap) * U(l) >= -1e-9, "proved at every l");
            least = std::max(least, (1 - gap + 0.03 * tol) * U(l) - D(l));
        }
        expect(least > -1e-3 || gap < 0.02 * tol, "and hardly more than is needed");
    }
    expect(proved > 100 && negative > 100, "both kinds were seen");
    expect(certified_gap({{0, -3}, {0.5, 0.45}, {1, 0.95}}, tol) == 1, "no proof from a dual value below zero");
    expect(certified_gap({{1, 1}, {NAN, 1}, {1, 1}}, tol) == 1, "nor from NaN");
    expect(certified_gap({{HUGE_VAL, HUGE_VAL}, {1, 1}, {1, 1}}, tol) == 1, "nor from infinity");
}

// Knots that the engine cannot solve: the path ends at a coarse grid with an honest gap, and says where.
static void test_an_approximate_path_that_falls_short_ends() {
    Data data = make(120, 6, Ties::none, 6);
    for (double& x : data.X) x *= 1e8;
    const auto rows = data.rows();
    const std::vector<double> weight(120, 1.0);
    const ApproximatePath path =
        ApproximateTrace<DenseRows<double>>(rows, {data.sign.data(), weight.data(), 1.0, 0, 1, 1e-3}).trace();
    expect(path.ended == Ended::limit && path.gap > 1e-3 && path.gap <= 1, "short of tol");
    expect(path.tau.size() <= 40 && path.tau.front() == 0 && path.tau.back() == 1, "on a coarse grid");
    expect(path.where >= 0 && path.where <= 1, "and says where");
}

static void test_what_overflows_is_refused() {
    Data data = make(50, 4, Ties::none, 6);
    const auto rows = data.rows();
    const std::vector<double> weight(50, 1e306);
    int refused = 0;
    try {
        ApproximateTrace<DenseRows<double>>(rows, {data.sign.data(), weight.data(), 1.0, 0, 1, 1e-3}).trace();
    } catch (const std::invalid_argument&) {
        ++refused;
    }
    for (CostBox& b : data.box) b.high *= 1e306, b.high_rate *= 1e306;
    const auto space = data.space();
    try {
        PathTrace<Linear>(space, {data.given(), 0, 1}).trace();
    } catch (const std::invalid_argument&) {
        ++refused;
    }
    expect(refused == 2, "both paths refuse it");
}

// Sums of large terms that cancel: the remainder is what a double alone would have lost.
static void test_sums_to_twice_the_digits() {
    const double x[] = {1.0 / 3, 1e-7};
    double v[2] = {0, 0}, low[2] = {0, 0}, plain = 0;
    for (const double scale : {1e15, 7.0, -1e15, 1e8, -1e8}) {
        add_product(scale, x, 2, v, low);
        plain += scale * x[0];
    }
    expect(v[0] + low[0] == 7 * x[0] && std::fabs(v[1] + low[1] - 7e-7) < 1e-22, "nothing is lost");
    expect(std::fabs(plain - 7 * x[0]) > 1e-3, "which a plain sum loses");
}

int main() {
    test_margin_set();
    test_dependent_rows_are_refused();
    test_rows_that_belong_are_taken_whatever_rounding_leaves();
    test_equal_rows();
    test_optimal_at_every_kink(Ties::none, "random rows");
    test_optimal_at_every_kink(Ties::integers, "integers");
    test_optimal_at_every_kink(Ties::copies, "copies, some with the other label");
    test_audit_finds_a_wrong_path();
    test_replay_equals_trace();
    test_ties_at_the_start();
    test_ties_up_to_rounding();
    test_ties_without_perturbation();
    test_everything_stops();
    test_all_kinds_of_rows();
    test_the_certified_gap_is_one();
    test_an_approximate_path_that_falls_short_ends();
    test_what_overflows_is_refused();
    test_sums_to_twice_the_digits();
    return verdict();
}
