// Which rows of a chunk are marked, and the how-manieth each of them is: one bit a row, and a count every 64.
//
// A pass asks this of every row, so it must stay in the nearest cache; a number a row (what this was first) is a stream
// of its own beside the data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/rows.hpp"
#include "base/simd.hpp"

namespace steelyard {

class MarkedRows {
public:
    explicit MarkedRows(Index n_rows = 0) : n_rows_(n_rows), words_(static_cast<std::size_t>((n_rows + 63) / 64)) {}

    void add(Index row) { words_[static_cast<std::size_t>(row >> 6)].bits |= std::uint64_t{1} << (row & 63); }

    // How many there are. From here on `rank` is right.
    std::size_t count() {
        std::size_t sum = 0;
        for (Word& word : words_) {
            word.before = sum;
            sum += ones(word.bits);
        }
        return sum;
    }

    STEELYARD_INLINE bool has(Index row) const {
        return row < n_rows_ && (words_[static_cast<std::size_t>(row >> 6)].bits >> (row & 63) & 1) != 0;
    }
    // Marked rows before this one.
    std::size_t rank(Index row) const {
        const Word& word = words_[static_cast<std::size_t>(row >> 6)];
        return word.before + ones(word.bits & ((std::uint64_t{1} << (row & 63)) - 1));
    }

private:
    struct Word {
        std::uint64_t bits = 0;
        std::size_t before = 0;
    };

    // Bits that are set, summed in pairs, fours and bytes (Warren, Hacker's Delight, 5-1).
    static std::size_t ones(std::uint64_t x) {
        x -= x >> 1 & 0x5555555555555555;
        x = (x & 0x3333333333333333) + (x >> 2 & 0x3333333333333333);
        x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0f;
        return static_cast<std::size_t>(x * 0x0101010101010101 >> 56);
    }

    Index n_rows_;
    std::vector<Word> words_;
};

}  // namespace steelyard
