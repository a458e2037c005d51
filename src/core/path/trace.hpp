// The whole path: a rough start by coordinate descent, a homotopy to the exact solution there, then every kink.
//
// Coordinate descent at the first tau leaves some a in its box and w = sum a z. That w is exact for other boxes: for a
// row below its target let high = a, for one above low = a. Moving these bounds to where they belong is a path like the
// other one, with no row on the margin at first; it brings the members in one by one. The targets stay, so no two of
// them can contradict each other.
#pragma once

#include "base/random.hpp"
#include "path/dual_path.hpp"

namespace steelyard {

template <class S>
class PathTrace {
public:
    PathTrace(const S& space, const PathProblem& problem, const Stop* stop = nullptr)
        : space_(space),
          problem_(problem),
          given_(problem.data),
          stop_(stop),
          norm_(norms(space, stop)),
          path_(space, {given_.sign, given_.target, norm_.data()}, stop) {
        double force = 0;
        for (Index i = 0; i < space.n_rows(); ++i)
            for (const double tau : {problem.start, problem.end}) {
                const double low = given_.box[i].low_at(tau), high = given_.box[i].high_at(tau);
                force += std::max(std::fabs(low), std::fabs(high)) * norm_[i];
            }
        check_force(force);
    }

    // Where rounding has won, the log ends before the range does; without a checkpoint if it has won at the start.
    PathLog trace() {
        PathLog log;
        log.start = log.end = problem_.start;
        if (!settle((this->*may_throw(&PathTrace::descend))())) return log;
        log.start_events = path_.events();
        for (Side side : path_.sides()) log.side.push_back(static_cast<std::int8_t>(side));
        log.checkpoints.push_back(path_.model().checkpoint(0, true));
        path_.follow(problem_.end, &log, problem_.watch);
        log.end = path_.tau();
        log.refactored = path_.model().refactored();
        log.drift =
            std::max(path_.model().drift() * *std::max_element(norm_.begin(), norm_.end()), path_.model().off());
        return log;
    }

private:
    // The start need only be near: what is left of the way, the homotopy goes exactly. More sweeps than these, or to
    // more than a tenth of a margin, cost more than the events that they spare.
    static constexpr int sweeps = 30;
    static constexpr double near_enough = 0.1;

    static std::vector<double> norms(const S& space, const Stop* stop) {
        StopEvery asked(stop, space.pace());
        std::vector<double> norm(static_cast<std::size_t>(space.n_rows()));
        for (Index i = 0; i < space.n_rows(); ++i) {
            asked();
            norm[i] = std::sqrt(space.square(i));
        }
        return norm;
    }

    // max over a in the box  sum a t - 1/2 |sum a z|^2, one row at a time. At an end of the range only one class has a
    // box, and its rows tie: more sweeps than one would only spread a over all of them, and each must come back to a
    // bound.
    STEELYARD_CLONES std::vector<double> descend() {
        const Index n = space_.n_rows();
        std::vector<double> a(static_cast<std::size_t>(n));
        PathVector w;
        space_.clear(w);
        std::vector<Index> order;
        bool one_class = false;
        StopEvery asked(stop_, space_.pace());
        for (Index i = 0; i < n; ++i) {
            asked();
            const CostBox& b = given_.box[i];
            const double low = b.low_at(problem_.start), high = b.high_at(problem_.start);
            a[i] = std::min(std::max(0.0, low), high);
            if (a[i] != 0) space_.add(w, i, given_.sign[i] * a[i]);
            if (high > low && norm_[i] > 0) order.push_back(i);
            one_class = one_class || high <= low;
        }
        Shuffler shuffler{problem_.seed};
        for (int sweep = 0; sweep < (one_class ? 1 : sweeps); ++sweep) {
            shuffle(order, shuffler);
            double worst = 0;
            for (Index i : order) {
                asked();
                const double gradient = given_.target[i] - given_.sign[i] * space_.value(i, w), before = a[i];
                const double low = given_.box[i].low_at(problem_.start), high = given_.box[i].high_at(problem_.start);
                a[i] = std::min(std::max(before + gradient / (norm_[i] * norm_[i]), low), high);
                if (a[i] == before) continue;
                worst = std::max(worst, std::fabs(gradient));
                space_.add(w, i, (a[i] - before) * given_.sign[i]);
            }
            if (worst < near_enough) break;
        }
        return a;
    }

    static STEELYARD_INLINE void shuffle(std::vector<Index>& order, Shuffler& shuffler) {
        const auto size = static_cast<Index>(order.size());
        for (Index k = 0; k < size; ++k) std::swap(order[k], order[k + shuffler.below(size - k)]);
    }

    // From any a in the boxes at the first tau to the exact solution there; false if it does not get there.
    bool settle(const std::vector<double>& a) {
        const Index n = space_.n_rows();
        PathVector w;
        space_.clear(w);
        StopEvery asked(stop_, space_.pace());
        for (Index i = 0; i < n; ++i) {
            asked();
            if (a[i] != 0) space_.add(w, i, given_.sign[i] * a[i]);
        }
        std::vector<CostBox> box(static_cast<std::size_t>(n));
        for (Index i = 0; i < n; ++i) {
            asked();
            const double low = given_.box[i].low_at(problem_.start), high = given_.box[i].high_at(problem_.start);
            const bool below = given_.sign[i] * space_.value(i, w) < given_.target[i];
            box[i] = below ? CostBox{low, 0, a[i], high - a[i]} : CostBox{a[i], low - a[i], high, 0};
            path_.set_side(i, low == 0 && high == 0 ? Side::idle : below ? Side::below : Side::above);
        }
        path_.begin(std::move(box), 0);
        if (!path_.follow(1, nullptr)) return false;
        for (Index i = 0; i < n; ++i) {
            asked();
            if (path_.side(i) == Side::idle)
                path_.set_side(i, path_.margin(i) < given_.target[i] ? Side::below : Side::above);
        }
        path_.begin(std::vector<CostBox>(given_.box, given_.box + n), problem_.start);
        return true;
    }

    const S& space_;
    PathProblem problem_;
    PathData given_;
    const Stop* stop_;
    std::vector<double> norm_;
    DualPath<S> path_;
};

}  // namespace steelyard
