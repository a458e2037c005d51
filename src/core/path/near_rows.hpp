// Which rows can reach their target soon, so that most rows are not looked at at most kinks.
//
// Row i has the margin s_i x_i.w and the target t_i. While w moves a way of length l, the margin moves by at most |x_i|
// l, so the row cannot matter before the way is |t_i - margin| / |x_i|, its reach. Two lists: `middle` has every row
// that may matter within a long horizon, `near` those of middle within a short one. Only near rows are looked at at a
// kink, and of these only the blocks that are due (path/near_blocks.hpp); rows of about the same reach share a block.
// When the way has used up a horizon its list is made again. The horizons adapt until looking and making cost about the
// same. One in which nothing happened doubles: so a list is made at most once more for each event, and some sixty times
// besides.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "path/margin_set.hpp"
#include "path/near_blocks.hpp"
#include "path/problem.hpp"

namespace steelyard {

template <class S>
class NearRows {
public:
    // Rows that are neither below nor above by `side` are not watched.
    NearRows(const S& space, const typename S::Members& rows, const PathTargets& given, const std::vector<Side>& side,
             const Stop* stop)
        : near_(space, rows, stop),
          rows_(rows),
          stop_(stop),
          piece_(space.pace()),
          given_(given),
          side_(side),
          n_rows_(static_cast<Index>(side.size())),
          margin_(side.size()),
          in_near_(side.size(), -1),
          in_middle_(side.size()) {}

    double left() const { return near_end_ - near_.way(); }  // the way that may be gone before `look` is due

    // The model has moved by `length` times the direction that was given last; or by this distance besides.
    void go(double length) { near_.go(length); }
    void shift(double distance) { near_.shift(distance); }

    // Every row's margin at w, and both lists made again.
    void look_at_all(const PathVector& w) {
        adapt(long_, static_cast<double>(n_rows_), middle_work_, middle_events_);
        for (Index i : middle_) in_middle_[i] = 0;
        middle_.clear();
        in_pieces(n_rows_, piece_, stop_, [&](Index begin, Index end) { look_at_some(begin, end, w); });
        if (long_ < 0) choose();
        (this->*may_throw(&NearRows::make_middle))();
        (this->*may_throw(&NearRows::make_near))();
    }

    // Makes what is due again.
    void look(const PathVector& w) {
        if (near_.way() >= middle_end_ * (1 - 1e-9)) return look_at_all(w);
        look_at_middle(w);
        middle_work_ += middle_loose_;
        middle_events_ += near_events_;
        double work = weight * loose_ * near_.looked_at();
        adapt(short_, static_cast<double>(middle_.size()), work, near_events_);
        (this->*may_throw(&NearRows::make_near))();
    }

    // The model goes on in the direction dw from here.
    void turn(const PathVector& dw, double speed) { near_.turn(dw, speed); }

    // The first row that reaches its target within `length`, with a rate above `least` times its norm; -1: none.
    // `length` becomes its own.
    Index first(const PathVector& w, double least, double& length) {
        const std::size_t k = near_.first(w, least, length);
        return k == near_.size() ? -1 : near_.row(k);
    }
    // The row with the least number of all that reach their target within `length`.
    Index least_tied(double least, double length) const { return near_.least_tied(least, length); }

    // A row that leaves the margin is near by definition.
    void put(Index i) {
        ++near_events_;
        margin_[i] = given_.target[i];
        if (!in_middle_[i]) push_middle(i);
        if (in_near_[i] < 0) return push_near(i);
        watch(i);
    }

    // A near row that has reached the margin.
    void take(Index i) {
        ++near_events_;
        near_.drop(static_cast<std::size_t>(in_near_[i]));
    }

    // A near row that cannot reach the margin before the members change; and all of these back.
    void block(Index i) {
        blocked_.push_back(i);
        near_.drop(static_cast<std::size_t>(in_near_[i]));
    }
    void unblock() {
        for (const Index i : blocked_)
            if (in_near_[i] >= 0 && watched(i)) watch(i);
        blocked_.clear();
    }

private:
    // Of making a list, in rows looked at; from 16 to 256 the times on pima, spambase, splice and a9a stay within 5 %.
    static constexpr double overhead = 64;
    // What a near row counts that is looked at, against a product with one that is not packed: two products, at a
    // quarter of the price by the profile on a9a and letter, and half of that since a shorter list would spare few.
    static constexpr double weight = S::written_out ? 0.25 : 1;
    // Rows in the span of the members stay at the edge of their target whatever the horizon, thousands of them in
    // one-hot data: only rows beyond this share of the horizon would be spared by a shorter one, so only these count as
    // work where all are looked at, and in the middle. From 0.1 to 0.3 the same on all four sets.
    static constexpr double tight = 0.1;

    STEELYARD_CLONES void look_at_some(Index begin, Index end, const PathVector& w) {
        for (Index i = begin; i < end; ++i) margin_[i] = given_.sign[i] * rows_.value(i, w);
    }
    STEELYARD_CLONES void look_at_middle(const PathVector& w) {
        for (Index i : middle_) margin_[i] = given_.sign[i] * rows_.value(i, w);
    }

