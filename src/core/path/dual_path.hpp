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
//
// Where rows tie, several of them have to move at one tau, until each is a member whose a moves into its box or is off
// the margin and moves away from its target: a linear complementarity problem in the rates of the tied rows, with a
// Gram matrix. The row that is farthest from what is asked of it moves first, which is mostly right. After `patience`
// steps that leave tau where it is, the one with the least number among those that must move does: then no state comes
// twice if that matrix is positive definite (Murty 1974, a Bard-type scheme; Cottle, Pang and Stone 1992, section 4.2),
// as it is where the tied rows do not depend on each other, which the perturbation sees to. Against rounding there is
// no proof but a count: the path then ends at that tau, and says so.
#pragma once

#include <limits>

#include "path/model.hpp"
#include "path/near_rows.hpp"

namespace steelyard {

// How a stretch of a path came to its end: there, where the last events were a straight line or were not, or where
// rounding has won (a circle, too many events, numbers that are not finite).
enum class Followed { to_the_end, straight, crooked, lost };

template <class S>
class DualPath {
public:
    DualPath(const S& space, const PathTargets& given, const Stop* stop)
        : space_(space),
          stop_(stop),
          given_(given),
          model_(space, given.sign, given.target, stop),
          side_(static_cast<std::size_t>(space.n_rows()), Side::above),
          near_(space, model_.rows(), given, side_, stop),
          box_(side_.size()) {}

    // Starts a leg: boxes, and on which side each row is. The members keep their factor, and their a if they have one.
    void begin(std::vector<CostBox> box, double tau) {
        box_ = std::move(box);
        model_.begin(side_, box_.data(), tau);
        near_.look_at_all(model_.w());
        stalled_ = steps_ = 0;
        most_ = events_ + most_events + most_a_row * space_.n_rows();
        lost_ = false;
        moved_.clear();
        mark_.v.clear();
    }

    // Follows the path up to `end`; with a log every event is written, and who watches is told. With `apart` it stops
    // after `glance` events at most, says whether these were no more than a straight line, and may be called again. A
    // path that is lost stays so: a row may be in the set that has no multiplier yet.
    Followed follow(double end, PathLog* log, const PathWatch* watch = nullptr, double apart = -1) {
        if (lost_) return Followed::lost;
        apart_ = apart;
        StopEvery asked(stop_, S::written_out ? 8 : 1);
        Index looks = 0;
        while (events_ < most_) {
            asked();
            if (watch && log) watch->at(tau(), log->size());
            ++steps_;
            if (steps_ % renewal() == 0) model_.sum_forces(side_);
            if (steps_ % PathModel<S>::polishing == 0) {
                const double moved = model_.polish();
                if (!std::isfinite(moved)) break;
                near_.shift(moved);
            }
            if (model_.direct()) measure_direction();
            if (!std::isfinite(speed_)) break;
            const Step next = nearest(end - model_.tau());
            const double before = model_.tau();
            if (!std::isfinite(next.length)) break;
            advance(next.length);
            if (next.kind == Kind::end) {
                model_.set_tau(end);
                if (std::isfinite(model_.polish())) return Followed::to_the_end;
                model_.set_tau(before);
                break;
            }
            if (next.kind == Kind::look) {
                if (!S::written_out) model_.polish();
                near_.look(model_.w());
                fresh_ = true;
                if (++looks > most_looks) break;
                continue;
            }
            looks = 0;
            move(next, log);
            stalled_ = model_.tau() > before ? 0 : stalled_ + 1;
            if (stalled_ > most_stalled + most_a_member * model_.size()) break;
            if (apart >= 0 && events_ % glance == 0) return was_straight() ? Followed::straight : Followed::crooked;
        }
        lost_ = true;
        return Followed::lost;
    }

    Side side(Index i) const { return side_[i]; }
    void set_side(Index i, Side side) { side_[i] = side; }
    double margin(Index i) const { return given_.sign[i] * model_.rows().value(i, model_.w()); }
    double off_target(Index i, const PathVector& w) const {
        return std::fabs(given_.sign[i] * model_.rows().value(i, w) - given_.target[i]);
    }
    double tau() const { return model_.tau(); }
    Index events() const { return events_; }
    // Events between two looks whether they were a straight line: two products for each, against hundreds.
    static constexpr Index glance = 64;
    const PathModel<S>& model() const { return model_; }
    const std::vector<Side>& sides() const { return side_; }

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
    // Steps in a row that leave tau where it is, before the rule with the proof takes over: a tie of two is over by
    // then, and a longer one takes as many steps with it (tests/core/test_path.cpp comes there, and 0 to 100 cost the
    // same).
    static constexpr Index patience = 2;
    // And before the path ends here. The proof has no better bound than 2^ties; ties of all members in the order that
    // rounding gives took 2 steps a member at most in the sweep of benchmarks/path_sweep.py.
    static constexpr Index most_stalled = 2000, most_a_member = 50;
    // Events of a leg. The sweep has 15 a row at most where the columns are scaled; with so many more rounding has won.
    static constexpr Index most_events = 10000, most_a_row = 100;
    // Lists made in a row without an event. Horizons that double reach any way in a hundred; with numbers that are not
    // finite they reach none.
    static constexpr Index most_looks = 1000;

