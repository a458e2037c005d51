// Learning on a stream: NEMSIS, SCAN, SPADE and the stochastic Neyman-Pearson learner in one loop over rows.
//
// For a row x of class y with margin z = y (w.x + b) and reward r, each of them takes the step
//     w <- project(w + eta_t g x),    g = y * weight(y) * r'(z),
// and they differ in where the weights of the two classes come from (`stream/class_weights.hpp`). Papers 001
// (Algorithms 1 and 3) and 002 (Algorithm 4). Rows are learned in order or shuffled, one at a time; every random draw
// and every refresh goes by the number of rows seen, so that the cut of a stream into chunks does not matter.
//
// A row that is not finite makes its score not finite, since 0 * NaN and 0 * inf are NaN: the check costs one
// comparison a row.
//
// A call that fails (a bad row, no memory, a stop) leaves the learner as it was. A large chunk is learned on a state of
// which a copy is kept. For a small one the copy would cost more than the learning: its rows are looked at first, what
// memory it may need is taken first, and it is not stopped.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/products.hpp"
#include "base/rows.hpp"
#include "base/stop.hpp"
#include "stream/reservoir.hpp"
#include "stream/state.hpp"
#include "stream/tidy_rows.hpp"

namespace steelyard {

class Learner {
public:
    LearnerSettings is;
    State now;
    Reservoir reservoir;

    // `duals` brings the tapes of the measure and of the constraint.
    Learner(const LearnerSettings& settings, Index n_cols, Duals duals)
        : is(settings), now(checked(settings, n_cols), n_cols), reservoir(settings.capacity, settings.seed) {
        duals.is = settings.duals;
        duals.check();
        if (is.epoch > 0.0 && !(duals.objective && duals.denominator))
            throw std::invalid_argument("epochs are for a ratio, with the stages of both its parts");
        now.duals = std::move(duals);
        now.duals.start();
    }

    Index n_cols() const { return now.weights.size(); }

    // Comes back empty when all rows were learned, or with the first that is not finite or has a column outside the
    // matrix. Later passes are over the very rows of the first.
    template <class Matrix>
    Fault learn(const Matrix& rows, const Labels& labels, const Pass& pass, const Stop* stop = nullptr) {
        Look look;
        const bool small = pass.is_first() && !pass.disposable && is_small(rows);
        if (small) look = look_at(rows);
        if (look.bad.row >= 0) return look.bad;
        Undo undo(*this);
        if (!pass.disposable && !(small && !look.untidy)) undo.keep_state();
        if (pass.is_first()) {
            untidy_ = false;
            if (!Matrix::is_dense && now.t == 0.0) now.weights.lay_out_for_sparse_rows();
            now.history.take_room();
            choose(labels, rows.n_rows, undo.has_state() || pass.disposable ? stop : nullptr);
            reservoir.take_room(rows);
        }
        const double once = now.rows_once(), before = now.t + now.held;
        sample_ = pass.is_first() ? -1.0 : once;
        const Ask ask{undo.has_state() || pass.disposable ? stop : nullptr, rows_between_looks(rows)};
        const auto over =
            may_throw(!is_plain()                  ? &Learner::pass_over<AnyRow, Matrix>
                      : is.reward == Reward::hinge ? &Learner::pass_over<PlainRow<Reward::hinge>, Matrix>
                                                   : &Learner::pass_over<PlainRow<Reward::logistic>, Matrix>);
        const Fault bad = (this->*over)(rows, labels, pass, ask);
        if (bad.row >= 0) return bad;
        if (pass.is_first())
            keep(labels);
        else
            now.again += now.t + now.held - before;
        undo.forget();
        return {};
    }

private:
    struct AnyRow;
    template <Reward reward>
    struct PlainRow;

    std::vector<std::uint8_t> held_;  // marks the rows of the chunk that only the reservoir may see
    bool untidy_ = false;             // whether some rows of the chunk name their columns out of order
    double sample_ = -1.0;            // rows seen once, while they are seen again

    // The reservoir keeps columns in 32 bits.
    static LearnerSettings checked(const LearnerSettings& settings, Index n_cols) {
        if (n_cols < 1 || n_cols > std::numeric_limits<std::int32_t>::max())
            throw std::invalid_argument("a stream learner takes 1 to 2^31 - 1 columns: hash them to fewer");
        if (settings.capacity[0] < 0 || settings.capacity[1] < 0 || settings.refresh < 1)
            throw std::invalid_argument("a reservoir has no negative capacity, and weights are refreshed after rows");
        return settings;
    }

    // Gives back what a call has changed, unless it ends well.
    class Undo {
    public:
        explicit Undo(Learner& learner) : it_(learner), counters_(learner.reservoir.counters) {}
        Undo(const Undo&) = delete;
        Undo& operator=(const Undo&) = delete;
        ~Undo() {
            if (!armed_) return;
            if (now_) it_.now = std::move(*now_);
            it_.reservoir.counters = counters_;
            it_.reservoir.forget_pending();
        }
        void keep_state() { now_ = it_.now; }
        bool has_state() const { return now_.has_value(); }
        void forget() { armed_ = false; }

