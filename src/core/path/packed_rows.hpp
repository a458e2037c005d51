// Some rows of the data, laid out for products with one vector: eight rows side by side, so that one instruction works
// on as many rows as there are lanes, no sum waits for itself, and nothing is looked up.
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

#include "base/rows.hpp"

namespace steelyard {

template <class R>
class PackedRows {
public:
    explicit PackedRows(const R& rows) : rows_(rows) {}

    void clear() {
        start_.clear();
        width_.clear();
        values_.clear();
        columns_.clear();
        size_ = 0;
    }

    // One more row, with the number `size` of before.
    void add(Index i) {
        const auto x = rows_.row(i);
        if (size_ % lanes == 0 || x.size > width_.back()) open(x.size);
        const auto lane = static_cast<std::size_t>(size_ % lanes);
        const std::size_t at = start_.back() + lane;
        for (Index t = 0; t < x.size; ++t) {
            values_[at + static_cast<std::size_t>(t) * lanes] = static_cast<double>(x.values[t]);
            if constexpr (!R::is_dense)
                columns_[at + static_cast<std::size_t>(t) * lanes] = static_cast<std::int32_t>(x.columns[t]);
        }
        ++size_;
    }

    // out[k] = x_k.w for all rows; `out` has room for a multiple of eight.
    void times(const double* w, double* out) const {
        const double constant = rows_.constant != 0 ? rows_.constant * w[rows_.n_stored] : 0;
        times(w, constant, out);
    }
    static std::size_t room(std::size_t size) { return (size + lanes - 1) / lanes * lanes; }

private:
    static constexpr Index lanes = 8;                                           // doubles in the widest vector
    using Lanes = double __attribute__((vector_size(lanes * sizeof(double))));  // compilers lower it to what there is

    // Room for the rest of a block, at least `width` entries a row. A longer row than the block has room for moves it.
    void open(Index width) {
        if (size_ % lanes == 0) {
            start_.push_back(values_.size());
            width_.push_back(width);
            grow(width);
            return;
        }
        const Index more = width - width_.back();  // only the last block ever grows
        width_.back() = width;
        grow(more);
    }
    void grow(Index width) {
        values_.resize(values_.size() + static_cast<std::size_t>(width) * lanes, 0.0);
        if (!R::is_dense) columns_.resize(values_.size(), 0);
    }

    STEELYARD_CLONES void times(const double* w, double constant, double* out) const {
        for (std::size_t b = 0; b < start_.size(); ++b) {
            const std::size_t start = start_[b];
            Lanes sum[4] = {Lanes{} + constant, Lanes{}, Lanes{}, Lanes{}};
            Index t = 0;
            for (; t + 4 <= width_[b]; t += 4)
                for (int k = 0; k < 4; ++k) add(w, t + k, start, sum[k]);
            for (; t < width_[b]; ++t) add(w, t, start, sum[0]);
            sum[0] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
            std::memcpy(out + b * lanes, &sum[0], sizeof(Lanes));
        }
    }

    // The t-th entries of a block times what they are multiplied with.
    STEELYARD_INLINE void add(const double* w, Index t, std::size_t start, Lanes& sum) const {
        const std::size_t at = start + static_cast<std::size_t>(t * lanes);
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
    std::size_t size_ = 0;
    std::vector<std::size_t> start_;  // of each block
    std::vector<Index> width_;        // entries a row
    std::vector<double> values_;
    std::vector<std::int32_t> columns_;  // of sparse rows
};

}  // namespace steelyard
