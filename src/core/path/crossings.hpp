// Where the scores of rows change sign along a piecewise linear path of models, exactly, with few looks at each row.
//
// Given models w_0 .. w_k at parameters t_0 <= .. <= t_k, linear between. A row's score is linear between knots too, so
// it crosses zero at most once in each piece. From knot j it keeps its sign at least while the way of w is shorter than
// |score| / |x|: the row jumps to the last knot within that way, and takes single pieces only when it is close to zero.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/rows.hpp"

namespace steelyard {

struct Knots {
    const double* tau;
    const double* w;    // size x columns
    const double* way;  // how far the model has moved, so that a score has changed by at most |x| times that
    Index size, columns;
};

struct Crossings {
    std::vector<double> row, tau, sign;  // sign +1: from then on the score is positive
};

// norm is |x| of every row; infinite where it is not known.
template <class R>
STEELYARD_CLONES Crossings find_crossings(const R& rows, const double* norm, const Knots& knots) {
    Crossings found;
    const double *way = knots.way, *end = knots.way + knots.size;
    for (Index i = 0; i < rows.n_rows; ++i) {
        const auto x = rows.row(i);
        const double longest = norm[i] * (1 + 1e-12);
        double score = x.dot(knots.w);
        for (Index k = 0; k + 1 < knots.size;) {
            const double safe = way[k] + std::fabs(score) / longest * (1 - 1e-12);
            const auto last = static_cast<Index>(std::upper_bound(way + k, end, safe) - way) - 1;
            const Index next = std::max(last, k + 1);
            const double then = x.dot(knots.w + next * knots.columns);
            if ((then > 0) != (score > 0) && next == k + 1) {
                const double share = score == then ? 0 : score / (score - then);
                found.row.push_back(static_cast<double>(i));
                found.tau.push_back(knots.tau[k] + share * (knots.tau[next] - knots.tau[k]));
                found.sign.push_back(then > 0 ? 1.0 : -1.0);
            }
            score = then;
            k = next;
        }
    }
    return found;
}

}  // namespace steelyard
