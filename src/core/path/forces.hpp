// The force of the rows off the margin, linear in tau:  v(tau) = p + tau q.
//
// A row below its target pulls with a = high, one above with a = low, both linear in tau (CostBox); a member's a is
// solved for.
#pragma once

#include "base/compensated_sum.hpp"
#include "path/problem.hpp"
#include "path/space.hpp"

namespace steelyard {

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
