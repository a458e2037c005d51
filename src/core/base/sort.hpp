// One sort for numbers: a radix sort on their bits, stable and linear, that carries one number along with each.
//
// A double is sorted as an unsigned integer with the same order (`key_of`), six digits of eleven bits each: 2^11 counts
// fit the first-level cache, and 6 * 11 >= 64. A digit that all numbers share is skipped, as the highest bits of
// probabilities are.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "base/stop.hpp"

namespace steelyard {

struct Keyed {
    std::uint64_t key;
    double mass;  // what the caller wants to find beside the number
};

// Unsigned integers in the order of the doubles: flip the sign bit, and all bits of negative numbers.
inline std::uint64_t key_of(double number) {
    const double x = number + 0.0;  // -0.0 and 0.0 are one number
    std::uint64_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits >> 63 ? ~bits : bits | (std::uint64_t{1} << 63);
}

inline double number_of(std::uint64_t key) {
    const std::uint64_t bits = key >> 63 ? key & ~(std::uint64_t{1} << 63) : ~key;
    double x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

inline void radix_sort(std::vector<Keyed>& entries, const Stop* stop = nullptr) {
    constexpr int digit = 11, passes = 6;  // 6 x 11 bits cover 64; 2048 counters stay in the first cache
    constexpr std::size_t buckets = std::size_t{1} << digit, piece = std::size_t{1} << 16;  // well below a millisecond
    const auto each = [&](auto&& f) {
        for (std::size_t begin = 0; begin < entries.size(); begin += piece) {
            check(stop);
            const std::size_t end = std::min(entries.size(), begin + piece);
            for (std::size_t i = begin; i < end; ++i) f(entries[i]);
        }
    };
    std::vector<std::array<std::size_t, buckets>> counts(passes);
    for (auto& c : counts) c.fill(0);
    each([&](const Keyed& e) {
        for (int p = 0; p < passes; ++p) ++counts[static_cast<std::size_t>(p)][(e.key >> (digit * p)) & (buckets - 1)];
    });
    std::vector<Keyed> other(entries.size());
    for (int p = 0; p < passes; ++p) {
        auto& count = counts[static_cast<std::size_t>(p)];
        if (std::any_of(count.begin(), count.end(), [&](std::size_t c) { return c == entries.size(); })) continue;
        std::size_t start = 0;
        for (std::size_t& c : count) start += std::exchange(c, start);
        each([&](const Keyed& e) { other[count[(e.key >> (digit * p)) & (buckets - 1)]++] = e; });
        entries.swap(other);
    }
}

}  // namespace steelyard
