// Some rows, each times its label, in a form of their own for the many passes that Newton makes over them.
//
// Both kinds answer the same questions, 64 rows at a time: margins, forces pulled together (four sums a column, added
// up by who asked), a row's part of a Hessian. Each row has how much it counts for: its sample weight times how many
// rows it stands for. The last block is filled up with rows that count for nothing.
#pragma once

#include <type_traits>

#include "base/huge_pages.hpp"
#include "base/stop.hpp"
#include "linear/columns.hpp"

namespace steelyard {

struct ChosenRows {
    Index n = 0, d = 0;
    std::vector<double> weight;
    std::vector<char> positive;

    Index n_blocks() const { return (n + block_rows - 1) / block_rows; }

protected:
    void begin(Index rows, Index columns) {
        n = rows;
        d = columns;
        positive.assign(static_cast<std::size_t>(n_blocks() * block_rows), 0);
        weight.assign(positive.size(), 0.0);
    }
};

// The same numbers twice: column by column in blocks, and row by row, here as they were given, T, since a row is copied
// for its part of a Hessian anyway. (There a constant column may be off by the rounding of a float.)
template <class T>
class DenseChosen : public ChosenRows {
public:
    static constexpr bool is_sparse = false;
    static constexpr double bytes = sizeof(double) + sizeof(T);  // that a number takes

    STEELYARD_INLINE void margins(Index b, const double* w, double* m) const { Columns::margins(block(b), d, w, m); }
    STEELYARD_INLINE void pull(Index b, const double* f, double* v) const { Columns::pull(block(b), d, f, v); }
    STEELYARD_INLINE void add_to(Gram& gram, Index i, double c) const { gram.add(by_row_.data() + i * row_step(d), c); }

    template <class R>
    void take(const R& rows, const double* y, const std::vector<Index>& which, const Stop* stop) {
        begin(static_cast<Index>(which.size()), rows.n_cols);
        make_room(x_, n_blocks() * d * block_step);
        make_room(by_row_, n * row_step(d));
        for (Index b = 0; b < n_blocks(); ++b) {
            check(stop);
            const Index first = b * block_rows, count = std::min(block_rows, n - first);
            double* const x = x_.data() + b * d * block_step;
            if (count < block_rows) std::fill(x, x + d * block_step, 0.0);
            for (Index r = 0; r < count; ++r) {
                const Index i = which[first + r];
                const double sign = y[i];
                if (first + r + ahead < n) rows.prefetch(which[first + r + ahead]);
                positive[first + r] = sign > 0;
                T* const row = by_row_.data() + (first + r) * row_step(d);
                std::fill(row + d, row + row_step(d), T(0));
                rows.row(i).each([&](Index j, double value) STEELYARD_INLINE_LAMBDA {
                    x[j * block_step + r] = sign * value;
                    row[j] = static_cast<T>(sign * value);
                });
            }
        }
    }

private:
    static constexpr Index ahead = 8;  // rows, as in `look_ahead`
    const double* block(Index b) const { return x_.data() + b * d * block_step; }

    // Tens of megabytes, all to be written anew: no copy of what was there, beside it, and no room to spare but for
    // small ones, up to four huge pages: each new place is zeroed by the system page by page (by perf 2 % of the grid
    // on letter, and 1 % with that room).
    template <class Number>
    static void make_room(LargeVector<Number>& numbers, Index size) {
        const auto wanted = static_cast<std::size_t>(size);
        if (numbers.capacity() < wanted) {
            constexpr std::size_t small = 4 * HugePages<Number>::page / sizeof(Number);  // these four pages
            LargeVector<Number>().swap(numbers);
            numbers.reserve(std::max(wanted, std::min(2 * wanted, small)));
        }
        numbers.resize(wanted);
    }

    LargeVector<double> x_;
    LargeVector<T> by_row_;
};

class SparseChosen : public ChosenRows {
public:
    static constexpr bool is_sparse = true;
    static constexpr double bytes = sizeof(double) + sizeof(std::int32_t);  // that a number takes

    STEELYARD_INLINE void margins(Index b, const double* w, double* m) const {
        for (Index r = 0; r < block_rows; ++r) {
            const Index i = std::min(n, b * block_rows + r);
            m[r] = dot(starts_[i], starts_[std::min(n, i + 1)], w);
        }
    }
    STEELYARD_INLINE void pull(Index b, const double* f, double* v) const {
        for (Index r = 0; r < std::min(block_rows, n - b * block_rows); ++r) {
            if (f[r] == 0) continue;
            const Index i = b * block_rows + r;
            for (Index k = starts_[i]; k < starts_[i + 1]; ++k) v[Index{4} * columns_[k]] += f[r] * values_[k];
        }
    }
    STEELYARD_INLINE void add_to(Gram& gram, Index i, double c) const {
        gram.add(columns_.data() + starts_[i], values_.data() + starts_[i], starts_[i + 1] - starts_[i], c);
    }

    Index size_of(Index i) const { return starts_[i + 1] - starts_[i]; }
    // q += c x (x.z), for row i
    STEELYARD_INLINE void add_product(Index i, double c, const double* z, double* q) const {
        const double force = c * dot(starts_[i], starts_[i + 1], z);
        for (Index k = starts_[i]; k < starts_[i + 1]; ++k) q[columns_[k]] += force * values_[k];
    }
    // The diagonal of c x x'.
    STEELYARD_INLINE void add_squares(Index i, double c, double* diagonal) const {
        for (Index k = starts_[i]; k < starts_[i + 1]; ++k) diagonal[columns_[k]] += c * values_[k] * values_[k];
    }

    template <class R>
    void take(const R& rows, const double* y, const std::vector<Index>& which, const Stop* stop) {
        begin(static_cast<Index>(which.size()), rows.n_cols);
        starts_.assign(1, 0);
        columns_.clear();
        values_.clear();
        for (Index at = 0; at < n; ++at) {
            if (at % block_rows == 0) check(stop);
            const double sign = y[which[at]];
            positive[at] = sign > 0;
            rows.row(which[at]).each([&](Index j, double value) {
                columns_.push_back(static_cast<std::int32_t>(j));
                values_.push_back(sign * value);
            });
            starts_.push_back(static_cast<Index>(values_.size()));
        }
    }

private:
    STEELYARD_INLINE double dot(Index k, Index end, const double* w) const {
        double sum[2] = {0, 0};
        for (; k + 2 <= end; k += 2) {
            sum[0] += values_[k] * w[columns_[k]];
            sum[1] += values_[k + 1] * w[columns_[k + 1]];
        }
        if (k < end) sum[0] += values_[k] * w[columns_[k]];
        return sum[0] + sum[1];
    }

    std::vector<Index> starts_;
    std::vector<std::int32_t> columns_;  // Newton is for few columns
    std::vector<double> values_;
};

template <class R>
using Chosen = std::conditional_t<R::is_dense, DenseChosen<typename R::Number>, SparseChosen>;

}  // namespace steelyard
