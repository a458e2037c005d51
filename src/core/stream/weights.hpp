// A linear model w.x + b under stochastic steps, averaged, at a cost of O(non-zeros) a step.
//
// Kept are v, u and three numbers, with
//     w = scale v                                      so that weight decay touches one number,
//     sum_t c_t w_t = spent v - u                      with spent = sum_t c_t scale_t, the mass of the average.
// A step changes v by d, and u by spent d: the average needs no work for coordinates that do not move.
//
// The numbers of a column lie side by side where a sparse row would else wait for memory three times at each of its
// entries: with more columns than a cache holds (`Weights::wide`), each column is a quarter of a cache line, in which v
// and u are floats. Their rounding is a millionth of a step, and 2^20 columns are 16 MB that a third cache can hold
// where doubles are 32. The squares, whose sum grows without end, stay exact. Dense rows want v, u and the squares one
// after another.
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

// A column of a wide model.
struct Column {
    float v, u;
    double square;

    // Finite for rows of any scale.
    static STEELYARD_INLINE float rounded(double x) {
        constexpr double most = 3e38;
        return static_cast<float>(std::min(std::max(x, -most), most));
    }
    STEELYARD_INLINE void move(double sum, double d, double spent) {
        square = sum;
        v = rounded(static_cast<double>(v) + d);
        u = rounded(static_cast<double>(u) + spent * d);
    }
};

class Weights {
public:
    Scalars at;

    // Columns: so many v are a megabyte, the second cache of a core (benchmarks/stream_rows.py).
    static constexpr Index wide = Index{1} << 17;

    Weights() = default;
    Weights(Index n, bool adaptive)
        : n_(n), stride_((n + 7) / 8 * 8), adaptive_(adaptive), numbers_(size_of_numbers()) {}

    Index size() const { return n_; }
    bool is_side_by_side() const { return !columns_.empty(); }

    // All numbers are zero afterwards, so this is for a model that has not learned yet.
    void lay_out_for_sparse_rows() {
        if (!adaptive_ || n_ < wide || is_side_by_side()) return;
        columns_ = LargeVector<Column>(static_cast<std::size_t>(n_));
        numbers_ = LargeVector<double>();
    }

    // The numbers for a file, and as they were saved: four for each column where they lie side by side.
    LargeVector<double> saved() const {
        if (!is_side_by_side()) return numbers_;
        LargeVector<double> all(static_cast<std::size_t>(4 * n_));
        for (std::size_t j = 0; j < columns_.size(); ++j) {
            all[4 * j] = static_cast<double>(columns_[j].v);
            all[4 * j + 1] = static_cast<double>(columns_[j].u);
            all[4 * j + 2] = columns_[j].square;
        }
        return all;
    }
    bool take(LargeVector<double>&& saved, bool side_by_side) {
        if (saved.size() != (side_by_side ? static_cast<std::size_t>(4 * n_) : size_of_numbers())) return false;
        columns_ = LargeVector<Column>(static_cast<std::size_t>(side_by_side ? n_ : 0));
        for (std::size_t j = 0; j < columns_.size(); ++j)
            columns_[j] = {Column::rounded(saved[4 * j]), Column::rounded(saved[4 * j + 1]), saved[4 * j + 2]};
        numbers_ = side_by_side ? LargeVector<double>() : std::move(saved);
        return true;
    }

    // v . x
    template <class Row>
    STEELYARD_INLINE double dot(const Row& row) const {
        return is_side_by_side() ? dot_apart(row) : row.dot(v());
    }

