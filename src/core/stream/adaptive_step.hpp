// A step per coordinate in AdaGrad's way (Duchi, Hazan & Singer 2011):  g eta x / sqrt(sum),  with sum that of the
// squares of all g x so far.
//
// The first gradient of a coordinate counts as four, else a rare feature's first step would be its largest. The root is
// a guess y from the exponent (Blinn 1997) and one polynomial step, y (c0 - h (c1 - h c2)) with h = sum y^2 and a
// relative error below 3e-5. The sum itself stays exact, so the error does not grow; and unlike a root and a division
// this costs a few multiplications, side by side.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/simd.hpp"

namespace steelyard {

class AdaptiveStep {
public:
    STEELYARD_INLINE AdaptiveStep(double g, double eta)
        : g_(g), c0_(unfused(1.87632 * eta)), c1_(unfused(1.25155 * eta)), c2_(0.37523 * eta) {}

    // The sum with g x in it. Where it is known that no coordinate is at its first gradient that need not be asked.
    template <bool begun = false>
    STEELYARD_INLINE double sum(double before, double x) const {
        const double pull = g_ * x, counted = begun || before != 0.0 ? pull : pull + pull;
        return std::min(before + counted * counted, 1e300);
    }
    STEELYARD_INLINE double length(double x, double sum) const {
        std::uint64_t bits;
        std::memcpy(&bits, &sum, sizeof bits);
        bits = 0x5FE6EB50C7B537A9ull - (bits >> 1);
        double y;
        std::memcpy(&y, &bits, sizeof y);
        const double h = sum * y * y;
        return (g_ * x) * y * (c0_ - h * (c1_ - h * c2_));
    }

private:
    double g_, c0_, c1_, c2_;
};

}  // namespace steelyard
