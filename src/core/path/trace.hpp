// The whole path, as one leg or two: every kink, but those at which a whole class stays on the margin.
//
// Let (w, a) and (w', a') be solutions at tau and tau'. Boxes are linear in tau, so at a tau between, the multipliers
// between a and a' are inside theirs, and the model between w and w' is their sum of rows. A row that is below its
// target at both, or above it at both, is so all the way, with its a at the same end of its box. If all other rows are
// within `apart` of their targets at both, they are so all the way, and wherever their a may be: then the straight line
// between the two is optimal to `apart`, whatever kinks there are on it.
//
// Where one class is so dear or so numerous that all of its rows are on the margin, there are thousands: multipliers
// move from row to row, and w goes straight on. So when the path upwards has been straight for a while, and would be
// for long, it waits for another one that comes down from the end of the range; where a straight line joins them, the
// path is complete, and at the latest where they meet. Nothing is followed twice.
#pragma once

#include <memory>

#include "path/leg.hpp"

namespace steelyard {

template <class S>
class PathTrace {
public:
    PathTrace(const S& space, const PathProblem& problem, const Stop* stop = nullptr)
        : space_(space),
          problem_(problem),
          stop_(stop),
          norm_(norms(space, stop)),
          told_(problem.watch, problem.start) {
        double force = 0, unit = 0;
        for (Index i = 0; i < space.n_rows(); ++i) {
            unit = std::max(unit, std::fabs(problem.data.target[i]));
            for (const double tau : {problem.start, problem.end}) {
                const CostBox& box = problem.data.box[i];
                force += std::max(std::fabs(box.low_at(tau)), std::fabs(box.high_at(tau))) * norm_[i];
            }
        }
        check_force(force);
        if (S::written_out) apart_ = same * unit;
    }

    // In order of tau; between one and the next a straight line. Where rounding has won, they end before the range
    // does; the one leg has no checkpoint if it has won at the start.
    std::vector<PathLog> trace() {
        const LegAt up = make(problem_.start, Way::up);
        if (up->settle()) {
            Followed how = follow(*up, problem_.end, apart_);
            while (how == Followed::straight) {
                if (is_long(*up) && meet(*up)) return std::move(legs_);
                how = follow(*up, problem_.end, apart_);
            }
        }
        legs_.push_back(up->take());
        return std::move(legs_);
    }

private:
    using Leg = PathLeg<S>;
    using Way = typename Leg::Way;
    using LegAt = std::unique_ptr<Leg>;
    // Of a target: five times the perturbation of the targets, half of what the optimality conditions hold to
    // (tests/solvers/test_cost_path.py).
    static constexpr double same = 5e-9;
    // Tied rows for one of them whose a is at the upper end, when the other leg pays: to settle takes an event for
    // every third row that ties or so, and each row at its upper end some ten until it has come down (a9a, pima,
    // letter).
    static constexpr Index ties = 20;

    static std::vector<double> norms(const S& space, const Stop* stop) {
        StopEvery asked(stop, space.pace());
        std::vector<double> norm(static_cast<std::size_t>(space.n_rows()));
        for (Index i = 0; i < space.n_rows(); ++i) {
            asked();
            norm[i] = std::sqrt(space.square(i));
        }
        return norm;
    }

    static bool is_power_of_two(Index k) { return (k & (k - 1)) == 0; }

    LegAt make(double from, Way way) const {
        return std::make_unique<Leg>(space_, problem_, norm_.data(), from, way, stop_);
    }

    Followed follow(Leg& leg, double to, double apart) {
        told_.set_out(leg.tau(), leg.size());
        const Followed how = leg.follow(to, problem_.watch ? &told_ : nullptr, apart);
        told_.arrive(leg.tau(), leg.size());
        return how;
    }

    // Whether many of the rows that tie are at the upper end of their boxes, and fewer than before: a tie that grows
    // from the beginning of the range may end at any moment. Asked at the first straight stretch, the second, the
    // fourth ...
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

    // All from where the one leg is to the end of the range, by another one; false where rounding has won on the way
    // down. Each goes as far as its next straight stretch; upwards seldom, in case that its line was not the one that
    // lasts.
    bool meet(Leg& up) {
        const LegAt down = make(problem_.end, Way::down);
        if (!down->settle()) return false;
        Followed how = Followed::straight;
        for (Index round = 1; how == Followed::straight && !is_straight(up, *down); ++round) {
            const bool upwards = round > 1 && is_power_of_two(round);
            how = upwards ? follow(up, down->tau(), apart_) : follow(*down, up.tau(), apart_);
            if (how == Followed::lost) return false;
        }
        legs_.push_back(up.take());
        legs_.push_back(down->take());
        return true;
    }

    // Whether a straight line joins them: see the head.
    bool is_straight(const Leg& one, const Leg& other) {
        StopEvery asked(stop_, space_.pace());
        for (Index i = 0; i < space_.n_rows(); ++i) {
            asked();
            if (one.side(i) == other.side(i) && one.side(i) != Side::member) continue;
            if (!(one.off_target(i) <= apart_ && other.off_target(i) <= apart_)) return false;
        }
        return true;
    }

    // Who watches is told up to which tau the path would be known by now, were it followed upwards, and all kinks so
    // far.
    class Told final : public PathWatch {
    public:
        Told(const PathWatch* outer, double start) : outer_(outer), known_(start) {}

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
        void see(double tau, Index kinks) const override { outer_->at(known_ + way(tau), kinks_ + kinks - before_); }

        const PathWatch* outer_;
        double known_, from_ = 0;
        Index kinks_ = 0, before_ = 0;
    };

    const S& space_;
    PathProblem problem_;
    const Stop* stop_;
    std::vector<double> norm_;
    double apart_ = -1;
    Told told_;
    Index straight_ = 0;  // stretches so far
    Index high_ = 0;      // rows that tied with a at the upper end, when they were counted last
    std::vector<PathLog> legs_;
};

}  // namespace steelyard
