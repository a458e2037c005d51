// The force of the rows off the margin, linear in tau:  v(tau) = p + tau q.
//
// A row below its target pulls with a = high, one above with a = low, both linear in tau (CostBox); a member's a is
// solved for.
#pragma once

#include "base/compensated_sum.hpp"
#include "path/near_rows.hpp"

namespace steelyard {

// a_i stays in [low + tau low_rate, high + tau high_rate].
struct CostBox {
    double low, low_rate, high, high_rate;
    double low_at(double tau) const { return low + tau * low_rate; }
    double high_at(double tau) const { return high + tau * high_rate; }
    double at(Side side, double tau) const { return side == Side::below ? high_at(tau) : low_at(tau); }
};

// What is given of a path's problem (path/dual_path.hpp), one entry a row.
struct PathData {
    const double* sign;
    const double* target;
    const CostBox* box;
};

struct PathForces {
    PathVector p, q;

    template <class S>
    void clear(const S& space) {
        space.clear(p);
        space.clear(q);
    }

    // Adds `factor` times what row i pulls on that side.
    template <class S>
    void push(const S& space, Index i, double sign, const CostBox& box, Side side, double factor) {
        if (side != Side::below && side != Side::above) return;
        const bool high = side == Side::below;
        const double force = high ? box.high : box.low, rate = high ? box.high_rate : box.low_rate;
        if (force != 0) space.add(p, i, factor * sign * force);
        if (rate != 0) space.add(q, i, factor * sign * rate);
    }

    void at(double tau, PathVector& force) const {
        force = p;
        for (std::size_t j = 0; j < force.c.size(); ++j) force.c[j] += tau * q.c[j];
        if (q.low.empty()) {
            for (std::size_t j = 0; j < force.v.size(); ++j) force.v[j] += tau * q.v[j];
            return;
        }
        add_product(tau, q.v.data(), static_cast<Index>(q.v.size()), force.v.data(), force.low.data());
        for (std::size_t j = 0; j < force.v.size(); ++j) force.low[j] += tau * q.low[j];
    }
};

}  // namespace steelyard
