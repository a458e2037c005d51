// A linear model w.x + b under stochastic steps, averaged, at a cost of O(non-zeros) a step.
//
// Kept are v, u and three numbers, with
//     w = scale v                                      so that weight decay touches one number,
//     sum_t c_t w_t = spent v - u                      with spent = sum_t c_t scale_t, the mass of the average.
// A step changes v by d, and u by spent d: the average needs no work for coordinates that do not move.
//
// Steps are eta x (plain), or per coordinate in AdaGrad's way (Duchi, Hazan & Singer 2011): eta x_j / sqrt(squares_j)
// with squares_j the sum of squared gradients.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/huge_pages.hpp"
#include "base/rows.hpp"
#include "base/simd.hpp"

namespace steelyard {

// The first gradient of a coordinate counts as four, else a rare feature's first step would be its largest.
STEELYARD_INLINE double sum_after(double sum, double square) {
    const double times = sum == 0.0 ? 4.0 : 1.0;
    return std::min(sum + times * square, 1e300);
}

// 1 / sqrt(x): a guess from the exponent (Blinn 1997) and one polynomial step, with a relative error below 3e-5. The
// sum itself stays exact, so the error does not grow; and unlike a root and a division this costs a few
// multiplications, side by side.
STEELYARD_INLINE double inverse_root(double x) {
    std::uint64_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    bits = 0x5FE6EB50C7B537A9ull - (bits >> 1);
    double y;
    std::memcpy(&y, &bits, sizeof y);
    const double h = x * y * y;
    return y * (1.87632 - h * (1.25155 - h * 0.37523));
}

struct Scalars {
    double scale = 1.0;
    double spent = 0.0;  // sum of c_t scale_t
    double mass = 0.0;   // sum of c_t, for the intercept, which does not decay
    double b = 0.0, u_b = 0.0, squares_b = 0.0;
    double square_norm = 0.0;  // of w, followed only when there is a radius

    // One row enters the average, with weight c.
    STEELYARD_INLINE void count(double c) {
        spent += c * scale;
        mass += c;
    }
    STEELYARD_INLINE void move_intercept(double step) {
        b += step;
        u_b += mass * step;
    }
    STEELYARD_INLINE void adaptive_intercept(double g, double eta) {
        squares_b = sum_after(squares_b, g * g);
        move_intercept(g * eta * inverse_root(squares_b));
    }
};

class Weights {
public:
    LargeVector<double> numbers;  // v, then u, then, for steps per coordinate, the squares, each on whole cache lines
    Scalars at;

    Weights() = default;
    Weights(Index n, bool adaptive) : n_(n), stride_((n + 7) / 8 * 8) {
        numbers.resize(static_cast<std::size_t>(stride_) * (adaptive ? 3 : 2));
    }

    Index size() const { return n_; }
    STEELYARD_INLINE double* v() { return numbers.data(); }
    STEELYARD_INLINE const double* v() const { return numbers.data(); }
    STEELYARD_INLINE double* u() { return numbers.data() + stride_; }
    STEELYARD_INLINE const double* u() const { return numbers.data() + stride_; }
    STEELYARD_INLINE double* squares() { return numbers.data() + 2 * stride_; }

    // w_j += g eta x_j / sqrt(squares_j), after g x_j has entered squares_j. `at` is the member, or a copy that is kept
    // at hand. Sparse rows go by blocks, so that the roots of a block are found side by side; a column that a row names
    // twice sees its old sum twice.
    template <class Row>
    STEELYARD_INLINE void adaptive_step(const Row& row, double g, double eta, const Scalars& at) {
        double* const sums = squares();
        double* const vs = v();
        double* const us = u();
        const double gg = g * g, pull = g * eta / at.scale, spent = at.spent;
        if constexpr (Row::is_dense) {
            const auto* const values = row.values;
            STEELYARD_NO_OVERLAP
            for (Index j = 0; j < row.size; ++j) {
                const double x = static_cast<double>(values[j]), sum = sum_after(sums[j], gg * x * x);
                const double d = pull * x * inverse_root(sum);
                sums[j] = sum;
                vs[j] += d;
                us[j] += spent * d;
            }
        } else {
            constexpr Index most = 128;  // entries at a time: two kilobytes on the stack
            double sum[most], d[most];
            for (Index start = 0; start < row.size; start += most) {
                const Index n = std::min(most, row.size - start);
                const auto* const values = row.values + start;
                row.columns.from(start).visit([&](const auto* columns) STEELYARD_INLINE_LAMBDA {
                    for (Index k = 0; k < n; ++k) {
                        const double x = static_cast<double>(values[k]);
                        sum[k] = sum_after(sums[columns[k]], gg * x * x);
                        d[k] = pull * x * inverse_root(sum[k]);
                    }
                    for (Index k = 0; k < n; ++k) {
                        const auto j = columns[k];
                        sums[j] = sum[k];
                        vs[j] += d[k];
                        us[j] += spent * d[k];
                    }
                });
            }
        }
    }

    // w += step x.
    template <class Row>
    STEELYARD_INLINE void plain_step(const Row& row, double step) {
        const double pull = step / at.scale;
        row.add_to(v(), pull);
        row.add_to(u(), at.spent * pull);
    }

    // w *= factor, in one multiplication; folded into v before the scale gets too small to divide by.
    void shrink(double factor) {
        at.square_norm *= factor * factor;
        at.scale *= factor;
        if (std::fabs(at.scale) > 1e-9) return;
        for (Index j = 0; j < n_; ++j) {
            u()[j] -= at.spent * v()[j];  // what was spent is settled here: divided by the scale it would overflow
            v()[j] *= at.scale;
        }
        at.spent = 0.0;
        at.scale = 1.0;
    }

    // The part of |w|^2 on the columns of a row.
    template <class Row>
    STEELYARD_INLINE double square_norm_on(const Row& row) const {
        double sum = 0.0;
        const double* const vs = v();
        row.each([&sum, vs](Index j, double x) {
            if (x != 0.0) sum += vs[j] * vs[j];
        });
        return sum * at.scale * at.scale;
    }

    // The nearest point of the ball of this radius.
    void project(double radius) {
        if (at.square_norm > radius * radius) shrink(radius / std::sqrt(at.square_norm));
    }

    double exact_square_norm() const {
        double sum = 0;
        for (const double* x = v(); x != v() + n_; ++x) sum += *x * *x;
        return sum * at.scale * at.scale;
    }

    // The averaged model, or the last one while nothing has been averaged.
    std::vector<double> averaged() const {
        if (!(at.mass > 0)) return last();
        std::vector<double> w(static_cast<std::size_t>(n_));
        std::transform(v(), v() + n_, u(), w.begin(),
                       [this](double x, double y) { return (at.spent * x - y) / at.mass; });
        return w;
    }
    double averaged_intercept() const { return at.mass > 0 ? at.b - at.u_b / at.mass : at.b; }

    std::vector<double> last() const {
        std::vector<double> w(static_cast<std::size_t>(n_));
        std::transform(v(), v() + n_, w.begin(), [this](double x) { return x * at.scale; });
        return w;
    }

    // Goes on from the given model with an empty average.
    void restart(const std::vector<double>& w, double b) {
        std::copy(w.begin(), w.end(), v());
        std::fill(u(), u() + n_, 0.0);
        at.scale = 1.0;
        at.spent = at.mass = at.u_b = 0.0;
        at.b = b;
        at.square_norm = exact_square_norm();
    }

private:
    Index n_ = 0, stride_ = 0;
};

}  // namespace steelyard
