// A grid of cost-sensitive problems: every cost pair (c-, c+) with every C, each certified, each started from a
// neighbour.
//
//   for each pair and each C:   min over w  1/2 |w|^2 + C (c+ sum_pos s_i loss(m_i) + c- sum_neg s_i loss(m_i))
//
// Coordinate descent and Newton walk chains: first the smallest C across the pairs, then from there up along C for each
// pair on its own. The chains do not depend on each other, so they may run on any number of threads with the same bits.
// C must be ascending. Results are pair-major. (The bundle, with all pairs in lockstep, is solvers/linear/bundle.py.)
#pragma once

#include <memory>
#include <stdexcept>

#include "base/parallel.hpp"
#include "linear/coordinate.hpp"
#include "linear/newton.hpp"

namespace steelyard {

// The two `_first` kinds give their first solver a short try, hand over to the other one, and end with coordinate
// descent.
enum class SolverKind { coordinate, newton, newton_first, coordinate_first };

struct CostPair {
    double negative, positive;
};

struct Grid {
    const double* y;
    const double* weight;  // null: ones
    std::vector<CostPair> pairs;
    std::vector<double> C;  // ascending
    SolverKind solver = SolverKind::coordinate;
    Stopping stopping;
    int n_threads = 1;
};

// Passes after which a mix hands over, in sweeps: its first solver was fast or is not the right one.
struct HandOver {
    double cold_hinge = 25;  // before Newton has a first idea of w (benchmarks/batch.py, single fits of letter)
    double least = 60;       // with Newton in reserve; and at least
    double a_column = 1;     // as many as there are columns: a Newton step costs about one sweep for each
};

template <class Row>
STEELYARD_INLINE double squared_length(const Row& x) {
    double part[4] = {x.constant * x.constant, 0, 0, 0};
    Index k = 0;
    for (; k + 4 <= x.size; k += 4)
        for (int l = 0; l < 4; ++l)
            part[l] += static_cast<double>(x.values[k + l]) * static_cast<double>(x.values[k + l]);
    for (; k < x.size; ++k) part[0] += static_cast<double>(x.values[k]) * static_cast<double>(x.values[k]);
    return (part[0] + part[1]) + (part[2] + part[3]);
}

template <class R>
std::vector<double> squares(const R& rows, const Stop* stop = nullptr) {
    std::vector<double> square(static_cast<std::size_t>(rows.n_rows), 0.0);
    in_pieces(rows.n_rows, rows_a_piece, stop, [&](Index begin, Index end) {
        for (Index i = begin; i < end; ++i) {
            square[i] = squared_length(rows.row(i));
            if (!std::isfinite(square[i]))
                throw std::invalid_argument("X has values whose squares overflow: scale the columns (StandardScaler)");
        }
    });
    return square;
}

// One chain's solver with its buffers: one risk after another on the same rows.
template <class L, class R>
class Chain {
public:
    Chain(const R& rows, const Grid& grid, const std::vector<double>& square)
        : rows_(rows), grid_(grid), square_(square), cost_(static_cast<std::size_t>(rows.n_rows)) {}

    Solution solve(const CostPair& pair, double C, const Solution* start) {
        const double at_zero = set_costs(pair, C) * L::value(0);
        Solution nothing;
        nothing.w.assign(static_cast<std::size_t>(rows_.n_cols), 0.0);
        nothing.status = Status::trouble(objective_overflows);
        if (!std::isfinite(at_zero)) return nothing;
        Solution found = from(start, {grid_.y, cost_.data()});
        found.offer_primal(at_zero, nothing.w);  // w = 0 is always at hand, where all else overflows
        found.reaches(grid_.stopping.tol);
        return found;
    }

private:
    // The sum of all C_i.
    double set_costs(const CostPair& pair, double C) {
        double sum = 0;
        in_pieces(rows_.n_rows, rows_a_piece, grid_.stopping.stop, [&](Index begin, Index end) {
            for (Index i = begin; i < end; ++i) {
                const double weight = grid_.weight ? grid_.weight[i] : 1.0;
                sum += cost_[i] = C * weight * (grid_.y[i] > 0 ? pair.positive : pair.negative);
            }
        });
        return sum;
    }

