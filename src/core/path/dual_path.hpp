// Dual path finding (Yu, Vishwanathan and Zhang 2009, Algorithm 1) in primal form: the solution for every cost,
// exactly.
//
//   min over w   1/2 |w|^2 + sum_i  max over a in [low_i, high_i] of  a (t_i - s_i x_i.w),       low, high linear in
//   tau
//
// With low = 0, high = C_i 2 (1 - tau) or C_i 2 tau and t = 1 that is the hinge with misclassification costs (eq. 3);
// with low = C (tau - 1), high = C tau, s = 1 and t = y it is the pinball loss of quantile regression.
//
// Between kinks the rows below their target have a = high, those above a = low, and the members sit on it. Per unit of
// tau
//   q = sum_below high_rate z + sum_above low_rate z,    dw = q + Z'da  with  Z dw = 0     (z_i = s_i x_i, Z the
//   members' rows)
// The next kink is where a member's a reaches its box or another row's margin reaches its target: one row moves, `q`
// changes by one row and the factor by one row. Targets carry a perturbation (the caller's), so that equal rows do not
// share the margin: a row in the span of the members then cannot reach its target, and a rate that is all rounding is
// taken as 0.
#pragma once

#include <stdexcept>
#include <string>

#include "path/log.hpp"
#include "path/margin_set.hpp"
#include "path/near_rows.hpp"

namespace steelyard {

template <class S>
class DualPath {
public:
    DualPath(const S& space, const PathTargets& given, const Stop* stop)
        : space_(space),
          stop_(stop),
          given_(given),
          set_(space, given.sign, stop),
          side_(static_cast<std::size_t>(space.n_rows()), Side::above),
          near_(space, set_.rows(), given, side_, stop),
          box_(side_.size()) {
        space.clear(w_);
    }

    // Starts a leg: boxes, and on which side each row is. The members keep their factor, and their a if they have one.
    void begin(std::vector<CostBox> box, double tau) {
        box_ = std::move(box);
        tau_ = tau;
        sum_forces();
        polish();
        turned_ = true;
        drift_ = 0;  // a new leg has other forces
        near_.look_at_all(w_);
        stalled_ = 0;
    }

    // Follows the path up to `end`. With a log every event is written.
    void follow(double end, PathLog* log) {
        StopEvery asked(stop_, S::written_out ? 8 : 1);
        for (Index steps = 1;; ++steps) {
            asked();
            if (steps % renewal() == 0) sum_forces();
            if (steps % polishing == 0) polish();
            if (turned_) direction();
            const Step next = nearest(end - tau_);
            advance(next.length);
            if (next.kind == Kind::end) {
                tau_ = end;
                polish();
                return;
            }
            if (next.kind != Kind::look) {
                move(next, log);
                continue;
            }
            if (!S::written_out) polish();
            near_.look(w_);
        }
    }

    Side side(Index i) const { return side_[i]; }
    void set_side(Index i, Side side) { side_[i] = side; }
    const PathVector& w() const { return w_; }
    double margin(Index i) const { return given_.sign[i] * set_.rows().value(i, w_); }
    double tau() const { return tau_; }
    Index events() const { return events_; }
    Index refactored() const { return refactored_; }
    double drift() const { return drift_; }

    const std::vector<Side>& sides() const { return side_; }
    Checkpoint checkpoint(Index event, bool forced) const {
        return {
            event, tau_, forced, {{forces_.p.v, {}, forces_.p.low}, {forces_.q.v, {}, forces_.q.low}}, set_.members()};
    }

private:
    enum class Kind { end, look, enter, leave };
    struct Step {
        double length;
        Kind kind;
        Index which;  // a row that enters, or the position of the member that leaves
        Side to;
    };

    // A sum over all rows of a kernel costs as much as one event for each row.
    Index renewal() const { return std::max(S::renewal, S::written_out ? 0 : space_.n_rows()); }

    // What is all rounding: of a direction, as a share of the force and the members' parts that it is the difference
    // of, and of one row's rate, which is one product of it: some tens of the roundings of a double.
    static constexpr double rounding = 1e-13, noise = 5e-15;
    // Events between two fresh solutions. From 4 to 64 the drift stays at 1e-11 on spambase, splice and a9a; 4 is 10 %
    // slower, 64 some 3 % faster and exchanges kinks of a9a that tie.
    static constexpr Index polishing = 32;
    // Steps of no length in a row: ties send every member out and back a few times, and hundreds of them at the start
    // (tests/core/test_path.cpp, test_ties_at_the_start). More than this is a circle.
    static constexpr Index patience = 200, patience_a_member = 10;

    void push(Index i, Side side, double factor) { forces_.push(space_, i, given_.sign[i], box_[i], side, factor); }

    // From scratch, against the rounding of a thousand additions.
    void sum_forces() {
        forces_.clear(space_);
        StopEvery asked(stop_, space_.pace());
        for (Index i = 0; i < space_.n_rows(); ++i) {
            asked();
            push(i, side_[i], 1.0);
        }
    }

    // w and the members' a from the sets alone, so that nothing drifts. How far w had drifted tells the precision of
    // the path.
    void polish() {
        forces_.at(tau_, force_);
        if (S::written_out)
            std::swap(drifted_, w_);
        else
            set_.combine(force_, a_, drifted_);
        solve(force_, given_.target, a_, w_);
        drift_ = std::max(drift_, set_.rows().distance(w_, drifted_));
    }

