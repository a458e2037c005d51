// The best point of a ray: min over l >= 0 of  1/2 |w + l p|^2 + sum_i C_i loss(m_i + l s_i)   (003, OP2 and Algorithm
// 2).
//
// Hinge. The slope is  wp + l pp - sum of C_i s_i over active rows. It rises by pp per unit of l and jumps by C_i |s_i|
// at the kink l_i = (1 - m_i) / s_i > 0, whichever way row i crosses. The minimum is where it passes zero: between two
// kinks, at one, or beyond the last. Weighted selection finds it in O(n) expected time, where the paper sorts in O(n
// log n); the printed algorithm lacks the absolute value, the stop and the case beyond the last kink. Squared hinge and
// logistic: guarded secant steps on the slope, each O(n).
#pragma once

#include <cmath>
#include <vector>

#include "linear/risk.hpp"

namespace steelyard {

template <class Cost>
struct Ray {
    Index n;
    Cost cost;        // cost(i) = C_i
    const double* m;  // margins at l = 0
    const double* s;  // their rates of change
    double wp, pp;    // w.p and p.p
};

struct Kink {
    double at, jump;
};

// Where a slope that starts at `slope`, rises by `rate` per unit and jumps at the kinks first reaches zero.
inline double crossing(std::vector<Kink>& kinks, double slope, double rate, const Stop* stop = nullptr) {
    std::size_t low = 0, high = kinks.size();  // the crossing is after kinks[..low) and not after kinks[high..)
    while (low < high) {
        check(stop);
        const std::size_t middle = low + (high - low) / 2;
        std::nth_element(kinks.begin() + low, kinks.begin() + middle, kinks.begin() + high,
                         [](const Kink& a, const Kink& b) { return a.at < b.at; });
        double jumps = 0;
        for (std::size_t k = low; k < middle; ++k) jumps += kinks[k].jump;
        const double before = slope + jumps + rate * kinks[middle].at;
        if (before >= 0) {
            high = middle;
        } else if (before + kinks[middle].jump >= 0) {
            return kinks[middle].at;
        } else {
            slope += jumps + kinks[middle].jump;
            low = middle + 1;
        }
    }
    return rate > 0 ? std::max(0.0, -slope / rate) : (low > 0 ? kinks[low - 1].at : 0.0);
}

// The jumps of all kinks in (0, l]. A row that stands still has no kink: 0 / 0 and 1 / 0 are none of these.
template <class Cost>
STEELYARD_INLINE double jumps_until(const Ray<Cost>& ray, double l, const Stop* stop) {
    return sum_over_rows(ray.n, stop, [=](Index i) STEELYARD_INLINE_LAMBDA {
        const double s = ray.s[i], at = (1 - ray.m[i]) / s;
        return ((at > 0) & (at <= l)) ? ray.cost(i) * std::fabs(s) : 0.0;
    });
}

// The crossing lies in (low, high]: a sum over the rows at a guess costs less than to list and select among the kinks
// that it rules out.
struct Bracket {
    double low = 0, slope_low, high, slope_high = HUGE_VAL;  // slopes without their part l pp

    double guess(double pp) const {
        const double at_low = slope_low + low * pp, at_high = slope_high + high * pp;
        const double secant = low - at_low * (high - low) / (at_high - at_low);
        return std::isfinite(secant) ? secant : low + (high - low) / 2;
    }
    void narrow(double l, double slope, double pp) {
        if (slope + l * pp < 0) {
            low = l;
            slope_low = slope;
            high = std::min(high, -slope / pp);  // as if no kink were left
        } else {
            high = l;
            slope_high = slope;
        }
    }
};

constexpr int guesses = 2;  // of 1 to 4 on ijcnn1 (one fit of benchmarks/shape_speed.py) 2 to 4 took the same time

template <class Cost>
STEELYARD_INLINE double hinge_step(const Ray<Cost>& ray, std::vector<Kink>& kinks, const Stop* stop) {
    const double force = sum_over_rows(ray.n, stop, [=](Index i) STEELYARD_INLINE_LAMBDA {
        const double z = 1 - ray.m[i], s = ray.s[i];
        return (z > 0) | ((z == 0) & (s < 0)) ? ray.cost(i) * s : 0.0;
    });
    const double slope = ray.wp - force;
    if (!(slope < 0)) return 0;
    Bracket bracket{0, slope, ray.pp > 0 ? -slope / ray.pp : HUGE_VAL};
    for (int k = 0; k < guesses; ++k) {
        const double l = k == 0 ? 1.0 : bracket.guess(ray.pp);
        if (!(l > bracket.low && l < bracket.high)) continue;
        bracket.narrow(l, slope + jumps_until(ray, l, stop), ray.pp);
    }
    kinks.clear();
    in_pieces(ray.n, rows_a_piece, stop, [&](Index begin, Index end) STEELYARD_INLINE_LAMBDA {
        for (Index i = begin; i < end; ++i) {
            const double s = ray.s[i], at = (1 - ray.m[i]) / s;
            if (at > bracket.low && at <= bracket.high && at < HUGE_VAL)
                kinks.push_back({at, ray.cost(i) * std::fabs(s)});
        }
    });
    return crossing(kinks, bracket.slope_low, ray.pp, stop);
}

template <class L, class Cost>
STEELYARD_INLINE double smooth_slope(const Ray<Cost>& ray, double l, const Stop* stop) {
    const double sum = sum_over_rows(ray.n, stop, [=](Index i) STEELYARD_INLINE_LAMBDA {
        return ray.cost(i) * L::share(ray.m[i] + l * ray.s[i]) * ray.s[i];
    });
    return ray.wp + l * ray.pp - sum;
}

// 2^60 is beyond any step, and a bracket that shrinks by a tenth sixty times is down to 2e-3 of what it was.
constexpr int most_slopes = 60;
// Of a bundle's first slope, what may be left: the cut is taken beside the point anyway (003, eq. 12).
constexpr double bundle_slope_left = 1e-3;

// |slope(l)| at most `share` of |slope(0)|, the slopes at 0 and 1 being known: a bracket, and secant steps that stay
// inside it.
template <class Slope>
STEELYARD_INLINE double bracketed_root(Slope&& slope, double at_zero, double at_one, double share) {
    if (!(at_zero < 0)) return 0;
    const double enough = share * -at_zero;
    double low = 0, slope_low = at_zero, high = 0, slope_high = 0, l = 1, here = at_one;
    for (int k = 0; k < most_slopes && !(std::fabs(here) <= enough); ++k) {
        if (here < 0) {
            low = l;
            slope_low = here;
        } else {
            high = l;
            slope_high = here;
        }
        if (high == 0) {
            l *= 2;
        } else {
            // A tenth of the bracket on either side, so that it shrinks by that at least even where the secant creeps.
            const double secant = low - slope_low * (high - low) / (slope_high - slope_low), guard = 0.1 * (high - low);
            l = std::min(std::max(secant, low + guard), high - guard);
        }
        here = slope(l);
    }
    return l;
}

template <class L, class Cost>
STEELYARD_INLINE double best_step(const Ray<Cost>& ray, std::vector<Kink>& kinks, const Stop* stop) {
    if constexpr (L::kind == LossKind::hinge) {
        return hinge_step(ray, kinks, stop);
    } else {
        const auto slope = [&](double l) { return smooth_slope<L>(ray, l, stop); };
        return bracketed_root(slope, slope(0.0), slope(1.0), bundle_slope_left);
    }
}

}  // namespace steelyard
