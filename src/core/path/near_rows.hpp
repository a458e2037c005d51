// Which rows can reach their target soon, so that most rows are not looked at at most kinks.
//
// Row i has the margin s_i x_i.w and the target t_i. While w moves a way of length l, the margin moves by at most |x_i|
// l, so the row cannot matter before the way is |t_i - margin| / |x_i|. Two lists: `middle` has every row that may
// matter within a long horizon, `near` those of middle within a short one. Only near rows are looked at at a kink, and
// they are packed together for that (path/packed_rows.hpp); when the way has used up a horizon its list is made again.
// The horizons adapt until looking and making cost about the same. One in which nothing happened doubles: so a list is
// made at most once more for each event, and some sixty times besides.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "path/margin_set.hpp"
#include "path/problem.hpp"

namespace steelyard {

template <class S>
class NearRows {
public:
    // Rows that are neither below nor above by `side` are not watched.
    NearRows(const S& space, const typename S::Members& rows, const PathTargets& given, const std::vector<Side>& side,
             const Stop* stop)
        : pack_(space, rows),
          rows_(rows),
          stop_(stop),
          piece_(space.pace()),
          given_(given),
          side_(side),
          n_rows_(static_cast<Index>(side.size())),
          margin_(side.size()),
          in_near_(side.size(), -1),
          in_middle_(side.size()) {}

    double left() const { return near_end_ - way_; }  // the way that may be gone before `look` is due

    // The model has moved by `length` times the direction that was given last, a way of length * speed.
    void go(double length, double speed) {
        for (std::size_t k = 0; k < row_.size(); ++k) gap_[k] -= length * rate_[k];
        way_ += length * speed;
    }

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
        if (way_ >= middle_end_ * (1 - 1e-9)) return look_at_all(w);
        look_at_middle(w);
        middle_work_ += middle_loose_;
        middle_events_ += near_events_;
        adapt(short_, static_cast<double>(middle_.size()), near_work_, near_events_);
        (this->*may_throw(&NearRows::make_near))();
    }

    // The model goes on in the direction dw from here.
    void turn(const PathVector& dw) {
        rate_.resize(S::Pack::room(row_.size()));
        pack_.times(dw, rate_.data());
        for (std::size_t k = 0; k < row_.size(); ++k) rate_[k] *= toward_[k];
        near_work_ += near_loose_ / packed;
    }

    // The gaps of the near rows anew, from the model.
    void measure(const PathVector& w) {
        if (!S::written_out) return;
        product_.resize(S::Pack::room(row_.size()));
        pack_.times(w, product_.data());
        for (std::size_t k = 0; k < row_.size(); ++k) {
            margin_[row_[k]] = given_.sign[row_[k]] * product_[k];
            gap_[k] = gap_of(row_[k]);
        }
        near_work_ += near_loose_ / packed;
    }

    // The first row that reaches its target within `length`, with a rate above `least` times its norm; -1: none.
    // `length` becomes its own. Gaps have followed the directions; that of the row found is made anew from the model if
    // that is at hand, and if it is larger then, others may come before it.
    Index first(const PathVector& w, double least, double& length) {
        const double most = length;
        for (std::size_t last = row_.size();;) {
            length = most;
            const std::size_t k = smallest(least, length);
            if (k == row_.size()) return -1;
            const double before = length;
            if (!S::written_out || k == last) return row_[k];
            margin_[row_[k]] = given_.sign[row_[k]] * rows_.value(row_[k], w);
            gap_[k] = gap_of(row_[k]);
            length = std::max(gap_[k] / rate_[k], 0.0);
            if (length <= before) return row_[k];
            last = k;
        }
    }

    // The row with the least number of all that reach their target within `length`.
    Index least_tied(double least, double length) const {
        Index found = -1;
        for (std::size_t k = 0; k < row_.size(); ++k)
            if (gap_[k] <= length * rate_[k] && rate_[k] > least * norm_[k] && (found < 0 || row_[k] < found))
                found = row_[k];
        return found;
    }

    // A row that leaves the margin is near by definition.
    void put(Index i) {
        ++near_events_;
        margin_[i] = given_.target[i];
        if (!in_middle_[i]) push_middle(i);
        if (in_near_[i] < 0) return push_near(i);
        toward_[in_near_[i]] = toward(i);
        gap_[in_near_[i]] = gap_of(i);
    }

    // A near row that has reached the margin.
    void take(Index i) {
        ++near_events_;
        toward_[in_near_[i]] = 0;
    }