    void direction() {
        turned_ = false;
        solve(forces_.q, nullptr, da_, dw_);
        const Lengths lengths = set_.rows().lengths(forces_.q, dw_);
        size_ = lengths.size;
        for (Index k = 0; k < set_.size(); ++k) size_ += std::fabs(da_[k]) * given_.norm[set_.members()[k]];
        speed_ = lengths.speed;
        if (speed_ <= rounding * size_) {
            speed_ = 0;
            std::fill(dw_.v.begin(), dw_.v.end(), 0.0);
        }
    }

    void solve(const PathVector& base, const double* target, std::vector<double>& a, PathVector& out) {
        refactored_ += set_.solve(base, target, a, out);
    }

    // The first thing to happen within `room`. A row that turns out to lie in the members' span is passed over.
    Step nearest(double room) {
        rates();
        while (true) {
            Step best{std::max(room, 0.0), Kind::end, -1, Side::member};
            if (speed_ * best.length > near_.left())
                best = {std::max(near_.left(), 0.0) / speed_, Kind::look, -1, Side::member};
            nearest_member(best);
            nearest_row(best);
            if (best.kind != Kind::enter || set_.add(best.which)) return best;
            block(best.which);
        }
    }

    void nearest_member(Step& best) const {
        for (Index k = 0; k < set_.size(); ++k) {
            const CostBox& b = box_[set_.members()[k]];
            const double up = da_[k] - b.high_rate, down = da_[k] - b.low_rate,
                         slack = noise * (std::fabs(da_[k]) + std::fabs(b.high_rate));
            if (up > slack) offer(best, (b.high_at(tau_) - a_[k]) / up, Kind::leave, k, Side::below);
            if (down < -slack) offer(best, (b.low_at(tau_) - a_[k]) / down, Kind::leave, k, Side::above);
        }
    }

    STEELYARD_CLONES void nearest_row(Step& best) {
        if (speed_ == 0) return;
        const std::vector<NearRow>& near = near_.near();
        const double least = noise * size_;
        for (std::size_t k = 0; k < near.size(); ++k)
            if (rate_[k] > least * near[k].norm && near[k].gap < best.length * rate_[k])
                best = {std::max(near[k].gap / rate_[k], 0.0), Kind::enter, near[k].row, Side::member};
    }

    static void offer(Step& best, double length, Kind kind, Index which, Side to) {
        if (!(length < best.length)) return;
        best = {std::max(length, 0.0), kind, which, to};
    }

    STEELYARD_CLONES void rates() {
        if (speed_ == 0) return;  // w stands still, as it does over long stretches where every row of a class is tied
        const std::vector<NearRow>& near = near_.near();
        rate_.resize(near.size());
        for (std::size_t k = 0; k < near.size(); ++k) rate_[k] = near[k].toward * set_.rows().value(near[k].row, dw_);
        near_.looked();
    }

    void advance(double length) {
        if (length == 0) return;
        tau_ += length;
        for (std::size_t k = 0; k < da_.size(); ++k) a_[k] += length * da_[k];
        if (speed_ == 0) return;
        if (S::written_out)
            for (std::size_t j = 0; j < w_.v.size(); ++j) w_.v[j] += length * dw_.v[j];
        std::vector<NearRow>& near = near_.near();
        for (std::size_t k = 0; k < near.size(); ++k) near[k].gap -= length * rate_[k];
        near_.go(length * speed_);
    }

    void move(const Step& step, PathLog* log) {
        Index i = step.which;
        Side was;
        if (step.kind == Kind::enter) {  // `nearest` has put it into the set already
            was = side_[i];
            push(i, was, -1.0);
            a_.push_back(box_[i].at(was, tau_));
        } else {
            i = set_.members()[step.which];
            was = Side::member;
            set_.remove(step.which);
            a_.erase(a_.begin() + step.which);
            push(i, step.to, 1.0);
        }
        side_[i] = step.to;
        if (step.to == Side::member)
            near_.silence(i);
        else
            near_.put(i);
        turned_ = true;
        unblock();
        ++events_;
        stalled_ = step.length > 0 ? 0 : stalled_ + 1;
        if (stalled_ > patience + patience_a_member * set_.size())
            throw std::runtime_error(
                "the cost path does not move on at tau = " + std::to_string(tau_) +
                ": too many rows tie. Scale the columns, give a smaller C, or take method='approximate'");
        if (!log) return;
        log->add(tau_, i, was, step.to);
        if (!log->due()) return;
        log->checkpoints.push_back(checkpoint(log->size(), false));
        log->thin();
    }

    // Row i cannot enter before the members change.
    void block(Index i) {
        rate_[near_.silence(i)] = 0;
        blocks_.push_back(i);
    }
    void unblock() {
        for (Index i : blocks_) near_.wake(i);
        blocks_.clear();
    }

    const S& space_;
    const Stop* stop_;
    PathTargets given_;
    MarginSet<S> set_;
    std::vector<Side> side_;
    NearRows<S> near_;
    std::vector<CostBox> box_;
    std::vector<Index> blocks_;
    PathForces forces_;
    PathVector w_, dw_, force_, drifted_;
    std::vector<double> a_, da_, rate_;
    double tau_ = 0, speed_ = 0, size_ = 0, drift_ = 0;
    bool turned_ = true;  // a row has moved since the last direction
    Index events_ = 0, refactored_ = 0, stalled_ = 0;
};

}  // namespace steelyard