    bool watched(Index i) const { return side_[i] == Side::below || side_[i] == Side::above; }
    double reach(Index i) const { return std::fabs(given_.target[i] - margin_[i]) / given_.norm[i]; }

    // The sign with which toward * x.dw closes the gap.
    double toward(Index i) const { return side_[i] == Side::below ? given_.sign[i] : -given_.sign[i]; }
    double goal(Index i) const { return side_[i] == Side::below ? given_.target[i] : -given_.target[i]; }
    double gap_of(Index i) const {
        const double gap = given_.target[i] - margin_[i];
        return side_[i] == Side::below ? gap : -gap;
    }

    void push_middle(Index i) {
        middle_.push_back(i);
        in_middle_[i] = 1;
    }
    void push_near(Index i) {
        in_near_[i] = static_cast<Index>(near_.size());
        near_.add(i, toward(i), goal(i), gap_of(i), given_.norm[i]);
    }
    void watch(Index i) { near_.watch_now(static_cast<std::size_t>(in_near_[i]), toward(i), goal(i), gap_of(i)); }

    STEELYARD_CLONES void make_middle() {
        middle_loose_ = 0;
        for (Index i = 0; i < n_rows_; ++i)
            if (watched(i) && reach(i) <= long_) {
                push_middle(i);
                middle_loose_ += reach(i) > tight * long_;
            }
        near_.restart();
        middle_end_ = long_;
    }

    STEELYARD_CLONES void make_near() {
        for (std::size_t k = 0; k < near_.size(); ++k) in_near_[near_.row(k)] = -1;
        near_.clear();
        (this->*may_throw(&NearRows::put_in_order))();
        double loose = 0;
        for (const Index i : order_) {
            loose += reach(i) > tight * short_;
            in_near_[i] = static_cast<Index>(near_.size());
            near_.note(i, toward(i), goal(i), gap_of(i), given_.norm[i]);
        }
        near_.pack();
        loose_ = NearBlocks<S>::lazy || order_.empty() ? 1 : loose / static_cast<double>(order_.size());
        near_end_ = std::min(near_.way() + short_, middle_end_);
    }

    // The near rows, about in the order of their reach, so that those of a block are due at about the same time.
    STEELYARD_CLONES void put_in_order() {
        constexpr int shift = 51, n = 128;  // two classes an octave, and the rest is so near that all of it is due
        std::size_t start[n + 1] = {};
        class_.clear();
        for (const Index i : middle_) {
            const double far = watched(i) ? reach(i) : HUGE_VAL;
            int c = n;
            if (far <= short_) {
                const std::uint64_t octaves = (bits(short_) >> shift) - (bits(far) >> shift);
                c = octaves < n ? n - 1 - static_cast<int>(octaves) : 0;
                ++start[c + 1];
            }
            class_.push_back(static_cast<std::uint8_t>(c));
        }
        for (int c = 0; c < n; ++c) start[c + 1] += start[c];
        order_.resize(start[n]);
        for (std::size_t k = 0; k < middle_.size(); ++k)
            if (class_[k] < n) order_[start[class_[k]]++] = middle_[k];
    }
    static std::uint64_t bits(double value) {
        std::uint64_t found;
        std::memcpy(&found, &value, sizeof found);
        return found;
    }

    // Both the work between two makings and their number change with the horizon, hence the square root.
    static void adapt(double& horizon, double making, double& looking, Index& events) {
        const double factor = looking > 0 && events > 0 ? std::sqrt((making + overhead) / looking) : 2;
        looking = 0;
        events = 0;
        if (horizon > 0) horizon *= std::min(2.0, std::max(0.5, factor));
    }

    // First guess, which a few makings correct: n^0.4 rows near, n^0.7 in the middle.
    void choose() {
        std::vector<double> reaches;
        for (Index i = 0; i < n_rows_; ++i)
            if (watched(i)) reaches.push_back(reach(i));
        const auto quantile = [&](double power) {
            const auto k = static_cast<std::size_t>(std::pow(static_cast<double>(reaches.size()), power));
            if (reaches.empty()) return 1.0;
            const auto nth = reaches.begin() + static_cast<std::ptrdiff_t>(std::min(k, reaches.size() - 1));
            std::nth_element(reaches.begin(), nth, reaches.end());
            return std::isfinite(*nth) && *nth > 0 ? *nth : 1.0;
        };
        short_ = quantile(0.4);
        long_ = std::max(quantile(0.7), short_);
    }

    NearBlocks<S> near_;
    const typename S::Members& rows_;
    const Stop* stop_;
    Index piece_;
    PathTargets given_;
    const std::vector<Side>& side_;
    Index n_rows_;
    std::vector<double> margin_;
    std::vector<Index> in_near_;  // the position there, or -1
    std::vector<char> in_middle_;
    std::vector<Index> middle_, blocked_;
    std::vector<Index> order_;         // the near rows by their reach
    std::vector<std::uint8_t> class_;  // of the rows in the middle, by their reach
    double long_ = -1, short_ = -1, middle_end_ = 0, near_end_ = 0;
    double middle_work_ = 0, middle_loose_ = 0, loose_ = 1;
    Index near_events_ = 0, middle_events_ = 0;  // since the list was made
};

}  // namespace steelyard
