// Which rows can reach their target soon, so that most rows are not looked at at most kinks.
//
// Row i has the margin s_i x_i.w and the target t_i. While w moves a way of length l, the margin moves by at most |x_i|
// l, so the row cannot matter before the way is |t_i - margin| / |x_i|. Two lists: `middle` has every row that may
// matter within a long horizon, `near` those of middle within a short one. When the way has used up a horizon its list
// is made again. The horizons adapt until looking and making cost about the same; a horizon in which nothing happened
// doubles, so there are at most as many makings as events and some sixty more.
//
// Of a near row the gap and the rate at which it closes are known from the last time that all near rows were measured,
// at the model w0 with the direction dw0. From there on, at w with the direction dw, after `since` of tau,
//   the gap at a length l ahead  >=  gap - rate (since + l) - |x_i| (|w - w0 - since dw0| + l |dw - dw0|),
// a few operations on numbers that lie side by side. Only rows for which that is negative cost products, and when they
// have cost as many as there are near rows all are measured again. In the space of a kernel no such distance is at
// hand: there every new direction is measured, one product a row.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
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
        : rows_(rows),
          stop_(stop),
          piece_(space.pace()),
          given_(given),
          side_(side),
          n_rows_(static_cast<Index>(side.size())),
          margin_(side.size()),
          in_near_(side.size(), -1),
          in_middle_(side.size()) {}

    double left() const { return near_end_ - way_; }  // the way that may be gone before `look` is due

    // The model has moved by `length` times its direction, a way of length * speed.
    void go(double length, double speed) {
        since_ += length;
        apart_ += length * turned_;
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

    // The model w goes on in the direction dw from here.
    void turn(const PathVector& w, const PathVector& dw) {
        if (S::written_out && measured_ && spent_ < static_cast<double>(row_.size())) {
            turned_ = distance(dw.v, dw0_.v);
            apart_ = distance(w.v, w0_.v, since_, dw0_.v) + blur * length(w.v);
            near_work_ += near_loose_ / scan;
            return;
        }
        measure(w, dw);
    }

    // The first row that reaches its target within `length`, with a rate above `least` times its norm; -1: none.
    // `length` becomes its own.
    STEELYARD_CLONES Index first(const PathVector& w, const PathVector& dw, double least, double& length) {
        find_candidates(length);
        Index found = -1;
        for (std::size_t c = 0; c < n_candidates_; ++c) {
            const Index k = candidates_[c];
            const Reached now = reached(k, w, dw);
            if (!(now.rate > least * norm_[k] && now.gap < length * now.rate)) continue;
            length = std::max(now.gap / now.rate, 0.0);
            found = row_[k];
        }
        return found;
    }

    // The least of all rows that are at their target, and over it within `length`.
    Index least_tied(const PathVector& w, const PathVector& dw, double least, double length) {
        find_candidates(length);
        Index found = -1;
        for (std::size_t c = 0; c < n_candidates_; ++c) {
            const Index k = candidates_[c];
            const Reached now = reached(k, w, dw);
            if (now.rate > least * norm_[k] && now.gap <= length * now.rate && (found < 0 || row_[k] < found))
                found = row_[k];
        }
        return found;
    }

    // A row that leaves the margin is near by definition.
    void put(Index i) {
        ++near_events_;
        margin_[i] = given_.target[i];
        if (!in_middle_[i]) push_middle(i);
        if (in_near_[i] < 0) push_near(i);
        wake(i, 0);
    }

    // A near row that has reached the margin.
    void take(Index i) {
        ++near_events_;
        silence(in_near_[i]);
    }

    // A near row that cannot reach the margin before the members change; and all of these back.
    void block(Index i, const PathVector& w, const PathVector& dw) {
        blocked_.emplace_back(i, reached(in_near_[i], w, dw).gap);
        silence(in_near_[i]);
    }
    void unblock() {
        for (const auto& [i, gap] : blocked_)
            if (in_near_[i] >= 0 && watched(i)) wake(i, gap);
        blocked_.clear();
    }

private:
    // Of making a list, in rows looked at; from 16 to 256 the times on pima, spambase, splice and a9a stay within 5 %.
    static constexpr double overhead = 64;
    // Rows whose bound is looked at for the price of one product.
    static constexpr double scan = S::written_out ? 16 : 1;
    // Rows in the span of the members stay at the edge of their target whatever the horizon, thousands of them in
    // one-hot data: only rows beyond this share of the horizon would be spared by a shorter one, so only these count as
    // work. From 0.1 to 0.3 the same on all four sets.
    static constexpr double tight = 0.1;
    static constexpr double blur = 1e-15;  // some roundings: of w and of what is compared with it

    struct Reached {
        double gap, rate;
    };

    void silence(Index k) {
        gap_[k] = HUGE_VAL;
        rate_[k] = 0;
    }
    // A row with a gap that counts again: of a kernel here, in the space of the features at w0.
    void wake(Index i, double gap) {
        const Index k = in_near_[i];
        gap_[k] = gap;
        rate_[k] = 0;
        if (!S::written_out || !measured_) return;
        margin_[i] = given_.sign[i] * rows_.value(i, w0_);
        gap_[k] = gap_of(i);
        rate_[k] = toward(i) * rows_.value(i, dw0_);
    }

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
    double gap_of(Index i) const {
        const double gap = given_.target[i] - margin_[i];
        return side_[i] == Side::below ? gap : -gap;
    }

    // Gaps and rates of all near rows at w and dw. Of a kernel the gaps follow from the last direction.
    void measure(const PathVector& w, const PathVector& dw) {
        if (S::written_out) {
            if (measured_) measure_gaps(w);
            w0_.v = w.v;
            dw0_.v = dw.v;
        } else if (measured_) {
            for (std::size_t k = 0; k < row_.size(); ++k) gap_[k] -= since_ * rate_[k];
        }
        measure_rates(dw);
        measured_ = true;
        spent_ = since_ = apart_ = turned_ = 0;
        near_work_ += near_loose_ * (S::written_out ? 2 : 1);
    }
    STEELYARD_CLONES void measure_gaps(const PathVector& w) {
        for (std::size_t k = 0; k < row_.size(); ++k) {
            if (gap_[k] == HUGE_VAL) continue;
            margin_[row_[k]] = given_.sign[row_[k]] * rows_.value(row_[k], w);
            gap_[k] = gap_of(row_[k]);
        }
    }
    STEELYARD_CLONES void measure_rates(const PathVector& dw) {
        for (std::size_t k = 0; k < row_.size(); ++k)
            rate_[k] = gap_[k] == HUGE_VAL ? 0 : toward(row_[k]) * rows_.value(row_[k], dw);
    }

    // Near rows that the bound does not keep from their target within `ahead`.
    STEELYARD_INLINE void find_candidates(double ahead) {
        const double span = since_ + ahead, radius = apart_ + ahead * turned_;
        const std::size_t n = row_.size();
        const double *gap = gap_.data(), *rate = rate_.data(), *norm = norm_.data();
        Index* found = candidates_.data();
        n_candidates_ = 0;
        for (std::size_t begin = 0; begin < n; begin += block_size) {
            const std::size_t end = std::min(n, begin + block_size);
            int any = 0;
            for (std::size_t k = begin; k < end; ++k) any |= gap[k] - rate[k] * span < norm[k] * radius;
            if (!any) continue;
            for (std::size_t k = begin; k < end; ++k) {
                found[n_candidates_] = static_cast<Index>(k);
                n_candidates_ += gap[k] - rate[k] * span < norm[k] * radius;
            }
        }
        if (radius > 0) spent_ += 2 * static_cast<double>(n_candidates_);
    }
    static constexpr std::size_t block_size = 32;  // rows looked at in one go

    // Gap and rate of a near row here and now.
    STEELYARD_INLINE Reached reached(Index k, const PathVector& w, const PathVector& dw) const {
        if (apart_ == 0 && turned_ == 0) return {gap_[k] - rate_[k] * since_, rate_[k]};
        const Index i = row_[k];
        const double gap = given_.target[i] - given_.sign[i] * rows_.value(i, w);
        return {side_[i] == Side::below ? gap : -gap, toward(i) * rows_.value(i, dw)};
    }

    static double length(const std::vector<double>& a) {
        double sum = 0;
        for (double x : a) sum += x * x;
        return std::sqrt(sum);
    }
    STEELYARD_CLONES static double distance(const std::vector<double>& a, const std::vector<double>& b) {
        double sum = 0;
        for (std::size_t j = 0; j < a.size(); ++j) sum += (a[j] - b[j]) * (a[j] - b[j]);
        return std::sqrt(sum);
    }
    STEELYARD_CLONES static double distance(const std::vector<double>& a, const std::vector<double>& b, double t,
                                            const std::vector<double>& d) {
        double sum = 0;
        for (std::size_t j = 0; j < a.size(); ++j) {
            const double off = a[j] - b[j] - t * d[j];
            sum += off * off;
        }
        return std::sqrt(sum);
    }

    void push_middle(Index i) {
        middle_.push_back(i);
        in_middle_[i] = 1;
    }
    void push_near(Index i) {
        in_near_[i] = static_cast<Index>(row_.size());
        candidates_.resize(row_.size() + 2);
        row_.push_back(i);
        gap_.push_back(gap_of(i));
        rate_.push_back(0);
        norm_.push_back(given_.norm[i]);
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
        for (Index i : row_) in_near_[i] = -1;
        row_.clear();
        gap_.clear();
        rate_.clear();
        norm_.clear();
        near_loose_ = 0;
        for (Index i : middle_)
            if (watched(i) && reach(i) <= short_) {
                push_near(i);
                near_loose_ += reach(i) > tight * short_;
            }
        near_end_ = std::min(way_ + short_, middle_end_);
        measured_ = false;
        since_ = apart_ = turned_ = 0;
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

    const typename S::Members& rows_;
    const Stop* stop_;
    Index piece_;
    PathTargets given_;
    const std::vector<Side>& side_;
    Index n_rows_;
    std::vector<double> margin_;
    std::vector<Index> in_near_;  // the position there, or -1
    std::vector<char> in_middle_;
    std::vector<Index> middle_, row_, candidates_;  // row_: the near ones
    std::size_t n_candidates_ = 0;
    std::vector<std::pair<Index, double>> blocked_;
    std::vector<double> gap_, rate_, norm_;  // of the near rows at w0; no gap is ever closed that is infinite
    PathVector w0_, dw0_;
    bool measured_ = false;                      // rates are known
    double since_ = 0, apart_ = 0, turned_ = 0;  // tau since w0, |w - w0 - since dw0|, |dw - dw0|
    double spent_ = 0;                           // products since then
    double long_ = -1, short_ = -1, way_ = 0, middle_end_ = 0, near_end_ = 0;
    double near_work_ = 0, middle_work_ = 0, near_loose_ = 0, middle_loose_ = 0;
    Index near_events_ = 0, middle_events_ = 0;  // since the list was made
};

}  // namespace steelyard
