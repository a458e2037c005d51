// The data matrix, one row at a time: dense or CSR, float32 or float64, any indices, whole or as a view, as one code
// path.
//
// A kernel is a template over the matrix type; `visit(rows, kernel)` picks the instance once, outside the loop. A row
// knows how to take its inner product with a weight vector, how to be added to one, and how to be prefetched.
//
// A view costs nothing but its row numbers: `which` says which rows of the matrix it has (folds, samples, held-out
// parts), and `constant`, where it is not zero, is the value of one more column behind the last, in every row. So an
// intercept is a weight like any other, and nobody appends ones. The widths of the indices and the view are decided by
// a branch a row that always goes the same way: a template parameter for each would multiply the code by eight.
//
// Nothing is owned, copied or checked here: `bind/rows.hpp` keeps the owners alive and has checked them.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/simd.hpp"

namespace steelyard {

using Index = std::int64_t;

template <class T>
STEELYARD_INLINE void prefetch_range([[maybe_unused]] const T* start, [[maybe_unused]] Index n) {
#if defined(STEELYARD_GNU)
    constexpr Index per_line = 64 / static_cast<Index>(sizeof(T));  // numbers in a cache line
    for (Index k = 0; k < n; k += per_line) __builtin_prefetch(start + k);
#endif
}

// Indices as they come: of 32 bits or, where `narrow` is null, of 64.
struct Indices {
    const std::int32_t* narrow = nullptr;
    const std::int64_t* wide = nullptr;

    Indices() = default;
    Indices(const std::int32_t* at) : narrow(at) {}  // NOLINT(google-explicit-constructor)
    Indices(const std::int64_t* at) : wide(at) {}    // NOLINT(google-explicit-constructor)

    STEELYARD_INLINE Index operator[](Index k) const { return narrow ? static_cast<Index>(narrow[k]) : wide[k]; }
    STEELYARD_INLINE Indices from(Index k) const {
        Indices moved;
        if (narrow)
            moved.narrow = narrow + k;
        else
            moved.wide = wide + k;
        return moved;
    }
    // f(pointer to the first): one loop for each width.
    template <class F>
    STEELYARD_INLINE auto visit(F&& f) const {
        return narrow ? f(narrow) : f(wide);
    }
    STEELYARD_INLINE void prefetch(Index n) const {
        visit([n](const auto* at) STEELYARD_INLINE_LAMBDA { prefetch_range(at, n); });
    }
};

template <class T>
struct DenseRow {
    static constexpr bool is_dense = true;
    const T* values;
    Index size;           // stored columns
    double constant = 0;  // of the column behind them, if not zero

    // Partial sums: the compiler may not reassociate a sum on its own, and one chain of additions would wait for
    // itself. Eight are one vector of the widest machines, which is one chain there: so they are sixteen, while there
    // are so many columns, and then eight.
    STEELYARD_INLINE double dot(const double* w) const {
        double sum[8] = {0, 0, 0, 0, 0, 0, 0, 0}, also[8] = {0, 0, 0, 0, 0, 0, 0, 0};
        Index j = 0;
        for (; j + 16 <= size; j += 16)
            for (int k = 0; k < 8; ++k) {
                sum[k] += static_cast<double>(values[j + k]) * w[j + k];
                also[k] += static_cast<double>(values[j + 8 + k]) * w[j + 8 + k];
            }
        for (int k = 0; k < 8; ++k) sum[k] += also[k];
        for (; j + 8 <= size; j += 8)
            for (int k = 0; k < 8; ++k) sum[k] += static_cast<double>(values[j + k]) * w[j + k];
        if (j + 4 <= size) {
            for (int k = 0; k < 4; ++k) sum[k] += static_cast<double>(values[j + k]) * w[j + k];
            j += 4;
        }
        for (; j < size; ++j) sum[4] += static_cast<double>(values[j]) * w[j];
        if (constant != 0) sum[5] += constant * w[size];
        return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
    }

    STEELYARD_INLINE void add_to(double* w, double scale) const {
        for (Index j = 0; j < size; ++j) w[j] += scale * static_cast<double>(values[j]);
        if (constant != 0) w[size] += scale * constant;
    }

    STEELYARD_INLINE bool inside(Index n_stored) const { return size == n_stored; }

    // f(column, value) for each entry, zeros included.
    template <class F>
    STEELYARD_INLINE void each(F&& f) const {
        for (Index j = 0; j < size; ++j) f(j, static_cast<double>(values[j]));
        if (constant != 0) f(size, constant);
    }
};

template <class T>
struct SparseRow {
    static constexpr bool is_dense = false;
    const T* values;
    Indices columns;
    Index size;             // stored entries
    double constant = 0;    // of one more column, if not zero
    Index constant_at = 0;  // which column that is

    STEELYARD_INLINE double dot(const double* w) const {
        const double stored = columns.visit([&](const auto* at) STEELYARD_INLINE_LAMBDA {
            double sum[4] = {0, 0, 0, 0};
            Index k = 0;
            for (; k + 4 <= size; k += 4)
                for (int m = 0; m < 4; ++m) sum[m] += static_cast<double>(values[k + m]) * w[at[k + m]];
            for (; k < size; ++k) sum[0] += static_cast<double>(values[k]) * w[at[k]];
            return (sum[0] + sum[1]) + (sum[2] + sum[3]);
        });
        return constant != 0 ? stored + constant * w[constant_at] : stored;
    }

