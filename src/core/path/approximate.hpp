// The cost path at scale: knots between which linear interpolation keeps the relative duality gap below tol, for every
// tau.
//
// At a knot the linear engine gives w and feasible multipliers a = c(tau) b, with v = sum a z. Between two knots at
// share l take
//   w(l) = (1 - l) w_0 + l w_1    primal:  U(l) = 1/2 |w(l)|^2 + sum over classes of c(l) R(l),  R convex: its chord
//   a(l) = (1 - l) a_0 + l a_1    dual:    D(l) = sum a(l) - 1/2 |v(l)|^2,  feasible since the boxes are linear in tau
// Both bounds are quadratics in l, known from a few numbers a knot. (1 - tol) U(l) <= D(l) for all l in [0, 1] is a
// question about one parabola; where the answer is no, the middle becomes a knot, started from its neighbour.
//
// A knot that the engine could not bring below tol stays above it however near its neighbours come. Beside such a knot
// nothing is split finer than a coarse grid; the path then has the gap that was proved, and says which knot it was.
#pragma once

#include "base/status.hpp"
#include "linear/cost_grid.hpp"
#include "path/problem.hpp"
#include "path/space.hpp"

namespace steelyard {

struct ApproximateProblem {
    const double* y;
    const double* weight;  // null: ones
    double C, start, end, tol;
    SolverKind solver = SolverKind::coordinate;
    std::uint64_t seed = 0;
    const PathWatch* watch = nullptr;  // null: nobody
};

struct ApproximatePath {
    std::vector<double> tau, w;  // knots, and one model after another
    double gap = 0;              // the largest relative gap of any tau, certified
    double passes = 0;
    Ended ended = Ended::solved;
    double where = 0;  // the knot, or the left end of the stretch, that stayed above tol
};

struct GapBounds {
    double upper, lower;
};

// The smallest t, to a hundredth of tol, with (1 - t) U(l) <= D(l) for all l in [0, 1], given U and D at l = 0, 1/2 and
// 1: each t asks for the top of one parabola. At most 1, since no multipliers at all prove that much; 1 where a number
// is not finite.
inline double certified_gap(const GapBounds (&at)[3], double tol) {
    for (const GapBounds& bound : at)
        if (!std::isfinite(bound.upper) || !std::isfinite(bound.lower)) return 1;
    const auto holds = [&](double t) {
        double f[3];
        for (int k = 0; k < 3; ++k) f[k] = (1 - t) * at[k].upper - at[k].lower;
        const double b = -3 * f[0] + 4 * f[1] - f[2], a = 2 * f[0] - 4 * f[1] + 2 * f[2];  // f(l) = f0 + b l + a l^2
        const double top = a < 0 ? -b / (2 * a) : 0;
        return f[0] <= 0 && f[2] <= 0 && (top <= 0 || top >= 1 || f[0] + b * top / 2 <= 0);
    };
    double low = 0, high = tol;
    if (!holds(tol)) low = tol, high = 1;
    while (high - low > 0.01 * tol) {
        const double middle = (low + high) / 2;
        if (middle <= low || middle >= high) break;  // neighbours: a tol below the rounding of the gap
        (holds(middle) ? high : low) = middle;
    }
    return high;
}

template <class R>
class ApproximateTrace {
public:
    ApproximateTrace(const R& rows, const ApproximateProblem& problem, const Stop* stop = nullptr)
        : rows_(rows),
          problem_(problem),
          stop_(stop),
          square_(squares(rows, stop)),
          grid_(grid(problem, stop)),
          chain_(rows, grid_, square_) {
        double force = 0;
        for (Index i = 0; i < rows.n_rows; ++i) force += 2 * problem.C * weight(i) * (1 + std::sqrt(square_[i]));
        check_force(force);
        if (is_newton()) std::vector<double>().swap(square_);  // for descent only
    }

