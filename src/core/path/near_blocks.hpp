// The near rows in blocks of eight, each looked at only when one of its rows may have come near enough to matter.
//
// A row with the gap g to its target is not there before the model has gone a way of g / |x|, its reach. So a block is
// due when the way has passed the least reach of its rows since it was looked at, and a step of the path looks at the
// blocks that are due within it: at one with the gap g after ways in proportion to g, at most blocks seldom.
//
// Where a whole class ties, w goes a long way at right angles to all of its rows and a very short one among them, in
// turns. Blocks whose rows stand still in a direction e are therefore also due by another clock, of the way that the
// model goes besides e:  |x.dw| <= |x| |dw - e| + |x.e|.  Either clock is proof enough that a block can wait. As e is
// taken a direction in which most blocks that were looked at stand still; then their next looks are in B, and not in A:
//   A   dw at right angles to the tied rows, until a member leaves     B   dw among them, until one of them enters
//
// A space without models at hand (kernels) has its gaps follow the directions instead, so every block is looked at.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "path/problem.hpp"
#include "path/space.hpp"

namespace steelyard {

template <class S>
class NearBlocks {
public:
    static constexpr bool lazy = S::written_out;

    NearBlocks(const S& space, const typename S::Members& rows, const Stop* stop) : pack_(space, rows, stop) {}

    std::size_t size() const { return size_; }
    Index row(std::size_t k) const { return row_[k]; }
    double way() const { return way_; }
    double looked_at() const { return looked_at_; }  // rows, since `clear`

    void clear() {
        pack_.clear();
        for (auto* v : {&toward_, &goal_, &gap_, &norm_, &inverse_, &rate_, &plain_, &still_}) v->clear();
        row_.clear();
        stamp_.clear();
        calm_.clear();
        looked_.clear();
        size_ = 0;
        looked_at_ = 0;
        has_still_ = false;
    }

    // The clocks, before all rows are put in again: ways are then sums of few numbers.
    void restart() { way_ = off_ = 0; }

    // One more row, at the position `size` of before: toward x.dw closes its gap, which is goal - toward x.w.
    void add(Index i, double toward, double goal, double gap, double norm) {
        pack_.add(i);
        note(i, toward, goal, gap, norm);
    }
    // Of many rows: each is noted, and then all of them are packed.
    void pack() { pack_.add(row_.data(), size_); }
    void note(Index i, double toward, double goal, double gap, double norm) {
        if (size_ % lanes == 0) open();
        row_[size_] = i;
        norm_[size_] = norm;
        inverse_[size_] = 1 / norm;
        const std::size_t b = size_ / lanes;
        plain_[b] = std::min(plain_[b], way_ + gap / norm);
        still_[b] = none;
        watch(size_++, toward, goal, gap);
    }

    // The row at k is watched from here on; or not any more.
    void watch_now(std::size_t k, double toward, double goal, double gap) {
        watch(k, toward, goal, gap);
        plain_[k / lanes] = std::min(plain_[k / lanes], way_ + gap / norm_[k]);
        still_[k / lanes] = std::min(still_[k / lanes], off_ + gap / norm_[k]);
    }
    void drop(std::size_t k) {
        toward_[k] = rate_[k] = 0;
        goal_[k] = gap_[k] = HUGE_VAL;
    }

    // The model goes on in the direction dw from here.
    void turn(const PathVector& dw, double speed) {
        dw_ = &dw;
        speed_ = speed;
        besides_ = has_still_ ? apart(dw.v) + stillness * along_ : 0;
        same_ = has_still_ && besides_ <= 2 * stillness * along_;
        ++turn_;
        faced_ = false;
        looked_.clear();
        n_calm_ = 0;
        if constexpr (!lazy) look_at_every();
    }

