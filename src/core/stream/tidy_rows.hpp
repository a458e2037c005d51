// Rows as the stream's steps want them: every column inside the matrix, none named twice.
//
// A sparse row may name a column twice, meaning the sum. A step per coordinate would take the two for two features of
// one weight, so such a row is merged in scratch space first. Columns that rise need no more than a look at the first
// and the last; only where they do not, a mark for each column tells whether one comes twice.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <type_traits>
#include <vector>

#include "base/rows.hpp"

namespace steelyard {

// Whether the columns rise and lie inside.
template <class Row>
STEELYARD_INLINE bool is_tidy(const Row& row, Index n_stored) {
    if constexpr (Row::is_dense) {
        return true;
    } else {
        return row.columns.visit([&](const auto* at) STEELYARD_INLINE_LAMBDA {
            std::decay_t<decltype(*at)> falls = 0;  // as wide as the columns, so that they are compared side by side
            for (Index k = 1; k < row.size; ++k) falls |= at[k - 1] >= at[k];
            return falls == 0 && (row.size == 0 || (at[0] >= 0 && at[row.size - 1] < n_stored));
        });
    }
}

// For each type of rows; dense ones are tidy by nature.
template <class Row>
struct Merged {
    const Row& operator()(const Row& row, Index) { return row; }  // NOLINT(bugprone-return-const-ref-from-parameter)
};

template <class T>
class Merged<SparseRow<T>> {
public:
    // A row whose columns lie inside; what comes back is good until the next call.
    SparseRow<T> operator()(const SparseRow<T>& row, Index n_stored) {
        if (!names_twice(row, n_stored)) return row;
        order_.resize(static_cast<std::size_t>(row.size));
        std::iota(order_.begin(), order_.end(), Index{0});
        std::stable_sort(order_.begin(), order_.end(),
                         [&](Index a, Index b) { return row.columns[a] < row.columns[b]; });
        values_.clear(), columns_.clear();
        for (const Index k : order_) {
            const Index column = row.columns[k];
            if (!columns_.empty() && columns_.back() == column)
                values_.back() += row.values[k];
            else
                values_.push_back(row.values[k]), columns_.push_back(column);
        }
        return {values_.data(), columns_.data(), static_cast<Index>(values_.size())};
    }

private:
    std::vector<std::uint32_t> last_;  // for each column, the number of the row that named it last
    std::uint32_t number_ = 0;
    std::vector<Index> order_;
    std::vector<T> values_;
    std::vector<std::int64_t> columns_;

    bool names_twice(const SparseRow<T>& row, Index n_stored) {
        if (last_.empty() || ++number_ == 0) last_.assign(static_cast<std::size_t>(n_stored), 0), number_ = 1;
        bool twice = false;
        for (Index k = 0; k < row.size; ++k) {
            std::uint32_t& last = last_[static_cast<std::size_t>(row.columns[k])];
            twice = twice || last == number_;
            last = number_;
        }
        return twice;
    }
};

}  // namespace steelyard
