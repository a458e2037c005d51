// The searches for the most violated confusion matrix against the table, built plain and under the sanitizers.
#include "structural/cutting_planes.hpp"

#include "check.hpp"

using namespace steelyard;

static std::uint64_t state = 1;
static double uniform() {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<double>(state >> 11) / 9007199254740992.0;
}

// F1 = 2 p P / (p + p P + (1 - p)(1 - N)), in percent.
static ConfusionLoss f1(Index n) {
    const std::int32_t P = 0, N = 1, p = 2;
    ConfusionLoss loss;
    loss.tape.emplace(std::vector<Instruction>{{Op::input, P, 0, 0},
                                               {Op::input, N, 0, 0},
                                               {Op::input, p, 0, 0},
                                               {Op::constant, 0, 0, 1.0},
                                               {Op::constant, 0, 0, 2.0},
                                               {Op::multiply, 2, 0, 0},
                                               {Op::multiply, 4, 5, 0},
                                               {Op::subtract, 3, 2, 0},
                                               {Op::subtract, 3, 1, 0},
                                               {Op::multiply, 7, 8, 0},
                                               {Op::add, 2, 5, 0},
                                               {Op::add, 10, 9, 0},
                                               {Op::divide, 6, 11, 0}});
    loss.top = 1;
    loss.mixed = 1;
    loss.calls = {0, n};
    return loss;
}

struct Case {
    std::vector<double> scores;
    std::vector<char> label;
    SortedScores sorted;

    explicit Case(Index n) {
        sorted.kappa = 100.0 / static_cast<double>(n);
        const double spread = std::pow(10.0, 4 * uniform() - 2);
        for (Index i = 0; i < n; ++i) {
            scores.push_back(spread * (uniform() - 0.5));
            if (n % 3 == 0) scores.back() = std::round(scores.back());
            label.push_back(i == 0 || (i > 1 && uniform() < 0.3));
        }
        sorted.sort(scores.data(), reinterpret_cast<const bool*>(label.data()), n);
    }
};

static void test_searches_equal_the_table() {
    for (Index k = 0; k < 500; ++k) {
        const Index n = 2 + k % 37;
        const Case c(n);
        ConfusionLoss loss = f1(n);
        loss.search = Search::table;
        const double best = most_violated(loss, c.sorted).value;
        for (const Search search : {Search::bounds, Search::divide}) {
            loss.search = search;
            expect(close(most_violated(loss, c.sorted).value, best), "a search finds what the table has");
        }
        loss.search = Search::bounds;
        loss.patience = -n;
        expect(close(most_violated(loss, c.sorted).value, best), "divide and conquer takes over from bounds");
        ConfusionLoss counts;
        for (Index m = 0; m <= n; ++m) counts.counts.push_back(100 * uniform());
        counts.calls = {0, n};
        const double by_pass = most_violated(counts, c.sorted).value;
        counts.search = Search::table;
        expect(close(by_pass, most_violated(counts, c.sorted).value), "one pass finds what the table has");
    }
}

static void test_ranges_hold_values_and_slopes() {
    ConfusionLoss loss = f1(1);
    TapeRanges ranges(*loss.tape);
    for (int k = 0; k < 2000; ++k) {
        const double width = uniform() * uniform(), p = 0.01 + 0.9 * uniform();
        const double x = (1 - width) * uniform(), y = (1 - width) * uniform();
        const RangeAndSlopes range = ranges.over({{x, x + width}, {y, y + width}, p, 0});
        const ValueAndGradient v = loss.tape->evaluate({x + width * uniform(), y + width * uniform(), p, 0});
        const auto inside = [](const Range& r, double z) { return r.low - 1e-12 <= z && z <= r.high + 1e-12; };
        expect(inside(range.value, v.value), "the range holds the value");
        expect(inside(range.d_tpr, v.d_tpr) && inside(range.d_tnr, v.d_tnr), "the ranges hold the slopes");
    }
    expect(power({-2, 1}, 2).low == 0 && power({-2, 1}, 2).high == 4, "an even power of a range around zero");
    expect(power({-2, 1}, 3).low == -8 && power({-2, 1}, 3).high == 1, "an odd power");
    expect(power({-2, 1}, 0.5).low == anywhere.low, "a root of a range below zero");
    expect(power({-2, 1}, -1).high == anywhere.high, "a reciprocal of a range around zero");
    expect((Range{0, 0} / Range{-1, 1}).is_zero() && (Range{1, 2} / Range{0, 1}).high == anywhere.high, "quotients");
}

static void test_cutting_planes() {
    const double x[] = {2, 1, -1, -2};
    const bool positive[] = {true, true, false, false};
    StructuralOptions options;
    options.C = 10;
    StructuralSvm svm(DenseRows<double>{x, 4, 1}, positive, f1(4), options);
    const Stop nobody;
    Progress now{};
    for (int k = 0; k < 20; ++k) now = svm.step(0, nobody);
    expect(close(now.primal, 8.0 / 9.0) && now.dual <= now.primal + 1e-12 && close(now.dual, now.primal), "w = 4/3");
}

// In at most two steps: the sum of a cut, or the scores that follow it, are no numbers.
static void test_values_that_are_none_are_seen() {
    const bool positive[] = {true, true, false, false};
    const Stop nobody;
    for (const double value : {1.0, std::nan(""), HUGE_VAL, -HUGE_VAL})
        for (int at = 0; at < 4; ++at) {
            double x[] = {2, 1, -1, -2};
            x[at] = value;
            StructuralSvm svm(DenseRows<double>{x, 4, 1}, positive, f1(4), StructuralOptions{});
            bool refused = false;
            try {
                for (int k = 0; k < 2; ++k) svm.step(0, nobody);
            } catch (const std::logic_error&) {  // of a domain, or an argument
                refused = true;
            }
            expect(refused == !std::isfinite(value) && svm.looked() == !refused, "a value that is no number");
        }
}

int main() {
    test_searches_equal_the_table();
    test_ranges_hold_values_and_slopes();
    test_cutting_planes();
    test_values_that_are_none_are_seen();
    return verdict();
}
