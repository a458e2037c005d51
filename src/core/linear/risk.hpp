// The cost-sensitive risk, and the certificate that goes with every solution.
//
//   primal   P(w) = 1/2 |w|^2 + sum_i C_i loss(y_i x_i.w),        C_i = C c_{y_i} s_i   (s_i the sample weight)
//   dual     D(b) = sum_i C_i dual_term(b_i) - 1/2 |v(b)|^2,      v(b) = sum_i C_i b_i y_i x_i
//
// D(b) <= min P <= P(w) for every feasible b, so (P - D) / P bounds how far w is from the best, whoever found w and b.
// D(0) = 0 for all three losses. Numbers that are not finite are never offered, so they certify nothing.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/rows.hpp"
#include "base/status.hpp"
#include "base/stop.hpp"
#include "linear/losses.hpp"

namespace steelyard {

struct Risk {
    const double* y;     // +1 or -1
    const double* cost;  // C_i >= 0
};

struct Stopping {
    double tol = 1e-3;  // on the relative gap
    double max_passes = 1e4;
    std::uint64_t seed = 0;
    const Stop* stop = nullptr;  // asked in every pass
};

constexpr const char* out_of_passes = "the passes over the rows are used up";
constexpr const char* objective_overflows =
    "the objective overflows at w = 0: C times costs and sample weights is too large";

// Rows between two looks at the stop token. A row of some hundred numbers takes less than a microsecond, so a piece is
// a few milliseconds at most, and the look, 25 ns, does not show.
constexpr Index rows_a_piece = 2048;

// A solution, and all that a neighbour on the grid needs to start from it.
struct Solution {
    std::vector<double> w;
    std::vector<double> share;  // b, feasible
    std::vector<double> pull;   // v(b), if known
    double rounding = 1;        // the width mu at which Newton left the hinge
    double primal = std::numeric_limits<double>::infinity();
    double dual = -std::numeric_limits<double>::infinity();
    double passes = 0;  // over all rows; a sweep over half of them counts a half
    Status status;

    bool converged() const { return status.solved(); }

    // Relative to P; infinite where nothing is known, 1 where nothing but D(0) = 0 is.
    double gap() const {
        if (!std::isfinite(primal)) return std::numeric_limits<double>::infinity();
        if (primal <= 0) return 0;  // P is never negative
        return std::max(0.0, (primal - std::max(dual, 0.0)) / primal);
    }
    // True, and solved, once the gap is small enough.
    bool reaches(double tol) {
        if (!(gap() <= tol)) return false;
        status = {Ended::solved, ""};
        return true;
    }

    void offer_primal(double value, const std::vector<double>& at) {
        if (!(value < primal) || !std::isfinite(value)) return;
        primal = value;
        w = at;
    }
    // True if it is taken; v(b) is then to be set by who knows it.
    bool offer_dual(double value, const std::vector<double>& at) {
        if (!(value > dual) || !std::isfinite(value)) return false;
        dual = value;
        share = at;
        pull.clear();
        return true;
    }
};

inline double squared_norm(const std::vector<double>& v) {
    double sum = 0;
    for (double x : v) sum += x * x;
    return sum;
}

inline bool all_finite(const std::vector<double>& v) {
    double sum = 0;
    for (double x : v) sum += 0 * x;
    return sum == 0;
}

// Loops take rows by value: where nobody else can reach them the compiler keeps their pointers in registers.

// m_i = y_i x_i.w
template <class R>
STEELYARD_INLINE void margins(const R rows, const double* y, const double* w, double* m, const Stop* stop) {
    in_pieces(rows.n_rows, rows_a_piece, stop, [&](Index begin, Index end) STEELYARD_INLINE_LAMBDA {
        for (Index i = begin; i < end; ++i) {
            look_ahead(rows, i, end);
            m[i] = y[i] * rows.row(i).dot(w);
        }
    });
}

// v = sum_i C_i b_i y_i x_i
template <class R>
STEELYARD_INLINE void pull(const R rows, const Risk& risk, const double* b, std::vector<double>& v, const Stop* stop) {
    std::fill(v.begin(), v.end(), 0.0);
    in_pieces(rows.n_rows, rows_a_piece, stop, [&](Index begin, Index end) STEELYARD_INLINE_LAMBDA {
        for (Index i = begin; i < end; ++i) {
            look_ahead(rows, i, end);
            const double force = risk.cost[i] * b[i] * risk.y[i];
            if (force != 0) rows.row(i).add_to(v.data(), force);
        }
    });
}

// The sum of term(i) over all rows, in partial sums: one chain of additions would wait for itself.
template <class Term>
STEELYARD_INLINE double sum_over_rows(Index n, const Stop* stop, Term&& term) {
    double sum = 0;
    in_pieces(n, rows_a_piece, stop, [&](Index begin, Index end) STEELYARD_INLINE_LAMBDA {
        double part[8] = {0, 0, 0, 0, 0, 0, 0, 0};
        Index i = begin;
        for (; i + 8 <= end; i += 8)
            for (Index k = 0; k < 8; ++k) part[k] += term(i + k);
        for (; i < end; ++i) part[0] += term(i);
        sum += ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
    });
    return sum;
}

template <class L>
STEELYARD_INLINE double empirical(const double* cost, Index n, const double* m, const Stop* stop) {
    return sum_over_rows(n, stop, [=](Index i) STEELYARD_INLINE_LAMBDA { return cost[i] * L::value(m[i]); });
}

template <class L>
STEELYARD_INLINE double dual_terms(const double* cost, Index n, const double* b, const Stop* stop) {
    return sum_over_rows(n, stop, [=](Index i) STEELYARD_INLINE_LAMBDA { return cost[i] * L::dual_term(b[i]); });
}

}  // namespace steelyard