    void go(double length) {
        if (lazy && looked_.size() >= several && 2 * n_calm_ > looked_.size() && !same_) adopt();
        if (!lazy)
            for (std::size_t k = 0; k < size_; ++k) gap_[k] -= length * rate_[k];
        way_ += length * speed_;
        off_ += length * besides_;
        faced_ = false;
    }
    // The model has moved besides.
    void shift(double distance) {
        way_ += distance;
        off_ += distance;
        faced_ = false;
    }

    // The first row that reaches its target within `length`, with a rate above `least` times its norm; `size` if none
    // does. `length` becomes its own.
    std::size_t first(const PathVector& w, double least, double& length) {
        std::size_t found = smallest(0, least, length, size_);
        if constexpr (lazy) found = look_further(w, least, length, found);
        return found;
    }

    // The row with the least number of all that reach their target within `length`; -1: none. After `first`.
    Index least_tied(double least, double length) const {
        Index found = -1;
        for (const std::size_t b : looked_)
            for (std::size_t k = b * lanes; k < std::min((b + 1) * lanes, size_); ++k)
                if (gap_[k] <= length * rate_[k] && rate_[k] > least * norm_[k] && (found < 0 || row_[k] < found))
                    found = row_[k];
        return found;
    }

private:
    static constexpr std::size_t lanes = 8;  // as rows are packed
    static constexpr double none = -HUGE_VAL;
    // A row stands still with less than this share of its length along a direction: far above rounding, and the ways of
    // A are 1e6 times those of B where a class ties.
    static constexpr double stillness = 1e-10;
    static constexpr std::size_t several = 16;  // blocks, for a direction to be worth an adoption: it goes over all

    void open() {
        for (auto* v : {&toward_, &rate_}) v->resize(size_ + lanes, 0.0);
        for (auto* v : {&goal_, &gap_}) v->resize(size_ + lanes, HUGE_VAL);
        for (auto* v : {&norm_, &inverse_}) v->resize(size_ + lanes, 1.0);
        row_.resize(size_ + lanes, -1);
        plain_.push_back(HUGE_VAL);
        still_.push_back(none);
        stamp_.push_back(0);
        calm_.push_back(0);
    }
    void watch(std::size_t k, double toward, double goal, double gap) {
        toward_[k] = toward;
        goal_[k] = goal;
        gap_[k] = gap;
    }

    void look_at_every() {
        pack_.times(*dw_, rate_.data());
        for (std::size_t k = 0; k < size_; ++k) rate_[k] *= toward_[k];
        for (std::size_t b = 0; b < plain_.size(); ++b) looked_.push_back(b);
        looked_at_ += static_cast<double>(size_);
    }

    // The blocks that are due within a step of this length and have not been looked at in this direction.
    bool collect(double length) {
        const std::size_t before = looked_.size();
        looked_.resize(before + plain_.size());
        looked_.resize(due(way_ + speed_ * length, off_ + besides_ * length, before));
        looked_at_ += static_cast<double>((looked_.size() - before) * lanes);
        return looked_.size() > before;
    }
    // The same for the blocks that have not been looked at, first within the way of the last entry: what is found there
    // makes the step shorter, and then fewer are due.
    std::size_t look_further(const PathVector& w, double least, double& length, std::size_t found) {
        for (double limit = std::min(guess_, length);; limit = std::min(4 * limit, length)) {
            const std::size_t before = looked_.size();
            if (collect(limit)) {
                if (!faced_) pack_.face(w.v.data(), dw_->v.data());
                faced_ = true;
                (this->*may_throw(&NearBlocks::look_at))(before);
                found = smallest(before, least, length, found);
            }
            if (limit >= length) break;
        }
        if (found < size_ && length > 0) guess_ = 2 * length;
        return found;
    }

    STEELYARD_CLONES std::size_t due(double way, double off, std::size_t n) {
        const std::size_t size = plain_.size();
        for (std::size_t b = 0; b < size; ++b) {
            looked_[n] = b;
            n += static_cast<std::size_t>(int(plain_[b] <= way) & int(still_[b] <= off) & int(stamp_[b] != turn_));
        }
        return n;
    }

