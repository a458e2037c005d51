// The two class risks at the points of many tracks: what the bundle asks of rows, answered in memory.
//
//   R_c(w) = sum over the rows of class c of s_i loss(m_i),     m_i = y_i x_i.w,     c = 0 negative, 1 positive
//
// A track has a best point w, whose margins m stay here, and a point w_t ahead of it that was looked at last:
//   look     m_t - m for the w_t of each track
//   risks    R_0 and R_1 at w + l (w_t - w)
//   search   the l >= 0 with the least 1/2 |w + l (w_t - w)|^2 + cap_0 R_0 + cap_1 R_1 (line_search.hpp)
//   move     w goes to one such l, the next cut will be taken at another
//   cut      (g, h) of both classes there: R_c(w') >= g.w' + h for every w'
// solvers/linear/bundle.py has the loop, and the same protocol for rows that are elsewhere. Products go over blocks of
// rows and searches over tracks: the bits do not depend on the number of threads.
#pragma once

#include <mutex>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "base/parallel.hpp"
#include "base/products.hpp"
#include "linear/line_search.hpp"

namespace steelyard {

// Which tracks a call is about; what it gives and takes has one entry, or one row, for each.
struct Tracks {
    const std::int64_t* which;
    Index count;
};

class ClassRisks {
public:
    ClassRisks(const Rows& rows, const double* y, const double* weight, LossKind loss, int n_threads)
        : rows_(rows),
          y_(y),
          weight_(weight),
          loss_(loss),
          n_threads_(n_threads),
          n_(visit(rows, [](const auto& x) { return x.n_rows; })),
          d_(visit(rows, [](const auto& x) { return x.n_cols; })) {}

    Index n_cols() const { return d_; }

    // So many tracks, each with w = 0 as its best point.
    void begin(Index n_tracks) {
        std::vector<Point> points(static_cast<std::size_t>(n_tracks));  // all of them, or none
        for (Point& p : points) {
            p.m.assign(static_cast<std::size_t>(n_), 0.0);
            p.ahead.assign(static_cast<std::size_t>(n_), 0.0);
        }
        points_.swap(points);
    }

    void look(const Tracks& tracks, const double* W, const Stop& stop) {
        check(tracks);
        const Blocks blocks{n_};
        visit(rows_, [&](const auto& rows) {
            parallel_for(n_threads_, blocks.count(), [&](Index b) {
                in_pieces(blocks.end(b) - blocks.begin(b), rows_a_piece, &stop, [&](Index begin, Index end) {
                    forward(rows, tracks, W, blocks.begin(b) + begin, blocks.begin(b) + end);
                });
            });
        });
    }

    // out[2 k + c] = R_c of track k at w + at[k] (w_t - w)
    void risks(const Tracks& tracks, const double* at, double* out, const Stop& stop) {
        each(tracks, stop, [&](auto loss, Index k, Point& p) {
            (this->*may_throw(&ClassRisks::risk_at<decltype(loss)>))(loss, p, at[k], out + 2 * k, stop);
        });
    }

    // caps[2 k + c], and w.p and p.p of p = w_t - w for each track
    void search(const Tracks& tracks, const double* caps, const double* wp, const double* pp, double* steps,
                const Stop& stop) {
        each(tracks, stop, [&](auto loss, Index k, Point& p) {
            std::vector<Kink> kinks = borrow();
            const auto along = [&](const auto& cost) {
                using Cost = std::decay_t<decltype(cost)>;
                const Ray<Cost> ray{n_, cost, p.m.data(), p.ahead.data(), wp[k], pp[k]};
                return (this->*may_throw(&ClassRisks::step<decltype(loss), Cost>))(loss, ray, kinks, stop);
            };
            const double negative = caps[2 * k], positive = caps[2 * k + 1];
            steps[k] = weight_ ? along(ClassCost<true>{y_, weight_, negative, positive})
                               : along(ClassCost<false>{y_, weight_, negative, positive});
            give_back(std::move(kinks));
        });
    }