    // From left to right: the stretch under way, and to its right the knots that wait for their turn.
    ApproximatePath trace() {
        std::vector<Knot> waiting;
        Knot left = solve(problem_.start, nullptr);
        waiting.push_back(solve(problem_.end, nullptr));
        keep(left);
        while (!waiting.empty()) {
            check(stop_);
            if (problem_.watch) problem_.watch->at(left.tau, static_cast<Index>(path_.tau.size() + waiting.size()));
            const double gap = largest_gap(left, waiting.back());
            if (gap > problem_.tol && is_worth_splitting(left, waiting.back())) {
                const Solution middle = between(left, waiting.back());
                waiting.push_back(solve((left.tau + waiting.back().tau) / 2, &middle));
                continue;
            }
            if (gap > problem_.tol && gap > path_.gap) {
                path_.ended = Ended::limit;
                path_.where = left.gap >= waiting.back().gap ? left.tau : waiting.back().tau;
            }
            path_.gap = std::max(path_.gap, gap);
            left = std::move(waiting.back());
            waiting.pop_back();
            keep(left);
        }
        return std::move(path_);
    }

private:
    // A knot is solved to a quarter of tol; one with more than half of it left has met the engine's limit. What is left
    // of tol is for the stretches, whose share falls with the square of their width.
    static constexpr double inner = 0.25, good = 0.5;
    // Sweeps a knot may take. On scaled data it takes tens; whoever needs thousands has columns of very different
    // scales, and is told so.
    static constexpr double most_passes = 2000;
    // Stretches are not split below this: models so near in tau are equal to the precision of the engine. Beside a
    // knot that fell short, not below this share of the range: enough for a curve, and 17 knots at their limit.
    static constexpr double narrowest = 1e-6, coarse = 1.0 / 16;

    struct Knot {
        double tau;
        Solution solution;
        double risk[2];  // of the negative and the positive class, at w
        double mass;     // sum of a
        double gap;      // relative, at the knot itself
        std::vector<double> v;
    };

    static Grid grid(const ApproximateProblem& p, const Stop* stop) {
        return {p.y, p.weight, {}, {p.C}, p.solver, {inner * p.tol, most_passes, p.seed, stop}, 1};
    }

    bool is_newton() const {
        return problem_.solver == SolverKind::newton || problem_.solver == SolverKind::newton_first;
    }

    Knot solve(double tau, const Solution* start) {
        const CostPair pair{2 * tau, 2 * (1 - tau)};
        Knot knot{tau, chain_.solve(pair, problem_.C, start), {0, 0}, 0, 1, {}};
        path_.passes += knot.solution.passes;
        if (static_cast<Index>(knot.solution.w.size()) == rows_.n_cols) measure(knot, pair);
        const GapBounds at = bounds(knot, knot, 0);
        if (knot.v.empty() || !std::isfinite(at.upper) || !std::isfinite(at.lower))
            throw std::runtime_error("the cost path met numbers that are not finite at tau = " + std::to_string(tau) +
                                     ": scale the columns (StandardScaler), or give a smaller C");
        knot.gap = at.upper > 0 ? (at.upper - at.lower) / at.upper : 0;
        // Newton starts from w alone, and a dozen knots may be waiting with a number a row each.
        if (is_newton()) std::vector<double>().swap(knot.solution.share);
        return knot;
    }

    // The middle of two chords, whose gap is known: a knot starts there.
    Solution between(const Knot& left, const Knot& right) const {
        Solution middle;
        middle.rounding = left.solution.rounding;
        middle.w = middle_of(left.solution.w, right.solution.w);
        if (left.solution.share.empty() || right.solution.share.empty()) return middle;
        middle.pull = middle_of(left.v, right.v);
        middle.share = std::vector<double>(left.solution.share.size());
        // Multipliers are linear between knots, and shares are multipliers by costs; costs of 0 leave them as they are.
        const auto share = [](double b0, double c0, double b1, double c1) {
            return c0 + c1 > 0 ? std::min((c0 * b0 + c1 * b1) / (c0 + c1), 1.0) : 0.0;
        };
        in_pieces(rows_.n_rows, rows_a_piece, stop_, [&](Index begin, Index end) {
            for (Index i = begin; i < end; ++i) {
                const bool positive = problem_.y[i] > 0;
                middle.share[i] = share(left.solution.share[i], positive ? 1 - left.tau : left.tau,
                                        right.solution.share[i], positive ? 1 - right.tau : right.tau);
            }
        });
        return middle;
    }

