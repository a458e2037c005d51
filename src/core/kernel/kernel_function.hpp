// Kernels as functions of an inner product and two squared norms.
//
//   linear       k(x, z) = x.z
//   rbf          k(x, z) = exp(-gamma |x - z|^2)
//   poly         k(x, z) = (gamma x.z + coef0)^degree
//   precomputed  the matrix given is the kernel matrix
//
// plus a constant, which is an appended constant feature.
#pragma once

#include "base/exponential.hpp"
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
