// Sequential minimal optimisation for a kernel machine with any box around each point.
//
//   max  q'b - 1/2 b'Kb   subject to   sum b = 0,   lower <= b <= upper
//
// An SVM is the case b_i = y_i a_i, q_i = y_i p_i. A box may lie anywhere: nonconvex SVMs shift it to [-c, 0] for the
// rows they give up (Collobert et al. 2006; 002, Algorithm 2).
//
// F = Kb - q is kept. The solution has F_i >= F_j for all i that may rise (b_i < upper) and j that may fall
// (b_j > lower), within `tol`. Each step picks i with the smallest F among those that may rise, and j among those that
// may fall by the largest second-order gain (F_j - F_i)^2 / (K_ii + K_jj - 2 K_ij) (Fan, Chen & Lin 2005), and moves
// b_i up and b_j down by the same amount. Rows at a bound that cannot be picked soon are shrunk away: left out of the
// passes until the rest is solved, when their F is brought up to date and the whole is looked at again. For that only
// the b that have moved since are remembered, with what they were: a few thousand numbers a time, however many rows
// there are.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "base/stop.hpp"
#include "kernel/kernel_rows.hpp"

namespace steelyard {

struct Boxes {
    const double* q;
    const double* lower;
    const double* upper;
};

struct SmoOptions {
    double tol = 1e-3;
    bool shrinking = true;
    const Stop* stop = nullptr;
};

class Smo {
public:
    // b must be feasible; Kb is its product with the kernel matrix.
    Smo(KernelRows& kernel, const Boxes& boxes, const SmoOptions& options, std::vector<double> b,
        std::vector<double> Kb)
        : kernel_(kernel),
          boxes_(boxes),
          options_(options),
          n_(kernel.size()),
          b_(std::move(b)),
          Kb_(std::move(Kb)),
          listen_(options.stop, 16) {  // steps: a tenth of a second on ten million rows
        load(everyone());
    }

    // Up to `steps` further steps; true once solved to tol.
    bool run(Index steps) {
        const Index period = std::min<Index>(n_, most_between_shrinks);
        for (Index k = 0; k < steps; ++k) {
            listen_();
            if (options_.shrinking && ++since_shrink_ > period) shrink();
            if (step()) continue;
            if (n_active() == n_) return solved_ = true;
            activate_all();
            if (!step()) return solved_ = true;
            since_shrink_ = period;  // the next step looks whom to leave out again
        }
        return false;
    }

    // Everything up to date, whatever was shrunk.
    void finish() { activate_all(); }

    const std::vector<double>& b() const { return b_; }
    const std::vector<double>& Kb() const { return Kb_; }
    std::vector<double> take_b() { return std::move(b_); }
    std::vector<double> take_Kb() { return std::move(Kb_); }
    Index n_steps() const { return n_steps_; }
    bool solved() const { return solved_; }
    Index n_active() const { return static_cast<Index>(rows_.size()); }
    // Numbers kept for the sake of rows left out.
    Index n_remembered() const { return static_cast<Index>(moved_.size()); }

    // How it ended, after `finish`. Rows with an F that is no number are picked by nobody, so that such a problem may
    // look solved.
    Status status() const {
        for (Index i = 0; i < n_; ++i)
            if (!std::isfinite(b_[i]) || !std::isfinite(Kb_[i]))
                return Status::trouble("the product of the kernel matrix with the coefficients is not finite");
        return {solved_ ? Ended::solved : Ended::limit, ""};
    }

    // How far the optimality conditions are from holding, over all rows.
    double violation() const {
        double lowest = infinity, highest = -infinity;
        for (Index i = 0; i < n_; ++i) {
            const double F = Kb_[i] - boxes_.q[i];
            if (b_[i] < boxes_.upper[i]) lowest = std::min(lowest, F);
            if (b_[i] > boxes_.lower[i]) highest = std::max(highest, F);
        }
        return std::max(0.0, highest - lowest);
    }

    double objective() const {
        double value = 0.0;
        for (Index i = 0; i < n_; ++i) value += b_[i] * (boxes_.q[i] - 0.5 * Kb_[i]);
        return value;
    }

    // The constant of f = Kb + bias: free points have f = q; without any, the middle of what the bounds allow.
    double bias() const {
        double sum = 0.0, least = -infinity, most = infinity;
        Index free = 0;
        for (Index i = 0; i < n_; ++i) {
            const double value = boxes_.q[i] - Kb_[i];
            const bool rises = b_[i]<boxes_.upper[i], falls = b_[i]> boxes_.lower[i];
            if (rises && falls) sum += value, ++free;
            if (rises && !falls) least = std::max(least, value);
            if (falls && !rises) most = std::min(most, value);
        }
        if (free > 0) return sum / static_cast<double>(free);
        if (least == -infinity) return most == infinity ? 0.0 : most;
        return most == infinity ? least : 0.5 * (least + most);
    }

private:
    static constexpr double infinity = std::numeric_limits<double>::infinity();
    static constexpr double flat = 1e-12;                // the least curvature of a pair, as in LIBSVM
    static constexpr Index most_between_shrinks = 1000;  // steps, as in LIBSVM
    static constexpr double near_the_end = 10.0;         // times tol, as in LIBSVM
    static constexpr int lanes = 8;                      // doubles of an AVX-512 register