    static std::vector<double> middle_of(const std::vector<double>& a, const std::vector<double>& b) {
        std::vector<double> middle(a.size());
        for (std::size_t j = 0; j < a.size(); ++j) middle[j] = (a[j] + b[j]) / 2;
        return middle;
    }

    void measure(Knot& knot, const CostPair& pair) const {
        knot.v.assign(static_cast<std::size_t>(rows_.n_cols), 0.0);
        in_pieces(rows_.n_rows, rows_a_piece, stop_, [&](Index begin, Index end) { measure(knot, pair, begin, end); });
        if (knot.mass >= squared_norm(knot.v) / 2) return;
        // Multipliers that prove less than none at all: none, here and along both chords.
        knot.mass = 0;
        std::fill(knot.v.begin(), knot.v.end(), 0.0);
    }

    STEELYARD_CLONES void measure(Knot& knot, const CostPair& pair, Index begin, Index end) const {
        const bool shares = !knot.solution.share.empty();
        for (Index i = begin; i < end; ++i) {
            const auto x = rows_.row(i);
            const bool positive = problem_.y[i] > 0;
            knot.risk[positive] += weight(i) * Hinge::value(problem_.y[i] * x.dot(knot.solution.w.data()));
            const double a =
                shares ? problem_.C * weight(i) * (positive ? pair.positive : pair.negative) * knot.solution.share[i]
                       : 0;
            knot.mass += a;
            if (a != 0) x.add_to(knot.v.data(), a * problem_.y[i]);
        }
    }

    STEELYARD_INLINE double weight(Index i) const { return problem_.weight ? problem_.weight[i] : 1.0; }

    GapBounds bounds(const Knot& left, const Knot& right, double l) const {
        const double tau = left.tau + l * (right.tau - left.tau);
        double ww = 0, vv = 0;
        for (std::size_t j = 0; j < left.v.size(); ++j) {
            const double w = left.solution.w[j] + l * (right.solution.w[j] - left.solution.w[j]),
                         v = left.v[j] + l * (right.v[j] - left.v[j]);
            ww += w * w;
            vv += v * v;
        }
        const double negative = left.risk[0] + l * (right.risk[0] - left.risk[0]),
                     positive = left.risk[1] + l * (right.risk[1] - left.risk[1]);
        return {ww / 2 + 2 * problem_.C * (tau * negative + (1 - tau) * positive),
                left.mass + l * (right.mass - left.mass) - vv / 2};
    }

    double largest_gap(const Knot& left, const Knot& right) const {
        return certified_gap({bounds(left, right, 0), bounds(left, right, 0.5), bounds(left, right, 1)}, problem_.tol);
    }

    bool is_worth_splitting(const Knot& left, const Knot& right) const {
        const double width = right.tau - left.tau;
        const bool both = left.gap <= good * problem_.tol && right.gap <= good * problem_.tol;
        return width > (both ? narrowest : coarse * (problem_.end - problem_.start));
    }

    void keep(const Knot& knot) {
        path_.tau.push_back(knot.tau);
        path_.w.insert(path_.w.end(), knot.solution.w.begin(), knot.solution.w.end());
    }

    const R& rows_;
    ApproximateProblem problem_;
    const Stop* stop_;
    std::vector<double> square_;
    Grid grid_;
    Chain<Hinge, R> chain_;
    ApproximatePath path_;
};

}  // namespace steelyard
