// The model at one tau of a path, and how it goes on: what tracing a path and replaying it have in common.
//
// Given are the sides of all rows, as the forces of those off the margin (path/forces.hpp) and the members. With a the
// members' multipliers,
//   w = p + tau q + Z'a,    Z w = target,    and per unit of tau    dw = q + Z'da,    Z dw = 0     (z_i = s_i x_i).
//
// The state is a, and never solved for from the sets alone: where members nearly depend on each other, by a share delta
// of |z|^2, rounding leaves a to 1e-16 / delta, which can be far outside the boxes, while w = sum a z with the a that
// has been followed is right. So a follows its direction, which moves it out of no box, and is corrected only as far as
// the boxes allow.
#pragma once

#include "path/log.hpp"
#include "path/margin_set.hpp"
#include "path/problem.hpp"

namespace steelyard {

template <class S>
class PathModel {
public:
    // Events between two corrections. From 4 to 64 the drift stays at 1e-11 on spambase, splice and a9a; 4 is 10 %
    // slower, 64 some 3 % faster and exchanges kinks of a9a that tie.
    static constexpr Index polishing = 32;

    // A change of a that is more than this share of its box is no correction: it answers rounding, by members that
    // nearly depend on each other, and all of it is kept back as far as one of them would leave its box.
    static constexpr double small = 1e-6;
    // Members that a correction may hold at their bounds, each at the price of a solution with the factor; what more
    // there are keep the rest of it back.
    static constexpr Index most_held = 16;
    // What must be left of the longest vector that a direction came from since it was made as a whole. With less than
    // `ample` two digits are gone, and what is left along the members is taken off once more; what is gone off their
    // span is not had back, and with less than `left` the direction is made anew.
    static constexpr double ample = 1e-2, left = 1e-3;

    PathModel(const S& space, const double* sign, const double* target, const Stop* stop)
        : space_(space), sign_(sign), target_(target), stop_(stop), set_(space, sign, stop) {
        space.clear(w_);
    }

    // The forces of these sides in these boxes, at tau; members keep their a.
    void begin(const std::vector<Side>& side, const CostBox* box, double tau) {
        box_ = box;
        tau_ = tau;
        sum_forces(side);
        polish();
        turned_ = whole_ = true;
        drift_ = off_ = 0;  // other forces
    }
    void load(const Checkpoint& at, const CostBox* box) {
        box_ = box;
        tau_ = at.tau;
        forces_ = at.forces;
        set_.assign(at.members);
        a_ = at.a;
        turned_ = whole_ = true;
    }

    // From scratch, against the rounding of a thousand additions.
    void sum_forces(const std::vector<Side>& side) {
        forces_.clear(space_);
        StopEvery asked(stop_, space_.pace());
        for (Index i = 0; i < space_.n_rows(); ++i) {
            asked();
            push(i, side[i], 1.0);
        }
    }

    // w anew from the sets and a, and a corrected by what the members are off their targets, as far as the boxes allow.
    // How far w had drifted, and how far members stay off, tells the precision of the path. Returns how far w has
    // moved.
    double polish() {
        forces_.at(tau_, force_);
        if (S::written_out) std::swap(drifted_, w_);
        set_.combine(force_, a_, w_);
        if (!S::written_out) drifted_ = w_;
        double stays = 0;
        for (int round = 0; round < 2; ++round) {  // the second for what the factor has lost, as in MarginSet::solve
            change_.resize(a_.size());
            set_.correction(target_, w_, change_);
            stays = keep_inside();
            for (Index k = 0; k < set_.size(); ++k) a_[k] += change_[k];
            set_.add_rows(change_, w_);  // not anew from a: of large forces w is what rounding leaves
        }
        off_ = std::max(off_, stays);
        const double moved = set_.rows().distance(w_, drifted_);
        drift_ = std::max(drift_, moved);
        whole_ = true;
        return moved;
    }

    // w from the sets and a as they are.
    void renew() {
        forces_.at(tau_, force_);
        set_.combine(force_, a_, w_);
    }

