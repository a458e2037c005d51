// Dual coordinate descent for up to eight cost pairs at once: one load of a row serves them all.
//
//   for each lane k:   max over feasible b   sum_i C_ki dual_term(b_ki) - 1/2 |w_k|^2,    w_k = sum_i C_ki b_ki y_i x_i
//
// The method is that of coordinate.hpp, with the same rows in the same order for every lane; a row is visited as long
// as one lane has not set it aside. Weights and shares of the lanes lie side by side, so that a row's inner products
// and its updates are vector operations across lanes, and the shares of a row one cache line. Lanes that are solved
// stand still.
#pragma once

#include <cstring>
#include <numeric>

#include "base/huge_pages.hpp"
#include "base/lanes.hpp"
#include "linear/columns.hpp"
#include "linear/coordinate.hpp"

namespace steelyard {

// One problem. What is given as its start comes back as where it ended.
struct DescentLane {
    double cost[2];                   // C c-, C c+
    Solution* best;                   // offered what is found
    std::vector<double> share, pull;  // b, and v(b)
};

template <class L, class R>
class CoordinateLanes {
public:
    static constexpr Index width = 8;  // doubles in a cache line
    // Rows are visited in random order by chunks, not one by one: rows that follow each other in memory come several
    // times as fast as those that do not.
    static constexpr Index chunk = 16;

    CoordinateLanes(const R& rows, const double* y, const double* weight, const std::vector<double>& square)
        : rows_(rows), y_(y), weight_(weight), square_(square), n_(rows.n_rows), d_(rows.n_cols) {}

    // At most `width` lanes, each with `max_passes` of its own on top of those that its solution has had.
    void solve(std::vector<DescentLane>& lanes, const Stopping& stopping) {
        begin(lanes, stopping);
        while (true) {
            for (Index b = 0; b < n_; b += rows_a_piece) {
                check(stopping.stop);
                look(b, std::min(n_, b + rows_a_piece));
            }
            if (!judge(lanes, stopping)) break;
            sweeps(stopping);
        }
        end(lanes);
    }

private:
    struct Numbers {
        alignas(64) double at[width] = {};
    };

    void begin(const std::vector<DescentLane>& lanes, const Stopping& stopping) {
        if (b_.empty())
            b_.resize(static_cast<std::size_t>(n_ * width));  // zeros
        else
            std::fill(b_.begin(), b_.end(), 0.0);
        w_.assign(static_cast<std::size_t>(d_ * width), 0.0);
        v_.assign(w_.size(), 0.0);
        bits_.assign(static_cast<std::size_t>(n_), 0);
        shuffler_.state = stopping.seed;
        cost_[0] = cost_[1] = Numbers{};
        live_ = 0;
        for (Index k = 0; k < static_cast<Index>(lanes.size()); ++k) {
            live_ |= 1u << k;
            for (int c = 0; c < 2; ++c) cost_[c].at[k] = lanes[k].cost[c];
            for (Index j = 0; j < d_; ++j) w_[j * width + k] = lanes[k].pull[j];
            spread_[k] = sweeping_.spread;
            closing_[k] = Closing(lanes[k].best->passes);
        }
        for (Index i = 0; i < n_; ++i)
            for (std::size_t k = 0; k < lanes.size(); ++k) b_[i * width + k] = lanes[k].share[i];
    }

    void end(std::vector<DescentLane>& lanes) const {
        for (Index i = 0; i < n_; ++i)
            for (std::size_t k = 0; k < lanes.size(); ++k) lanes[k].share[i] = b_[i * width + k];
        for (std::size_t k = 0; k < lanes.size(); ++k)
            for (Index j = 0; j < d_; ++j) lanes[k].pull[j] = w_[j * width + k];
    }

    // A number of every lane. They are stored whole, as they are read: a load of what two stores have just written
    // waits for both to arrive (by perf a sixth of a look on letter).
    using All = LanesOf<width>;
    static STEELYARD_INLINE All all_at(const double* at) {
        All x;
        std::memcpy(&x, at, sizeof x);
        return x;
    }
    static STEELYARD_INLINE void put_all(double* at, const All& x) { std::memcpy(at, &x, sizeof x); }

    // Inner products of a row with all lanes, in two chains so that neither waits for itself.
    template <class Row>
    static STEELYARD_INLINE void dots(const Row& x, const double* w, double* out) {
        All even = {}, odd = {};
        if constexpr (Row::is_dense) {
            Index j = 0;
            for (; j + 2 <= x.size; j += 2) {
                even += all_at(w + j * width) * static_cast<double>(x.values[j]);
                odd += all_at(w + (j + 1) * width) * static_cast<double>(x.values[j + 1]);
            }
            if (j < x.size) even += all_at(w + j * width) * static_cast<double>(x.values[j]);
            if (x.constant != 0) even += all_at(w + x.size * width) * x.constant;
        } else {
            x.each([&](Index j, double value) STEELYARD_INLINE_LAMBDA { even += all_at(w + j * width) * value; });
        }
        even += odd;
        put_all(out, even);
    }

