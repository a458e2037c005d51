// Scores in order: a radix sort on the bits of the doubles, stable and linear.
//
// A score becomes an unsigned number of the same order (`to_key`), and carries the mass of its row along. Digits of 11
// bits: 2,048 counters of eight bytes are half of a first-level cache, and six passes cover 64 bits where digits of
// eight would need eight (Herf 2001, "Radix Tricks"). A digit that all scores share is passed over.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "base/stop.hpp"

namespace steelyard {

struct Ranked {
    std::uint64_t key;
    double mass;  // +w for a positive row, -w for a negative one
};

// Unsigned integers in the order of the doubles: flip the sign bit, and all bits of negative numbers.
inline std::uint64_t to_key(double score) {
    const double s = score + 0.0;  // -0.0 and 0.0 are one score
    std::uint64_t bits;
    std::memcpy(&bits, &s, sizeof bits);
    return bits >> 63 ? ~bits : bits | (std::uint64_t{1} << 63);
}

inline double to_score(std::uint64_t key) {
    const std::uint64_t bits = key >> 63 ? key & ~(std::uint64_t{1} << 63) : ~key;
    double s;
    std::memcpy(&s, &bits, sizeof s);
    return s;
}

inline std::uint64_t key_of(std::uint64_t key) { return key; }
inline std::uint64_t key_of(const Ranked& row) { return row.key; }

// Of scores with their masses, or of keys alone.
template <class Row>
class RadixSort {
public:
    static constexpr std::size_t at_once = std::size_t{1} << 18;  // rows between two looks: about a millisecond

    std::vector<Row> rows;  // to be filled, and then sorted from the lowest score up

    void sort(const Stop* stop) {
        for (auto& count : counts_) count.fill(0);
        each(rows, stop, [&](const Row& row) {
            for (int p = 0; p < passes; ++p) ++counts_[static_cast<std::size_t>(p)][digit_of(row, p)];
        });
        if (other_.size() != rows.size()) {  // who sorts again has it from the last time
            other_.clear();
            other_.reserve(rows.size());
            in_pieces(rows.size(), at_once, stop, [&](std::size_t, std::size_t end) { other_.resize(end); });
        }
        for (int p = 0; p < passes; ++p) {
            auto& count = counts_[static_cast<std::size_t>(p)];
            // All scores share this digit, as probabilities do in their highest bits: nothing to move.
            if (std::any_of(count.begin(), count.end(), [&](std::size_t c) { return c == rows.size(); })) continue;
            std::size_t start = 0;
            for (std::size_t& c : count) start += std::exchange(c, start);
            Row* const to = other_.data();  // not asked of the vectors for every row
            std::size_t* const next = count.data();
            each(rows, stop, [to, next, p](const Row& row) { to[next[digit_of(row, p)]++] = row; });
            rows.swap(other_);
        }
    }

private:
    static constexpr int bits = 11, passes = 6;                     // see above
    static constexpr std::size_t buckets = std::size_t{1} << bits;  // of one digit

    static std::size_t digit_of(const Row& row, int p) { return (key_of(row) >> (bits * p)) & (buckets - 1); }

    template <class F>
    static void each(const std::vector<Row>& of, const Stop* stop, F&& f) {
        in_pieces(of.size(), at_once, stop, [&](std::size_t begin, std::size_t end) {
            const Row* const last = of.data() + end;
            for (const Row* row = of.data() + begin; row != last; ++row) f(*row);
        });
    }

    std::vector<Row> other_;
    std::array<std::array<std::size_t, buckets>, passes> counts_;
};

using ScoreSort = RadixSort<Ranked>;

}  // namespace steelyard
