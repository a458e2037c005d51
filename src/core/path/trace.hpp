// The whole path: a rough start by coordinate descent, a homotopy to the exact solution there, then every kink.
//
// Coordinate descent at the first tau leaves some a in its box and w = sum a z. That w is exact for other boxes: for a
// row below its target let high = a, for one above low = a. Moving these bounds to where they belong is a path like the
// other one, with no row on the margin at first; it brings the members in one by one. The targets stay, so no two of
// them can contradict each other.
#pragma once

#include "linear/coordinate.hpp"
#include "path/dual_path.hpp"

namespace steelyard {

struct PathProblem {
    PathData data;
    double start, end;
    int passes = 30;  // of coordinate descent, at most
    std::uint64_t seed = 0;
};

template <class S>
class PathTrace {
public:
    PathTrace(const S& space, const PathProblem& problem, const std::function<bool()>& stop = {})
        : space_(space),
          problem_(problem),
          given_(problem.data),
          norm_(norms(space)),
          path_(space, {given_.sign, given_.target, norm_.data()}, stop) {}

    PathLog trace() {
        PathLog log;
        log.start = log.end = problem_.start;
        if (!settle(descend())) {
            log.interrupted = true;
            return log;
        }
        log.start_events = path_.events();
        for (Side side : path_.sides()) log.side.push_back(static_cast<std::int8_t>(side));
        log.checkpoints.push_back(path_.checkpoint(0, true));
        log.interrupted = !path_.follow(problem_.end, &log);
        log.end = path_.tau();
        log.refactored = path_.refactored();
        log.drift = path_.drift() * *std::max_element(norm_.begin(), norm_.end());
        return log;
    }

private:
    static std::vector<double> norms(const S& space) {
        std::vector<double> norm(static_cast<std::size_t>(space.n_rows()));
        for (Index i = 0; i < space.n_rows(); ++i) norm[i] = std::sqrt(space.square(i));
        return norm;
    }

    // max over a in the box  sum a t - 1/2 |sum a z|^2, one row at a time, to a tenth of a margin. At an end of the
    // range only one class has a box, and its rows tie: more passes would only spread a over all of them, and each must
    // come back to a bound.
    STEELYARD_CLONES std::vector<double> descend() {
        const Index n = space_.n_rows();
        std::vector<double> a(static_cast<std::size_t>(n));
        PathVector w;
        space_.clear(w);
        std::vector<Index> order;
        bool one_class = false;
        for (Index i = 0; i < n; ++i) {
            const CostBox& b = given_.box[i];
            const double low = b.low_at(problem_.start), high = b.high_at(problem_.start);
            a[i] = std::min(std::max(0.0, low), high);
            if (a[i] != 0) space_.add(w, i, given_.sign[i] * a[i]);
            if (high > low && norm_[i] > 0) order.push_back(i);
            one_class = one_class || high <= low;
        }
        Shuffler shuffler{problem_.seed};
        const int passes = one_class ? 1 : problem_.passes;
        Index looked = 0;
        for (int pass = 0; pass < passes; ++pass) {
            double worst = 0;
            const Index size = static_cast<Index>(order.size());
            for (Index k = 0; k < size; ++k) std::swap(order[k], order[k + shuffler.below(size - k)]);
            for (Index i : order) {
                if (++looked % 32 == 0 && path_.stopped()) return a;
                const double gradient = given_.target[i] - given_.sign[i] * space_.value(i, w), before = a[i];
                const double low = given_.box[i].low_at(problem_.start), high = given_.box[i].high_at(problem_.start);
                a[i] = std::min(std::max(before + gradient / (norm_[i] * norm_[i]), low), high);
                if (a[i] == before) continue;
                worst = std::max(worst, std::fabs(gradient));
                space_.add(w, i, (a[i] - before) * given_.sign[i]);
            }
            if (worst < 0.1) break;
        }
        return a;
    }

    // From any a in the boxes at the first tau to the exact solution there. False if stopped.
    bool settle(const std::vector<double>& a) {
        const Index n = space_.n_rows();
        PathVector w;
        space_.clear(w);
        for (Index i = 0; i < n && !(i % 32 == 0 && path_.stopped()); ++i)
            if (a[i] != 0) space_.add(w, i, given_.sign[i] * a[i]);
        if (path_.stopped()) return false;
        std::vector<CostBox> box(static_cast<std::size_t>(n));
        for (Index i = 0; i < n; ++i) {
            const double low = given_.box[i].low_at(problem_.start), high = given_.box[i].high_at(problem_.start);
            const bool below = given_.sign[i] * space_.value(i, w) < given_.target[i];
            box[i] = below ? CostBox{low, 0, a[i], high - a[i]} : CostBox{a[i], low - a[i], high, 0};
            path_.set_side(i, low == 0 && high == 0 ? Side::idle : below ? Side::below : Side::above);
        }
        path_.begin(std::move(box), 0);
        if (!path_.follow(1, nullptr)) return false;
        for (Index i = 0; i < n; ++i)
            if (path_.side(i) == Side::idle)
                path_.set_side(i, path_.margin(i) < given_.target[i] ? Side::below : Side::above);
        path_.begin(std::vector<CostBox>(given_.box, given_.box + n), problem_.start);
        return !path_.stopped();
    }

    const S& space_;
    PathProblem problem_;
    PathData given_;
    std::vector<double> norm_;
    DualPath<S> path_;
};

}  // namespace steelyard