    // dw and da, if a row has moved since; true then. From the direction before it, or as a whole after a correction.
    bool direct() {
        if (!turned_) return false;
        if (!whole_) {
            lengths_ = set_.rows().lengths(forces_.q, dw_);
            if (lengths_.speed < ample * longest_) set_.take_off(da_, dw_);
            whole_ = !(lengths_.speed > left * longest_);
        }
        if (whole_) {
            refactored_ += set_.solve(forces_.q, nullptr, da_, dw_);
            lengths_ = set_.rows().lengths(forces_.q, dw_);
            longest_ = 0;
        }
        longest_ = std::max(longest_, lengths_.speed);
        turned_ = whole_ = false;
        return true;
    }
    // For a direction that is all rounding.
    void stand_still() {
        lengths_.speed = 0;
        std::fill(dw_.v.begin(), dw_.v.end(), 0.0);
    }

    void advance(double length) {
        if (length == 0) return;
        tau_ += length;
        for (std::size_t k = 0; k < da_.size(); ++k) a_[k] += length * da_[k];
        if (!S::written_out || lengths_.speed == 0) return;
        for (std::size_t j = 0; j < w_.v.size(); ++j) w_.v[j] += length * dw_.v[j];
    }
    void set_tau(double tau) { tau_ = tau; }

    // False, and nothing changes, if the row lies in the span of the members.
    bool can_enter(Index i) { return set_.add(i); }
    // A row that is among the members now, and pulled from that side before.
    void entered(Index i, Side was) {
        push(i, was, -1.0);
        a_.push_back(box_[i].at(was, tau_));
        da_.push_back(box_[i].rate(was));
        if (!begin_turn()) return;
        set_.inverse_column(set_.size() - 1, column_);
        change_direction(-sign_[i] * set_.rows().value(i, dw_));
    }
    void leave(Index position, Side to) {
        const Index i = set_.members()[position];
        if (begin_turn()) {
            const double jump = box_[i].rate(to) - da_[position];
            longest_ = std::max(longest_, std::fabs(jump) * std::sqrt(space_.square(i)));
            set_.inverse_column(position, column_);
            change_direction(jump / column_[position]);
        }
        set_.remove(position);
        a_.erase(a_.begin() + position);
        da_.erase(da_.begin() + position);
        push(i, to, 1.0);
    }

    double tau() const { return tau_; }
    const std::vector<Index>& members() const { return set_.members(); }
    Index size() const { return set_.size(); }
    const std::vector<double>& a() const { return a_; }
    const std::vector<double>& da() const { return da_; }
    const PathVector& w() const { return w_; }
    const PathVector& dw() const { return dw_; }
    const PathVector& force() const { return force_; }  // of the last `polish` or `renew`
    const Lengths& lengths() const { return lengths_; }
    const typename S::Members& rows() const { return set_.rows(); }
    MarginSet<S>& set() { return set_; }
    PathForces& forces() { return forces_; }
    Index refactored() const { return refactored_; }
    double drift() const { return drift_; }  // of w
    double off() const { return off_; }      // of the members' margins

    Checkpoint checkpoint(Index event, bool forced) const {
        const PathVector &p = forces_.p, &q = forces_.q;
        return {event, tau_, forced, {{p.v, {}, p.low}, {q.v, {}, q.low}}, set_.members(), a_};
    }

private:
    void push(Index i, Side side, double factor) { forces_.push(space_, i, sign_[i], box_[i], side, factor); }

    // A row moves. dw stays q + Z'da, with a member's da the rate of the bound that it comes from or goes to, and only
    // the product with that member changes: by mu where  da + mu G^-1 e_k  is what comes. True if that is precise.
    bool begin_turn() {
        whole_ = whole_ || turned_ || !S::written_out || !set_.is_sound();
        turned_ = true;
        return !whole_;
    }
    void change_direction(double mu) {
        for (std::size_t k = 0; k < column_.size(); ++k) da_[k] += column_[k] *= mu;
        set_.add_rows(column_, dw_);
    }