    // w += force x, for all lanes
    template <class Row>
    static STEELYARD_INLINE void push(const Row& x, const double* force, double* w) {
        const All forces = all_at(force);
        x.each([&](Index j, double value) STEELYARD_INLINE_LAMBDA {
            All moved = all_at(w + j * width);
            moved += forces * value;
            put_all(w + j * width, moved);
        });
    }

    // As a tree: one after the other, each addition would wait for the one before.
    static STEELYARD_INLINE double sum_of_all(const double* x) {
        return ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]));
    }
    // Bit k is x[k], which is 0 or 1.
    static STEELYARD_INLINE unsigned bits_of(const double* x) {
        return static_cast<unsigned>(((x[0] + 2 * x[1]) + (4 * x[2] + 8 * x[3])) +
                                     ((16 * x[4] + 32 * x[5]) + (64 * x[6] + 128 * x[7])));
    }

    STEELYARD_INLINE double weight(Index i) const { return weight_ ? weight_[i] : 1.0; }

    // The share is at a bound and the gradient pushes it further out by more than `slack`: 1 or 0, without a branch.
    static STEELYARD_INLINE double at_rest(double b, double gradient, double slack) {
        if constexpr (L::kind == LossKind::logistic) return 0;
        const double low = b <= 0 ? 1.0 : 0.0, down = gradient < -slack ? low : 0.0;
        const double high = b >= L::largest_share ? 1.0 : 0.0, up = gradient > slack ? high : 0.0;
        return up + down;
    }

    // One pass: risks at w as the sweeps have left it, v(b) and the dual terms from scratch, and who is at rest.
    STEELYARD_CLONES void look(Index begin, Index end) {
        const R rows = rows_;
        for (Index i = begin; i < end; ++i) {
            look_ahead(rows, i, end);
            const auto x = rows.row(i);
            const double *cost = cost_[y_[i] > 0].at, *b = b_.data() + i * width, y = y_[i], s = weight(i);
            alignas(64) double m[width], force[width];
            dots(x, w_.data(), m);
            alignas(64) double moves[width], size[width];
            for (Index k = 0; k < width; ++k) {
                const double c = cost[k] * s, bk = b[k], mk = m[k] * y;
                risk_.at[k] += c * L::value(mk);
                dual_.at[k] += c * L::dual_term(bk);
                force[k] = c * bk * y;
                size[k] = std::fabs(force[k]);
                const double rest = at_rest(bk, DualCoordinate<L>::gradient(bk, mk), 0.0);
                moves[k] = c > 0 ? 1 - rest : 0.0;
            }
            bits_[i] = static_cast<std::uint8_t>(bits_of(moves));
            if (sum_of_all(size) != 0) push(x, force, v_.data());
        }
    }

    // What the look says; false if no lane is left.
    bool judge(std::vector<DescentLane>& lanes, const Stopping& stopping) {
        std::vector<double> w(static_cast<std::size_t>(d_)), v(w.size());
        const std::vector<double> none;
        for (Index k = 0; k < static_cast<Index>(lanes.size()); ++k) {
            if (!(live_ >> k & 1)) continue;
            for (Index j = 0; j < d_; ++j) {
                w[j] = w_[j * width + k];
                v[j] = v_[j * width + k];
            }
            Solution& best = *lanes[k].best;
            best.passes += passes_ + 1;
            const double primal = squared_norm(w) / 2 + risk_.at[k], dual = dual_.at[k] - squared_norm(v) / 2;
            best.offer_primal(primal, w);
            best.offer_dual(dual, none);
            closing_[k].see(primal, dual, best.passes);
            if (!best.reaches(stopping.tol)) {
                best.status = why_not(best, v, spread_[k], closing_[k], stopping.max_passes);
                if (best.status.ended == Ended::limit && best.passes < stopping.max_passes) continue;
            }
            live_ &= ~(1u << k);
        }
        for (Index j = 0; j < d_ * width; ++j) w_[j] = v_[j];
        std::fill(v_.begin(), v_.end(), 0.0);
        risk_ = dual_ = Numbers{};
        passes_ = 0;
        return live_ != 0;
    }

    // Until the projected gradients of every lane agree to its spread. A lane whose do waits for the others: further
    // sweeps over the rows that it has not set aside would solve a problem that is not its own.
    void sweeps(const Stopping& stopping) {
        active_.clear();
        moving_ = live_;
        for (Index i = 0; i < n_; ++i)
            if (bits_[i] & moving_) active_.push_back(i);
        for (Index k = 0; k < width; ++k) slack_.at[k] = HUGE_VAL;
        while (passes_ < sweeping_.passes_between_looks && moving_) {
            passes_ += static_cast<double>(active_.size()) / static_cast<double>(n_);
            shuffle(stopping.stop);
            for (Index k = 0; k < width; ++k) {
                high_.at[k] = -HUGE_VAL;
                low_.at[k] = HUGE_VAL;
            }
            const Index chunks = static_cast<Index>(order_.size());
            for (Index at = 0; at < chunks; at += rows_a_piece / chunk) {
                check(stopping.stop);
                visit_rows(at, std::min(chunks, at + rows_a_piece / chunk));
            }
            finish_sweep();
            const auto is_set_aside = [&](Index i) { return !(bits_[i] & moving_); };
            active_.erase(std::remove_if(active_.begin(), active_.end(), is_set_aside), active_.end());
        }
    }

    // Which lanes' projected gradients agree, and what the next sweep may set aside.
    void finish_sweep() {
        for (Index k = 0; k < width; ++k) {
            const double largest = std::max(high_.at[k], -low_.at[k]);
            slack_.at[k] = largest > 0 ? largest : HUGE_VAL;
            if (!(moving_ >> k & 1) || high_.at[k] - low_.at[k] > spread_[k]) continue;
            moving_ &= ~(1u << k);
            spread_[k] *= sweeping_.closer;
        }
    }

    // The order of the chunks.
    void shuffle(const Stop* stop) {
        const Index size = (static_cast<Index>(active_.size()) + chunk - 1) / chunk;
        order_.resize(static_cast<std::size_t>(size));
        std::iota(order_.begin(), order_.end(), Index{0});
        in_pieces(size, rows_a_piece, stop, [&](Index begin, Index end) {
            for (Index k = begin; k < end; ++k) std::swap(order_[k], order_[k + shuffler_.below(size - k)]);
        });
    }

    // The rows of some chunks.
    STEELYARD_CLONES void visit_rows(Index begin, Index end) {
        const R rows = rows_;
        const Index size = static_cast<Index>(active_.size()), chunks = static_cast<Index>(order_.size());
        for (Index c = begin; c < end; ++c) {
            const Index first = order_[c] * chunk, last = std::min(size, first + chunk);
            const Index coming = c + 1 < chunks ? order_[c + 1] * chunk : first;
            for (Index at = first; at < last; ++at) {
                if (const Index next = coming + (at - first); next < size) {
                    rows.prefetch(active_[next]);
                    prefetch_range(b_.data() + active_[next] * width, width);
                }
                visit_row(rows, active_[at]);
            }
        }
    }

    STEELYARD_INLINE void visit_row(const R& rows, Index i) {
        const auto x = rows.row(i);
        const double *cost = cost_[y_[i] > 0].at, y = y_[i], s = weight(i), square = square_[i];
        double* b = b_.data() + i * width;
        alignas(64) double m[width], force[width];
        dots(x, w_.data(), m);
        alignas(64) double on[width], rests[width], size[width];
        const unsigned bits = bits_[i] & moving_;
        for (Index k = 0; k < width; ++k) on[k] = static_cast<double>(bits >> k & 1);
        for (Index k = 0; k < width; ++k) {
            const double c = cost[k] * s, bk = b[k], gradient = DualCoordinate<L>::gradient(bk, m[k] * y);
            rests[k] = at_rest(bk, gradient, slack_.at[k]);
            const double projected = at_rest(bk, gradient, 0.0) != 0 ? 0.0 : gradient;
            const double is_on = rests[k] != 0 ? 0.0 : on[k];
            const double seen_high = is_on != 0 ? projected : -HUGE_VAL, seen_low = is_on != 0 ? projected : HUGE_VAL;
            high_.at[k] = seen_high > high_.at[k] ? seen_high : high_.at[k];
            low_.at[k] = seen_low < low_.at[k] ? seen_low : low_.at[k];
            const double moves = std::fabs(projected) >= sweeping_.no_closer ? is_on : 0.0;
            const double best = DualCoordinate<L>::best(bk, gradient, c > 0 ? c * square : 1.0);
            const double moved = moves != 0 ? best : bk;
            force[k] = c * (moved - bk) * y;
            size[k] = std::fabs(force[k]);
            b[k] = moved;
        }
        if (sum_of_all(size) != 0) push(x, force, w_.data());
        bits_[i] = static_cast<std::uint8_t>(bits_[i] & ~bits_of(rests));
    }

    const R& rows_;
    const double *y_, *weight_;
    const std::vector<double>& square_;
    Index n_, d_;
    LargeVector<double> b_;              // side by side,
    std::vector<double> w_, v_;          // as these are
    std::vector<std::uint8_t> bits_;     // which lanes a row is active for
    std::vector<Index> active_, order_;  // rows, ascending, and the order of their chunks
    Numbers cost_[2], risk_, dual_, slack_, high_, low_;
    double spread_[width] = {}, passes_ = 0;
    unsigned live_ = 0, moving_ = 0;  // lanes that are not solved, and of those the ones that sweeps move
    Shuffler shuffler_{0};
    Sweeping sweeping_;
    Closing closing_[width];
};

}  // namespace steelyard
