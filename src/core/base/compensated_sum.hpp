// Sums to twice the digits of a double: what rounding leaves out is kept beside (Knuth's two-sum, and fma for the
// product).
#pragma once

#include <cmath>

#include "base/rows.hpp"

namespace steelyard {

// v + low += scale x
STEELYARD_CLONES inline void add_product(double scale, const double* x, Index n, double* v, double* low) {
    for (Index j = 0; j < n; ++j) {
        const double part = scale * x[j], sum = v[j] + part, back = sum - v[j];
        low[j] += ((v[j] - (sum - back)) + (part - back)) + std::fma(scale, x[j], -part);
        v[j] = sum;
    }
}

}  // namespace steelyard
