// Some rows of the data, laid out for products with a vector or two: eight rows side by side, so that no sum waits for
// itself.
//
//   dense    block of eight rows:  x_1j x_2j ... x_8j  for one column j after the other, times w_j and v_j: one
//            instruction works on as many rows as there are lanes
//   sparse   the same for the entries: the t-th entries of eight rows and their columns, padded to the longest of the
//            eight. Each row has its own columns, so the two vectors lie side by side instead, (w_j, v_j), and one
//            instruction works on both.
//
// Where all entries of a column are the same number, as in one-hot data however it is scaled, that number goes to w_j
// and v_j, and of the entries only the columns are kept. A column that is constant is added once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/lanes.hpp"
#include "base/rows.hpp"
#include "base/stop.hpp"

namespace steelyard {

template <class R>
class PackedRows {
public:
    static constexpr std::size_t lanes = 8;  // doubles in the widest vector
    // x.w and x.v of the rows of one block.
    struct Products {
        double with_w[lanes], with_v[lanes];
    };

    PackedRows(const R& rows, const Stop* stop) : rows_(rows) {
        if constexpr (!R::is_dense) {
            pairs_.assign(2 * (static_cast<std::size_t>(rows.n_cols) + 1), 0.0);  // the last is for padding
            find_values(stop);
        }
    }

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

    // The two vectors of the products to come.
    void face(const double* w, const double* v) {
        w_ = w, v_ = v;
        if constexpr (!R::is_dense) pair_up();
    }

    STEELYARD_INLINE Products products(std::size_t b) const {
        if constexpr (R::is_dense)
            return dense_products(b);
        else
            return values_differ_ ? sparse_products<true>(b) : sparse_products<false>(b);
    }

private:
    using Lanes = LanesOf<lanes>;
    using Pair = LanesOf<2>;

    // Whether each column has one value, and which.
    void find_values(const Stop* stop) {
        value_.assign(static_cast<std::size_t>(rows_.n_cols), 0.0);
        StopEvery asked(stop, 1 << 12);
        for (Index i = 0; i < rows_.n_rows && !values_differ_; ++i) {
            asked();
            auto x = rows_.row(i);
            x.constant = 0;
            x.each([&](Index j, double value) {
                double& first = value_[static_cast<std::size_t>(j)];
                if (first == 0) first = value;
                values_differ_ = values_differ_ || value != first;
            });
        }
        if (values_differ_) value_.assign(value_.size(), 1.0);
        if (rows_.constant != 0) value_[static_cast<std::size_t>(rows_.n_stored)] = rows_.constant;
    }

    STEELYARD_CLONES void pair_up() {
        const double *const value = value_.data(), *const w = w_, *const v = v_;
        double* const pair = pairs_.data();
        const auto n = static_cast<Index>(value_.size());
        STEELYARD_NO_OVERLAP
        for (Index j = 0; j < n; ++j) {
            pair[2 * j] = value[j] * w[j];
            pair[2 * j + 1] = value[j] * v[j];
        }
    }

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
        for (std::size_t at = before; at < used_; ++at) pad(at);
    }
    // Of memory that is not cleared: it is taken anew with every list.
    void take(Index width) {
        used_ += static_cast<std::size_t>(width) * lanes;
        if (R::is_dense || values_differ_)
            if (used_ > values_.size()) values_.resize(used_ + used_ / 2);
        if (!R::is_dense && used_ > columns_.size()) columns_.resize(used_ + used_ / 2);
    }

    // The t-th entry of a row; or none.
    template <class Row>
    STEELYARD_INLINE void put(std::size_t at, const Row& x, Index t) {
        if (R::is_dense || values_differ_) values_[at] = static_cast<double>(x.values[t]);
        if constexpr (!R::is_dense) columns_[at] = 2 * static_cast<std::uint32_t>(x.columns[t]);
    }
    STEELYARD_INLINE void pad(std::size_t at) {
        if (R::is_dense || values_differ_) values_[at] = 0;
        if constexpr (!R::is_dense) columns_[at] = 2 * static_cast<std::uint32_t>(rows_.n_cols);
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
                if (t < least || t < x[l].size)
                    put(at + l, x[l], t);
                else
                    pad(at + l);
            }
        }
    }

    STEELYARD_INLINE Products dense_products(std::size_t b) const {
        const bool is_constant = rows_.constant != 0;
        const double of_w = is_constant ? rows_.constant * w_[rows_.n_stored] : 0,
                     of_v = is_constant ? rows_.constant * v_[rows_.n_stored] : 0;
        Lanes with_w[2] = {Lanes{} + of_w, Lanes{}}, with_v[2] = {Lanes{} + of_v, Lanes{}};
        const double* at = values_.data() + start_[b];
        const auto add = [&](Index t, int k) STEELYARD_INLINE_LAMBDA {
            Lanes x;
            std::memcpy(&x, at + static_cast<std::size_t>(t) * lanes, sizeof x);
            with_w[k] += x * w_[t];
            with_v[k] += x * v_[t];
        };
        Index t = 0;
        for (; t + 2 <= width_[b]; t += 2) add(t, 0), add(t + 1, 1);
        for (; t < width_[b]; ++t) add(t, 0);
        with_w[0] += with_w[1];
        with_v[0] += with_v[1];
        Products found;
        std::memcpy(found.with_w, &with_w[0], sizeof found.with_w);
        std::memcpy(found.with_v, &with_v[0], sizeof found.with_v);
        return found;
    }

    template <bool with_values>
    STEELYARD_INLINE Products sparse_products(std::size_t b) const {
        Pair sum[lanes];
        const double* const pairs = pairs_.data();
        const std::size_t first = 2 * static_cast<std::size_t>(rows_.constant != 0 ? rows_.n_stored : rows_.n_cols);
        for (auto& of_row : sum) std::memcpy(&of_row, pairs + first, sizeof of_row);
        const std::uint32_t* column = columns_.data() + start_[b];
        const double* value = with_values ? values_.data() + start_[b] : nullptr;
        for (Index t = 0; t < width_[b]; ++t, column += lanes) {
            for (std::size_t l = 0; l < lanes; ++l) {
                Pair pair;
                std::memcpy(&pair, pairs + column[l], sizeof pair);
                if constexpr (with_values)
                    sum[l] += pair * value[l];
                else
                    sum[l] += pair;
            }
            if constexpr (with_values) value += lanes;
        }
        Products found;
        for (std::size_t l = 0; l < lanes; ++l) found.with_w[l] = sum[l][0], found.with_v[l] = sum[l][1];
        return found;
    }

    const R& rows_;
    std::size_t size_ = 0, used_ = 0;  // rows, and numbers
    std::vector<std::size_t> start_;   // of each block
    std::vector<Index> width_;         // entries a row
    std::vector<double> values_;
    const double *w_ = nullptr, *v_ = nullptr;
    // Of sparse rows.
    std::vector<std::uint32_t> columns_;  // twice their number
    std::vector<double> value_, pairs_;   // of a column: what its pair is multiplied with, and the pair
    bool values_differ_ = false;
};

}  // namespace steelyard
