// Rewards of a margin z = y f(x): surrogates of the indicator z > 0, with their slopes.
//
//     hinge     min(1, z)                   logistic  1 - log(1 + exp(-z))            concave, for NEMSIS and SCAN
//     sigmoid   1 - 1/(1 + exp(z / width))  ramp      1 - clip((width - z)/(2 width), 0, 1)
//     arctan    1/2 + arctan(z/width)/pi    erf       1/2 + erf(z/width)/2             nonconvex, for Neyman-Pearson
//
// The nonconvex ones are one minus the losses of paper 002, eqs. (4), (5) and Figure 1, with a width in place of the
// slope.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/simd.hpp"

namespace steelyard {

constexpr double pi = 3.14159265358979323846;  // M_PI is not in every library

enum class Reward : std::int32_t { hinge, logistic, sigmoid, ramp, arctan, erf };

inline double reward_value(Reward kind, double z, double width) {
    switch (kind) {
        case Reward::hinge: return std::min(1.0, z);
        case Reward::logistic: return z > 0 ? 1.0 - std::log1p(std::exp(-z)) : 1.0 + z - std::log1p(std::exp(z));
        case Reward::sigmoid: return 1.0 / (1.0 + std::exp(-z / width));
        case Reward::ramp: return std::min(1.0, std::max(0.0, 0.5 + 0.5 * z / width));
        case Reward::arctan: return 0.5 + std::atan(z / width) / pi;
        default: return 0.5 + 0.5 * std::erf(z / width);
    }
}

inline double smooth_slope(Reward kind, double z, double width) {
    const double s = z / width;
    switch (kind) {
        case Reward::logistic: return 1.0 / (1.0 + std::exp(z));
        case Reward::sigmoid: {
            const double e = std::exp(-std::fabs(s));
            return e / ((1.0 + e) * (1.0 + e)) / width;
        }
        case Reward::arctan: return 1.0 / (pi * width * (1.0 + s * s));
        default: return std::exp(-s * s) / (width * std::sqrt(pi));
    }
}

// Where a reward has a kink the slope there is 0, and the row is skipped (paper 002, section 3.3).
STEELYARD_INLINE double reward_slope(Reward kind, double z, double width) {
    if (kind == Reward::hinge) return z < 1.0 ? 1.0 : 0.0;
    if (kind == Reward::ramp) return std::fabs(z) < width ? 0.5 / width : 0.0;
    return smooth_slope(kind, z, width);
}

}  // namespace steelyard
