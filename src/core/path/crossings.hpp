// Where the scores of rows change sign along a piecewise linear path of models, exactly, with few looks at each row.
//
// Given models w_0 .. w_k at parameters t_0 <= .. <= t_k, linear between. A row's score is linear between knots too, so
// it crosses zero at most once in each piece. From knot j it keeps its sign at least while the way of w is shorter than
// |score| / |x|: the row jumps to the last knot within that way, and takes single pieces only when it is close to zero.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "path/problem.hpp"
#include "path/space.hpp"

namespace steelyard {

struct Crossings {
    std::vector<double> row, tau, sign;  // sign +1: from then on the score is positive
};

template <class R>
STEELYARD_CLONES void add_crossings(const R& rows, const double* norm, const PathKnots& knots, Index begin, Index end,
                                    Crossings& found) {
    constexpr double rounding = 1e-12;  // of a norm and a score: a row jumps that much less than it might
    const double *way = knots.way, *last_way = knots.way + knots.size;
    for (Index i = begin; i < end; ++i) {
        const auto x = rows.row(i);
        const double longest = norm[i] * (1 + rounding);
        double score = x.dot(knots.w);
        for (Index k = 0; k + 1 < knots.size;) {
            const double safe = way[k] + std::fabs(score) / longest * (1 - rounding);
            const auto last = static_cast<Index>(std::upper_bound(way + k, last_way, safe) - way) - 1;
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
}

// norm is |x| of every row; infinite where it is not known.
template <class R>
Crossings find_crossings(const R& rows, const double* norm, const PathKnots& knots, const Stop* stop = nullptr) {
    Crossings found;
    const Index numbers = rows.n_entries() / std::max<Index>(rows.n_rows, 1);
    const Index most = std::max<Index>(pace_of(numbers) / std::max<Index>(knots.size, 1), 1);
    in_pieces(rows.n_rows, most, stop,
              [&](Index begin, Index end) { may_throw (&add_crossings<R>)(rows, norm, knots, begin, end, found); });
    return found;
}

}  // namespace steelyard
