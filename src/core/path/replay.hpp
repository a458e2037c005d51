// The solution anywhere on a path that was traced, from its log: one tau, or one knot after the other.
//
// Knots are the start of the path, its events in order, and its end: K + 2 of them. From the nearest checkpoint before
// it a knot is reached as the trace reached it, by one direction an event. A single tau needs less: the sets come from
// moving rows, and the solution from one factor, w = v + Z'a with Z w = target (path/log.hpp), if that leaves a in its
// boxes; where members nearly depend on each other it may not, and then w is followed from the checkpoint as well.
#pragma once

#include "path/model.hpp"

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
        : space_(space), given_(given), log_(log), stop_(stop), model_(space, given.sign, given.target, stop) {}

    Index model_size() const { return space_.size(); }

    // The model at tau, with tau in the range of the log: w, or the coefficients of all rows.
    void recover(double tau, double* out) {
        check(stop_);
        const auto events =
            static_cast<Index>(std::upper_bound(log_.tau.begin(), log_.tau.end(), tau) - log_.tau.begin());
        const Checkpoint& from = checkpoint(events);
        PathForces forces = from.forces;
        if (!S::written_out) count(from.event, forces);
        std::vector<Index> members = from.members;
        StopEvery asked(stop_, space_.pace());
        for (Index k = from.event; k < events; ++k) {
            asked();
            apply(k, forces, members);
        }
        MarginSet<S>& set = model_.set();
        set.assign(members);
        forces.at(tau, force_);
        set.solve(force_, given_.target, a_, w_);
        if (is_inside(tau, members, a_)) return write(force_, members, a_, w_, out);
        follow(events);
        advance_to(tau);
        write(out);
    }

    // The model of the last point.
    void write(double* out) const { write(model_.force(), model_.members(), model_.a(), model_.w(), out); }

    // How fast the model moves from the last point on, per unit of tau.
    double speed() {
        model_.direct();
        return model_.lengths().speed;
    }

    const typename S::Members& rows() const { return model_.rows(); }

    // f(knot, point) for the knots first .. last - 1.
    template <class F>
    void visit(Index first, Index last, F&& f) {
        follow(std::max<Index>(first - 1, 0));
        for (Index knot = first; knot < last; ++knot) {
            check(stop_);
            if (knot > 0 && knot <= log_.size())
                step(knot - 1);
            else
                advance_to(knot == 0 ? log_.start : log_.end);
            f(knot, PathPoint{model_.tau(), model_.members(), model_.a(), model_.w()});
        }
    }