    Solution from(const Solution* start, const Risk& risk) {
        const double all = grid_.stopping.max_passes;
        switch (grid_.solver) {
            case SolverKind::newton: return newton(risk, start, all);
            case SolverKind::newton_first:
                // From nothing the hinge has no curvature to speak of, and sweeps are the faster way to a first idea.
                if (!start && L::kind == LossKind::hinge) return sweeps_first(risk, start, hand_over_.cold_hinge);
                return carry_on(newton(risk, start, all), risk);
            case SolverKind::coordinate_first: {
                const double columns = hand_over_.a_column * static_cast<double>(rows_.n_cols);
                return sweeps_first(risk, start, std::max(hand_over_.least, columns));
            }
            default: return descend(risk, start, all);
        }
    }

    Solution sweeps_first(const Risk& risk, const Solution* start, double passes) {
        Solution found = descend(risk, start, std::min(passes, grid_.stopping.max_passes));
        if (!found.converged()) found = after(found, newton(risk, &found, grid_.stopping.max_passes));
        return carry_on(std::move(found), risk);
    }

    Solution carry_on(Solution found, const Risk& risk) {
        const double left = grid_.stopping.max_passes - found.passes;
        if (found.converged() || left <= 0) return found;
        Solution further = descend(risk, &found, left);
        return after(found, std::move(further));
    }

    // The second attempt started from the first, yet the best of both counts.
    Solution after(const Solution& first, Solution second) const {
        second.offer_primal(first.primal, first.w);
        second.offer_dual(first.dual, first.share);
        second.passes += first.passes;
        second.reaches(grid_.stopping.tol);
        return second;
    }

    Solution newton(const Risk& risk, const Solution* start, double max_passes) {
        if (!newton_) newton_ = std::make_unique<Newton<L, R>>(rows_);
        return (newton_.get()->*may_throw(&Newton<L, R>::solve))(risk, up_to(max_passes), start);
    }

    Solution descend(const Risk& risk, const Solution* start, double max_passes) {
        if (!descent_) descent_ = std::make_unique<CoordinateDescent<L, R>>(rows_, square_);
        using Descent = CoordinateDescent<L, R>;
        Solution found = (descent_.get()->*may_throw(&Descent::solve))(risk, up_to(max_passes), start);
        if (start) found.rounding = start->rounding;
        return found;
    }

    Stopping up_to(double max_passes) const {
        Stopping stopping = grid_.stopping;
        stopping.max_passes = max_passes;
        return stopping;
    }

    const R& rows_;
    const Grid& grid_;
    const std::vector<double>& square_;
    HandOver hand_over_;
    std::vector<double> cost_;
    std::unique_ptr<Newton<L, R>> newton_;
    std::unique_ptr<CoordinateDescent<L, R>> descent_;
};

template <class L, class R>
std::vector<Solution> solve_grid(const R& rows, const Grid& grid) {
    const std::size_t n_pairs = grid.pairs.size(), n_C = grid.C.size();
    std::vector<Solution> found(n_pairs * n_C);
    if (found.empty()) return found;
    const std::vector<double> square = squares(rows, grid.stopping.stop);
    {
        Chain<L, R> first(rows, grid, square);
        for (std::size_t k = 0; k < n_pairs; ++k) {
            Solution* before = k ? &found[(k - 1) * n_C] : nullptr;
            found[k * n_C] = first.solve(grid.pairs[k], grid.C[0], before);
            if (before && n_C == 1) std::vector<double>().swap(before->share);
        }
    }
    const auto climb = [&](Index k) {
        Chain<L, R> chain(rows, grid, square);
        Solution* row = found.data() + static_cast<std::size_t>(k) * n_C;
        for (std::size_t c = 1; c < n_C; ++c) {
            row[c] = chain.solve(grid.pairs[k], grid.C[c], &row[c - 1]);
            std::vector<double>().swap(row[c - 1].share);  // n numbers for each grid point would not fit in memory
        }
        std::vector<double>().swap(row[n_C - 1].share);
    };
    parallel_for(grid.n_threads, n_C > 1 ? static_cast<Index>(n_pairs) : 0, climb, grid.stopping.stop);
    return found;
}

}  // namespace steelyard
