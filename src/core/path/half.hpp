// From one tau to an end of the range: every kink, but those at which a whole class stays on the margin.
//
// Let (w, a) and (w', a') be solutions at tau and tau'. Boxes are linear in tau, so at a tau between, the multipliers
// between a and a' are inside theirs, and the model between w and w' is their sum of rows. A row that is below its
// target at both, or above it at both, is so all the way, with its a at the same end of its box. If all other rows are
// within `apart` of their targets at both, they are so all the way, and wherever their a may be: then the straight line
// between the two is optimal to `apart`, whatever kinks there are on it.
//
// Where one class is so dear or so numerous that all of its rows are on the margin, there are thousands: multipliers
// move from row to row, and w goes straight on. So when a leg has been straight for a while, and would be for long, it
// waits for another one that comes from the end that it goes to (path/oncoming.hpp); where a straight line joins them,
// the path is complete, and at the latest where they meet. A thread that has nothing else to do begins that one before.
#pragma once

#include <mutex>

#include "path/oncoming.hpp"

namespace steelyard {

// Who watches is told how far a path that began in the middle would be known by now, were it followed from its start,
// and all kinks so far. Legs tell of both halves, each on its own thread.
class PathProgress {
public:
    PathProgress(const PathWatch* outer, double start) : outer_(outer), start_(start) {}
    bool is_watched() const { return outer_ != nullptr; }

    void at(int half, double way, Index kinks) {
        const std::lock_guard<std::mutex> lock(guard_);
        way_[half] = way, kinks_[half] = kinks;
        outer_->at(start_ + way_[0] + way_[1], kinks_[0] + kinks_[1]);
    }

private:
    const PathWatch* outer_;
    double start_, way_[2] = {0, 0};
    Index kinks_[2] = {0, 0};
    std::mutex guard_;
};

// The legs from one tau to an end of the range.
template <class S>
class PathHalf {
public:
    using Leg = PathLeg<S>;
    using Way = typename Leg::Way;

    // norm is |x| of every row.
    PathHalf(const S& space, const PathProblem& problem, const double* norm, double begin, Way way,
             PathProgress& progress, const Stop* stop)
        : space_(space),
          problem_(problem),
          norm_(norm),
          begin_(begin),
          end_(way == Way::up ? problem.end : problem.start),
          way_(way),
          stop_(stop),
          apart_(S::written_out ? same * unit(space, problem) : -1),
          oncoming_(space, problem, norm, end_, begin, apart_, stop),
          told_(progress, way == Way::up) {}

    // In order of tau; between one and the next a straight line. Where rounding has won they end before the range does,
    // and there is one without a checkpoint, or none, if it has won at the beginning.
    std::vector<PathLog> trace() {
        const Dismissal at_last{oncoming_};
        Leg leg(space_, problem_, norm_, begin_, way_, stop_);
        if (leg.settle()) {
            Followed how = follow(leg, end_);
            while (how == Followed::straight) {
                if (is_long(leg) && meet(leg)) return std::move(legs_);
                how = follow(leg, end_);
            }
            has_come_ = how == Followed::to_the_end;
        }
        if (has_come_ || way_ == Way::up) legs_.push_back(leg.take());
        return std::move(legs_);
    }

    // On another thread, while there is nothing else to do.
    void go_ahead() {
        if (S::written_out) oncoming_.go_ahead();
    }

    // Whether they reach the end of the range.
    bool has_come() const { return has_come_; }

private:
    struct Dismissal {
        OncomingLeg<S>& leg;
        ~Dismissal() { leg.dismiss(); }
    };
    // Of a target: five times the perturbation of the targets, half of what the optimality conditions hold to
    // (tests/solvers/test_cost_path.py).
    static constexpr double same = 5e-9;
    // Tied rows for one of them whose a is at the upper end, when the other leg pays: to settle takes an event for
    // every third row that ties or so, and each row at its upper end some ten until it has come down (a9a, pima,
    // letter).
    static constexpr Index ties = 20;

    static double unit(const S& space, const PathProblem& problem) {
        double unit = 0;
        for (Index i = 0; i < space.n_rows(); ++i) unit = std::max(unit, std::fabs(problem.data.target[i]));
        return unit;
    }
    static bool is_power_of_two(Index k) { return (k & (k - 1)) == 0; }

