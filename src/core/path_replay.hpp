// The solution anywhere on a path that was traced, from its log: one tau, a stretch of kinks, or an audit of all of them.
//
// Knots are the start of the path, its events in order, and its end: K + 2 of them. The sets at a knot come from the nearest checkpoint
// before it by moving rows; the solution then needs one factor, w = v + Z'a with Z w = target (path_log.hpp).
#pragma once

#include <limits>

#include "margin_set.hpp"
#include "path_log.hpp"

namespace steelyard {

struct ReplayProblem {
    const double* sign;
    const double* target;
    const CostBox* box;
};

template <class R>
class PathReplay {
   public:
    PathReplay(const R& rows, const ReplayProblem& problem, const PathLog& log)
        : rows_(rows), problem_(problem), log_(log), set_(rows, problem.sign) {}

    // w at tau, with tau in the range of the log.
    void recover(double tau, double* out) {
        const auto events = static_cast<Index>(std::upper_bound(log_.tau.begin(), log_.tau.end(), tau) - log_.tau.begin());
        load(events);
        while (event_ < events) apply(event_++, false);
        set_.assign(members_);
        solve(tau);
        std::copy(w_.begin(), w_.end(), out);
    }

    // w at the knots first .. last - 1, one after the other.
    void walk(Index first, Index last, double* out) {
        rewind(std::max<Index>(first - 1, 0));
        for (Index knot = first; knot < last; ++knot) {
            const double tau = knot_tau(knot);
            if (knot > 0 && knot <= log_.size()) step(knot - 1);
            solve(tau);
            out = std::copy(w_.begin(), w_.end(), out);
        }
    }

    // The largest violation of the optimality conditions at every `every`-th knot, for the original targets:
    // margins on the wrong side of the target (relative to `unit`), and a outside its box (relative to the widest box).
    double audit(Index every, const double* target, double unit) {
        double worst = 0, widest = 0;
        for (Index i = 0; i < rows_.n_rows; ++i)
            for (double tau : {log_.start, log_.end}) widest = std::max(widest, problem_.box[i].high_at(tau) - problem_.box[i].low_at(tau));
        std::vector<Side> side = sides();
        rewind(0);
        for (Index knot = 0; knot < log_.size() + 2; ++knot) {
            if (knot > 0 && knot <= log_.size()) {
                side[log_.row[knot - 1]] = static_cast<Side>(log_.to[knot - 1]);
                step(knot - 1);
            }
            if (knot % every) continue;
            solve(knot_tau(knot));
            worst = std::max(worst, std::max(margins_off(side, target) / unit, multipliers_off(knot_tau(knot)) / widest));
        }
        return worst;
    }

   private:
    double knot_tau(Index knot) const { return knot == 0 ? log_.start : knot <= log_.size() ? log_.tau[knot - 1] : log_.end; }

    // p, q and members of the last checkpoint with at most `events` events before it.
    void load(Index events) {
        std::size_t c = log_.checkpoints.size() - 1;
        while (c > 0 && log_.checkpoints[c].event > events) --c;
        const Checkpoint& at = log_.checkpoints[c];
        p_ = at.p;
        q_ = at.q;
        members_ = at.members;
        event_ = at.event;
    }

    void rewind(Index events) {
        load(events);
        set_.assign(members_);
        while (event_ < events) step(event_);
    }

    void push(Index i, std::int8_t side, double factor) {
        if (side == static_cast<std::int8_t>(Side::member)) return;
        const CostBox& b = problem_.box[i];
        const bool high = side == static_cast<std::int8_t>(Side::below);
        rows_.row(i).add_to(p_.data(), factor * problem_.sign[i] * (high ? b.high : b.low));
        rows_.row(i).add_to(q_.data(), factor * problem_.sign[i] * (high ? b.high_rate : b.low_rate));
    }

    void apply(Index k, bool factored) {
        const Index i = log_.row[k];
        push(i, log_.from[k], -1.0);
        push(i, log_.to[k], 1.0);
        if (static_cast<Side>(log_.to[k]) == Side::member) {
            if (factored) set_.add_always(i);
            members_.push_back(i);
            return;
        }
        const auto at = std::find(members_.begin(), members_.end(), i);
        if (factored) set_.remove(static_cast<Index>(at - members_.begin()));
        members_.erase(at);
    }

    // One event with the factor carried along.
    void step(Index k) {
        apply(k, true);
        event_ = k + 1;
    }

    void solve(double tau) {
        force_ = p_;
        for (std::size_t j = 0; j < force_.size(); ++j) force_[j] += tau * q_[j];
        if (set_.solve(force_, problem_.target, a_, w_) <= set_.degraded) return;
        set_.refactor();
        set_.solve(force_, problem_.target, a_, w_);
    }

    // On which side every row is at the start: as its first event says, else as its margin says there.
    std::vector<Side> sides() {
        std::vector<Side> side(static_cast<std::size_t>(rows_.n_rows));
        rewind(0);
        solve(log_.start);
        for (Index i = 0; i < rows_.n_rows; ++i)
            side[i] = problem_.sign[i] * rows_.row(i).dot(w_.data()) < problem_.target[i] ? Side::below : Side::above;
        for (Index i : members_) side[i] = Side::member;
        for (Index k = log_.size() - 1; k >= 0; --k) side[log_.row[k]] = static_cast<Side>(log_.from[k]);
        return side;
    }

    STEELYARD_CLONES double margins_off(const std::vector<Side>& side, const double* target) const {
        double worst = 0;
        for (Index i = 0; i < rows_.n_rows; ++i) {
            const double over = problem_.sign[i] * rows_.row(i).dot(w_.data()) - target[i];
            const double off = side[i] == Side::below ? over : side[i] == Side::above ? -over : std::fabs(over);
            worst = std::max(worst, off);
        }
        return worst;
    }

    double multipliers_off(double tau) const {
        double worst = 0;
        for (Index k = 0; k < set_.size(); ++k) {
            const CostBox& b = problem_.box[set_.members()[k]];
            worst = std::max(worst, std::max(b.low_at(tau) - a_[k], a_[k] - b.high_at(tau)));
        }
        return worst;
    }

    const R& rows_;
    ReplayProblem problem_;
    const PathLog& log_;
    MarginSet<R> set_;
    std::vector<Index> members_;
    std::vector<double> p_, q_, w_, a_, force_;
    Index event_ = 0;
};

}  // namespace steelyard
