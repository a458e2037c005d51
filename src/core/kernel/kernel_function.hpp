// Kernels as functions of an inner product and two squared norms.
//
//   linear       k(x, z) = x.z
//   rbf          k(x, z) = exp(-gamma |x - z|^2)
//   poly         k(x, z) = (gamma x.z + coef0)^degree
//   precomputed  the matrix given is the kernel matrix
//
// plus a constant, which is an appended constant feature.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/rows.hpp"
#include "base/simd.hpp"

namespace steelyard {

enum class KernelKind { linear, rbf, poly, precomputed };

struct KernelSpec {
    KernelKind kind = KernelKind::rbf;
    double gamma = 1.0, coef0 = 0.0;
    int degree = 3;
    double constant = 0.0;
};

// exp(x) for x <= 0 in operations that every vector unit has: x = n log 2 + r, a polynomial in r, and n written into
// the exponent. With `terms` = 8 to about 1e-10, and 0 below -100 as in a float; with 13 to the rounding of a double.
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
    std::int64_t bits, exponent;
    std::memcpy(&exponent, &shifted, sizeof exponent);
    std::memcpy(&bits, &p, sizeof bits);
    bits += static_cast<std::int64_t>(static_cast<std::uint64_t>(exponent) << 52);
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return x < least ? 0.0 : value;
}

struct KernelMap {
    KernelSpec spec;

    // products and squared norms to kernel values.
    template <class T>
    STEELYARD_CLONES void operator()(const double* products, const double* norms, double norm, Index n, T* out) const {
        constexpr int terms = sizeof(T) > 4 ? 13 : 8;  // to the rounding of a double, or of a float
        if (spec.kind == KernelKind::rbf) {
            for (Index k = 0; k < n; ++k) {
                const double distance = norm + norms[k] - 2.0 * products[k];
                out[k] = static_cast<T>(exp_of_negative<terms>(-spec.gamma * (distance > 0.0 ? distance : 0.0)) +
                                        spec.constant);
            }
        } else if (spec.kind == KernelKind::poly) {
            for (Index k = 0; k < n; ++k)
                out[k] = static_cast<T>(power(spec.gamma * products[k] + spec.coef0) + spec.constant);
        } else {
            for (Index k = 0; k < n; ++k) out[k] = static_cast<T>(products[k] + spec.constant);
        }
    }

    double of_itself(double norm) const {
        if (spec.kind == KernelKind::rbf) return 1.0 + spec.constant;
        return (spec.kind == KernelKind::poly ? power(spec.gamma * norm + spec.coef0) : norm) + spec.constant;
    }

    STEELYARD_INLINE double power(double base) const {
        double result = 1.0;
        for (int k = 0; k < spec.degree; ++k) result *= base;
        return result;
    }
};

}  // namespace steelyard
