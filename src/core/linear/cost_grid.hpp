// A grid of cost-sensitive problems: every cost pair (c-, c+) with every C, each certified, each started from a
// neighbour.
//
//   for each pair and each C:   min over w  1/2 |w|^2 + C (c+ sum_pos s_i loss(m_i) + c- sum_neg s_i loss(m_i))
//
// Coordinate descent and Newton walk chains: first the smallest C across the pairs, then from there up along C for each
// pair on its own. The chains do not depend on each other, so they may run on any number of threads with the same bits.
// The bundle takes one C after the other with all pairs in lockstep. C must be ascending. Results are pair-major.
#pragma once

#include <memory>

#include "linear/bundle.hpp"
#include "linear/coordinate.hpp"
#include "linear/newton.hpp"

namespace steelyard {

// The two `_first` kinds give their first solver a short try, hand over to the other one, and end with coordinate
// descent.
enum class SolverKind { coordinate, newton, bundle, newton_first, coordinate_first };

struct Grid {
    const double* y;
    const double* weight;
    std::vector<CostPair> pairs;
    std::vector<double> C;  // ascending
    SolverKind solver = SolverKind::coordinate;
    Stopping stopping;
    BundleOptions bundle;
};

template <class R>
std::vector<double> squares(const R& rows) {
    std::vector<double> square(static_cast<std::size_t>(rows.n_rows), 0.0);
    for (Index i = 0; i < rows.n_rows; ++i) rows.row(i).each([&](Index, double value) { square[i] += value * value; });
    return square;
}

// One chain's solver with its buffers: one risk after another on the same rows.
template <class L, class R>
class Chain {
public:
    Chain(const R& rows, const Grid& grid, const std::vector<double>& square)
        : rows_(rows), grid_(grid), square_(square), cost_(static_cast<std::size_t>(rows.n_rows)) {}

    Solution solve(const CostPair& pair, double C, const Solution* start) {
        for (Index i = 0; i < rows_.n_rows; ++i)
            cost_[i] = C * grid_.weight[i] * (grid_.y[i] > 0 ? pair.positive : pair.negative);
        const Risk risk{grid_.y, cost_.data()};
        const double all = grid_.stopping.max_passes;
        switch (grid_.solver) {
            case SolverKind::newton: return newton(risk, start, all);
            case SolverKind::newton_first:
                // From nothing the hinge has no curvature to speak of, and sweeps are the faster way to a first idea.
                if (!start && L::kind == LossKind::hinge) return sweeps_first(risk, start, 25);
                return carry_on(newton(risk, start, all), risk);
            // A Newton step costs about as much as one sweep for each column.
            case SolverKind::coordinate_first:
                return sweeps_first(risk, start, std::max(60.0, static_cast<double>(rows_.n_cols)));
            default: return descend(risk, start, all);
        }
    }

private:
    Solution sweeps_first(const Risk& risk, const Solution* start, double passes) {
        Solution found = descend(risk, start, std::min(passes, grid_.stopping.max_passes));
        if (!found.converged) found = after(found, newton(risk, &found, grid_.stopping.max_passes));
        return carry_on(std::move(found), risk);
    }

    Solution carry_on(Solution found, const Risk& risk) {
        const double left = grid_.stopping.max_passes - found.passes;
        return found.converged || left <= 0 ? found : after(found, descend(risk, &found, left));
    }

    // The second attempt started from the first, yet the best of both counts.
    static Solution after(const Solution& first, Solution second) {
        second.offer_primal(first.primal, first.w);
        second.offer_dual(first.dual, first.share);
        second.passes += first.passes;
        return second;
    }

    Solution newton(const Risk& risk, const Solution* start, double max_passes) {
        if (!newton_) newton_ = std::make_unique<Newton<L, R>>(rows_);
        return newton_->solve(risk, up_to(max_passes), start);
    }

    Solution descend(const Risk& risk, const Solution* start, double max_passes) {
        if (!descent_) descent_ = std::make_unique<CoordinateDescent<L, R>>(rows_, square_);
        Solution found = descent_->solve(risk, up_to(max_passes), start);
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
    std::vector<double> cost_;
    std::unique_ptr<Newton<L, R>> newton_;
    std::unique_ptr<CoordinateDescent<L, R>> descent_;
};

template <class L, class R>
std::vector<Solution> solve_chains(const R& rows, const Grid& grid) {
    const std::size_t n_pairs = grid.pairs.size(), n_C = grid.C.size();
    std::vector<Solution> found(n_pairs * n_C);
    std::vector<double> square;
    if (grid.solver != SolverKind::newton) square = squares(rows);
    {
        Chain<L, R> first(rows, grid, square);
        for (std::size_t k = 0; k < n_pairs; ++k)
            found[k * n_C] = first.solve(grid.pairs[k], grid.C[0], k ? &found[(k - 1) * n_C] : nullptr);
    }
    parallel_for(grid.bundle.n_threads, static_cast<Index>(n_pairs), [&](Index k) {
        Chain<L, R> chain(rows, grid, square);
        Solution* row = found.data() + static_cast<std::size_t>(k) * n_C;
        for (std::size_t c = 1; c < n_C; ++c) {
            row[c] = chain.solve(grid.pairs[k], grid.C[c], &row[c - 1]);
            std::vector<double>().swap(row[c - 1].share);  // n numbers for each grid point would not fit in memory
        }
        std::vector<double>().swap(row[n_C - 1].share);
    });
    return found;
}

template <class L, class R>
std::vector<Solution> solve_lockstep(const R& rows, const Grid& grid) {
    const std::size_t n_pairs = grid.pairs.size(), n_C = grid.C.size();
    std::vector<Solution> found(n_pairs * n_C);
    std::vector<CutPool> pools(grid.bundle.share_cuts ? 1 : n_pairs, CutPool(rows.n_cols));
    std::vector<Track> tracks;
    for (std::size_t k = 0; k < n_pairs; ++k) tracks.emplace_back(pools[grid.bundle.share_cuts ? 0 : k]);
    Bundle<L, R> bundle(rows, grid.y, grid.weight, grid.bundle, grid.stopping);
    for (std::size_t c = 0; c < n_C; ++c) {
        for (std::size_t k = 0; k < n_pairs; ++k)
            bundle.restart(tracks[k], {grid.C[c] * grid.pairs[k].negative, grid.C[c] * grid.pairs[k].positive});
        bundle.run(tracks);
        for (std::size_t k = 0; k < n_pairs; ++k) {
            Solution& s = found[k * n_C + c];
            s.w = tracks[k].w;
            s.primal = tracks[k].primal;
            s.dual = tracks[k].dual;
            s.history = tracks[k].history;
            s.passes = 2 * static_cast<double>(s.history.size());
            s.converged = tracks[k].done;
        }
    }
    return found;
}

template <class L, class R>
std::vector<Solution> solve_grid(const R& rows, const Grid& grid) {
    if (grid.pairs.empty() || grid.C.empty()) return {};
    return grid.solver == SolverKind::bundle ? solve_lockstep<L>(rows, grid) : solve_chains<L>(rows, grid);
}

}  // namespace steelyard
