// Random numbers as a function of (seed, counter): no state to carry, so a stream cut in chunks draws what it drew
// whole.
//
// splitmix64 (Steele, Lea & Flood 2014) passes the usual batteries of tests; it is not for cryptography.
#pragma once

#include <cstdint>

#include "base/simd.hpp"

namespace steelyard {

constexpr std::uint64_t golden_ratio = 0x9E3779B97F4A7C15ull;  // 2^64 / 1.618..., splitmix64's step

STEELYARD_INLINE std::uint64_t mix(std::uint64_t z) {
    z += golden_ratio;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

STEELYARD_INLINE std::uint64_t draw(std::uint64_t seed, std::uint64_t counter) { return mix(mix(seed) + counter); }

// Uniform in (0, 1), from a seed that has been through `mix` once.
STEELYARD_INLINE double uniform(std::uint64_t mixed, std::uint64_t counter) {
    return (static_cast<double>(mix(mixed + counter) >> 12) + 0.5) * 0x1p-52;
}

// Uniform in {0, ..., below - 1}, for below < 2^32: the bias is less than below / 2^32.
STEELYARD_INLINE std::uint64_t draw_below(std::uint64_t seed, std::uint64_t counter, std::uint64_t below) {
    return ((draw(seed, counter) >> 32) * below) >> 32;
}

// The same numbers one after another, for loops that shuffle: the k-th is mix(seed + k * golden ratio).
struct Shuffler {
    std::uint64_t state;

    STEELYARD_INLINE std::uint64_t next() {
        const std::uint64_t number = mix(state);
        state += golden_ratio;
        return number;
    }
    // Multiply and shift instead of a division; 32 random bits are enough to pick a row.
    STEELYARD_INLINE std::int64_t below(std::int64_t n) {
        return static_cast<std::int64_t>(((next() >> 32) * static_cast<std::uint64_t>(n)) >> 32);
    }
};

}  // namespace steelyard