    // How far a change leads a member out of its box.
    double outside(Index k) const {
        const CostBox& b = box_[set_.members()[k]];
        const double after = a_[k] + change_[k];
        return std::max(after - b.high_at(tau_), b.low_at(tau_) - after);
    }

    // Changes `change_` so that no a leaves its box: the member that would be farthest out is held at its bound and the
    // others solve for their targets without it, and so on. With G the members' Gram matrix and H those held, that is
    // change + G^-1 e_H mu with mu such that the held ones end at their bounds; they stay off their targets by mu.
    // Returns the farthest of these.
    double keep_inside() {
        held_.clear();
        small_.clear();
        scale(share_inside(small));
        const std::vector<double> whole = change_;
        std::vector<double> mu;
        while (static_cast<Index>(held_.size()) < most_held) {
            Index worst = -1;
            double farthest = 0;
            for (Index k = 0; k < set_.size(); ++k)
                if (outside(k) > farthest && !is_held(k)) farthest = outside(worst = k);
            if (worst < 0) break;
            if (!hold(worst)) break;
            mu.resize(held_.size());
            for (std::size_t h = 0; h < held_.size(); ++h) mu[h] = held_[h].room - whole[held_[h].position];
            small_.solve(mu.data());
            change_ = whole;
            for (std::size_t h = 0; h < held_.size(); ++h)
                for (Index k = 0; k < set_.size(); ++k) change_[k] += mu[h] * held_[h].column[k];
        }
        scale(share_inside(0));
        double off = 0;
        for (const double m : mu) off = std::max(off, std::fabs(m));
        return off;
    }
    void scale(double share) {
        for (double& change : change_) change *= share;
    }

    // The largest share of `change_` that leaves every a in its box, but for changes below a share `least` of the box.
    double share_inside(double least) const {
        double share = 1;
        for (Index k = 0; k < set_.size(); ++k) {
            const CostBox& b = box_[set_.members()[k]];
            const double width = std::max(b.high_at(tau_) - b.low_at(tau_), std::fabs(b.high_rate - b.low_rate));
            const double change = std::fabs(change_[k]), out = outside(k);
            if (out > 0 && change > least * width && !is_held(k))
                share = std::min(share, std::max(1 - out / change, 0.0));
        }
        return share;
    }

    bool is_held(Index k) const {
        return std::any_of(held_.begin(), held_.end(), [k](const Held& h) { return h.position == k; });
    }

    // Member k ends at the bound that it would pass. False if it depends on those that do already.
    bool hold(Index k) {
        const CostBox& b = box_[set_.members()[k]];
        const double bound = a_[k] + change_[k] > b.high_at(tau_) ? b.high_at(tau_) : b.low_at(tau_);
        Held one{k, bound - a_[k], {}};
        set_.inverse_column(k, one.column);
        std::vector<double> cross;
        cross.reserve(held_.size());
        for (const Held& h : held_) cross.push_back(h.column[k]);
        const double left = small_.schur(cross.data(), one.column[k]);
        if (!(left > 0)) return false;
        small_.append(left);
        held_.push_back(std::move(one));
        return true;
    }

    struct Held {
        Index position;
        double room;                 // to its bound
        std::vector<double> column;  // of G^-1
    };

    const S& space_;
    const double* sign_;
    const double* target_;
    const CostBox* box_ = nullptr;
    const Stop* stop_;
    MarginSet<S> set_;
    PathForces forces_;
    PathVector w_, dw_, force_, drifted_;
    std::vector<Held> held_;
    GrowingCholesky small_;  // of the held ones' part of G^-1
    std::vector<double> a_, da_, change_, column_;
    Lengths lengths_{0, 0};
    double tau_ = 0, drift_ = 0, off_ = 0, longest_ = 0;
    bool turned_ = true;  // a row has moved since the last direction,
    bool whole_ = true;   // and the next direction does not come from that one
    Index refactored_ = 0;
};

}  // namespace steelyard
