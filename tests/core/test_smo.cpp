// Kernel rows and sequential minimal optimisation, built plain and under the sanitizers.

#include "kernel/smo.hpp"

#include <stdexcept>
#include <thread>

#include "check.hpp"

using namespace steelyard;

namespace {

struct Cloud {
    static constexpr Index n = 70, d = 3;
    std::vector<double> X;
    std::vector<double> y;

    Cloud() : X(n * d), y(n) {
        std::uint64_t state = 7;
        for (Index i = 0; i < n; ++i) {
            double sum = 0;
            for (Index j = 0; j < d; ++j) {
                state = state * 6364136223846793005ULL + 1442695040888963407ULL;
                X[i * d + j] = static_cast<double>(state >> 11) / 9007199254740992.0 - 0.5;
                sum += X[i * d + j];
            }
            y[i] = (i % 7 == 0 ? -sum : sum) > 0 ? 1.0 : -1.0;
        }
    }

    Rows rows() const { return DenseRows<double>{X.data(), n, d}; }
};

}  // namespace

static void test_rows_against_the_formula() {
    const Cloud cloud;
    const KernelSpec specs[] = {
        {KernelKind::rbf, 2.0, 0.0, 3}, {KernelKind::poly, 0.5, 1.0, 3}, {KernelKind::linear, 1.0, 0.0, 1}};
    for (const auto& spec : specs) {
        KernelRows kernel(cloud.rows(), spec, 1e6);
        double worst = 0;
        for (Index i = 0; i < Cloud::n; ++i)
            for (Index k = 0; k < Cloud::n; ++k) {
                double dot = 0, distance = 0;
                for (Index j = 0; j < Cloud::d; ++j) {
                    const double a = cloud.X[i * Cloud::d + j], b = cloud.X[k * Cloud::d + j];
                    dot += a * b, distance += (a - b) * (a - b);
                }
                const double wanted = spec.kind == KernelKind::rbf    ? std::exp(-2.0 * distance)
                                      : spec.kind == KernelKind::poly ? std::pow(0.5 * dot + 1.0, 3)
                                                                      : dot;
                worst = std::max(worst, std::fabs(kernel.row(i)[k] - wanted));
                if (i == k) worst = std::max(worst, std::fabs(kernel.diagonal()[i] - wanted));
            }
        expect(worst < 1e-6, "kernel values");
    }
}

static void test_exponential() {
    double worst = 0;
    for (double x = 0; x > -99; x -= 0.0137) worst = std::max(worst, std::fabs(exp_of_negative(x) / std::exp(x) - 1));
    expect(worst < 1e-9, "exp over its range");
    worst = 0;
    for (double x = 0; x > -699; x -= 0.0137)
        worst = std::max(worst, std::fabs(exp_of_negative<13>(x) / std::exp(x) - 1));
    expect(worst < 1e-15, "exp to the rounding of a double");
    expect(exp_of_negative(-1e6) == 0.0 && exp_of_negative(-0.0) == 1.0, "exp at its ends");
}

static void test_the_oldest_row_is_dropped_and_the_last_two_stay() {
    const Cloud cloud;
    KernelRows kernel(cloud.rows(), {}, 3 * 4.0 * Cloud::n);
    expect(kernel.n_slots() == 3, "three rows fit");
    const float *a = kernel.row(0), *b = kernel.row(1);
    kernel.row(2);
    expect(kernel.row(0) == a && kernel.row(1) == b && kernel.n_computed() == 3, "kept");
    kernel.row(3);  // drops 2
    expect(kernel.row(0) == a && kernel.n_computed() == 4, "what was asked for last stays");
    kernel.row(2);
    expect(kernel.n_computed() == 5, "what was not is computed again");
}

// Rows of float32, of a view, and of a matrix given: the same numbers as those of the rows written out.
static void test_views_and_floats() {
    const Cloud cloud;
    const KernelSpec spec{KernelKind::rbf, 2.0, 0.0, 3};
    const std::vector<float> small(cloud.X.begin(), cloud.X.end());
    KernelRows whole(cloud.rows(), spec, 1e6), floats(DenseRows<float>{small.data(), Cloud::n, Cloud::d}, spec, 1e6);
    expect(2 * floats.copied_bytes() == whole.copied_bytes(), "float32 stays float32");
    std::vector<double> K;
    for (Index i = 0; i < Cloud::n; ++i) K.insert(K.end(), whole.row(i), whole.row(i) + Cloud::n);
    const std::vector<Index> which = {5, 3, 60, 3};
    const View view{which.data(), 4, 0.0};
    KernelRows part(viewed(DenseRows<double>{cloud.X.data(), Cloud::n, Cloud::d}, view), spec, 1e6);
    KernelRows given(viewed(DenseRows<double>{K.data(), Cloud::n, Cloud::n}, view), {KernelKind::precomputed}, 1e6);
    double worst = 0, worst_float = 0;
    for (Index i = 0; i < 4; ++i)
        for (Index k = 0; k < 4; ++k) {
            const double wanted = whole.row(which[i])[which[k]];
            worst = std::max({worst, std::fabs(part.row(i)[k] - wanted), std::fabs(given.row(i)[k] - wanted)});
            worst_float = std::max(worst_float, std::fabs(floats.row(which[i])[which[k]] - wanted));
        }
    expect(worst == 0.0 && worst_float < 1e-6, "a view has the rows and columns that it names");
    expect(std::fabs(given.diagonal()[2] - 1.0) < 1e-12, "and its diagonal");
    bool refused = false;
    const double huge[] = {1e200, 1.0};
    try {
        KernelRows(DenseRows<double>{huge, 2, 1}, spec, 1e6);
    } catch (const std::invalid_argument&) {
        refused = true;
    }
    expect(refused, "norms that overflow are refused");
}