    // A near row that cannot reach the margin before the members change; and all of these back.
    void block(Index i) {
        blocked_.push_back(i);
        toward_[in_near_[i]] = rate_[in_near_[i]] = 0;
    }
    void unblock() {
        for (const Index i : blocked_)
            if (in_near_[i] >= 0 && watched(i)) toward_[in_near_[i]] = toward(i);
        blocked_.clear();
    }

private:
    // Of making a list, in rows looked at; from 16 to 256 the times on pima, spambase, splice and a9a stay within 5 %.
    static constexpr double overhead = 64;
    // Packed rows looked at for the price of one product with a row that is not: 3 to 5 by the profile on a9a and
    // letter.
    static constexpr double packed = S::written_out ? 4 : 1;
    // Rows in the span of the members stay at the edge of their target whatever the horizon, thousands of them in
    // one-hot data: only rows beyond this share of the horizon would be spared by a shorter one, so only these count as
    // work. From 0.1 to 0.3 the same on all four sets.
    static constexpr double tight = 0.1;

    STEELYARD_CLONES void look_at_some(Index begin, Index end, const PathVector& w) {
        for (Index i = begin; i < end; ++i) margin_[i] = given_.sign[i] * rows_.value(i, w);
    }
    STEELYARD_CLONES void look_at_middle(const PathVector& w) {
        for (Index i : middle_) margin_[i] = given_.sign[i] * rows_.value(i, w);
    }

    // The near row that closes its gap first, within `length`, which becomes its own; the number of rows: none.
    STEELYARD_CLONES std::size_t smallest(double least, double& length) const {
        std::size_t found = row_.size();
        for (std::size_t k = 0; k < row_.size(); ++k)
            if (gap_[k] < length * rate_[k] && rate_[k] > least * norm_[k]) {
                length = std::max(gap_[k] / rate_[k], 0.0);
                found = k;
            }
        return found;
    }

    bool watched(Index i) const { return side_[i] == Side::below || side_[i] == Side::above; }
    double reach(Index i) const { return std::fabs(given_.target[i] - margin_[i]) / given_.norm[i]; }

    // The sign with which toward * x.dw closes the gap.
    double toward(Index i) const { return side_[i] == Side::below ? given_.sign[i] : -given_.sign[i]; }
    double gap_of(Index i) const {
        const double gap = given_.target[i] - margin_[i];
        return side_[i] == Side::below ? gap : -gap;
    }

    void push_middle(Index i) {
        middle_.push_back(i);
        in_middle_[i] = 1;
    }
    void push_near(Index i) {
        in_near_[i] = static_cast<Index>(row_.size());
        row_.push_back(i);
        toward_.push_back(toward(i));
        gap_.push_back(gap_of(i));
        norm_.push_back(given_.norm[i]);
        pack_.add(i);
    }

    STEELYARD_CLONES void make_middle() {
        middle_loose_ = 0;
        for (Index i = 0; i < n_rows_; ++i)
            if (watched(i) && reach(i) <= long_) {
                push_middle(i);
                middle_loose_ += reach(i) > tight * long_;
            }
        way_ = 0;
        middle_end_ = long_;
    }

    STEELYARD_CLONES void make_near() {
        for (const Index i : row_) in_near_[i] = -1;
        row_.clear();
        toward_.clear();
        gap_.clear();
        norm_.clear();
        pack_.clear();
        near_loose_ = 0;
        for (Index i : middle_)
            if (watched(i) && reach(i) <= short_) {
                push_near(i);
                near_loose_ += reach(i) > tight * short_;
            }
        near_end_ = std::min(way_ + short_, middle_end_);
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

    typename S::Pack pack_;
    const typename S::Members& rows_;
    const Stop* stop_;
    Index piece_;
    PathTargets given_;
    const std::vector<Side>& side_;
    Index n_rows_;
    std::vector<double> margin_;
    std::vector<Index> in_near_;  // the position there, or -1
    std::vector<char> in_middle_;
    std::vector<Index> middle_, row_, blocked_;  // row_: the near ones
    std::vector<double> toward_, gap_, norm_, rate_,
        product_;  // of the near rows; a row with no way toward is not watched
    double long_ = -1, short_ = -1, way_ = 0, middle_end_ = 0, near_end_ = 0;
    double near_work_ = 0, middle_work_ = 0, near_loose_ = 0, middle_loose_ = 0;
    Index near_events_ = 0, middle_events_ = 0;  // since the list was made
};

}  // namespace steelyard