    // Gaps and rates of the blocks from the n-th that was collected, and when they are due again.
    STEELYARD_CLONES void look_at(std::size_t n) {
        const double calm = stillness * speed_;
        for (; n < looked_.size(); ++n) {
            const std::size_t b = looked_[n], at = b * lanes;
            stamp_[b] = turn_;
            double reach[lanes], along[lanes];
            const auto found = pack_.products(b);
            for (std::size_t l = 0; l < lanes; ++l) {
                const double toward = toward_[at + l], inverse = inverse_[at + l];
                gap_[at + l] = goal_[at + l] - toward * found.with_w[l];
                rate_[at + l] = toward * found.with_v[l];
                reach[l] = gap_[at + l] * inverse;
                along[l] = std::fabs(rate_[at + l]) * inverse;
            }
            double least = HUGE_VAL, most = 0;
            for (std::size_t l = 0; l < lanes; ++l) {
                least = reach[l] < least ? reach[l] : least;
                most = along[l] > most ? along[l] : most;
            }
            plain_[b] = way_ + least;
            calm_[b] = most <= calm;
            n_calm_ += calm_[b];
            if (same_ ? calm_[b] : still_[b] > none) still_[b] = off_ + least;
        }
    }

    // Of the blocks from the n-th that was looked at, the row that closes its gap first, within `length`, which becomes
    // its own; `found` if there is none.
    STEELYARD_CLONES std::size_t smallest(std::size_t n, double least, double& length, std::size_t found) const {
        for (; n < looked_.size(); ++n) {
            const std::size_t at = looked_[n] * lanes;
            int any = 0;
            for (std::size_t k = at; k < at + lanes; ++k)
                any |= int(gap_[k] < length * rate_[k]) & int(rate_[k] > least * norm_[k]);
            if (!any) continue;
            for (std::size_t k = at; k < at + lanes; ++k)
                if (gap_[k] < length * rate_[k] && rate_[k] > least * norm_[k]) {
                    length = std::max(gap_[k] / rate_[k], 0.0);
                    found = k;
                }
        }
        return found;
    }

    double apart(const std::vector<double>& dw) const {
        double square = 0;
        for (std::size_t j = 0; j < dw.size(); ++j) square += (dw[j] - e_[j]) * (dw[j] - e_[j]);
        return std::sqrt(square);
    }

    void adopt() {
        e_ = dw_->v;
        along_ = speed_;
        besides_ = stillness * along_;
        has_still_ = true;
        std::fill(still_.begin(), still_.end(), none);
        for (const std::size_t b : looked_)
            if (calm_[b]) still_[b] = off_ + (plain_[b] - way_);
    }

    typename S::Pack pack_;
    std::size_t size_ = 0;
    std::vector<Index> row_;
    // Of rows; one that is not watched has no way toward, and an infinite gap.
    std::vector<double> toward_, goal_, gap_, norm_, inverse_, rate_;
    std::vector<double> plain_, still_;  // of blocks: the way, and the way besides e, at which they are due
    std::vector<Index> stamp_;           // the turn in which they were looked at
    std::vector<char> calm_;             // whether their rows stood still then
    std::vector<std::size_t> looked_;    // the blocks looked at in this turn
    std::size_t n_calm_ = 0;
    Index turn_ = 0;
    const PathVector* dw_ = nullptr;
    std::vector<double> e_;
    double speed_ = 0, besides_ = 0, along_ = 0;  // |dw|, |dw - e|, |e|
    double way_ = 0, off_ = 0;                    // gone, and gone besides e
    double guess_ = HUGE_VAL, looked_at_ = 0;
    bool has_still_ = false, same_ = false;  // some blocks stand still in e; and dw is e
    bool faced_ = false;                     // the pack has the model and the direction as they are
};

}  // namespace steelyard
