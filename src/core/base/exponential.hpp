// exp and log(1 + e) in operations that every vector unit has, so that loops over them become vector loops.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/simd.hpp"

namespace steelyard {

// exp(x) for x <= 0: x = n log 2 + r, a polynomial in r, and n written into the exponent. With `terms` = 8 to about
// 1e-10, and 0 below -100 as in a float; with 13 to the rounding of a double.
template <int terms = 8>
STEELYARD_INLINE double exp_of_negative(double x) {
    constexpr double shift = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer, kept in the low bits
    constexpr double least = terms > 8 ? -700.0 : -100.0;  // below, exp is 0 in a double and in a float
    // 1 / k!
    constexpr double factor[14] = {
        1.0,        1.0,         1.0 / 2,      1.0 / 6,       1.0 / 24,       1.0 / 120,       1.0 / 720,
        1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800};
    const double shifted = x * 1.4426950408889634 + shift;
    const double n = shifted - shift;
    const double r = (x - n * 0.693147180369123816490) - n * 1.90821492927058770002e-10;
    double p = factor[terms];
    for (int k = terms - 1; k >= 0; --k) p = p * r + factor[k];
    std::uint64_t bits, exponent;
    std::memcpy(&exponent, &shifted, sizeof exponent);
    std::memcpy(&bits, &p, sizeof bits);
    bits += exponent << 52;
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return x < least ? 0.0 : value;
}

// log(1 + e) for 0 <= e <= 1 to the rounding of a double: 2 artanh(e / (2 + e)), a series in a square of at most 1/9.
STEELYARD_INLINE double log_one_plus(double e) {
    constexpr int terms = 16;  // 9^-16 / 33 is below 2^-53
    const double s = e / (2.0 + e), q = s * s;
    double p = 1.0 / (2 * terms + 1);
    for (int k = terms - 1; k >= 0; --k) p = p * q + 1.0 / (2 * k + 1);
    return 2.0 * s * p;
}

}  // namespace steelyard