    // To the end of the next straight stretch.
    Followed follow(Leg& leg, double to) {
        Followed how = Followed::crooked;
        told_.set_out(leg.tau(), leg.size());
        while (how == Followed::crooked) how = leg.follow(to, told_.is_watched() ? &told_ : nullptr, apart_);
        told_.arrive(leg.tau(), leg.size());
        return how;
    }

    // Whether many of the rows that tie are at the upper end of their boxes, and fewer than before: a tie that grows
    // from where the leg began may end at any moment. Asked at the first straight stretch, the second, the fourth ...
    bool is_long(const Leg& leg) {
        if (!is_power_of_two(++straight_)) return false;
        Index tied = 0, high = 0;
        StopEvery asked(stop_, space_.pace());
        for (Index i = 0; i < space_.n_rows(); ++i) {
            asked();
            if (leg.off_target(i) > apart_) continue;
            ++tied;
            high += leg.side(i) == Side::below;
        }
        const bool fewer = high < high_;
        high_ = high;
        return fewer && high * ties > tied;
    }

    // All from where the leg is to the end of the range, by the one that comes from there; false where rounding has won
    // on the way. One of them goes on as far as its next straight stretch, until a straight line joins them: the one
    // that has rows off their targets. If both have, the one that comes, and seldom the leg, in case that its line was
    // not the one that lasts. The one that comes does not pass the leg: it stays before, and the leg comes to it.
    bool meet(Leg& leg) {
        const PathStand* there = oncoming_.now();
        if (!there) return false;
        bool comes = true;
        Followed how = Followed::straight;
        for (Index round = 1; how == Followed::straight; ++round) {
            const Apart off = between(leg, *there);
            if (!off.here && !off.there) break;
            const bool onwards = !off.there || (off.here && round > 1 && is_power_of_two(round));
            if (comes && !onwards) {
                const PathStand* next = oncoming_.next();
                comes = next && (next->tau - leg.tau()) * (there->tau - leg.tau()) > 0;
                if (!comes) {
                    oncoming_.dismiss();
                    continue;
                }
                told_.set_out(there->tau, there->events);
                if (told_.is_watched()) told_.at(next->tau, next->events);
                told_.arrive(next->tau, next->events);
                oncoming_.move_on();
                there = next;
            } else {
                how = follow(leg, there->tau);
            }
        }
        if (how == Followed::lost) return false;
        legs_.push_back(leg.take());
        legs_.push_back(oncoming_.take());
        if (way_ == Way::down) std::swap(legs_[0], legs_[1]);
        return has_come_ = true;
    }

    // Whether some of the rows that are not on one side at both are off their targets, here and there.
    struct Apart {
        bool here, there;
    };
    Apart between(const Leg& here, const PathStand& there) {
        Apart off{false, false};
        StopEvery asked(stop_, space_.pace());
        for (Index i = 0; i < space_.n_rows() && !(off.here && off.there); ++i) {
            asked();
            if (here.side(i) == there.side[i] && here.side(i) != Side::member) continue;
            off.here = off.here || !(here.off_target(i) <= apart_);
            off.there = off.there || !(here.off_target(i, there.w) <= apart_);
        }
        return off;
    }

    // What of the half is known by now, and its kinks.
    class Told final : public PathWatch {
    public:
        Told(PathProgress& progress, int half) : progress_(progress), half_(half) {}
        bool is_watched() const { return progress_.is_watched(); }

        // A leg goes on, from this tau and with so many kinks of its own.
        void set_out(double tau, Index kinks) {
            from_ = tau;
            before_ = kinks;
        }
        void arrive(double tau, Index kinks) {
            known_ += way(tau);
            kinks_ += kinks - before_;
        }

    private:
        double way(double tau) const { return std::fabs(std::fabs(tau) - from_); }  // a leg counts -tau on its way down
        void see(double tau, Index kinks) const override {
            progress_.at(half_, known_ + way(tau), kinks_ + kinks - before_);
        }

        PathProgress& progress_;
        int half_;
        double known_ = 0, from_ = 0;
        Index kinks_ = 0, before_ = 0;
    };

    const S& space_;
    PathProblem problem_;
    const double* norm_;
    double begin_, end_;
    Way way_;
    const Stop* stop_;
    double apart_;
    OncomingLeg<S> oncoming_;
    Told told_;
    bool has_come_ = false;
    Index straight_ = 0;  // stretches so far
    Index high_ = 0;      // rows that tied with a at the upper end, when they were counted last
    std::vector<PathLog> legs_;
};

}  // namespace steelyard
