// `Rows` for Python: how they are made of arrays, what is wrong with them, and the operations that engines ask of them.
#include "bind/rows.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <stdexcept>
#include <string>
#include <tuple>

#include "base/products.hpp"
#include "base/sizes.hpp"
#include "bind/arrays.hpp"
#include "bind/stop.hpp"

namespace steelyard {

namespace {

using AnyMatrix = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;
using AnyVector = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using RowNumbers = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

Indices indices_of(const AnyVector& given, const char* what) {
    if (given.dtype() == nb::dtype<std::int32_t>()) return static_cast<const std::int32_t*>(given.data());
    if (given.dtype() == nb::dtype<std::int64_t>()) return static_cast<const std::int64_t*>(given.data());
    throw std::invalid_argument(std::string("the ") + what + " of a CSR matrix must be int32 or int64");
}

RowsIn dense(const AnyMatrix& X) {
    const auto n = static_cast<Index>(X.shape(0)), d = static_cast<Index>(X.shape(1));
    if (n > 0 && d > 1 && X.stride(1) != 1)
        throw std::invalid_argument("the numbers of a dense row must lie side by side");
    const auto make = [&](auto kind) -> Rows {
        using T = decltype(kind);
        return DenseRows<T>(static_cast<const T*>(X.data()), n, d, n > 1 ? X.stride(0) : d);
    };
    if (X.dtype() == nb::dtype<double>()) return {make(double()), nb::cast(X)};
    if (X.dtype() == nb::dtype<float>()) return {make(float()), nb::cast(X)};
    throw std::invalid_argument("a dense matrix must hold float32 or float64");
}

// Row starts that rise from 0 or more and end within the data.
void check_starts(const Indices& starts, Index n_rows, Index n_entries) {
    if (starts[0] < 0 || starts[n_rows] > n_entries)
        throw std::invalid_argument("the row starts (indptr) of a CSR matrix do not fit its data");
    for (Index i = 0; i < n_rows; ++i)
        if (starts[i] > starts[i + 1])
            throw std::invalid_argument("the row starts (indptr) of a CSR matrix fall at row " + std::to_string(i));
}

RowsIn csr(const AnyVector& values, const AnyVector& columns, const AnyVector& starts, Index n_cols) {
    if (starts.shape(0) < 1) throw std::invalid_argument("a CSR matrix needs row starts (indptr)");
    if (values.shape(0) != columns.shape(0))
        throw std::invalid_argument("a CSR matrix needs one column index for every value");
    if (n_cols < 0) throw std::invalid_argument("a matrix has no negative number of columns");
    const auto n = static_cast<Index>(starts.shape(0)) - 1;
    const Indices column = indices_of(columns, "column indices"), start = indices_of(starts, "row starts");
    check_starts(start, n, static_cast<Index>(values.shape(0)));
    const nb::object owners = nb::make_tuple(values, columns, starts);
    if (values.dtype() == nb::dtype<double>())
        return {SparseRows<double>(static_cast<const double*>(values.data()), column, start, n, n_cols), owners};
    if (values.dtype() == nb::dtype<float>())
        return {SparseRows<float>(static_cast<const float*>(values.data()), column, start, n, n_cols), owners};
    throw std::invalid_argument("a CSR matrix must hold float32 or float64");
}

// Rows `which` of the matrix itself (not of the view that `rows` may be), and a constant column behind the last.
RowsIn view(const RowsIn& rows, const std::optional<RowNumbers>& which, double constant) {
    return visit(*rows, [&](const auto& x) -> RowsIn {
        auto whole = x;
        if (!which) return {viewed(whole, {x.which, x.n_rows, constant}), rows.owners()};
        const auto count = static_cast<Index>(which->shape(0));
        if (x.which) throw std::invalid_argument("a view is made of the whole matrix");
        for (Index i = 0; i < count; ++i)
            if ((*which)(i) < 0 || (*which)(i) >= x.n_rows)
                throw nb::index_error(
                    ("row " + std::to_string((*which)(i)) + " of a matrix with " + std::to_string(x.n_rows) + " rows")
                        .c_str());
        return {viewed(whole, {which->data(), count, constant}), nb::make_tuple(rows.owners(), *which)};
    });
}

// (fault, row) of the first row that is not as it should be: "" where all are.
std::tuple<std::string, Index> first_fault(const RowsIn& rows, int n_threads, bool values) {
    const Fault fault = without_gil([&](const Stop& stop) {
        return visit(*rows, [&](const auto& x) { return find_fault(x, stop, {n_threads, values}); });
    });
    return {fault.what, fault.row};
}

OwnedMatrix scores(const RowsIn& rows, Matrix W, int n_threads) {
    if (static_cast<Index>(W.shape(1)) != rows.n_cols()) throw std::invalid_argument("a model has one number a column");
    const auto count = static_cast<Index>(W.shape(0));
    std::vector<double> out(numbers_of(rows.n_rows(), count));
    without_gil([&](const Stop& stop) {
        visit(*rows, [&](const auto& x) { multiply(x, {W.data(), count}, out.data(), n_threads, stop); });
    });
    return own(std::move(out), static_cast<std::size_t>(rows.n_rows()), static_cast<std::size_t>(count));
}

OwnedMatrix sums(const RowsIn& rows, Matrix coefficients, int n_threads) {
    const auto count = static_cast<Index>(coefficients.shape(0));
    rows.check_length(coefficients.shape(1), "coefficients");
    std::vector<double> out(numbers_of(count, rows.n_cols()), 0.0);
    without_gil([&](const Stop& stop) {
        visit(*rows, [&](const auto& x) { add_up(x, {coefficients.data(), count}, out.data(), n_threads, stop); });
    });
    return own(std::move(out), static_cast<std::size_t>(count), static_cast<std::size_t>(rows.n_cols()));
}

OwnedVector squared_norms(const RowsIn& rows) {
    std::vector<double> out(static_cast<std::size_t>(rows.n_rows()));
    without_gil([&](const Stop& stop) { visit(*rows, [&](const auto& x) { square(x, out.data(), stop); }); });
    return own(std::move(out));
}

}  // namespace

void RowsIn::check_length(std::size_t length, const char* what) const {
    if (static_cast<Index>(length) == n_rows()) return;
    throw std::invalid_argument(std::string(what) + " has " + std::to_string(length) + " entries; there are " +
                                std::to_string(n_rows()) + " rows");
}

void bind_rows(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<RowsIn>(m, "Rows", "Rows of numbers in memory, or a view of them; see steelyard/rows.py.")
        .def_static("dense", &dense, "X"_a, "float32 or float64, each row in one piece.")
        .def_static("csr", &csr, "values"_a, "columns"_a, "starts"_a, "n_cols"_a)
        .def("view", &view, "which"_a.none(), "constant"_a,
             "Rows `which` (None: those it has), with one more column of this constant unless it is 0.")
        .def("first_fault", &first_fault, "n_threads"_a = 1, "values"_a = true,
             "What is wrong (\"\" if nothing), and in which row; without `values` of the columns of CSR only.")
        .def("scores", &scores, "W"_a, "n_threads"_a, "x_i . w for every row i (down) and every w (across).")
        .def("sums", &sums, "coefficients"_a, "n_threads"_a, "sum_i a_i x_i, one for each row of coefficients.")
        .def("squared_norms", &squared_norms, "|x_i|^2.")
        .def_prop_ro("n_rows", &RowsIn::n_rows)
        .def_prop_ro("n_cols", &RowsIn::n_cols);
}

}  // namespace steelyard
