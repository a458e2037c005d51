// A linear model w.x + b under stochastic steps, averaged, at a cost of O(non-zeros) a step.
//
// Kept are v, u and three numbers, with
//     w = scale v                                      so that weight decay touches one number,
//     sum_t c_t w_t = spent v - u                      with spent = sum_t c_t scale_t, the mass of the average.
// A step changes v by d, and u by spent d: the average needs no work for coordinates that do not move.
//
// The numbers of a column lie side by side where a sparse row would else wait for memory three times at each of its
// entries: with more columns than a cache holds (`Weights::wide`), each column is a quarter of a cache line, in which v
// and u are floats: what a step changes of them is far above their rounding, and 2^20 columns are 16 MB, which a third
// cache can hold, for 32. The squares, whose sum grows without end, stay doubles. Dense rows want v, u and the squares
// one after another.
//
// Steps are eta x (plain), or per coordinate in AdaGrad's way (stream/adaptive_step.hpp), with squares_j the sum of the
// squares of gradients.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/huge_pages.hpp"
#include "base/rows.hpp"
#include "base/simd.hpp"
#include "stream/adaptive_step.hpp"

namespace steelyard {

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
        const AdaptiveStep step(g, eta);
        squares_b = step.sum(squares_b, 1.0);
        move_intercept(step.length(1.0, squares_b));
    }
};

// A column of a wide model.
struct Column {
    float v, u;
    double square;

    // Finite for rows of any scale.
    static STEELYARD_INLINE float as_float(double x) {
        constexpr double most = 3e38;  // of a float
        return static_cast<float>(std::min(std::max(x, -most), most));
    }
    STEELYARD_INLINE void move(double sum, double d, double spent) {
        square = sum;
        v = as_float(static_cast<double>(v) + d);
        u = as_float(static_cast<double>(u) + spent * d);
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
        n_begun_ = 0;
        if (saved.size() != (side_by_side ? static_cast<std::size_t>(4 * n_) : size_of_numbers())) return false;
        columns_ = LargeVector<Column>(static_cast<std::size_t>(side_by_side ? n_ : 0));
        for (std::size_t j = 0; j < columns_.size(); ++j)
            columns_[j] = {Column::as_float(saved[4 * j]), Column::as_float(saved[4 * j + 1]), saved[4 * j + 2]};
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
        const AdaptiveStep step(g, eta / at.scale);
        if constexpr (!Row::is_dense) {
            if (is_side_by_side()) return sparse_step(row, step, at.spent, InColumns{columns_.data()});
            sparse_step(row, step, at.spent, InTurn{v(), u(), squares()});
        } else {
            if (!is_side_by_side())
                return n_begun_ == n_ ? dense_step<true>(row, step, at.spent) : dense_step<false>(row, step, at.spent);
            for (Index j = 0; j < row.size; ++j) {
                const double x = static_cast<double>(row.values[j]), sum = step.sum(columns_[j].square, x);
                columns_[j].move(sum, step.length(x, sum), at.spent);
            }
        }
    }
    // Now and then: whether every coordinate has had its first gradient, so that dense rows need not ask. Those that
    // had it by the last time are not looked at again.
    STEELYARD_INLINE void look_whether_begun() {
        if (!adaptive_ || is_side_by_side()) return;
        while (n_begun_ < n_ && squares()[n_begun_] > 0.0) ++n_begun_;
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
            u = as(u, u - at.spent * v);  // what was spent is settled: divided by the scale it would overflow
            v = as(v, v * at.scale);
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
        each([&](auto& v, auto& u) { v = as(v, *next++), u = 0; });
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
    Index n_begun_ = 0;  // so many coordinates, from the first one on, have had a gradient
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
    static float as(float, double x) { return Column::as_float(x); }
    static double as(double, double x) { return x; }

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
    template <bool begun, class Row>
    STEELYARD_INLINE void dense_step(const Row& row, const AdaptiveStep& step, double spent) {
        double *const sums = squares(), *const vs = v(), *const us = u();
        const auto* const values = row.values;
        STEELYARD_NO_OVERLAP
        for (Index j = 0; j < row.size; ++j) {
            const double x = static_cast<double>(values[j]), sum = step.template sum<begun>(sums[j], x);
            const double d = step.length(x, sum);
            sums[j] = sum;
            vs[j] += d;
            us[j] += spent * d;
        }
    }
    template <class Row, class Numbers>
    STEELYARD_INLINE void sparse_step(const Row& row, const AdaptiveStep& step, double spent, const Numbers& numbers) {
        constexpr Index most = 128;  // entries at a time: two kilobytes on the stack
        double sum[most], d[most];
        for (Index start = 0; start < row.size; start += most) {
            const Index n = std::min(most, row.size - start);
            const auto* const values = row.values + start;
            row.columns.from(start).visit([&](const auto* columns) STEELYARD_INLINE_LAMBDA {
                for (Index k = 0; k < n; ++k) {
                    const double x = static_cast<double>(values[k]);
                    sum[k] = step.sum(numbers.square(static_cast<Index>(columns[k])), x);
                    d[k] = step.length(x, sum[k]);
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
