// Some rows of the data, laid out for products with a vector or two: eight rows side by side, so that one instruction
// works on as many rows as there are lanes, no sum waits for itself, and nothing is looked up.
//
//   dense    block of eight rows:  x_1j x_2j ... x_8j  for one column j after the other
//   sparse   the same for the entries: the t-th entries of eight rows and their columns, padded with zeros to the
//            longest of the eight
//
// A column that is constant is the same number for every row, and is added once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/lanes.hpp"
#include "base/rows.hpp"

namespace steelyard {

template <class R>
class PackedRows {
public:
    explicit PackedRows(const R& rows) : rows_(rows) {}

    void clear() {
        start_.clear();
        width_.clear();
        used_ = size_ = 0;
    }

    // One more row, with the number `size` of before.
    void add(Index i) {
        const auto x = rows_.row(i);
        if (size_ % lanes == 0 || x.size > width_.back()) open(x.size);
        const std::size_t at = start_.back() + size_++ % lanes;
        for (Index t = 0; t < x.size; ++t) put(at + static_cast<std::size_t>(t) * lanes, x, t);
    }

    // `count` more rows; the rows of a block are laid side by side column by column, which writes each line once.
    void add(const Index* which, std::size_t count) {
        for (; count > 0 && size_ % lanes != 0; --count) add(*which++);
        for (; count >= lanes; count -= lanes, which += lanes) {
            Index least = rows_.row(which[0]).size, most = least;
            for (std::size_t l = 1; l < lanes; ++l) {
                least = std::min(least, rows_.row(which[l]).size);
                most = std::max(most, rows_.row(which[l]).size);
            }
            start_.push_back(used_);
            width_.push_back(most);
            take(most);
            (this->*may_throw(&PackedRows::lay))(which, least, most);
            size_ += lanes;
        }
        for (; count > 0; --count) add(*which++);
    }

    // x.w and x.v of the rows of one block.
    STEELYARD_INLINE void both(std::size_t b, const double* w, const double* v, double* out, double* other) const {
        const bool is_constant = rows_.constant != 0;
        const double last = is_constant ? rows_.constant * w[rows_.n_stored] : 0,
                     of_other = is_constant ? rows_.constant * v[rows_.n_stored] : 0;
        Lanes sum[2] = {Lanes{} + last, Lanes{}}, sum_other[2] = {Lanes{} + of_other, Lanes{}};
        Index t = 0;
        for (; t + 2 <= width_[b]; t += 2)
            for (int k = 0; k < 2; ++k) {
                add(w, t + k, start_[b], sum[k]);
                add(v, t + k, start_[b], sum_other[k]);
            }
        for (; t < width_[b]; ++t) {
            add(w, t, start_[b], sum[0]);
            add(v, t, start_[b], sum_other[0]);
        }
        sum[0] += sum[1];
        sum_other[0] += sum_other[1];
        std::memcpy(out, &sum[0], sizeof(Lanes));
        std::memcpy(other, &sum_other[0], sizeof(Lanes));
    }

private:
    static constexpr std::size_t lanes = 8;  // doubles in the widest vector
    using Lanes = LanesOf<lanes>;

    // Room for the rest of a block, at least `width` entries a row. A longer row than the block has room for widens it.
    void open(Index width) {
        const bool is_new = size_ % lanes == 0;
        if (is_new) {
            start_.push_back(used_);
            width_.push_back(0);
        }
        const std::size_t before = used_;
        take(width - width_.back());  // only the last block ever grows
        width_.back() = width;
        std::fill(values_.begin() + static_cast<std::ptrdiff_t>(before),
                  values_.begin() + static_cast<std::ptrdiff_t>(used_), 0.0);
        if (!R::is_dense)
            std::fill(columns_.begin() + static_cast<std::ptrdiff_t>(before),
                      columns_.begin() + static_cast<std::ptrdiff_t>(used_), 0);
    }
    // Of memory that is not cleared: it is taken anew with every list.
    void take(Index width) {
        used_ += static_cast<std::size_t>(width) * lanes;
        if (used_ <= values_.size()) return;
        values_.resize(used_ + used_ / 2);
        if (!R::is_dense) columns_.resize(values_.size());
    }

    // The t-th entry of a row.
    template <class Row>
    STEELYARD_INLINE void put(std::size_t at, const Row& x, Index t) {
        values_[at] = static_cast<double>(x.values[t]);
        if constexpr (!R::is_dense) columns_[at] = static_cast<std::int32_t>(x.columns[t]);
    }

    // A whole block, the last: its rows have `least` to `most` entries.
    STEELYARD_CLONES void lay(const Index* which, Index least, Index most) {
        const std::size_t start = start_.back();
        const decltype(rows_.row(0)) x[lanes] = {rows_.row(which[0]), rows_.row(which[1]), rows_.row(which[2]),
                                                 rows_.row(which[3]), rows_.row(which[4]), rows_.row(which[5]),
                                                 rows_.row(which[6]), rows_.row(which[7])};
        for (Index t = 0; t < most; ++t) {
            const std::size_t at = start + static_cast<std::size_t>(t) * lanes;
            for (std::size_t l = 0; l < lanes; ++l) {
                const bool is_there = t < least || t < x[l].size;
                values_[at + l] = is_there ? static_cast<double>(x[l].values[t]) : 0.0;
                if constexpr (!R::is_dense)
                    columns_[at + l] = is_there ? static_cast<std::int32_t>(x[l].columns[t]) : 0;
            }
        }
    }

    // The t-th entries of a block times what they are multiplied with.
    STEELYARD_INLINE void add(const double* w, Index t, std::size_t start, Lanes& sum) const {
        const std::size_t at = start + static_cast<std::size_t>(t) * lanes;
        Lanes x;
        std::memcpy(&x, values_.data() + at, sizeof x);
        if constexpr (R::is_dense) {
            sum += x * w[t];
        } else {
            const std::int32_t* column = columns_.data() + at;
            sum += x * Lanes{w[column[0]], w[column[1]], w[column[2]], w[column[3]],
                             w[column[4]], w[column[5]], w[column[6]], w[column[7]]};
        }
    }

    const R& rows_;
    std::size_t size_ = 0, used_ = 0;  // rows, and numbers
    std::vector<std::size_t> start_;   // of each block
    std::vector<Index> width_;         // entries a row
    std::vector<double> values_;
    std::vector<std::int32_t> columns_;  // of sparse rows
};

}  // namespace steelyard