    // out: the risks at the new best point
    void move(const Tracks& tracks, const double* best, const double* cut, double* out, const Stop& stop) {
        each(tracks, stop, [&](auto loss, Index k, Point& p) {
            (this->*may_throw(&ClassRisks::go<decltype(loss)>))(loss, p, best[k], cut[k], out + 2 * k, stop);
        });
    }

    // g: 2 x columns numbers a track, h: 2 numbers a track
    void cut(const Tracks& tracks, double* g, double* h, const Stop& stop) {
        check(tracks);
        const Blocks blocks{n_};
        std::vector<double> pieces(static_cast<std::size_t>(2 * tracks.count * (d_ + 1)), 0.0);
        visit(rows_, [&](const auto& rows) {
            visit_loss(loss_, [&](auto loss) {
                const auto add = [&](Index b, double* into) {
                    in_pieces(blocks.end(b) - blocks.begin(b), rows_a_piece, &stop, [&](Index begin, Index end) {
                        back(loss, rows, tracks, blocks.begin(b) + begin, blocks.begin(b) + end, into);
                    });
                };
                add_in_stripes(n_threads_, blocks.count(), static_cast<Index>(pieces.size()), pieces.data(), add);
            });
        });
        const double* piece = pieces.data();
        for (Index k = 0; k < 2 * tracks.count; ++k, piece += d_ + 1) {
            std::copy(piece, piece + d_, g + k * d_);
            h[k] = piece[d_];
        }
    }

private:
    struct Point {
        std::vector<double> m;      // margins at the best point
        std::vector<double> ahead;  // m_t - m; after `move` the margins where the cut is taken
    };
    // Two kinds, so that no loop asks at every row whether there are weights.
    template <bool weighted>
    struct ClassCost {
        const double* y;
        const double* weight;
        double negative, positive;
        STEELYARD_INLINE double operator()(Index i) const {
            const double cap = y[i] > 0 ? positive : negative;
            if constexpr (weighted) return cap * weight[i];
            return cap;
        }
    };

    STEELYARD_INLINE double weight(Index i) const { return weight_ ? weight_[i] : 1.0; }

    void check(const Tracks& tracks) const {
        for (Index k = 0; k < tracks.count; ++k)
            if (tracks.which[k] < 0 || tracks.which[k] >= static_cast<Index>(points_.size()))
                throw std::invalid_argument("there is no such track: `begin` says how many there are");
    }

    template <class Task>
    void each(const Tracks& tracks, const Stop& stop, Task&& task) {
        check(tracks);
        visit_loss(loss_, [&](auto loss) {
            parallel_for(
                n_threads_, tracks.count,
                [&](Index k) { task(loss, k, points_[static_cast<std::size_t>(tracks.which[k])]); }, &stop);
        });
    }

    template <class R>
    STEELYARD_INLINE void forward_one(const R& rows, Point& p, const double* w, Index begin, Index end) {
        double* ahead = p.ahead.data();
        Products::forward_one(rows, w, ahead, begin, end);
        for (Index i = begin; i < end; ++i) ahead[i] = y_[i] * ahead[i] - p.m[i];
    }

    template <class R>
    STEELYARD_CLONES void forward(const R& rows, const Tracks& tracks, const double* W, Index begin, Index end) {
        if (tracks.count == 1)
            return forward_one(rows, points_[static_cast<std::size_t>(*tracks.which)], W, begin, end);
        for (Index i = begin; i < end; ++i) {
            look_ahead(rows, i, end);
            const auto x = rows.row(i);
            for (Index k = 0; k < tracks.count; ++k) {
                Point& p = points_[static_cast<std::size_t>(tracks.which[k])];
                p.ahead[i] = y_[i] * x.dot(W + k * d_) - p.m[i];
            }
        }
    }

