// The solution anywhere on a path that was traced, from its log: one tau, or one knot after the other.
//
// Knots are the start of the path, its events in order, and its end: K + 2 of them. The sets at a knot come from the
// nearest checkpoint before it by moving rows; the solution then needs one factor, w = v + Z'a with Z w = target
// (path/log.hpp).
#pragma once

#include "path/log.hpp"
#include "path/margin_set.hpp"

namespace steelyard {

struct PathPoint {
    double tau;
    const std::vector<Index>& members;
    const std::vector<double>& a;  // the members'
    const PathVector& w;
};

template <class S>
class PathReplay {
public:
    PathReplay(const S& space, const PathData& given, const PathLog& log, const Stop* stop = nullptr)
        : space_(space), given_(given), log_(log), stop_(stop), set_(space, given.sign, stop) {}

    Index model_size() const { return space_.size(); }

    // The model at tau, with tau in the range of the log: w, or the coefficients of all rows.
    void recover(double tau, double* out) {
        check(stop_);
        const auto events =
            static_cast<Index>(std::upper_bound(log_.tau.begin(), log_.tau.end(), tau) - log_.tau.begin());
        load(events);
        StopEvery asked(stop_, space_.pace());
        for (; event_ < events; ++event_) {
            asked();
            apply(event_, false);
        }
        set_.assign(members_);
        solve(tau);
        write(out);
    }

    // The model of the last point.
    void write(double* out) const {
        if (S::written_out) {
            std::copy(w_.v.begin(), w_.v.end(), out);
            return;
        }
        std::copy(force_.c.begin(), force_.c.end(), out);
        for (std::size_t k = 0; k < a_.size(); ++k) out[set_.members()[k]] = given_.sign[set_.members()[k]] * a_[k];
    }

    // How fast the model moves from the last point on, per unit of tau.
    double speed() {
        set_.solve(forces_.q, nullptr, da_, dw_);
        return set_.rows().lengths(forces_.q, dw_).speed;
    }

    const typename S::Members& rows() const { return set_.rows(); }

    // f(knot, point) for the knots first .. last - 1.
    template <class F>
    void visit(Index first, Index last, F&& f) {
        rewind(std::max<Index>(first - 1, 0));
        for (Index knot = first; knot < last; ++knot) {
            check(stop_);
            if (knot > 0 && knot <= log_.size()) step(knot - 1);
            const double tau = knot_tau(knot);
            solve(tau);
            f(knot, PathPoint{tau, set_.members(), a_, w_});
        }
    }

private:
    double knot_tau(Index knot) const {
        return knot == 0 ? log_.start : knot <= log_.size() ? log_.tau[knot - 1] : log_.end;
    }

    // p, q and members of the last checkpoint with at most `events` events before it.
    void load(Index events) {
        std::size_t c = log_.checkpoints.size() - 1;
        while (c > 0 && log_.checkpoints[c].event > events) --c;
        const Checkpoint& at = log_.checkpoints[c];
        forces_ = at.forces;
        if (!S::written_out) count(at.event);
        members_ = at.members;
        event_ = at.event;
    }

    // The coefficients behind p and q, from the sides of all rows after so many events.
    void count(Index events) {
        std::vector<std::int8_t> side = log_.side;
        for (Index k = 0; k < events; ++k) side[log_.row[k]] = log_.to[k];
        forces_.p.c.assign(side.size(), 0.0);
        forces_.q.c.assign(side.size(), 0.0);
        for (std::size_t i = 0; i < side.size(); ++i) {
            const auto at = static_cast<Side>(side[i]);
            if (at != Side::below && at != Side::above) continue;
            const double start = given_.box[i].at(at, 0);
            forces_.p.c[i] = given_.sign[i] * start;
            forces_.q.c[i] = given_.sign[i] * (given_.box[i].at(at, 1) - start);
        }
    }

    void rewind(Index events) {
        load(events);
        set_.assign(members_);
        while (event_ < events) {
            check(stop_);
            step(event_);
        }
    }

    void push(Index i, std::int8_t side, double factor) {
        forces_.push(space_, i, given_.sign[i], given_.box[i], static_cast<Side>(side), factor);
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
        forces_.at(tau, force_);
        set_.solve(force_, given_.target, a_, w_);
    }

    const S& space_;
    PathData given_;
    const PathLog& log_;
    const Stop* stop_;
    MarginSet<S> set_;
    std::vector<Index> members_;
    PathForces forces_;
    PathVector w_, dw_, force_;
    std::vector<double> a_, da_;
    Index event_ = 0;
};

}  // namespace steelyard