    STEELYARD_INLINE void add_to(double* w, double scale) const {
        columns.visit([&](const auto* at) STEELYARD_INLINE_LAMBDA {
            for (Index k = 0; k < size; ++k) w[at[k]] += scale * static_cast<double>(values[k]);
        });
        if (constant != 0) w[constant_at] += scale * constant;
    }

    // Whether all columns exist: a bad index would be a bad address.
    STEELYARD_INLINE bool inside(Index n_stored) const {
        return columns.visit([&](const auto* at) STEELYARD_INLINE_LAMBDA {
            using Unsigned = std::make_unsigned_t<std::decay_t<decltype(*at)>>;
            Unsigned largest = 0;
            for (Index k = 0; k < size; ++k) {
                const auto column = static_cast<Unsigned>(at[k]);
                largest = column > largest ? column : largest;
            }
            return size == 0 || static_cast<std::uint64_t>(largest) < static_cast<std::uint64_t>(n_stored);
        });
    }

    // f(column, value) for each stored entry.
    template <class F>
    STEELYARD_INLINE void each(F&& f) const {
        columns.visit([&](const auto* at) STEELYARD_INLINE_LAMBDA {
            for (Index k = 0; k < size; ++k) f(static_cast<Index>(at[k]), static_cast<double>(values[k]));
        });
        if (constant != 0) f(constant_at, constant);
    }
};

// 0 * NaN and 0 * inf are NaN, and a NaN stays one in a sum; partial sums as in `dot`.
template <class Row>
STEELYARD_INLINE bool is_finite(const Row& row) {
    using T = std::decay_t<decltype(*row.values)>;
    T sum[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    Index j = 0;
    for (; j + 8 <= row.size; j += 8)
        for (int k = 0; k < 8; ++k) sum[k] += T(0) * row.values[j + k];
    for (; j < row.size; ++j) sum[0] += T(0) * row.values[j];
    return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7])) == T(0);
}

// Which rows of a matrix, in which order, and what stands behind their last column.
struct View {
    const Index* which = nullptr;  // row i of the view is row which[i] of the matrix; null: all of them
    Index n_rows = 0;
    double constant = 0;
};

template <class T>
struct DenseRows {
    using Number = T;
    static constexpr bool is_dense = true;
    const T* values;
    Index n_rows, n_cols;    // of the view, the constant counted in
    Index n_stored, stride;  // columns in memory, and numbers from one row to the next
    const Index* which = nullptr;
    double constant = 0;

    DenseRows(const T* at, Index rows, Index columns) : DenseRows(at, rows, columns, columns) {}
    DenseRows(const T* at, Index rows, Index columns, Index step)
        : values(at), n_rows(rows), n_cols(columns), n_stored(columns), stride(step) {}

    Index n_entries() const { return n_rows * n_cols; }
    STEELYARD_INLINE const T* start(Index i) const { return values + (which ? which[i] : i) * stride; }
    STEELYARD_INLINE DenseRow<T> row(Index i) const { return {start(i), n_stored, constant}; }
    STEELYARD_INLINE void prefetch(Index i) const { prefetch_range(start(i), n_stored); }
};

template <class T>
struct SparseRows {
    using Number = T;
    static constexpr bool is_dense = false;
    const T* values;
    Indices columns, starts;  // starts: one more than there are rows
    Index n_rows, n_cols, n_stored;
    const Index* which = nullptr;
    double constant = 0;

    SparseRows(const T* at, Indices column, Indices start, Index rows, Index width)
        : values(at), columns(column), starts(start), n_rows(rows), n_cols(width), n_stored(width) {}

    Index n_entries() const {
        if (!which) return (n_rows > 0 ? starts[n_rows] - starts[0] : 0) + (constant != 0 ? n_rows : 0);
        Index sum = 0;
        for (Index i = 0; i < n_rows; ++i) sum += starts[which[i] + 1] - starts[which[i]] + (constant != 0);
        return sum;
    }
    STEELYARD_INLINE SparseRow<T> row(Index i) const {
        const Index k = which ? which[i] : i, start = starts[k];
        return {values + start, columns.from(start), starts[k + 1] - start, constant, n_stored};
    }
    STEELYARD_INLINE void prefetch(Index i) const {
        const Index k = which ? which[i] : i, start = starts[k], n = starts[k + 1] - start;
        prefetch_range(values + start, n);
        columns.from(start).prefetch(n);
    }
};

// In a pass over rows up to `end`, at row i: those of a view need not follow each other in memory, where the machine
// would see the next one coming. Eight rows are a few hundred nanoseconds, what memory takes to answer.
template <class Matrix>
STEELYARD_INLINE void look_ahead(const Matrix& rows, Index i, Index end) {
    constexpr Index ahead = 8;  // see above
    if (rows.which && i + ahead < end) rows.prefetch(i + ahead);
}

// The view of a matrix; one of a view looks through it.
template <class Matrix>
Matrix viewed(Matrix matrix, const View& view) {
    matrix.n_rows = view.which ? view.n_rows : matrix.n_rows;
    matrix.which = view.which;
    matrix.constant = view.constant;
    matrix.n_cols = matrix.n_stored + (view.constant != 0);
    return matrix;
}

using Rows = std::variant<DenseRows<float>, DenseRows<double>, SparseRows<float>, SparseRows<double>>;

template <class Kernel>
auto visit(const Rows& rows, Kernel&& kernel) {
    return std::visit(std::forward<Kernel>(kernel), rows);
}

}  // namespace steelyard