    KernelRows& kernel_;
    Boxes boxes_;
    SmoOptions options_;
    Index n_, n_steps_ = 0, since_shrink_ = 0;
    bool solved_ = false, relaxed_ = false;
    std::vector<double> b_, Kb_;
    StopEvery listen_;

    // Batch k of rows was left out when b was what it is now, but for the rows that have `moved_` in span k (from that
    // moment to the next one) or later: the earliest such entry says what b was.
    struct Moved {
        Index row;
        std::size_t span;
        double was;
    };
    std::vector<std::vector<Index>> left_out_;
    std::vector<Moved> moved_;
    std::vector<double> b_then_;  // when the last batch was left out

    // The active rows, side by side: F, and +inf where a row may not rise, -inf where it may not fall, else 0.
    std::vector<Index> rows_;
    std::vector<double> F_, no_rise_, no_fall_, diagonal_;

    struct Pick {
        double value;
        Index at;  // position among the active rows
    };

    // Picks a pair and moves it; false if none violates by more than tol.
    bool step() {
        const Pick up = lowest_that_may_rise();
        if (up.at < 0) return false;
        const Index i = rows_[up.at];
        const float* Ki = kernel_.row(i, options_.stop);
        double highest = -infinity;
        const Pick down = best_partner(up, Ki, highest);
        if (down.at < 0 || highest - up.value <= options_.tol) return false;
        const Index j = rows_[down.at];
        const float* Kj = kernel_.row(j, options_.stop);
        const double curvature = std::max(flat, diagonal_[up.at] + diagonal_[down.at] - 2.0 * Ki[j]);
        const double room = std::min(boxes_.upper[i] - b_[i], b_[j] - boxes_.lower[j]);
        const double wanted = (F_[down.at] - up.value) / curvature;
        move(up.at, down.at, std::min(wanted, room), wanted >= room);
        follow(Ki, Kj, std::min(wanted, room));
        ++n_steps_;
        return true;
    }

    // A move to a bound ends on the bound itself, not a rounding beside it.
    void move(Index up, Index down, double delta, bool to_bound) {
        const Index i = rows_[up], j = rows_[down];
        const bool i_ends = to_bound && boxes_.upper[i] - b_[i] <= b_[j] - boxes_.lower[j];
        const bool j_ends = to_bound && boxes_.upper[i] - b_[i] >= b_[j] - boxes_.lower[j];
        b_[i] = i_ends ? boxes_.upper[i] : b_[i] + delta;
        b_[j] = j_ends ? boxes_.lower[j] : b_[j] - delta;
        mark(up);
        mark(down);
    }

    void mark(Index t) {
        const Index i = rows_[t];
        no_rise_[t] = b_[i] < boxes_.upper[i] ? 0.0 : infinity;
        no_fall_[t] = b_[i] > boxes_.lower[i] ? 0.0 : -infinity;
    }

    STEELYARD_CLONES void follow(const float* Ki, const float* Kj, double delta) {
        const Index m = n_active();
        const Index* rows = rows_.data();
        double* F = F_.data();
        if (m == n_) {
            for (Index t = 0; t < m; ++t) F[t] += delta * (static_cast<double>(Ki[t]) - static_cast<double>(Kj[t]));
        } else {
            for (Index t = 0; t < m; ++t)
                F[t] += delta * (static_cast<double>(Ki[rows[t]]) - static_cast<double>(Kj[rows[t]]));
        }
    }

    STEELYARD_CLONES Pick lowest_that_may_rise() const {
        double best[lanes];
        std::int64_t at[lanes];
        for (int k = 0; k < lanes; ++k) best[k] = infinity, at[k] = -1;
        const Index m = n_active();
        Index t = 0;
        for (; t + lanes <= m; t += lanes)
            for (int k = 0; k < lanes; ++k) {
                const double value = F_[t + k] + no_rise_[t + k];
                const bool better = value < best[k];
                best[k] = better ? value : best[k];
                at[k] = better ? t + k : at[k];
            }
        for (; t < m; ++t) {
            const double value = F_[t] + no_rise_[t];
            if (value < best[0]) best[0] = value, at[0] = t;
        }
        return smallest(best, at);
    }

