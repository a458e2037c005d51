// numpy and scipy matrices as `Rows`: dense or CSR, float32 or float64, whole or as a view, without a copy.
//
// `RowsIn` is what Python holds and every binding takes: the matrix, its view, and the arrays they point into, kept
// alive. Shapes, dtypes and row starts are checked when it is made, so that no row lies outside its arrays; what the
// numbers and the columns are is checked by `first_fault`, once, or by the stream's loop as it reads them.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <optional>
#include <utility>

#include "base/rows.hpp"

namespace steelyard {

namespace nb = nanobind;

class RowsIn {
public:
    RowsIn(const Rows& rows, nb::object owners) : rows_(rows), owners_(std::move(owners)) {}

    const Rows& operator*() const { return rows_; }
    const nb::object& owners() const { return owners_; }
    Index n_rows() const {
        return visit(rows_, [](const auto& x) { return x.n_rows; });
    }
    Index n_cols() const {
        return visit(rows_, [](const auto& x) { return x.n_cols; });
    }

    // Throws unless an array has one entry for every row.
    void check_length(std::size_t length, const char* what) const;

private:
    Rows rows_;
    nb::object owners_;
};

void bind_rows(nb::module_& m);

}  // namespace steelyard
