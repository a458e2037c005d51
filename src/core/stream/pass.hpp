// One pass of the stream learner over the rows of a chunk: the step for a row, the refresh of the class weights every
// few rows, SCAN's epochs, and the order of the rows. It belongs to stream/learner.hpp, which includes it.
//
// What a pass does with a row is written twice: for any settings (`AnyRow`), and for the default ones with the numbers
// that change at every row kept in registers (`PlainRow`); a test holds both equal.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/random.hpp"
#include "base/rows.hpp"
#include "base/simd.hpp"
#include "base/stop.hpp"
#include "stream/learner.hpp"
#include "stream/shuffle.hpp"
#include "stream/tidy_rows.hpp"

namespace steelyard {

inline double Learner::step_size() const {
    switch (is.steps) {
        case Steps::adaptive: return now.eta;
        case Steps::root: return now.eta / std::sqrt(now.clock);
        default: return now.eta / (1.0 + is.alpha * (now.clock - 1.0));
    }
}

template <class Row>
STEELYARD_INLINE void Learner::look_at_scale(const Row& row) {
    now.warmup.look(row);
    if (is.eta0 > 0.0)
        now.eta = is.eta0;
    else
        now.eta = is.steps == Steps::adaptive ? is.unit_step / now.warmup.root_mean_square()
                                              : 1.0 / now.warmup.root_mean_square_norm();
}

template <class Row>
STEELYARD_INLINE void Learner::step(const Row& row, double g) {
    Weights& weights = now.weights;
    const double touched = is.radius > 0.0 ? weights.square_norm_on(row) : 0.0;
    if (is.steps == Steps::adaptive) {
        weights.adaptive_step(row, g, now.eta, weights.at);
        if (is.intercept) weights.at.adaptive_intercept(g, is.unit_step);
    } else {
        const double length = g * step_size();
        weights.plain_step(row, length);
        if (is.intercept) weights.at.move_intercept(length);
    }
    if (is.radius > 0.0) {
        weights.at.square_norm += weights.square_norm_on(row) - touched;
        weights.project(is.radius);
    }
}

template <class Row>
STEELYARD_INLINE void Learner::one(const Row& row, double score, int side, double weight) {
    const double y = side ? 1.0 : -1.0, z = y * score;
    now.t += 1.0;
    now.clock += 1.0;
    if (now.warmup.rows < Warmup::rows_needed) look_at_scale(row);
    now.duals.observe(side, weight, z, is.reward, is.width);
    if (!now.estimating) {
        if (is.alpha > 0.0) {
            const double length = is.steps == Steps::adaptive ? now.eta / std::sqrt(now.clock) : step_size();
            now.weights.shrink(std::max(1.0 - length * is.alpha, 1e-6));  // a longer step would turn w around
        }
        const double slope = reward_slope(reward_now(), z, is.width);
        if (slope > 0.0) step(row, y * weight * now.duals.weight(side) * slope);
        now.weights.at.count(weight * (is.growth == 0.0 ? 1.0 : now.clock));
    }
    if (--now.until == 0) tick();
}

// What a pass does with a row, for any settings.
struct Learner::AnyRow {
    Learner& learner;

    explicit AnyRow(Learner& it) : learner(it) {}
    template <class Row>
    STEELYARD_INLINE double score(const Row& row) const {
        const Weights& weights = learner.now.weights;
        return weights.at.scale * weights.dot(row) + weights.at.b;
    }
    template <class Row>
    STEELYARD_INLINE void one(const Row& row, double score, int side, double weight) {
        learner.one(row, score, side, weight);
    }
    STEELYARD_INLINE double* class_mass() { return learner.now.duals.tally.rows; }
    void finish() {}
};

// The same for the settings of `is_plain`, without the branches that they never take, and with the numbers that change
// at every row in a copy: a step may write to any number in memory, so members would be loaded and stored each time.
template <Reward reward>
struct Learner::PlainRow {
    Learner& learner;
    Scalars at;
    Tally tally;
    double t, clock, pull[2], eta;
    std::int64_t until;
    bool warming;