struct Impatient : Stop {
    bool look() const override { return true; }
};

static void test_a_stop_is_heard_and_leaves_the_cache_whole() {
    const Cloud cloud;
    const KernelSpec spec{KernelKind::rbf, 2.0, 0.0, 3};
    KernelRows kernel(cloud.rows(), spec, 1e6);
    const Impatient stop;
    std::this_thread::sleep_for(2 * Stop::between_looks);
    bool stopped = false;
    try {
        kernel.row(4, &stop);
    } catch (const Stopped&) {
        stopped = true;
    }
    expect(stopped && kernel.n_computed() == 0, "the row is left");
    KernelRows fresh(cloud.rows(), spec, 1e6);
    expect(std::equal(kernel.row(4), kernel.row(4) + Cloud::n, fresh.row(4)), "and computed when asked for again");
}

static void test_what_is_no_number_is_never_solved() {
    const double nan = std::nan("");
    const double K[] = {1.0, nan, nan, 1.0}, q[] = {1.0, -1.0}, lower[] = {0.0, -1.0}, upper[] = {1.0, 0.0};
    KernelRows kernel(DenseRows<double>{K, 2, 2}, {KernelKind::precomputed}, 1e6);
    Smo smo(kernel, {q, lower, upper}, {1e-3, true}, {0.0, 0.0}, {nan, nan});
    smo.run(10);
    smo.finish();
    expect(smo.status().ended == Ended::trouble, "no certificate is made of NaN");
}

// Solves shifted boxes, looks at the solution, and returns how many steps it took.
static Index test_optimality(Index slots, bool shrinking) {
    const Cloud cloud;
    KernelRows kernel(cloud.rows(), {KernelKind::rbf, 3.0, 0.0, 3}, slots * 4.0 * Cloud::n);
    std::vector<double> q(Cloud::n), lower(Cloud::n), upper(Cloud::n), zero(Cloud::n, 0.0);
    for (Index i = 0; i < Cloud::n; ++i) {
        const bool shifted = i % 5 == 0;
        q[i] = cloud.y[i];
        lower[i] = (cloud.y[i] > 0) == shifted ? -10.0 : 0.0;
        upper[i] = (cloud.y[i] > 0) == shifted ? 0.0 : 10.0;
    }
    Smo smo(kernel, {q.data(), lower.data(), upper.data()}, {1e-6, shrinking}, zero, zero);
    int calls = 0;
    Index fewest = Cloud::n;
    while (!smo.run(50)) {
        ++calls;
        Index free = 0;
        for (Index i = 0; i < Cloud::n; ++i) free += smo.b()[i] > lower[i] && smo.b()[i] < upper[i];
        expect(smo.n_active() >= free, "only rows at a bound are left out");
        expect(smo.n_remembered() <= 2 * smo.n_steps(), "no more is remembered of them than has moved");
        fewest = std::min(fewest, smo.n_active());
    }
    expect((fewest < Cloud::n) == shrinking, "rows at a bound are left out if asked");
    smo.finish();
    expect(smo.status().solved() && smo.n_remembered() == 0, "solved, and nothing left to remember");
    double sum = 0, lowest = 1e300, highest = -1e300, drift = 0;
    for (Index i = 0; i < Cloud::n; ++i) {
        double product = 0;
        for (Index j = 0; j < Cloud::n; ++j) product += smo.b()[j] * kernel.row(j)[i];
        drift = std::max(drift, std::fabs(product - smo.Kb()[i]));
        sum += smo.b()[i];
        expect(smo.b()[i] >= lower[i] && smo.b()[i] <= upper[i], "within the box");
        if (smo.b()[i] < upper[i]) lowest = std::min(lowest, product - q[i]);
        if (smo.b()[i] > lower[i]) highest = std::max(highest, product - q[i]);
    }
    expect(calls > 0 && std::fabs(sum) < 1e-9, "sum zero");
    expect(drift < 1e-6 && highest - lowest < 3e-6, "optimal, with K b in step");
    expect(std::fabs(smo.violation() - std::max(0.0, highest - lowest)) < 1e-6,
           "the violation is that of the solution");
    return smo.n_steps();
}

int main() {
    test_rows_against_the_formula();
    test_exponential();
    test_the_oldest_row_is_dropped_and_the_last_two_stay();
    test_views_and_floats();
    test_a_stop_is_heard_and_leaves_the_cache_whole();
    test_what_is_no_number_is_never_solved();
    const Index plain = test_optimality(2, false), shrunk = test_optimality(2, true);
    expect(2 * shrunk < 3 * plain, "rows left out are those that need no step");
    expect(test_optimality(Cloud::n, false) == plain && test_optimality(Cloud::n, true) == shrunk,
           "whatever the cache");
    return verdict();
}
