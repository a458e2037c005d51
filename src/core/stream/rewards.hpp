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
#include <cstring>

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

// 1 / (1 + e^z), by five terms of Taylor's series at multiples of 1/16, to 1e-12: every row of a smooth reward waits
// for its slope, and this takes three fifths of what an exponential and a division take. Beyond 40 it is 0 or 1 to the
// rounding of a double, and stays what it is there.
class Fall {
public:
    Fall() noexcept {
        for (int k = 0; k < size; ++k) {
            const double z = (k - middle) / per_unit, f = 1.0 / (1.0 + std::exp(z)), slope = f * (1.0 - f);
            double* const c = term_[k];
            c[0] = f;
            c[1] = -slope;
            c[2] = slope * (1.0 - 2.0 * f) / 2.0;
            c[3] = -slope * (1.0 - f * (6.0 - 6.0 * f)) / 6.0;
            c[4] = slope * (1.0 - f * (14.0 - f * (36.0 - 24.0 * f))) / 24.0;
            c[5] = -slope * (1.0 - f * (30.0 - f * (150.0 - f * (240.0 - 120.0 * f)))) / 120.0;
        }
    }
    STEELYARD_INLINE double operator()(double z) const {
        constexpr double shift = 6755399441055744.0;             // 1.5 * 2^52: adding it rounds to an integer, low bits
        const double near = std::min(most, std::max(-most, z));  // in this order -most where z is not a number
        const double shifted = near * per_unit + shift;
        std::int64_t bits;
        std::memcpy(&bits, &shifted, sizeof bits);
        const double r = near - (shifted - shift) / per_unit, r2 = r * r;
        const double* const c = term_[static_cast<std::int32_t>(bits) + middle];
        return (c[0] + c[1] * r) + r2 * ((c[2] + c[3] * r) + r2 * (c[4] + c[5] * r));
    }

private:
    // With 8 a unit the error is 3e-11, and the slopes of a long stream would differ from exact ones in the ninth
    // digit.
    static constexpr double per_unit = 16.0, most = 40.0;  // most: e^-40 is far below the rounding of 1
    // Places of the table.
    static constexpr int middle = static_cast<int>(per_unit * most), size = 2 * middle + 1;
    double term_[size][8];  // six terms on a cache line
};
inline const Fall fall;

inline double smooth_slope(Reward kind, double z, double width) {
    const double s = z / width;
    switch (kind) {
        case Reward::logistic: return fall(z);
        case Reward::sigmoid: {
            const double f = fall(std::fabs(s));
            return f * (1.0 - f) / width;
        }
        case Reward::arctan: return 1.0 / (pi * width * (1.0 + s * s));
        default: return std::exp(-s * s) / (width * std::sqrt(pi));
    }
}

// Where a reward has a kink the slope there is 0, and the row is skipped (paper 002, section 3.3).
STEELYARD_INLINE double reward_slope(Reward kind, double z, double width) {
    if (kind == Reward::hinge) return z < 1.0 ? 1.0 : 0.0;
    if (kind == Reward::logistic) return fall(z);
    if (kind == Reward::ramp) return std::fabs(z) < width ? 0.5 / width : 0.0;
    return smooth_slope(kind, z, width);
}

}  // namespace steelyard
