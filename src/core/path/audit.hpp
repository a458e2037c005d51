// How well a traced path satisfies the optimality conditions, computed from the rows at every knot.
//
// w is optimal at tau if there are multipliers a with
//   low_i <= a_i <= high_i,    w = sum_i a_i z_i,    a_i = high_i where the margin is below its target, a_i = low_i
//   where above.
// The residual of (w, a), with a inside its box exactly, is the larger of
//   the farthest a margin at w is on the wrong side of the original target (any side is wrong for a member), over the
//   size of a target; the farthest any margin is from that of sum a_i z_i:  |w - sum a_i z_i| max |z_i|, over the same
//   size, the sum from scratch.
#pragma once

#include "path/replay.hpp"

namespace steelyard {

template <class S>
class PathAudit {
public:
    PathAudit(const S& space, const AuditProblem& problem, const PathLog& log, const Stop* stop = nullptr)
        : space_(space),
          problem_(problem),
          given_(problem.given),
          log_(log),
          stop_(stop),
          replay_(space, given_, log, stop) {
        for (Index i = 0; i < space.n_rows(); ++i) longest_ = std::max(longest_, std::sqrt(space.square(i)));
        for (std::int8_t side : log.side) side_.push_back(static_cast<Side>(side));
    }

    // The largest residual of every `every`-th knot, every >= 1.
    double worst(Index every) {
        double worst = 0;
        replay_.visit(0, log_.size() + 2, [&](Index knot, const PathPoint& at) {
            if (knot > 0 && knot <= log_.size()) side_[log_.row[knot - 1]] = static_cast<Side>(log_.to[knot - 1]);
            if (knot % every == 0) worst = std::max(worst, residual(at));
        });
        return worst;
    }

private:
    double residual(const PathPoint& at) { return std::max(margins_off(at.w), force_off(at)) / problem_.unit; }

    double margins_off(const PathVector& w) const {
        double worst = 0;
        in_pieces(space_.n_rows(), Index{space_.pace()}, stop_,
                  [&](Index begin, Index end) { worst = std::max(worst, margins_off(w, begin, end)); });
        return worst;
    }

    STEELYARD_CLONES double margins_off(const PathVector& w, Index begin, Index end) const {
        double worst = 0;
        for (Index i = begin; i < end; ++i) {
            const double over = given_.sign[i] * replay_.rows().value(i, w) - problem_.original[i];
            const double off = side_[i] == Side::below ? over : side_[i] == Side::above ? -over : std::fabs(over);
            worst = std::max(worst, off);
        }
        return worst;
    }

    // |w - sum a z| max |z|, the sum from scratch.
    double force_off(const PathPoint& at) {
        PathForces forces;
        forces.clear(space_);
        StopEvery asked(stop_, space_.pace());
        for (Index i = 0; i < space_.n_rows(); ++i) {
            asked();
            forces.push(space_, i, given_.sign[i], given_.box[i], side_[i], 1.0);
        }
        PathVector sum;
        forces.at(at.tau, sum);
        for (std::size_t k = 0; k < at.members.size(); ++k) {
            const Index i = at.members[k];
            const CostBox& b = given_.box[i];
            space_.add(sum, i, given_.sign[i] * std::min(std::max(at.a[k], b.low_at(at.tau)), b.high_at(at.tau)));
        }
        return replay_.rows().margins_apart(at.w, sum, longest_);
    }

    const S& space_;
    AuditProblem problem_;
    PathData given_;
    const PathLog& log_;
    const Stop* stop_;
    PathReplay<S> replay_;
    std::vector<Side> side_;
    double longest_ = 0;  // max |z|
};

}  // namespace steelyard
