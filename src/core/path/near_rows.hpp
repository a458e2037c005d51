// Which rows can reach their target soon, so that most rows are not looked at at most kinks.
//
// Row i has the margin s_i x_i.w and the target t_i. While w moves a way of length l, the margin moves by at most |x_i|
// l, so the row cannot matter before the way is |t_i - margin| / |x_i|. Two lists: `middle` has every row that may
// matter within a long horizon, `near` those of middle within a short one. Only near rows are looked at at a kink; when
// the way has used up a horizon its list is made again. The horizons adapt until looking and making cost about the
// same.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "path/margin_set.hpp"
#include "path/problem.hpp"

namespace steelyard {

// A row that is looked at at every kink. `toward` is the sign with which toward * x.dw closes the gap; 0: not now.
struct NearRow {
    Index row;
    double toward, gap, norm;
};

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

    std::vector<NearRow>& near() { return near_; }
    double left() const { return near_end_ - way_; }  // the way that may be gone before `look` is due
    void go(double length) { way_ += length; }

    // Every row's margin at w, and both lists made again.
    void look_at_all(const PathVector& w) {
        adapt(long_, static_cast<double>(n_rows_), middle_work_);
        middle_work_ = 0;
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
        adapt(short_, static_cast<double>(middle_.size()), near_work_);
        near_work_ = 0;
        (this->*may_throw(&NearRows::make_near))();
    }

    // A row that leaves the margin is near by definition.
    void put(Index i) {
        margin_[i] = given_.target[i];
        if (!in_middle_[i]) push_middle(i);
        if (in_near_[i] < 0)
            push_near(i);
        else
            near_[in_near_[i]] = look_at(i);
    }

    // A near row that has reached the margin, or cannot for now; its position. And back, if it is still near.
    Index silence(Index i) {
        near_[in_near_[i]].toward = 0;
        return in_near_[i];
    }
    void wake(Index i) {
        if (in_near_[i] >= 0) near_[in_near_[i]].toward = toward(i);
    }

    void looked() { near_work_ += near_loose_; }

private:
    // Of making a list, in rows looked at; from 16 to 256 the times on pima, spambase, splice and a9a stay within 5 %.
    static constexpr double overhead = 64;
    // Rows in the span of the members stay at the edge of their target whatever the horizon, thousands of them in
    // one-hot data: only rows beyond this share of the horizon would be spared by a shorter one, so only these count as
    // work. From 0.1 to 0.3 the same on all four sets; with 0.01 a9a, half a second, does not end.
    static constexpr double tight = 0.1;

    STEELYARD_CLONES void look_at_some(Index begin, Index end, const PathVector& w) {
        for (Index i = begin; i < end; ++i) margin_[i] = given_.sign[i] * rows_.value(i, w);
    }
    STEELYARD_CLONES void look_at_middle(const PathVector& w) {
        for (Index i : middle_) margin_[i] = given_.sign[i] * rows_.value(i, w);
    }

    bool watched(Index i) const { return side_[i] == Side::below || side_[i] == Side::above; }
    double reach(Index i) const { return std::fabs(given_.target[i] - margin_[i]) / given_.norm[i]; }

    double toward(Index i) const {
        return !watched(i) ? 0 : side_[i] == Side::below ? given_.sign[i] : -given_.sign[i];
    }

    NearRow look_at(Index i) const {
        const double gap = given_.target[i] - margin_[i];
        return {i, toward(i), side_[i] == Side::below ? gap : -gap, given_.norm[i]};
    }

    void push_middle(Index i) {
        middle_.push_back(i);
        in_middle_[i] = 1;
    }
    void push_near(Index i) {
        in_near_[i] = static_cast<Index>(near_.size());
        near_.push_back(look_at(i));
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
        for (const NearRow& n : near_) in_near_[n.row] = -1;
        near_.clear();
        near_loose_ = 0;
        for (Index i : middle_)
            if (watched(i) && reach(i) <= short_) {
                push_near(i);
                near_loose_ += reach(i) > tight * short_;
            }
        near_end_ = std::min(way_ + short_, middle_end_);
    }

    // Both the work between two makings and their number change with the horizon, hence the square root.
    static void adapt(double& horizon, double making, double looking) {
        if (horizon < 0) return;
        const double factor = looking > 0 ? std::sqrt((making + overhead) / looking) : 2;
        horizon *= std::min(2.0, std::max(0.5, factor));
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
    std::vector<NearRow> near_;
    std::vector<Index> middle_;
    double long_ = -1, short_ = -1, way_ = 0, middle_end_ = 0, near_end_ = 0;
    double near_work_ = 0, middle_work_ = 0, near_loose_ = 0, middle_loose_ = 0;
};

}  // namespace steelyard
