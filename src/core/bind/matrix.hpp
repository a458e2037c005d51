// numpy and scipy matrices as `Rows`: dense row by row or CSR, float32 or float64, without a copy.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <type_traits>

#include "base/rows.hpp"

namespace steelyard {

namespace nb = nanobind;

using AnyMatrix = nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using AnyVector = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using AnyArray = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
using OptionalVector = std::optional<AnyVector>;

template <class Array>
Rows dense_rows(const Array& X) {
    if (X.ndim() != 2) throw std::invalid_argument("a dense matrix has two dimensions");
    const auto n = static_cast<Index>(X.shape(0)), d = static_cast<Index>(X.shape(1));
    if (X.dtype() == nb::dtype<double>()) return DenseRows<double>{static_cast<const double*>(X.data()), n, d};
    if (X.dtype() == nb::dtype<float>()) return DenseRows<float>{static_cast<const float*>(X.data()), n, d};
    throw std::invalid_argument("a dense matrix must hold float32 or float64");
}

inline Indices indices_of(const AnyVector& given) {
    if (given.dtype() == nb::dtype<std::int32_t>()) return static_cast<const std::int32_t*>(given.data());
    if (given.dtype() == nb::dtype<std::int64_t>()) return static_cast<const std::int64_t*>(given.data());
    throw std::invalid_argument("the indices of a CSR matrix must be int32 or int64");
}

template <class T, class Array>
Rows csr_rows(const Array& values, const AnyVector& columns, const AnyVector& starts, Index n_cols) {
    return SparseRows<T>(static_cast<const T*>(values.data()), indices_of(columns), indices_of(starts),
                         static_cast<Index>(starts.shape(0)) - 1, n_cols);
}

template <class T>
void check_csr(const SparseRows<T>& rows, Index n_values, Index n_columns) {
    if (rows.n_rows < 0 || rows.starts[0] < 0 || rows.starts[rows.n_rows] > n_values ||
        n_columns < rows.starts[rows.n_rows])
        throw std::invalid_argument("the row starts of a CSR matrix do not fit its data");
    for (Index i = 0; i < rows.n_rows; ++i)
        if (rows.starts[i] > rows.starts[i + 1]) throw std::invalid_argument("the row starts of a CSR matrix fall");
}

template <class Array>
Rows sparse_rows(const Array& values, const AnyVector& columns, const AnyVector& starts, Index n_cols) {
    if (starts.shape(0) < 1) throw std::invalid_argument("a CSR matrix needs row starts");
    const bool wide = values.dtype() == nb::dtype<double>();
    if (!wide && values.dtype() != nb::dtype<float>())
        throw std::invalid_argument("a CSR matrix must hold float32 or float64");
    const Rows rows =
        wide ? csr_rows<double>(values, columns, starts, n_cols) : csr_rows<float>(values, columns, starts, n_cols);
    const auto n_values = static_cast<Index>(values.shape(0)), n_columns = static_cast<Index>(columns.shape(0));
    std::visit(
        [&](const auto& matrix) {
            if constexpr (!std::is_same_v<std::decay_t<decltype(matrix)>, DenseRows<float>> &&
                          !std::is_same_v<std::decay_t<decltype(matrix)>, DenseRows<double>>)
                check_csr(matrix, n_values, n_columns);
        },
        rows);
    return rows;
}

// A matrix for a kernel that knows only some kinds: dense without columns, CSR with them. 64-bit indices double the
// code of a kernel, and 2^31 stored values do not fit a batch.
template <class Kinds>
Kinds rows_as(const AnyArray& values, const OptionalVector& columns, const OptionalVector& starts, Index n_cols) {
    const Rows rows = columns ? sparse_rows(values, *columns, starts.value(), n_cols) : dense_rows(values);
    return std::visit(
        [](const auto& matrix) -> Kinds {
            if constexpr (std::is_constructible_v<Kinds, decltype(matrix)>)
                return matrix;
            else
                throw std::invalid_argument("this kind of matrix is not taken here: convert its values or its indices");
        },
        rows);
}

}  // namespace steelyard
