// The force of the rows off the margin, linear in tau:  v(tau) = p + tau q.
//
// A row below its target pulls with a = high, one above with a = low, both linear in tau (CostBox); a member's a is solved for.
#pragma once

#include "near_rows.hpp"

namespace steelyard {

// a_i stays in [low + tau low_rate, high + tau high_rate].
struct CostBox {
    double low, low_rate, high, high_rate;
    double low_at(double tau) const { return low + tau * low_rate; }
    double high_at(double tau) const { return high + tau * high_rate; }
    double at(Side side, double tau) const { return side == Side::below ? high_at(tau) : low_at(tau); }
};

// What is given of a path's problem (dual_path.hpp), one entry a row.
struct PathData {
    const double* sign;
    const double* target;
    const CostBox* box;
};

struct PathForces {
    std::vector<double> p, q;

    void clear(Index n_cols) {
        p.assign(static_cast<std::size_t>(n_cols), 0.0);
        q.assign(static_cast<std::size_t>(n_cols), 0.0);
    }

    // Adds `factor` times what row i pulls on that side.
    template <class R>
    void push(const R& rows, Index i, double sign, const CostBox& box, Side side, double factor) {
        if (side != Side::below && side != Side::above) return;
        const bool high = side == Side::below;
        const double force = high ? box.high : box.low, rate = high ? box.high_rate : box.low_rate;
        if (force != 0) rows.row(i).add_to(p.data(), factor * sign * force);
        if (rate != 0) rows.row(i).add_to(q.data(), factor * sign * rate);
    }

    void at(double tau, std::vector<double>& v) const {
        v = p;
        for (std::size_t j = 0; j < v.size(); ++j) v[j] += tau * q[j];
    }
};

}  // namespace steelyard