    private:
        Learner& it_;
        std::optional<State> now_;
        Reservoir::Counters counters_;
        bool armed_ = true;
    };

    struct Look {
        Fault bad;
        bool untidy = false;
    };

    // A copy of the state reads and writes about four numbers a column (`Weights`, `Warmup`), a look at the rows one an
    // entry. 2^24 entries take about a tenth of a second, the longest that a chunk may go without asking for a stop.
    template <class Matrix>
    bool is_small(const Matrix& rows) const {
        const bool moves_all = is.epoch > 0.0 && now.epoch_left <= static_cast<double>(rows.n_rows + is.refresh);
        return !moves_all && rows.n_entries() <= std::min<Index>(4 * n_cols(), Index{1} << 24);
    }

    template <class Matrix>
    static Look look_at(const Matrix& rows) {
        Look look;
        for (Index i = 0; i < rows.n_rows; ++i) {
            const auto row = rows.row(i);
            const bool tidy = is_tidy(row, rows.n_stored);
            look.untidy = look.untidy || !tidy;
            if (!tidy && !row.inside(rows.n_stored)) look.bad = {"outside", i};
            if (look.bad.row < 0 && !is_finite(row)) look.bad = {"not finite", i};
            if (look.bad.row >= 0) break;
        }
        return look;
    }

    // A stop is asked for every so many rows: 2^18 numbers take about a millisecond.
    struct Ask {
        const Stop* stop;
        Index every;
    };
    template <class Matrix>
    static Index rows_between_looks(const Matrix& rows) {
        return std::max<Index>(1, (Index{1} << 18) / (1 + rows.n_entries() / std::max<Index>(rows.n_rows, 1)));
    }

    // The default settings, for which the loop is compiled once more for each concave reward (`PlainRow`).
    bool is_plain() const {
        const DualSettings& d = is.duals;
        return d.guard && d.counts && !d.forget && !d.constrained && is.reward <= Reward::logistic &&
               is.steps == Steps::adaptive && is.alpha == 0.0 && is.radius == 0.0 && is.epoch == 0.0;
    }

    template <class OneRow, class Matrix>
    STEELYARD_CLONES Fault pass_over(const Matrix& rows, const Labels& labels, const Pass& pass, const Ask& ask);

    // Which rows of a chunk enter the reservoir, and which of those the model may not see: a share of them while there
    // are fewer rows than features, since a model that fits every row it has seen says nothing about a threshold for
    // others.
    void choose(const Labels& labels, Index n_rows, const Stop* stop) {
        held_.clear();
        if (is.capacity[0] == 0 || is.capacity[1] == 0) return;
        auto& offered = reservoir.counters.offered;
        const std::uint64_t mixed[2] = {mix(is.seed + 2), mix(is.seed + 3)};
        StopEvery ask(stop, 1 << 16);
        for (Index i = 0; i < n_rows; ++i) {
            if (is.held_while_wide == 0.0 || offered[0] + offered[1] >= n_cols())
                return reservoir.offer_all(labels.y, labels.weight, i, n_rows, stop);
            ask();
            if (labels.weight != nullptr && labels.weight[i] == 0.0) continue;
            const int side = labels.y[i] > 0;
            const auto number = static_cast<std::uint64_t>(++offered[side]);
            if (uniform(mixed[side], number) >= is.held_while_wide) continue;
            const Index place = reservoir.offer(side);
            if (place == Reservoir::nowhere) continue;
            reservoir.note(side, place, i, true);
            mark(i);
        }
    }

    // `held_` ends with the last row that is held out.
    void mark(Index i) {
        const auto row = static_cast<std::size_t>(i);
        if (held_.size() <= row) held_.resize(row + 1, 0);
        held_[row] = 1;
    }

    // Later passes leave out the rows that are still in the reservoir. All room has been taken before.
    void keep(const Labels& labels) {
        held_.clear();
        for (int side = 0; side < 2; ++side)
            for (const auto& entry : reservoir.pending(side))
                if (entry.row != Reservoir::nowhere && entry.held) mark(entry.row);
        reservoir.keep(labels.weight);
    }

    template <class Row>
    STEELYARD_INLINE void one(const Row& row, double score, int side, double weight);
    template <class Row>
    STEELYARD_INLINE void step(const Row& row, double g);
    template <class Row>
    STEELYARD_INLINE void look_at_scale(const Row& row);

    Reward reward_now() const {
        const bool begins = is.duals.guard && is.reward > Reward::logistic && now.t < is.hinge_first;
        return begins ? Reward::hinge : is.reward;
    }

    double step_size() const;
    void tick();
    void finish_epoch();
};

}  // namespace steelyard

#include "stream/pass.hpp"