    // w_j += g eta x_j / sqrt(squares_j), after g x_j has entered squares_j. `at` is the member, or a copy that is kept
    // at hand. Sparse rows go by blocks, so that the roots of a block are found side by side; a column that a row names
    // twice sees its old sum twice.
    template <class Row>
    STEELYARD_INLINE void adaptive_step(const Row& row, double g, double eta, const Scalars& at) {
        const double gg = g * g, pull = g * (eta / at.scale), spent = at.spent;  // the division does not wait for g
        if constexpr (!Row::is_dense) {
            if (is_side_by_side()) return sparse_step(row, gg, pull, spent, InColumns{columns_.data()});
            sparse_step(row, gg, pull, spent, InTurn{v(), u(), squares()});
        } else {
            const auto* const values = row.values;
            if (is_side_by_side()) {
                for (Index j = 0; j < row.size; ++j) {
                    const double x = static_cast<double>(values[j]);
                    const double sum = sum_after(columns_[j].square, gg * x * x);
                    columns_[j].move(sum, pull * x * inverse_root(sum), spent);
                }
                return;
            }
            double *const sums = squares(), *const vs = v(), *const us = u();
            STEELYARD_NO_OVERLAP
            for (Index j = 0; j < row.size; ++j) {
                const double x = static_cast<double>(values[j]), sum = sum_after(sums[j], gg * x * x);
                const double d = pull * x * inverse_root(sum);
                sums[j] = sum;
                vs[j] += d;
                us[j] += spent * d;
            }
        }
    }

