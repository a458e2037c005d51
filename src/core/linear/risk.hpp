// The cost-sensitive risk, and the certificate that goes with every solution.
//
//   primal   P(w) = 1/2 |w|^2 + sum_i C_i loss(y_i x_i.w),        C_i = C c_{y_i} s_i   (s_i the sample weight)
//   dual     D(b) = sum_i C_i dual_term(b_i) - 1/2 |v(b)|^2,      v(b) = sum_i C_i b_i y_i x_i
//
// D(b) <= min P <= P(w) for every feasible b, so (P - D) / P bounds how far w is from the best, whoever found w and b.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "base/rows.hpp"
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
    std::function<bool()> stop = {};  // asked after every pass or so; what was found so far is then given back

    bool is_asked_for() const { return stop && stop(); }
};

// A solution, and all that a neighbour on the grid needs to start from it.
struct Solution {
    std::vector<double> w;
    std::vector<double> share;  // b, feasible
    double rounding = 1;        // the width mu at which Newton left the hinge
    double primal = std::numeric_limits<double>::infinity();
    double dual = -std::numeric_limits<double>::infinity();
    double passes = 0;  // over all rows; a sweep over half of them counts a half
    bool converged = false;
    std::vector<double> history;  // of the bundle: the objective after each round

    double gap() const { return primal > 0 ? std::max(0.0, (primal - std::max(dual, 0.0)) / primal) : 0; }

    void offer_primal(double value, const std::vector<double>& at) {
        if (!(value < primal)) return;
        primal = value;
        w = at;
    }
    void offer_dual(double value, const std::vector<double>& at) {
        if (!(value > dual)) return;
        dual = value;
        share = at;
    }
};

inline double squared_norm(const std::vector<double>& v) {
    double sum = 0;
    for (double x : v) sum += x * x;
    return sum;
}

// m_i = y_i x_i.w
template <class R>
STEELYARD_INLINE void margins(const R& rows, const double* y, const double* w, double* m) {
    for (Index i = 0; i < rows.n_rows; ++i) m[i] = y[i] * rows.row(i).dot(w);
}

// v = sum_i C_i b_i y_i x_i
template <class R>
STEELYARD_INLINE void pull(const R& rows, const Risk& risk, const double* b, std::vector<double>& v) {
    std::fill(v.begin(), v.end(), 0.0);
    for (Index i = 0; i < rows.n_rows; ++i) {
        const double force = risk.cost[i] * b[i] * risk.y[i];
        if (force != 0) rows.row(i).add_to(v.data(), force);
    }
}

template <class L>
STEELYARD_INLINE double empirical(const double* cost, Index n, const double* m) {
    double sum = 0;
    for (Index i = 0; i < n; ++i) sum += cost[i] * L::value(m[i]);
    return sum;
}

template <class L>
STEELYARD_INLINE double dual_terms(const double* cost, Index n, const double* b) {
    double sum = 0;
    for (Index i = 0; i < n; ++i) sum += cost[i] * L::dual_term(b[i]);
    return sum;
}

}  // namespace steelyard