    explicit PlainRow(Learner& it) : learner(it) { fetch(); }
    template <class Row>
    STEELYARD_INLINE double score(const Row& row) const {
        return at.scale * learner.now.weights.dot(row) + at.b;
    }
    template <class Row>
    STEELYARD_INLINE void one(const Row& row, double score, int side, double weight) {
        const double y = side ? 1.0 : -1.0, z = y * score;
        t += 1.0;
        clock += 1.0;
        if (warming) {
            learner.look_at_scale(row);
            eta = learner.now.eta;
            warming = learner.now.warmup.rows < Warmup::rows_needed;
        }
        tally.rows[side] += weight;
        tally.seen[side] += weight;
        tally.credit[side] += z > 0.0 ? weight : 0.0;
        const double slope = reward_slope(reward, z, 1.0);
        if (slope > 0.0) {
            const double g = y * weight * pull[side] * slope;
            learner.now.weights.adaptive_step(row, g, eta, at);
            if (learner.is.intercept) at.adaptive_intercept(g, learner.is.unit_step);
        }
        at.count(weight * (learner.is.growth == 0.0 ? 1.0 : clock));
        if (--until == 0) refresh();
    }
    STEELYARD_INLINE double* class_mass() { return tally.rows; }
    STEELYARD_INLINE void finish() {
        State& now = learner.now;
        now.weights.at = at, now.duals.tally = tally;
        now.t = t, now.clock = clock, now.until = until;
    }

private:
    // `tick`, where it would do anything.
    STEELYARD_INLINE void refresh() {
        until = learner.is.refresh;
        learner.now.weights.look_whether_begun();
        if (t < learner.now.history.next && !Duals::is_stale(tally, learner.now.duals.looked_at)) return;
        finish();
        learner.tick();
        fetch();
    }
    STEELYARD_INLINE void fetch() {
        const State& now = learner.now;
        at = now.weights.at, tally = now.duals.tally;
        t = now.t, clock = now.clock, until = now.until, eta = now.eta;
        pull[0] = now.duals.pull.neg, pull[1] = now.duals.pull.pos;
        warming = now.warmup.rows < Warmup::rows_needed;
    }
};

inline void Learner::tick() {
    now.until = is.refresh;
    now.weights.look_whether_begun();
    now.duals.sample = sample_ >= 0.0 ? sample_ : now.rows_once();
    now.duals.refresh();
    if (is.radius > 0.0 && static_cast<std::int64_t>(now.t) % 1024 < is.refresh)
        now.weights.at.square_norm = now.weights.exact_square_norm();
    if (is.epoch > 0.0) {
        now.epoch_left -= static_cast<double>(is.refresh);
        if (now.epoch_left <= 0.0) finish_epoch();
    }
    if (now.t < now.history.next) return;
    const Duals& d = now.duals;
    const double share[2] = {is.duals.forget ? d.tally.seen[0] : 1.0, is.duals.forget ? d.tally.seen[1] : 1.0};
    now.history.add({now.t, d.tally.seen[0], d.tally.seen[1], d.tally.credit[0] * share[0],
                     d.tally.credit[1] * share[1], d.pull.neg, d.pull.pos, d.multiplier.lam, d.level});
}

// Paper 001, Algorithm 3: learn for s_e rows, take the average as the model w_e, estimate its level on s_e' = s_e rows.
inline void Learner::finish_epoch() {
    if (now.estimating) {
        now.duals.take_level();
        now.epoch_length *= is.epoch_growth;
    } else {
        now.settled = now.weights.averaged();
        now.settled_b = now.weights.averaged_intercept();
        now.weights.restart(now.settled, now.settled_b);
    }
    now.duals.restart();
    now.estimating = !now.estimating;
    now.clock = 0.0;
    now.epoch_left = now.epoch_length;
}

// Rows are prefetched a few ahead where the processor does not see them coming: shuffled ones, and sparse ones, whose
// two arrays are read in pieces.
template <class OneRow, class Matrix>
STEELYARD_CLONES Fault Learner::pass_over(const Matrix& rows, const Labels& labels, const Pass& pass, const Ask& ask) {
    Fault bad;
    OneRow machine(*this);
    Merged<decltype(rows.row(0))> merged;
    Index until = ask.every;
    constexpr Index soon = 2;  // rows ahead: 1 to 6 did the same (benchmarks/stream_rows.py, 2^20 columns)
    const bool side_by_side = now.weights.is_side_by_side() && !pass.shuffle;
    const Index n_held = static_cast<Index>(held_.size());
    const auto learn_row = [&](Index i, Index later) STEELYARD_INLINE_LAMBDA {
        if (--until == 0) check(ask.stop), until = ask.every;
        if (pass.shuffle || !Matrix::is_dense) rows.prefetch(later);
        auto row = rows.row(i);
        row.constant = 0.0;  // it is: the intercept is the learner's own, and no branch asks for it
        reservoir.copy(i, row);
        if constexpr (!Matrix::is_dense)
            if (side_by_side) now.weights.prefetch(rows.row(std::min(i + soon, rows.n_rows - 1)));
        if (!Matrix::is_dense && (pass.is_first() || untidy_) && !is_tidy(row, rows.n_stored)) {
            if (!row.inside(rows.n_stored)) {
                bad = {"outside", i};
                return false;
            }
            untidy_ = true;
            row = merged(row, rows.n_stored);
        }
        double score = machine.score(row);
        if (!(std::fabs(score) <= std::numeric_limits<double>::max())) {
            if (!is_finite(row)) {
                bad = {"not finite", i};
                return false;
            }
            score = std::isnan(score) ? 0.0 : std::copysign(1e300, score);  // finite, but too large for a sum
        }
        const double weight = labels.weight == nullptr ? 1.0 : labels.weight[i];
        if (weight == 0.0) return true;
        const int side = labels.y[i] > 0;
        if (i < n_held && held_[static_cast<std::size_t>(i)]) {
            now.held += 1.0;
            machine.class_mass()[side] += weight;  // it counts for the prevalence
            return true;
        }
        machine.one(row, score, side, weight);
        return true;
    };
    if (pass.shuffle) {
        BlockedShuffle(rows.n_rows, draw(is.seed, 16 + pass.number)).each(learn_row);
    } else {
        for (Index i = 0; i < rows.n_rows; ++i)
            if (!learn_row(i, std::min(i + BlockedShuffle::ahead, rows.n_rows - 1))) break;
    }
    machine.finish();
    return bad;
}

}  // namespace steelyard