    template <class L>
    STEELYARD_CLONES void risk_at(L, const Point& p, double at, double* out, const Stop& stop) const {
        double sum[2] = {0, 0};
        in_pieces(n_, rows_a_piece, &stop, [&](Index begin, Index end) STEELYARD_INLINE_LAMBDA {
            for (Index i = begin; i < end; ++i) {
                const double value = weight(i) * L::value(p.m[i] + at * p.ahead[i]);
                sum[0] += y_[i] > 0 ? 0.0 : value;
                sum[1] += y_[i] > 0 ? value : 0.0;
            }
        });
        out[0] = sum[0];
        out[1] = sum[1];
    }

    template <class L, class Cost>
    STEELYARD_CLONES double step(L, const Ray<Cost>& ray, std::vector<Kink>& kinks, const Stop& stop) const {
        return best_step<L>(ray, kinks, &stop);
    }

    // Two loops, both without a chain of additions that would wait for itself: the first moves, the second adds up.
    template <class L>
    STEELYARD_CLONES void go(L, Point& p, double best, double cut, double* out, const Stop& stop) {
        double* m = p.m.data();
        double* ahead = p.ahead.data();
        double all[8] = {}, positive[8] = {};
        in_pieces(n_, rows_a_piece, &stop, [&](Index begin, Index end) STEELYARD_INLINE_LAMBDA {
            STEELYARD_NO_OVERLAP
            for (Index i = begin; i < end; ++i) {
                const double before = m[i], s = ahead[i];
                m[i] = before + best * s;
                ahead[i] = before + cut * s;
            }
            Index i = begin;
            for (; i + 8 <= end; i += 8)
                for (Index k = 0; k < 8; ++k) add_risk<L>(i + k, m[i + k], all[k], positive[k]);
            for (; i < end; ++i) add_risk<L>(i, m[i], all[0], positive[0]);
        });
        out[1] = std::accumulate(positive, positive + 8, 0.0);
        out[0] = std::accumulate(all, all + 8, 0.0) - out[1];
    }

    template <class L>
    STEELYARD_INLINE void add_risk(Index i, double margin, double& all, double& positive) const {
        const double value = weight(i) * L::value(margin);
        all += value;
        positive += y_[i] > 0 ? value : 0.0;
    }

    // g = -sum s_i b_i y_i x_i and h = sum s_i (loss(m_i) + b_i m_i), since loss(m') >= loss(m) - b (m' - m).
    template <class L, class R>
    STEELYARD_CLONES void back(L, const R& rows, const Tracks& tracks, Index begin, Index end, double* out) const {
        for (Index i = begin; i < end; ++i) {
            const double s = weight(i);
            if (s == 0) continue;
            look_ahead(rows, i, end);
            const auto x = rows.row(i);
            double* piece = out + (y_[i] > 0 ? d_ + 1 : 0);
            for (Index k = 0; k < tracks.count; ++k, piece += 2 * (d_ + 1)) {
                const double m = points_[static_cast<std::size_t>(tracks.which[k])].ahead[i], b = L::share(m);
                if (b == 0) continue;
                x.add_to(piece, -s * b * y_[i]);
                piece[d_] += s * (L::value(m) + b * m);
            }
        }
    }

    // Kinks are 16 bytes a row: one set for each thread at work, not for each track.
    std::vector<Kink> borrow() {
        const std::lock_guard<std::mutex> lock(guard_);
        if (spare_.empty()) return {};
        std::vector<Kink> one = std::move(spare_.back());
        spare_.pop_back();
        return one;
    }
    void give_back(std::vector<Kink>&& one) {
        const std::lock_guard<std::mutex> lock(guard_);
        spare_.push_back(std::move(one));
    }

    Rows rows_;
    const double* y_;
    const double* weight_;  // null: ones
    LossKind loss_;
    int n_threads_;
    Index n_, d_;
    std::vector<Point> points_;
    std::vector<std::vector<Kink>> spare_;
    std::mutex guard_;
};

}  // namespace steelyard