private:
    // How far out of its box a may be, as a share of the box. Members that depend on each other to a share delta have a
    // to 1e-16 / delta, so here delta is 1e-10 at least, and w is off by less than 1e-5 times this.
    static constexpr double outside = 1e-6;
    // With a rate above this the last digit of tau is more than 1e-13 of a margin or of a; and how far from its tau an
    // event may be then.
    static constexpr double steep = 1e3, apart = 1e-9;
    // What may be left, in margins, without a correction: a thousandth of the perturbation of the targets.
    static constexpr double close = 1e-12;

    struct Reach {
        double left, rate;
    };

    // The last one with at most `events` events before it.
    const Checkpoint& checkpoint(Index events) const {
        std::size_t c = log_.checkpoints.size() - 1;
        while (c > 0 && log_.checkpoints[c].event > events) --c;
        return log_.checkpoints[c];
    }

    bool is_inside(double tau, const std::vector<Index>& members, const std::vector<double>& a) const {
        for (std::size_t k = 0; k < members.size(); ++k) {
            const CostBox& b = given_.box[members[k]];
            const double low = b.low_at(tau), high = b.high_at(tau), slack = outside * (high - low);
            if (!(a[k] >= low - slack && a[k] <= high + slack)) return false;
        }
        return true;
    }

    // The model after so many events.
    void follow(Index events) {
        const Checkpoint& from = checkpoint(events);
        model_.load(from, given_.box);
        if (!S::written_out) count(from.event, model_.forces());
        model_.polish();
        for (Index k = from.event; k < events; ++k) {
            check(stop_);
            step(k);
        }
    }

    // One event, and the model there.
    void step(Index k) {
        const Index i = log_.row[k];
        const auto to = static_cast<Side>(log_.to[k]);
        model_.direct();
        const bool enters = to == Side::member;
        const double missed = advance_to(log_.tau[k], enters ? to_target(i) : to_bound(i, to));
        if (enters) {
            model_.set().add_always(i);
            model_.entered(i, static_cast<Side>(log_.from[k]));
        } else {
            model_.leave(position(i), to);
        }
        if (k % PathModel<S>::polishing == 0 || missed * (enters ? 1 : space_.square(i)) > close)
            model_.polish();
        else if (!S::written_out)
            model_.renew();
    }

    // To where the log says, or by what is left at a rate if that is steep: tau alone is too coarse for members that
    // pass from bound to bound within its last digits, as those do that nearly depend on others.
    // Returns what is left then.
    double advance_to(double tau, const Reach& reach) {
        const double stretch = tau - model_.tau(), length = reach.left / reach.rate;
        const bool own = std::fabs(reach.rate) > steep && std::fabs(length - stretch) <= apart;
        model_.advance(own ? length : stretch);
        if (!own) model_.set_tau(tau);
        if (!S::written_out) model_.renew();
        return own ? 0 : std::fabs(reach.left - stretch * reach.rate);
    }

    void advance_to(double tau) {
        model_.direct();
        advance_to(tau, {0, 0});
    }

    // What a row's margin has left to its target, or a member's a to its bound.
    Reach to_target(Index i) const {
        const double sign = given_.sign[i];
        return {given_.target[i] - sign * model_.rows().value(i, model_.w()),
                sign * model_.rows().value(i, model_.dw())};
    }
    Reach to_bound(Index i, Side to) const {
        const auto k = static_cast<std::size_t>(position(i));
        const CostBox& b = given_.box[i];
        return {b.at(to, model_.tau()) - model_.a()[k],
                model_.da()[k] - (to == Side::below ? b.high_rate : b.low_rate)};
    }
    Index position(Index i) const {
        const std::vector<Index>& members = model_.members();
        return std::find(members.begin(), members.end(), i) - members.begin();
    }

    // The coefficients behind p and q, from the sides of all rows after so many events.
    void count(Index events, PathForces& forces) const {
        std::vector<std::int8_t> side = log_.side;
        for (Index k = 0; k < events; ++k) side[log_.row[k]] = log_.to[k];
        forces.p.c.assign(side.size(), 0.0);
        forces.q.c.assign(side.size(), 0.0);
        for (std::size_t i = 0; i < side.size(); ++i) {
            const auto at = static_cast<Side>(side[i]);
            if (at != Side::below && at != Side::above) continue;
            const double start = given_.box[i].at(at, 0);
            forces.p.c[i] = given_.sign[i] * start;
            forces.q.c[i] = given_.sign[i] * (given_.box[i].at(at, 1) - start);
        }
    }

    // One event, of the sets alone.
    void apply(Index k, PathForces& forces, std::vector<Index>& members) const {
        const Index i = log_.row[k];
        const auto push = [&](std::int8_t side, double factor) {
            forces.push(space_, i, given_.sign[i], given_.box[i], static_cast<Side>(side), factor);
        };
        push(log_.from[k], -1.0);
        push(log_.to[k], 1.0);
        if (static_cast<Side>(log_.to[k]) == Side::member)
            members.push_back(i);
        else
            members.erase(std::find(members.begin(), members.end(), i));
    }

    void write(const PathVector& force, const std::vector<Index>& members, const std::vector<double>& a,
               const PathVector& w, double* out) const {
        if (S::written_out) {
            std::copy(w.v.begin(), w.v.end(), out);
            return;
        }
        std::copy(force.c.begin(), force.c.end(), out);
        for (std::size_t k = 0; k < a.size(); ++k) out[members[k]] = given_.sign[members[k]] * a[k];
    }

    const S& space_;
    PathData given_;
    const PathLog& log_;
    const Stop* stop_;
    PathModel<S> model_;
    PathVector w_, force_;
    std::vector<double> a_;
};

}  // namespace steelyard