    // The size of what the direction is the difference of; a direction that is all rounding is none.
    void measure_direction() {
        fresh_ = true;
        size_ = model_.lengths().size;
        for (Index k = 0; k < model_.size(); ++k) size_ += std::fabs(model_.da()[k]) * given_.norm[model_.members()[k]];
        if (model_.lengths().speed <= rounding * size_) model_.stand_still();
        speed_ = model_.lengths().speed;
    }

    // The first thing to happen within `room`. A row that turns out to lie in the members' span is passed over.
    Step nearest(double room) {
        if (speed_ > 0 && fresh_) near_.turn(model_.dw(), speed_);
        fresh_ = false;
        while (true) {
            Step best{std::max(room, 0.0), Kind::end, -1, Side::member};
            if (speed_ * best.length > near_.left())
                best = {std::max(near_.left(), 0.0) / speed_, Kind::look, -1, Side::member};
            for (Index k = 0; k < model_.size(); ++k) offer_member(best, k);
            if (speed_ > 0) {
                const Index row = near_.first(model_.w(), noise * size_, best.length);
                if (row >= 0) best = {best.length, Kind::enter, row, Side::member};
            }
            if (stalled_ > patience && tau() + best.length == tau()) least_tied(best);
            if (best.kind != Kind::enter || model_.can_enter(best.which)) return best;
            near_.block(best.which);
        }
    }

    void offer_member(Step& best, Index k) const {
        const CostBox& b = box_[model_.members()[k]];
        const double a = model_.a()[k], da = model_.da()[k], up = da - b.high_rate, down = da - b.low_rate,
                     slack = noise * (std::fabs(da) + std::fabs(b.high_rate));
        if (up > slack) offer(best, b.high_at(tau()) - a, up, k, Side::below);
        if (down < -slack) offer(best, a - b.low_at(tau()), -down, k, Side::above);
    }
    static void offer(Step& best, double gap, double rate, Index which, Side to) {
        if (gap < best.length * rate) best = {std::max(gap / rate, 0.0), Kind::leave, which, to};
    }

    // Of all rows that would have to move without tau moving, the one with the least number (see the head).
    void least_tied(Step& best) {
        const double none = 0.25 * std::numeric_limits<double>::epsilon() * std::fabs(tau());
        Index least = speed_ > 0 ? near_.least_tied(noise * size_, none) : -1;
        if (least >= 0) best = {0, Kind::enter, least, Side::member};
        for (Index k = 0; k < model_.size(); ++k) {
            const Index i = model_.members()[k];
            Step one{none, Kind::end, -1, Side::member};
            offer_member(one, k);
            if (one.kind != Kind::leave || (least >= 0 && i > least)) continue;
            least = i;
            best = one;
        }
    }

    void advance(double length) {
        model_.advance(length);
        if (length > 0 && speed_ > 0) near_.go(length);
    }

    // Whether the way since the last glance was a straight line, but for `apart_` (path/half.hpp): whoever moved is on
    // its target at both ends.
    bool was_straight() {
        const auto is_on = [&](const PathVector& w) {
            return std::all_of(moved_.begin(), moved_.end(), [&](Index i) { return off_target(i, w) <= apart_; });
        };
        const bool straight = !mark_.v.empty() && is_on(mark_) && is_on(model_.w());
        mark_ = model_.w();
        moved_.clear();
        return straight;
    }

    void move(const Step& step, PathLog* log) {
        Index i = step.which;
        Side was = Side::member;
        if (step.kind == Kind::enter) {  // `nearest` has put it into the set already
            was = side_[i];
            model_.entered(i, was);
        } else {
            i = model_.members()[step.which];
            model_.leave(step.which, step.to);
        }
        side_[i] = step.to;
        if (step.to == Side::member)
            near_.take(i);
        else
            near_.put(i);
        near_.unblock();
        ++events_;
        if (apart_ >= 0) moved_.push_back(i);
        if (!log) return;
        log->add(tau(), i, was, step.to);
        if (!log->due()) return;
        log->checkpoints.push_back(model_.checkpoint(log->size(), false));
        log->thin();
    }

    const S& space_;
    const Stop* stop_;
    PathTargets given_;
    PathModel<S> model_;
    std::vector<Side> side_;
    NearRows<S> near_;
    std::vector<CostBox> box_;
    double speed_ = 0, size_ = 0;
    double apart_ = -1;
    PathVector mark_;           // the model at the last glance
    std::vector<Index> moved_;  // rows, since then
    bool fresh_ = true;         // the near rows have not seen this direction
    bool lost_ = false;
    Index events_ = 0, most_ = 0;
    Index stalled_ = 0, steps_ = 0;  // those that left tau where it is, and all since the leg began
};

}  // namespace steelyard