    // The row that may fall with the largest gain beside `up`; `highest` becomes the largest F among such rows.
    STEELYARD_CLONES Pick best_partner(const Pick& up, const float* Ki, double& highest) const {
        double best[lanes], top[lanes];
        std::int64_t at[lanes];
        for (int k = 0; k < lanes; ++k) best[k] = infinity, top[k] = -infinity, at[k] = -1;
        const Index m = n_active();
        const bool whole = m == n_;
        const double own = diagonal_[up.at];
        float gathered[lanes];
        for (Index t = 0; t < m; t += lanes) {
            const int count = static_cast<int>(std::min<Index>(lanes, m - t));
            const float* K = Ki + t;
            if (!whole) {
                for (int k = 0; k < count; ++k) gathered[k] = Ki[rows_[t + k]];
                K = gathered;
            }
            const auto look = [&](int k) STEELYARD_INLINE_LAMBDA {
                const double value = F_[t + k] + no_fall_[t + k];
                const double rise = value - up.value;
                const double curvature = own + diagonal_[t + k] - 2.0 * static_cast<double>(K[k]);
                const double gain = -(rise * rise) / (curvature > flat ? curvature : flat);
                const bool better = rise > 0.0 && gain < best[k];
                top[k] = value > top[k] ? value : top[k];
                best[k] = better ? gain : best[k];
                at[k] = better ? t + k : at[k];
            };
            if (count == lanes)
                for (int k = 0; k < lanes; ++k) look(k);
            else
                for (int k = 0; k < count; ++k) look(k);
        }
        for (int k = 0; k < lanes; ++k) highest = std::max(highest, top[k]);
        return smallest(best, at);
    }

    // Among equals the earliest row, so that the vector width does not matter.
    static Pick smallest(const double* best, const std::int64_t* at) {
        Pick found{best[0], static_cast<Index>(at[0])};
        for (int k = 1; k < lanes; ++k)
            if (at[k] >= 0 && (found.at < 0 || best[k] < found.value || (best[k] == found.value && at[k] < found.at)))
                found = {best[k], static_cast<Index>(at[k])};
        return found;
    }

    void shrink() {
        since_shrink_ = 0;
        double lowest = infinity, highest = -infinity;
        for (Index t = 0; t < n_active(); ++t) {
            lowest = std::min(lowest, F_[t] + no_rise_[t]);
            highest = std::max(highest, F_[t] + no_fall_[t]);
        }
        if (!relaxed_ && highest - lowest <= near_the_end * options_.tol) {
            relaxed_ = true;  // near the end: once, look at everything before leaving rows out for good
            activate_all();
            return;
        }
        std::vector<Index> kept, idle;
        for (Index t = 0; t < n_active(); ++t) {
            const bool rises = no_rise_[t] == 0.0, falls = no_fall_[t] == 0.0;
            const bool leaves = (rises || F_[t] < lowest) && (falls || F_[t] > highest) && !(rises && falls);
            (leaves ? idle : kept).push_back(rows_[t]);
        }
        if (idle.empty() || kept.size() < 2) return;
        store();
        end_span();
        left_out_.push_back(std::move(idle));
        load(std::move(kept));
    }

    // Writes down which b have moved since the last batch was left out, and what they were.
    void end_span() {
        if (left_out_.empty()) {
            b_then_ = b_;
            return;
        }
        for (const Index i : rows_) {  // no other can have moved
            if (b_[i] == b_then_[i]) continue;
            moved_.push_back({i, left_out_.size() - 1, b_then_[i]});
            b_then_[i] = b_[i];
        }
    }

    void store() {
        for (Index t = 0; t < n_active(); ++t) Kb_[rows_[t]] = F_[t] + boxes_.q[rows_[t]];
    }

    void load(std::vector<Index> rows) {
        rows_ = std::move(rows);
        const auto m = rows_.size();
        F_.resize(m), no_rise_.resize(m), no_fall_.resize(m), diagonal_.resize(m);
        for (Index t = 0; t < n_active(); ++t) {
            F_[t] = Kb_[rows_[t]] - boxes_.q[rows_[t]];
            diagonal_[t] = kernel_.diagonal()[rows_[t]];
            mark(t);
        }
    }

    std::vector<Index> everyone() const {
        std::vector<Index> all(n_);
        std::iota(all.begin(), all.end(), Index{0});
        return all;
    }

    // Kb of the rows left out follows every b that moved since they were.
    void activate_all() {
        store();
        if (left_out_.empty()) return;
        end_span();
        std::sort(moved_.begin(), moved_.end(),
                  [](const Moved& a, const Moved& b) { return a.row < b.row || (a.row == b.row && a.span < b.span); });
        std::vector<double> by(left_out_.size());
        for (auto entry = moved_.begin(); entry != moved_.end();) {
            const Index j = entry->row;
            std::fill(by.begin(), by.end(), 0.0);
            for (std::size_t k = 0; entry != moved_.end() && entry->row == j; ++entry)
                for (; k <= entry->span; ++k) by[k] = b_[j] - entry->was;
            follow_left_out(j, by);
        }
        left_out_.clear();
        moved_.clear();
        load(everyone());
    }

    // Kb of batch k by what b_j has moved since.
    void follow_left_out(Index j, const std::vector<double>& by) {
        if (std::all_of(by.begin(), by.end(), [](double moved) { return moved == 0.0; })) return;
        check(options_.stop);
        const float* K = kernel_.row(j, options_.stop);
        for (std::size_t k = 0; k < left_out_.size(); ++k)
            for (const Index i : left_out_[k]) Kb_[i] += by[k] * static_cast<double>(K[i]);
    }
};

}  // namespace steelyard
