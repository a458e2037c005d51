// A grid of cost-sensitive problems: every cost pair (c-, c+) with every C, each certified, each started from a
// neighbour.
//
//   for each pair and each C:   min over w  1/2 |w|^2 + C (c+ sum_pos s_i loss(m_i) + c- sum_neg s_i loss(m_i))
//
// Newton takes all pairs in lockstep (lockstep.hpp). Coordinate descent walks chains: first the smallest C across the
// pairs, then from there up along C for each pair on its own; the chains do not depend on each other, so they may run
// on any number of threads with the same bits. C must be ascending. Results are pair-major. (The bundle, also in
// lockstep, is solvers/linear/bundle.py.)
#pragma once

#include <memory>

#include "base/parallel.hpp"
#include "linear/coordinate.hpp"
#include "linear/lockstep.hpp"

namespace steelyard {

// The two `_first` kinds give their first solver a try, hand over to the other one, and end with coordinate descent.
enum class SolverKind { coordinate, newton, newton_first, coordinate_first };

struct Grid {
    const double* y;
    const double* weight;  // null: ones
    std::vector<CostPair> pairs;
    std::vector<double> C;  // ascending
    SolverKind solver = SolverKind::coordinate;
    Stopping stopping;
    int n_threads = 1;
    const double* start = nullptr;  // a w for each pair, near the solution for the first C: what Newton begins with
};

// Passes after which a mix hands over, in sweeps: its first solver was fast or is not the right one.
struct HandOver {
    double least = 60;    // with Newton in reserve; and at least
    double a_column = 1;  // as many as there are columns: a Newton step costs about one sweep for each
};

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
        pair_ = pair;
        C_ = C;
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
            case SolverKind::newton:
            case SolverKind::newton_first: return newton(start, all);
            case SolverKind::coordinate_first: {
                const double columns = hand_over_.a_column * static_cast<double>(rows_.n_cols);
                Solution found = descend(risk, start, std::min(std::max(hand_over_.least, columns), all));
                if (!found.converged()) found = after(found, newton(&found, all));
                return carry_on(std::move(found), risk);
            }
            default: return descend(risk, start, all);
        }
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

    Solution newton(const Solution* start, double max_passes) {
        if (!newton_) {
            const bool rescue = grid_.solver == SolverKind::newton_first;
            newton_ = std::make_unique<Lockstep<L, R>>(rows_, grid_.y, grid_.weight, grid_.stopping, 1, rescue);
        }
        return newton_->solve(pair_, C_, start, max_passes);
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
    CostPair pair_{1, 1};
    double C_ = 1;
    std::unique_ptr<Lockstep<L, R>> newton_;
    std::unique_ptr<CoordinateDescent<L, R>> descent_;
};

template <class L, class R>
void solve_in_chains(const R& rows, const Grid& grid, std::vector<Solution>& found) {
    const std::size_t n_pairs = grid.pairs.size(), n_C = grid.C.size();
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
}

template <class L, class R>
std::vector<Solution> solve_grid(const R& rows, const Grid& grid) {
    std::vector<Solution> found(grid.pairs.size() * grid.C.size());
    if (found.empty()) return found;
    if (grid.solver != SolverKind::newton && grid.solver != SolverKind::newton_first) {
        solve_in_chains<L>(rows, grid, found);
        return found;
    }
    const bool rescue = grid.solver == SolverKind::newton_first;
    Lockstep<L, R> lockstep(rows, grid.y, grid.weight, grid.stopping, grid.n_threads, rescue);
    lockstep.solve(grid.pairs, grid.C, grid.start, found.data());
    for (const Solution& one : found)
        if (!one.converged()) {
            squares(rows, grid.stopping.stop);  // was it that they overflow?
            break;
        }
    return found;
}

}  // namespace steelyard
