// Which rows are the same: for every row the first one with equal entries and an equal label.
//
// Equal rows of a loss with box bounds are one row with the sum of their bounds, exactly. A hash of the entries finds
// candidates, and the entries decide. In CSR the columns of a row must be sorted (a row stored otherwise is only not
// found).
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/rows.hpp"
#include "base/stop.hpp"

namespace steelyard {

template <class R>
class EqualRows {
public:
    EqualRows(const R& rows, const double* label, const Stop* stop = nullptr)
        : rows_(rows), label_(label), stop_(stop) {}

    std::vector<Index> first() const {
        const Index n = rows_.n_rows;
        std::size_t size = 16;
        while (size < static_cast<std::size_t>(2 * n)) size *= 2;
        std::vector<Index> slot(size, -1), first(static_cast<std::size_t>(n));
        std::vector<std::uint64_t> hash(static_cast<std::size_t>(n));
        StopEvery asked(stop_, 1024);
        for (Index i = 0; i < n; ++i) {
            asked();
            hash[i] = hashed(i);
            std::size_t at = hash[i] & (size - 1);
            while (slot[at] >= 0 && !(hash[slot[at]] == hash[i] && same(slot[at], i))) at = (at + 1) & (size - 1);
            if (slot[at] < 0) slot[at] = i;
            first[i] = slot[at];
        }
        return first;
    }

private:
    static std::uint64_t mix(std::uint64_t hash, double value) {
        const double plain = value + 0.0;  // -0 is 0
        std::uint64_t bits;
        std::memcpy(&bits, &plain, sizeof bits);
        hash = (hash ^ bits) * 0x9E3779B97F4A7C15u;
        return hash ^ (hash >> 29);
    }

    std::uint64_t hashed(Index i) const {
        std::uint64_t hash = mix(0, label_[i]);
        rows_.row(i).each([&](Index j, double value) { hash = mix(hash + static_cast<std::uint64_t>(j), value); });
        return hash;
    }

    bool same(Index i, Index k) const {
        const auto a = rows_.row(i), b = rows_.row(k);
        if (label_[i] != label_[k] || a.size != b.size) return false;
        if constexpr (!decltype(a)::is_dense)
            for (Index j = 0; j < a.size; ++j)
                if (a.columns[j] != b.columns[j]) return false;
        return std::equal(a.values, a.values + a.size, b.values);
    }

    const R& rows_;
    const double* label_;
    const Stop* stop_;
};

}  // namespace steelyard
