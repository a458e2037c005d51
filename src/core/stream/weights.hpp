// A linear model w.x + b under stochastic steps, averaged, at a cost of O(non-zeros) a step.
//
// Kept are v, u and three numbers, with
//     w = scale v                                      so that weight decay touches one number,
//     sum_t c_t w_t = spent v - u                      with spent = sum_t c_t scale_t, the mass of the average.
// A step changes v by d, and u by spent d: the average needs no work for coordinates that do not move.
//
// The numbers of a column lie side by side where a sparse row would else wait for memory three times at each of its
// entries: with more columns than a cache holds (`Weights::wide`), each column has half a cache line of its own. Dense
// rows want v, u and the squares one after another.
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
    // v, then u, then, for steps per coordinate, the squares, each on whole cache lines; or v, u, the square and a gap
    // for each column.
    LargeVector<double> numbers;
    Scalars at;

    // Columns: so many v are a megabyte, the second cache of a core (benchmarks/stream_rows.py).
    static constexpr Index wide = Index{1} << 17;
    static constexpr Index apart = 4;  // numbers from one column to the next, where they lie side by side

    Weights() = default;
    Weights(Index n, bool adaptive) : n_(n), adaptive_(adaptive) { lay_out(false); }

    Index size() const { return n_; }
    bool is_side_by_side() const { return by_ != 1; }

    // How the numbers lie; they are all zero afterwards, so this is for a model that has not learned yet.
    void lay_out(bool side_by_side) {
        by_ = side_by_side ? apart : 1;
        stride_ = side_by_side ? 1 : (n_ + 7) / 8 * 8;
        numbers = LargeVector<double>(needed(side_by_side));
    }
    void lay_out_for_sparse_rows() {
        if (adaptive_ && n_ >= wide && !is_side_by_side()) lay_out(true);
    }
    // Numbers as they were saved.
    bool take(LargeVector<double>&& saved, bool side_by_side) {
        if (saved.size() != needed(side_by_side)) return false;
        by_ = side_by_side ? apart : 1;
        stride_ = side_by_side ? 1 : (n_ + 7) / 8 * 8;
        numbers = std::move(saved);
        return true;
    }

    // v . x
    template <class Row>
    STEELYARD_INLINE double dot(const Row& row) const {
        if (!is_side_by_side()) return row.dot(v());
        return dot_apart(row);
    }
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
        const double gg = g * g, pull = g * (eta / at.scale), spent = at.spent;  // the division does not wait for g
        if constexpr (Row::is_dense) {
            const auto* const values = row.values;
            if (is_side_by_side()) {
                for (Index j = 0; j < row.size; ++j) {
                    const double x = static_cast<double>(values[j]), sum = sum_after(sums[j * apart], gg * x * x);
                    const double d = pull * x * inverse_root(sum);
                    sums[j * apart] = sum;
                    vs[j * apart] += d;
                    us[j * apart] += spent * d;
                }
                return;
            }
            STEELYARD_NO_OVERLAP
            for (Index j = 0; j < row.size; ++j) {
                const double x = static_cast<double>(values[j]), sum = sum_after(sums[j], gg * x * x);
                const double d = pull * x * inverse_root(sum);
                sums[j] = sum;
                vs[j] += d;
                us[j] += spent * d;
            }
        } else {
            if (is_side_by_side()) return sparse_step<apart>(row, gg, pull, spent);
            sparse_step<1>(row, gg, pull, spent);
        }
    }
    template <Index by, class Row>
    STEELYARD_INLINE void sparse_step(const Row& row, double gg, double pull, double spent) {
        double* const sums = squares();
        double* const vs = v();
        double* const us = u();
        {
            constexpr Index most = 128;  // entries at a time: two kilobytes on the stack
            double sum[most], d[most];
            for (Index start = 0; start < row.size; start += most) {
                const Index n = std::min(most, row.size - start);
                const auto* const values = row.values + start;
                row.columns.from(start).visit([&](const auto* columns) STEELYARD_INLINE_LAMBDA {
                    for (Index k = 0; k < n; ++k) {
                        const double x = static_cast<double>(values[k]);
                        sum[k] = sum_after(sums[by * columns[k]], gg * x * x);
                        d[k] = pull * x * inverse_root(sum[k]);
                    }
                    for (Index k = 0; k < n; ++k) {
                        const Index j = by * static_cast<Index>(columns[k]);
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
        if (!is_side_by_side()) {
            row.add_to(v(), pull);
            row.add_to(u(), at.spent * pull);
            return;
        }
        double* const vs = v();
        double* const us = u();
        const double spent = at.spent;
        row.each([=](Index j, double x) {
            vs[j * apart] += pull * x;
            us[j * apart] += spent * pull * x;
        });
    }

    // w *= factor, in one multiplication; folded into v before the scale gets too small to divide by.
    void shrink(double factor) {
        at.square_norm *= factor * factor;
        at.scale *= factor;
        if (std::fabs(at.scale) > 1e-9) return;
        for (Index j = 0; j < n_ * by_; j += by_) {
            u()[j] -= at.spent * v()[j];  // what was spent is settled here: divided by the scale it would overflow
            v()[j] *= at.scale;
        }
        at.spent = 0.0;
        at.scale = 1.0;
    }

    // The part of |w|^2 on the columns of a row, all of them if it is dense: columns without a value do not move.
    // Partial sums, since one chain of additions would wait for itself.
    template <class Row>
    STEELYARD_INLINE double square_norm_on(const Row& row) const {
        const double* const vs = v();
        double sum[8] = {0, 0, 0, 0, 0, 0, 0, 0};
        const Index by = by_;
        if constexpr (Row::is_dense) {
            Index j = 0;
            if (by == 1)
                for (; j + 8 <= row.size; j += 8)
                    for (int k = 0; k < 8; ++k) sum[k] += vs[j + k] * vs[j + k];
            for (; j < row.size; ++j) sum[0] += vs[j * by] * vs[j * by];
        } else {
            row.columns.visit([&](const auto* columns) STEELYARD_INLINE_LAMBDA {
                for (Index k = 0; k < row.size; ++k) {
                    const double w = vs[by * static_cast<Index>(columns[k])];
                    sum[k % 8] += w * w;
                }
            });
        }
        return (((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]))) * at.scale *
               at.scale;
    }

    // The nearest point of the ball of this radius.
    void project(double radius) {
        if (at.square_norm > radius * radius) shrink(radius / std::sqrt(at.square_norm));
    }

    double exact_square_norm() const {
        double sum = 0;
        for (Index j = 0; j < n_ * by_; j += by_) sum += v()[j] * v()[j];
        return sum * at.scale * at.scale;
    }

    // The averaged model, or the last one while nothing has been averaged.
    std::vector<double> averaged() const {
        if (!(at.mass > 0)) return last();
        std::vector<double> w(static_cast<std::size_t>(n_));
        for (Index j = 0; j < n_; ++j)
            w[static_cast<std::size_t>(j)] = (at.spent * v()[j * by_] - u()[j * by_]) / at.mass;
        return w;
    }
    double averaged_intercept() const { return at.mass > 0 ? at.b - at.u_b / at.mass : at.b; }

    std::vector<double> last() const {
        std::vector<double> w(static_cast<std::size_t>(n_));
        for (Index j = 0; j < n_; ++j) w[static_cast<std::size_t>(j)] = v()[j * by_] * at.scale;
        return w;
    }

    // Goes on from the given model with an empty average.
    void restart(const std::vector<double>& w, double b) {
        for (Index j = 0; j < n_; ++j) v()[j * by_] = w[static_cast<std::size_t>(j)], u()[j * by_] = 0.0;
        at.scale = 1.0;
        at.spent = at.mass = at.u_b = 0.0;
        at.b = b;
        at.square_norm = exact_square_norm();
    }

    // The numbers of a sparse row's columns, for a row that comes soon.
    template <class Row>
    STEELYARD_INLINE void prefetch([[maybe_unused]] const Row& row) const {
#if defined(STEELYARD_GNU)
        const double* const vs = v();
        row.columns.visit([&](const auto* columns) STEELYARD_INLINE_LAMBDA {
            for (Index k = 0; k < row.size; ++k) __builtin_prefetch(vs + apart * static_cast<Index>(columns[k]));
        });
#endif
    }

private:
    Index n_ = 0, stride_ = 0, by_ = 1;
    bool adaptive_ = false;

    std::size_t needed(bool side_by_side) const {
        return static_cast<std::size_t>(side_by_side ? apart * n_ : (n_ + 7) / 8 * 8 * (adaptive_ ? 3 : 2));
    }

    // With the partial sums of `DenseRow` and `SparseRow`.
    template <class Row>
    STEELYARD_INLINE double dot_apart(const Row& row) const {
        const double* const vs = v();
        if constexpr (Row::is_dense) {
            double sum[4] = {0, 0, 0, 0};
            for (Index j = 0; j < row.size; ++j) sum[j % 4] += static_cast<double>(row.values[j]) * vs[apart * j];
            return (sum[0] + sum[1]) + (sum[2] + sum[3]);
        } else {
            return row.columns.visit([&](const auto* columns) STEELYARD_INLINE_LAMBDA {
                double sum[4] = {0, 0, 0, 0};
                const auto x = [&](Index k) STEELYARD_INLINE_LAMBDA {
                    return static_cast<double>(row.values[k]) * vs[apart * static_cast<Index>(columns[k])];
                };
                Index k = 0;
                for (; k + 4 <= row.size; k += 4)
                    for (int m = 0; m < 4; ++m) sum[m] += x(k + m);
                for (; k < row.size; ++k) sum[0] += x(k);
                return (sum[0] + sum[1]) + (sum[2] + sum[3]);
            });
        }
    }
};

}  // namespace steelyard
