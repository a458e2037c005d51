// Three losses of the margin m = y x.w, and what a solver needs to know of each.
//
//   hinge          max(0, 1 - m)         share b in [0, 1]     dual term  b
//   squared hinge  max(0, 1 - m)^2       share b >= 0          dual term  b - b^2 / 4
//   logistic       log(1 + exp(-m))      share b in [0, 1]     dual term  -b log b - (1 - b) log(1 - b)
//
// `share` is -loss'(m): row i pulls w with the force C_i b_i y_i x_i. `dual_term` is -conjugate(-b). By Fenchel-Young
//   loss(m) >= dual_term(b) - b m   for every feasible b, with equality at b = share(m),
// which is why any feasible b certifies any w.
#pragma once

#include <algorithm>
#include <cmath>

#include "base/exponential.hpp"
#include "base/simd.hpp"

namespace steelyard {

enum class LossKind { hinge, squared_hinge, logistic };

struct Hinge {
    static constexpr LossKind kind = LossKind::hinge;
    static constexpr double largest_share = 1;  // of the dual box, see above
    static STEELYARD_INLINE double value(double m) { return m < 1 ? 1 - m : 0; }
    static STEELYARD_INLINE double share(double m) { return m < 1 ? 1.0 : 0.0; }
    static STEELYARD_INLINE double curvature(double) { return 0; }
    static STEELYARD_INLINE double dual_term(double b) { return b; }
};

struct SquaredHinge {
    static constexpr LossKind kind = LossKind::squared_hinge;
    static constexpr double largest_share = HUGE_VAL;
    static STEELYARD_INLINE double value(double m) { return m < 1 ? (1 - m) * (1 - m) : 0; }
    static STEELYARD_INLINE double share(double m) { return m < 1 ? 2 * (1 - m) : 0; }
    static STEELYARD_INLINE double curvature(double m) { return m < 1 ? 2.0 : 0.0; }
    static STEELYARD_INLINE double dual_term(double b) { return b - b * b / 4; }
};

struct Logistic {
    static constexpr LossKind kind = LossKind::logistic;
    static constexpr double largest_share = 1;  // of the dual box, see above
    static STEELYARD_INLINE double value(double m) {
        return log_one_plus(exp_of_negative<13>(-std::fabs(m))) + (m > 0 ? 0.0 : -m);
    }
    static STEELYARD_INLINE double share(double m) {
        const double e = exp_of_negative<13>(-std::fabs(m));
        return (m > 0 ? e : 1.0) / (1 + e);
    }
    static STEELYARD_INLINE double curvature(double m) {
        const double b = share(m);
        return b * (1 - b);
    }
    static STEELYARD_INLINE double dual_term(double b) {
        const double rest = 1 - b;
        return -(b > 0 ? b * std::log(b) : 0) - (rest > 0 ? rest * std::log(rest) : 0);
    }
};

template <class Kernel>
auto visit_loss(LossKind kind, Kernel&& kernel) {
    switch (kind) {
        case LossKind::squared_hinge: return kernel(SquaredHinge{});
        case LossKind::logistic: return kernel(Logistic{});
        default: return kernel(Hinge{});
    }
}

}  // namespace steelyard
