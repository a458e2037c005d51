// The cost path at scale: knots between which linear interpolation keeps the relative duality gap below tol, for every
// tau.
//
// At a knot the batch engine gives w and feasible multipliers a = c(tau) b, with v = sum a z. Between two knots at
// share l take
//   w(l) = (1 - l) w_0 + l w_1       primal:  1/2 |w(l)|^2 + sum over classes of c(l) R(w(l)),   R convex, so at most
//   its chord a(l) = (1 - l) a_0 + l a_1       dual:    sum a(l) - 1/2 |v(l)|^2,   feasible since the boxes are linear
//   in tau
// Both bounds are quadratics in l, known from a few numbers a knot. (1 - tol) U(l) <= D(l) for all l in [0, 1] is a
// question about one parabola; where the answer is no, the middle becomes a knot, started from its neighbour.
#pragma once

#include <functional>

#include "linear/cost_grid.hpp"

namespace steelyard {

struct ApproximateProblem {
    const double* y;
    const double* weight;
    double C, start, end, tol;
    SolverKind solver = SolverKind::coordinate;
    std::uint64_t seed = 0;
};

struct ApproximatePath {
    std::vector<double> tau, w;  // knots, and one model after another
    double gap = 0;              // the largest relative gap of any tau, certified
    double passes = 0;
    bool interrupted = false;
};

class AskedStop : public Stop {
public:
    explicit AskedStop(std::function<bool()> ask) : ask_(std::move(ask)) {}

protected:
    bool look() const override { return ask_ && ask_(); }

private:
    std::function<bool()> ask_;
};

template <class R>
class ApproximateTrace {
public:
    // `stop` is asked in every pass of every solver; once it has said so, nothing goes on.
    ApproximateTrace(const R& rows, const ApproximateProblem& problem, const std::function<bool()>& stop)
        : rows_(rows),
          problem_(problem),
          stop_(stop),
          square_(squares(rows)),
          grid_(grid(problem)),
          chain_(rows, grid_, square_) {
        grid_.stopping.stop = &stop_;
    }

    // From left to right, so that what is known when it is stopped is a path from the start. A knot that was not
    // finished is none.
    ApproximatePath trace() {
        try {
            follow();
        } catch (const Stopped&) {
            path_.interrupted = true;
        }
        return std::move(path_);
    }

private:
    void follow() {
        std::vector<Knot> waiting;
        Knot left = solve(problem_.start, nullptr);
        waiting.push_back(solve(problem_.end, nullptr));
        keep(left);
        while (!waiting.empty()) {
            stop_.check();
            const double gap = largest_gap(left, waiting.back());
            const double width = waiting.back().tau - left.tau;
            if (gap > problem_.tol && width > narrowest) {
                waiting.push_back(solve(left.tau + width / 2, &left.solution));
                continue;
            }
            path_.gap = std::max(path_.gap, gap);
            left = std::move(waiting.back());
            waiting.pop_back();
            keep(left);
        }
    }

    static constexpr double narrowest = 1e-6, inner = 0.25;  // the inner gap, as a share of tol

    struct Knot {
        double tau;
        Solution solution;
        double risk[2];  // of the negative and the positive class, at w
        double mass;     // sum of a
        std::vector<double> v;
    };

    static Grid grid(const ApproximateProblem& p) {
        Grid g{p.y, p.weight, {}, {p.C}, p.solver, {inner * p.tol, 2000, p.seed}, {}};
        return g;
    }

    Knot solve(double tau, const Solution* start) {
        const CostPair pair{2 * tau, 2 * (1 - tau)};
        Knot knot{tau, chain_.solve(pair, problem_.C, start), {0, 0}, 0, {}};
        path_.passes += knot.solution.passes;
        measure(knot, pair);
        return knot;
    }

    STEELYARD_CLONES void measure(Knot& knot, const CostPair& pair) const {
        knot.v.assign(static_cast<std::size_t>(rows_.n_cols), 0.0);
        const bool shares = !knot.solution.share.empty();
        for (Index i = 0; i < rows_.n_rows; ++i) {
            const auto x = rows_.row(i);
            const bool positive = problem_.y[i] > 0;
            knot.risk[positive] += problem_.weight[i] * Hinge::value(problem_.y[i] * x.dot(knot.solution.w.data()));
            const double a = shares ? problem_.C * problem_.weight[i] * (positive ? pair.positive : pair.negative) *
                                          knot.solution.share[i]
                                    : 0;
            knot.mass += a;
            if (a != 0) x.add_to(knot.v.data(), a * problem_.y[i]);
        }
    }

    struct Bounds {
        double upper, lower;
    };

    Bounds bounds(const Knot& left, const Knot& right, double l) const {
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

    // The smallest t with (1 - t) U(l) <= D(l) for all l, to a hundredth of tol: each t asks for the top of one
    // parabola.
    double largest_gap(const Knot& left, const Knot& right) const {
        const Bounds at[3] = {bounds(left, right, 0), bounds(left, right, 0.5), bounds(left, right, 1)};
        const auto holds = [&](double t) {
            double f[3];
            for (int k = 0; k < 3; ++k) f[k] = (1 - t) * at[k].upper - std::max(at[k].lower, 0.0);
            const double b = -3 * f[0] + 4 * f[1] - f[2],
                         a = 2 * f[0] - 4 * f[1] + 2 * f[2];  // f(l) = f0 + b l + a l^2
            const double top = a < 0 ? -b / (2 * a) : 0;
            return f[0] <= 0 && f[2] <= 0 && (top <= 0 || top >= 1 || f[0] + b * top / 2 <= 0);
        };
        double low = 0, high = problem_.tol;
        if (!holds(high)) return 1;
        while (high - low > 0.01 * problem_.tol) (holds((low + high) / 2) ? high : low) = (low + high) / 2;
        return high;
    }

    void keep(const Knot& knot) {
        path_.tau.push_back(knot.tau);
        path_.w.insert(path_.w.end(), knot.solution.w.begin(), knot.solution.w.end());
    }

    const R& rows_;
    ApproximateProblem problem_;
    AskedStop stop_;
    std::vector<double> square_;
    Grid grid_;
    Chain<Hinge, R> chain_;
    ApproximatePath path_;
};

}  // namespace steelyard