    // w += step x: for steps that are the same for all coordinates, whose numbers never lie side by side.
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
        each([this](auto& v, auto& u) {
            u = rounded_like(u, u - at.spent * v);  // what was spent is settled: divided by the scale it would overflow
            v = rounded_like(v, v * at.scale);
        });
        at.spent = 0.0;
        at.scale = 1.0;
    }

    // The part of |w|^2 on the columns of a row, all of them if it is dense: columns without a value do not move.
    // Partial sums, since one chain of additions would wait for itself.
    template <class Row>
    STEELYARD_INLINE double square_norm_on(const Row& row) const {
        double sum[8] = {0, 0, 0, 0, 0, 0, 0, 0};
        if constexpr (Row::is_dense) {
            Index j = 0;
            if (!is_side_by_side())
                for (const double* const vs = v(); j + 8 <= row.size; j += 8)
                    for (int k = 0; k < 8; ++k) sum[k] += vs[j + k] * vs[j + k];
            for (; j < row.size; ++j) sum[0] += v_of(j) * v_of(j);
        } else {
            row.columns.visit([&](const auto* columns) STEELYARD_INLINE_LAMBDA {
                for (Index k = 0; k < row.size; ++k) {
                    const double w = v_of(static_cast<Index>(columns[k]));
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
        for (Index j = 0; j < n_; ++j) sum += v_of(j) * v_of(j);
        return sum * at.scale * at.scale;
    }

    // The averaged model, or the last one while nothing has been averaged.
    std::vector<double> averaged() const {
        if (!(at.mass > 0)) return last();
        std::vector<double> w(static_cast<std::size_t>(n_));
        for (Index j = 0; j < n_; ++j) w[static_cast<std::size_t>(j)] = (at.spent * v_of(j) - u_of(j)) / at.mass;
        return w;
    }
    double averaged_intercept() const { return at.mass > 0 ? at.b - at.u_b / at.mass : at.b; }

    std::vector<double> last() const {
        std::vector<double> w(static_cast<std::size_t>(n_));
        for (Index j = 0; j < n_; ++j) w[static_cast<std::size_t>(j)] = v_of(j) * at.scale;
        return w;
    }

    // Goes on from the given model with an empty average.
    void restart(const std::vector<double>& w, double b) {
        const double* next = w.data();
        each([&](auto& v, auto& u) { v = rounded_like(v, *next++), u = 0; });
        at.scale = 1.0;
        at.spent = at.mass = at.u_b = 0.0;
        at.b = b;
        at.square_norm = exact_square_norm();
    }

    // The numbers of a sparse row's columns, for a row that comes soon.
    template <class Row>
    STEELYARD_INLINE void prefetch([[maybe_unused]] const Row& row) const {
#if defined(STEELYARD_GNU)
        const Column* const all = columns_.data();
        row.columns.visit([&](const auto* columns) STEELYARD_INLINE_LAMBDA {
            for (Index k = 0; k < row.size; ++k) __builtin_prefetch(all + static_cast<Index>(columns[k]));
        });
#endif
    }

private:
    Index n_ = 0, stride_ = 0;
    bool adaptive_ = false;
    // v, then u, then, for steps per coordinate, the squares, each on whole cache lines; or all of them by columns.
    LargeVector<double> numbers_;
    LargeVector<Column> columns_;

    std::size_t size_of_numbers() const { return static_cast<std::size_t>(stride_ * (adaptive_ ? 3 : 2)); }

    STEELYARD_INLINE double* v() { return numbers_.data(); }
    STEELYARD_INLINE const double* v() const { return numbers_.data(); }
    STEELYARD_INLINE double* u() { return numbers_.data() + stride_; }
    STEELYARD_INLINE const double* u() const { return numbers_.data() + stride_; }
    STEELYARD_INLINE double* squares() { return numbers_.data() + 2 * stride_; }

    STEELYARD_INLINE double v_of(Index j) const {
        return is_side_by_side() ? static_cast<double>(columns_[static_cast<std::size_t>(j)].v) : v()[j];
    }
    STEELYARD_INLINE double u_of(Index j) const {
        return is_side_by_side() ? static_cast<double>(columns_[static_cast<std::size_t>(j)].u) : u()[j];
    }
    // f(v, u) for each column.
    template <class F>
    void each(F&& f) {
        for (Column& column : columns_) f(column.v, column.u);
        if (!is_side_by_side())
            for (Index j = 0; j < n_; ++j) f(v()[j], u()[j]);
    }
    static float rounded_like(float, double x) { return Column::rounded(x); }
    static double rounded_like(double, double x) { return x; }

    // Where the numbers of a column are, for a step.
    struct InTurn {
        double *v, *u, *squares;
        STEELYARD_INLINE double square(Index j) const { return squares[j]; }
        STEELYARD_INLINE void move(Index j, double sum, double d, double spent) const {
            squares[j] = sum;
            v[j] += d;
            u[j] += spent * d;
        }
    };
    struct InColumns {
        Column* columns;
        STEELYARD_INLINE double square(Index j) const { return columns[j].square; }
        STEELYARD_INLINE void move(Index j, double sum, double d, double spent) const {
            columns[j].move(sum, d, spent);
        }
    };
    template <class Row, class Numbers>
    STEELYARD_INLINE void sparse_step(const Row& row, double gg, double pull, double spent, const Numbers& numbers) {
        constexpr Index most = 128;  // entries at a time: two kilobytes on the stack
        double sum[most], d[most];
        for (Index start = 0; start < row.size; start += most) {
            const Index n = std::min(most, row.size - start);
            const auto* const values = row.values + start;
            row.columns.from(start).visit([&](const auto* columns) STEELYARD_INLINE_LAMBDA {
                for (Index k = 0; k < n; ++k) {
                    const double x = static_cast<double>(values[k]);
                    sum[k] = sum_after(numbers.square(static_cast<Index>(columns[k])), gg * x * x);
                    d[k] = pull * x * inverse_root(sum[k]);
                }
                for (Index k = 0; k < n; ++k) numbers.move(static_cast<Index>(columns[k]), sum[k], d[k], spent);
            });
        }
    }

    // With the partial sums of `DenseRow` and `SparseRow`.
    template <class Row>
    STEELYARD_INLINE double dot_apart(const Row& row) const {
        const Column* const all = columns_.data();
        if constexpr (Row::is_dense) {
            double sum[4] = {0, 0, 0, 0};
            for (Index j = 0; j < row.size; ++j)
                sum[j % 4] += static_cast<double>(row.values[j]) * static_cast<double>(all[j].v);
            return (sum[0] + sum[1]) + (sum[2] + sum[3]);
        } else {
            return row.columns.visit([&](const auto* columns) STEELYARD_INLINE_LAMBDA {
                double sum[4] = {0, 0, 0, 0};
                const auto x = [&](Index k) STEELYARD_INLINE_LAMBDA {
                    return static_cast<double>(row.values[k]) *
                           static_cast<double>(all[static_cast<Index>(columns[k])].v);
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
