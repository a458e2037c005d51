// All rows where they lie, asked as chosen ones are (chosen.hpp): for Newton where no choice of rows serves.
//
// With a few rows far out, as counts standardised to a hundred deviations are, a sample does not stand for the others,
// and the rounds of lockstep.hpp do not come to an end. Newton on all rows does, in some twenty steps, each three looks
// at a row: dearer than a pass and far cheaper than the hundreds of sweeps that coordinate descent needs there. Nothing
// is packed, so memory is a few numbers a row.
#pragma once

#include "linear/chosen.hpp"

namespace steelyard {

template <class R>
class WholeRows : public ChosenRows {
public:
    static constexpr bool is_sparse = false;
    WholeRows(const R& rows, const double* y, const double* weight_of) : rows_(rows), y_(y) {
        begin(rows.n_rows, rows.n_cols);
        for (Index i = 0; i < n; ++i) {
            positive[i] = y[i] > 0;
            weight[i] = weight_of ? weight_of[i] : 1.0;
        }
        if constexpr (R::is_dense) {
            x_.resize(static_cast<std::size_t>(d * block_step));
            row_.assign(static_cast<std::size_t>(row_step(d)), 0.0);
        } else {  // all the room that a row can need: nothing may be thrown where it is filled
            columns_.reserve(static_cast<std::size_t>(d));
            values_.reserve(static_cast<std::size_t>(d));
        }
    }

    STEELYARD_INLINE void margins(Index b, const double* w, double* m) const {
        const Index first = b * block_rows, count = std::min(block_rows, n - first);
        if constexpr (R::is_dense) {
            load(first, count);
            Columns::margins(x_.data(), d, w, m);
        } else {
            for (Index r = 0; r < count; ++r) m[r] = rows_.row(first + r).dot(w);
            std::fill(m + count, m + block_rows, 0.0);
        }
        for (Index r = 0; r < count; ++r) m[r] *= y_[first + r];
    }
    STEELYARD_INLINE void pull(Index b, const double* f, double* v) const {
        const Index first = b * block_rows, count = std::min(block_rows, n - first);
        double force[block_rows] = {};
        for (Index r = 0; r < count; ++r) force[r] = f[r] * y_[first + r];
        if constexpr (R::is_dense) {
            load(first, count);
            Columns::pull(x_.data(), d, force, v);
        } else {
            for (Index r = 0; r < count; ++r)
                if (force[r] != 0)
                    rows_.row(first + r).each([&](Index j, double value) { v[4 * j] += force[r] * value; });
        }
    }
    STEELYARD_INLINE void add_to(Gram& gram, Index i, double c) const {  // the label's square is one
        if constexpr (R::is_dense) {
            rows_.row(i).each([&](Index j, double value) STEELYARD_INLINE_LAMBDA { row_[j] = value; });
            gram.add(row_.data(), c);
        } else {
            columns_.clear();
            values_.clear();
            rows_.row(i).each([&](Index j, double value) {
                columns_.push_back(static_cast<std::int32_t>(j));
                values_.push_back(value);
            });
            gram.add(columns_.data(), values_.data(), static_cast<Index>(values_.size()), c);
        }
    }

private:
    STEELYARD_INLINE void load(Index first, Index count) const {
        for (Index r = 0; r < count; ++r) look_ahead(rows_, first + r, n);
        load_block(rows_, first, count, x_.data());
    }

    const R rows_;  // a view
    const double* y_;
    mutable std::vector<double> x_, row_, values_;  // scratch: each thread has its own
    mutable std::vector<std::int32_t> columns_;
};

}  // namespace steelyard
