// The data matrix, one row at a time: dense or CSR, float32 or float64, 32- or 64-bit indices, as one code path.
//
// A kernel is a template over the matrix type; `visit(rows, kernel)` picks the instance once, outside the loop. A row
// knows how to take its inner product with a weight vector, how to be added to one, and how to be prefetched.
// Nothing is owned or copied here.
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
#if defined(__GNUC__)
    constexpr Index per_line = 64 / static_cast<Index>(sizeof(T));
    for (Index k = 0; k < n; k += per_line) __builtin_prefetch(start + k);
#endif
}

template <class T>
struct DenseRow {
    static constexpr bool is_dense = true;
    const T* values;
    Index size;

    // Eight partial sums: the compiler may not reassociate a sum on its own, and one chain of additions would wait
    // for itself.
    STEELYARD_INLINE double dot(const double* w) const {
        double sum[8] = {0, 0, 0, 0, 0, 0, 0, 0};
        Index j = 0;
        for (; j + 8 <= size; j += 8)
            for (int k = 0; k < 8; ++k) sum[k] += static_cast<double>(values[j + k]) * w[j + k];
        if (j + 4 <= size) {
            for (int k = 0; k < 4; ++k) sum[k] += static_cast<double>(values[j + k]) * w[j + k];
            j += 4;
        }
        for (; j < size; ++j) sum[4] += static_cast<double>(values[j]) * w[j];
        return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
    }

    STEELYARD_INLINE void add_to(double* w, double scale) const {
        for (Index j = 0; j < size; ++j) w[j] += scale * static_cast<double>(values[j]);
    }

    STEELYARD_INLINE bool inside(Index n_cols) const { return size == n_cols; }

    // f(column, value) for each entry, zeros included.
    template <class F>
    STEELYARD_INLINE void each(F&& f) const {
        for (Index j = 0; j < size; ++j) f(j, static_cast<double>(values[j]));
    }
};

template <class T, class I>
struct SparseRow {
    static constexpr bool is_dense = false;
    const T* values;
    const I* columns;
    Index size;

    STEELYARD_INLINE double dot(const double* w) const {
        double sum[4] = {0, 0, 0, 0};
        Index k = 0;
        for (; k + 4 <= size; k += 4)
            for (int m = 0; m < 4; ++m) sum[m] += static_cast<double>(values[k + m]) * w[columns[k + m]];
        for (; k < size; ++k) sum[0] += static_cast<double>(values[k]) * w[columns[k]];
        return (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }

    STEELYARD_INLINE void add_to(double* w, double scale) const {
        for (Index k = 0; k < size; ++k) w[columns[k]] += scale * static_cast<double>(values[k]);
    }

    // Whether all columns exist: a bad index would be a bad address.
    STEELYARD_INLINE bool inside(Index n_cols) const {
        using Unsigned = std::make_unsigned_t<I>;
        Unsigned largest = 0;
        for (Index k = 0; k < size; ++k) {
            const auto column = static_cast<Unsigned>(columns[k]);
            largest = column > largest ? column : largest;
        }
        return size == 0 || largest < static_cast<Unsigned>(n_cols);
    }

    // f(column, value) for each stored entry.
    template <class F>
    STEELYARD_INLINE void each(F&& f) const {
        for (Index k = 0; k < size; ++k) f(static_cast<Index>(columns[k]), static_cast<double>(values[k]));
    }
};

// 0 * NaN and 0 * inf are NaN, and a NaN stays one in a sum.
template <class Row>
bool is_finite(const Row& row) {
    double sum = 0;
    row.each([&sum](Index, double x) { sum += 0.0 * x; });
    return sum == 0.0;
}

template <class T>
struct DenseRows {
    static constexpr bool is_dense = true;
    const T* values;  // n_rows x n_cols, row by row
    Index n_rows, n_cols;

    Index n_entries() const { return n_rows * n_cols; }
    STEELYARD_INLINE DenseRow<T> row(Index i) const { return {values + i * n_cols, n_cols}; }
    STEELYARD_INLINE void prefetch(Index i) const { prefetch_range(values + i * n_cols, n_cols); }
};

template <class T, class I>
struct SparseRows {
    static constexpr bool is_dense = false;
    const T* values;
    const I* columns;
    const I* starts;  // n_rows + 1
    Index n_rows, n_cols;

    Index n_entries() const { return n_rows > 0 ? static_cast<Index>(starts[n_rows] - starts[0]) : 0; }
    STEELYARD_INLINE SparseRow<T, I> row(Index i) const {
        return {values + starts[i], columns + starts[i], static_cast<Index>(starts[i + 1] - starts[i])};
    }
    STEELYARD_INLINE void prefetch(Index i) const {
        const Index n = static_cast<Index>(starts[i + 1] - starts[i]);
        prefetch_range(values + starts[i], n);
        prefetch_range(columns + starts[i], n);
    }
};

using Rows =
    std::variant<DenseRows<float>, DenseRows<double>, SparseRows<float, std::int32_t>, SparseRows<double, std::int32_t>,
                 SparseRows<float, std::int64_t>, SparseRows<double, std::int64_t>>;

template <class Kernel>
auto visit(const Rows& rows, Kernel&& kernel) {
    return std::visit(std::forward<Kernel>(kernel), rows);
}

}  // namespace steelyard
