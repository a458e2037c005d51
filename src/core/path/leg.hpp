// One leg of a path: the exact solution at one tau, and every kink from there on, up or down.
//
// Coordinate descent at the first tau leaves some a in its box and w = sum a z. That w is exact for other boxes: for a
// row below its target let high = a, for one above low = a. Moving these bounds to where they belong is a path like the
// other one, with no row on the margin at first; it brings the members in one by one. The targets stay, so no two of
// them can contradict each other. A leg that goes down is the path of the mirrored boxes over -tau, and its log is
// turned round: between two kinks the model is the same line either way.
#pragma once

#include "base/random.hpp"
#include "path/dual_path.hpp"

namespace steelyard {

// How a leg stands: where it is, what its log has so far, and the solution there.
struct PathStand {
    double tau;
    Index events;
    PathVector w;
    std::vector<Side> side;
    Checkpoint last;
    Index refactored;
    double drift;
};

template <class S>
class PathLeg {
public:
    enum class Way { up, down };

    // norm is |x| of every row.
    PathLeg(const S& space, const PathProblem& problem, const double* norm, double from, Way way, const Stop* stop)
        : space_(space),
          given_(problem.data),
          seed_(problem.seed),
          norm_(norm),
          from_(from),
          way_(way),
          stop_(stop),
          path_(space, {given_.sign, given_.target, norm}, stop) {}

    // The exact solution at the first tau; false where rounding has won.
    bool settle() {
        log_.start = log_.end = from_;
        if (!approach((this->*may_throw(&PathLeg::descend))())) return false;
        log_.start_events = path_.events();
        for (Side side : path_.sides()) log_.side.push_back(static_cast<std::int8_t>(side));
        log_.checkpoints.push_back(path_.model().checkpoint(0, true));
        return true;
    }

    // As DualPath::follow.
    Followed follow(double to, const PathWatch* watch, double apart) {
        return path_.follow(up() ? to : -to, &log_, watch, apart);
    }

    double tau() const { return up() ? path_.tau() : -path_.tau(); }
    Side side(Index i) const { return path_.side(i); }
    double off_target(Index i) const { return off_target(i, path_.model().w()); }
    double off_target(Index i, const PathVector& w) const { return path_.off_target(i, w); }
    Index size() const { return log_.size(); }
    // Whether it can be followed to the next glance and its log still be cut anywhere before.
    bool stays_whole() const { return log_.stays_whole(DualPath<S>::glance); }

    PathStand stand() const {
        const PathModel<S>& model = path_.model();
        const double drift = std::max(model.drift() * *std::max_element(norm_, norm_ + space_.n_rows()), model.off());
        return {tau(), size(), model.w(), path_.sides(), model.checkpoint(size(), true), model.refactored(), drift};
    }

    // All that was followed; or what was by the time that it stood so.
    PathLog take() { return take(stand()); }
    PathLog take(const PathStand& at) {
        if (at.events < size()) log_.cut(at.events);
        log_.end = at.tau;
        log_.refactored = at.refactored;
        log_.drift = at.drift;
        if (up()) return std::move(log_);
        if (log_.checkpoints.back().event < at.events) log_.checkpoints.push_back(at.last);
        return turned(std::move(log_));
    }

private:
    // The start need only be near: what is left of the way, the homotopy goes exactly. More sweeps than these, or to
    // more than a tenth of a margin, cost more than the events that they spare.
    static constexpr int sweeps = 30;
    static constexpr double near_enough = 0.1;

    bool up() const { return way_ == Way::up; }

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
            const double low = b.low_at(from_), high = b.high_at(from_);
            a[i] = std::min(std::max(0.0, low), high);
            if (a[i] != 0) space_.add(w, i, given_.sign[i] * a[i]);
            if (high > low && norm_[i] > 0) order.push_back(i);
            one_class = one_class || high <= low;
        }
        Shuffler shuffler{seed_};
        for (int sweep = 0; sweep < (one_class ? 1 : sweeps); ++sweep) {
            shuffle(order, shuffler);
            double worst = 0;
            for (Index i : order) {
                asked();
                const double gradient = given_.target[i] - given_.sign[i] * space_.value(i, w), before = a[i];
                const double low = given_.box[i].low_at(from_), high = given_.box[i].high_at(from_);
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
    bool approach(const std::vector<double>& a) {
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
            const double low = given_.box[i].low_at(from_), high = given_.box[i].high_at(from_);
            const bool below = given_.sign[i] * space_.value(i, w) < given_.target[i];
            box[i] = below ? CostBox{low, 0, a[i], high - a[i]} : CostBox{a[i], low - a[i], high, 0};
            path_.set_side(i, low == 0 && high == 0 ? Side::idle : below ? Side::below : Side::above);
        }
        path_.begin(std::move(box), 0);
        if (path_.follow(1, nullptr) != Followed::to_the_end) return false;
        for (Index i = 0; i < n; ++i) {
            asked();
            if (path_.side(i) == Side::idle)
                path_.set_side(i, path_.margin(i) < given_.target[i] ? Side::below : Side::above);
        }
        box.assign(given_.box, given_.box + n);
        if (!up())
            for (CostBox& b : box) b.low_rate = -b.low_rate, b.high_rate = -b.high_rate;
        path_.begin(std::move(box), up() ? from_ : -from_);
        return true;
    }

    // A log of -tau as one of tau: its events backwards, and forces whose rates have the other sign.
    PathLog turned(PathLog log) const {
        const Index events = log.size();
        for (Index k = 0; k < events; ++k) log.side[log.row[k]] = log.to[k];
        std::swap(log.start, log.end);
        std::swap(log.from, log.to);
        for (double& tau : log.tau) tau = -tau;
        std::reverse(log.tau.begin(), log.tau.end());
        std::reverse(log.row.begin(), log.row.end());
        std::reverse(log.from.begin(), log.from.end());
        std::reverse(log.to.begin(), log.to.end());
        std::reverse(log.checkpoints.begin(), log.checkpoints.end());
        for (Checkpoint& c : log.checkpoints) {
            c.event = events - c.event;
            c.tau = -c.tau;
            for (auto* rates : {&c.forces.q.v, &c.forces.q.low})
                for (double& rate : *rates) rate = -rate;
        }
        return log;
    }

    const S& space_;
    PathData given_;
    std::uint64_t seed_;
    const double* norm_;
    double from_;
    Way way_;
    const Stop* stop_;
    DualPath<S> path_;
    PathLog log_;
};

}  // namespace steelyard
