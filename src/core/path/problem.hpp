// What a path is given, in one place: the rows' signs, targets and boxes, the range of tau, and the knots of models.
//
//   min over w   1/2 |w|^2 + sum_i  max over a in [low_i, high_i] of  a (t_i - s_i x_i.w),     low, high linear in tau
//
// One entry a row in every array; nothing is owned here.
#pragma once

#include <cstdint>
#include <stdexcept>

#include "base/rows.hpp"
#include "path/watch.hpp"

namespace steelyard {

// Where a row is: its margin under its target (a = high), on it, or over it (a = low). An idle row has an empty box.
enum class Side : std::int8_t { below = 0, member = 1, above = 2, idle = 3 };

// a_i stays in [low + tau low_rate, high + tau high_rate].
struct CostBox {
    double low, low_rate, high, high_rate;
    double low_at(double tau) const { return low + tau * low_rate; }
    double high_at(double tau) const { return high + tau * high_rate; }
    double at(Side side, double tau) const { return side == Side::below ? high_at(tau) : low_at(tau); }
    double rate(Side side) const { return side == Side::below ? high_rate : low_rate; }
};

struct PathData {
    const double* sign;
    const double* target;
    const CostBox* box;
};

// The part of it that decides when a row reaches its target.
struct PathTargets {
    const double* sign;
    const double* target;
    const double* norm;  // |x_i|
};

struct PathProblem {
    PathData data;
    double start, end;
    std::uint64_t seed = 0;            // of the order of the first coordinate descent
    const PathWatch* watch = nullptr;  // null: nobody
    double middle = -1;                // where two halves begin; outside of the range: it begins at the start
    int n_threads = 1;
};

struct AuditProblem {
    PathData given;          // as traced
    const double* original;  // targets without perturbation
    double unit;             // the size of a target
};

// Models at knots of tau, linear between.
struct PathKnots {
    const double* tau;
    const double* w;    // size x columns
    const double* way;  // how far the model has moved, so that a score has changed by at most |x| times that
    Index size, columns;
};

// Forces are sums of cost times row and models are no longer than that: refuses what would overflow when squared.
inline void check_force(double force) {
    constexpr double most = 1e150;  // its square, summed over thousands of columns, is finite
    if (force < most) return;
    throw std::invalid_argument(
        "C times the sample weights times the lengths of the rows is too large to compute with, its square overflows: "
        "give a smaller C or smaller weights, or scale the columns (StandardScaler)");
}

}  // namespace steelyard
