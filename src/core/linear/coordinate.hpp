// Dual coordinate descent (Hsieh et al. 2008; Yu, Huang and Lin 2011 for logistic), one row at a time.
//
//   max over feasible b   sum_i C_i dual_term(b_i) - 1/2 |w|^2,    w = sum_i C_i b_i y_i x_i kept up to date
//
// One coordinate has its optimum in closed form (hinge, squared hinge) or by a few guarded Newton steps (logistic).
// Rows whose share sits at a bound, with a gradient that pushes it further out, are set aside (shrinking) until the
// next full look. Sweeps stop when the projected gradients agree to `spread`, or after a few passes' work; then every
// row is looked at, P and D are computed from scratch, and `spread` shrinks until the gap is small enough.
//
// Shares, not multipliers, are kept: a = C b, so the shares of one C or one cost pair are a feasible start for any
// other.
#pragma once

#include <cmath>
#include <stdexcept>

#include "base/random.hpp"
#include "linear/risk.hpp"

namespace steelyard {

// What steers the sweeps.
struct Sweeping {
    // Sweeps end when the projected gradients agree to `spread`, at first to about a third of a margin, then by the
    // same factor closer each time. LIBLINEAR has one fixed tolerance, 0.1; here the gap decides, and this only says
    // when it is worth looking.
    double spread = 1.0, closer = 0.3;
    double no_closer = 1e-14;         // of margins near 1, this is rounding
    double passes_between_looks = 4;  // a look costs one, so that looks are at most a fifth of the work
};

// Whether the bounds of a descent still come closer. Where costs are large beyond all measure its steps are too small
// to be seen in the objective, or turn in rounding, with nothing infinite and no gradients that agree.
class Closing {
public:
    explicit Closing(double passes = 0) : since_(passes), passes_(passes) {}

    void see(double primal, double dual, double passes) {
        primal_ = std::min(primal_, primal);
        dual_ = std::max(dual_, dual);
        passes_ = passes;
        if (!(primal_ - dual_ < (1 - least) * apart_)) return;
        apart_ = primal_ - dual_;
        since_ = passes;
    }

    bool has_ended() const { return passes_ - since_ > patience; }

private:
    // In so many passes, three times as many as solvers have unless told otherwise, the bounds have come closer by less
    // than this part of what they are apart: at that pace the rest takes thirty thousand million.
    static constexpr double patience = 3e4, least = 1e-6;
    static constexpr double infinity = std::numeric_limits<double>::infinity();
    double primal_ = infinity, dual_ = -infinity, apart_ = infinity;
    double since_, passes_;
};

// How it stands with a descent that is not solved; v is its v(b).
inline Status why_not(const Solution& best, const std::vector<double>& v, double spread, const Closing& closing,
                      double max_passes) {
    if (!all_finite(v)) return Status::trouble("w overflows in coordinate descent");
    if (spread < Sweeping{}.no_closer)
        return Status::trouble("coordinate descent is at rest, with a gap that is rounding");
    if (closing.has_ended())
        return Status::trouble("coordinate descent comes no closer: take smaller costs, or scale X");
    return {Ended::limit, best.passes >= max_passes ? out_of_passes : ""};
}

// One coordinate: the gradient of the dual in b_i per unit of C_i, and the best b_i with the others held; q = C_i
// |x_i|^2.
template <class L>
struct DualCoordinate;

template <>
struct DualCoordinate<Hinge> {
    static STEELYARD_INLINE double gradient(double, double m) { return 1 - m; }
    static STEELYARD_INLINE double best(double b, double gradient, double q) {
        const double moved = b + gradient / q;
        return moved < 0 ? 0 : (moved > 1 ? 1 : moved);
    }
};

template <>
struct DualCoordinate<SquaredHinge> {
    static STEELYARD_INLINE double gradient(double b, double m) { return 1 - m - b / 2; }
    static STEELYARD_INLINE double best(double b, double gradient, double q) {
        return std::max(0.0, b + gradient / (0.5 + q));
    }
};

template <>
struct DualCoordinate<Logistic> {
    // b near 1 is 1 - rounding, and b near 0 may underflow: neither end may give an infinite margin.
    static STEELYARD_INLINE double log_odds(double b) { return std::log((1 - b + 1e-17) / std::max(b, 1e-300)); }
    static STEELYARD_INLINE double gradient(double b, double m) { return log_odds(b) - m; }

    // u = log((1 - b) / b) solves u - m - q (b(u) - b0) = 0, which increases in u: Newton inside a bracket.
    static STEELYARD_INLINE double best(double b0, double gradient, double q) {
        double u = log_odds(b0);
        const double m = u - gradient;
        double low = m - q * b0, high = m + q * (1 - b0);
        u = std::min(std::max(u, low), high);
        double b = Logistic::share(u);
        // Quadratic convergence from 1e-3 of a margin leaves 1e-6, which the next sweep corrects anyway; eight steps
        // of bisection alone bring a bracket of a quarter of a margin there.
        for (int k = 0; k < 8; ++k) {
            const double f = u - m - q * (b - b0);
            (f > 0 ? high : low) = u;
            double next = u - f / (1 + q * b * (1 - b));
            if (!(next > low && next < high)) next = 0.5 * (low + high);
            const double moved = std::fabs(next - u);
            u = next;
            b = Logistic::share(u);
            if (moved < 1e-3) break;
        }
        return b;
    }
};

template <class Row>
STEELYARD_INLINE double squared_length(const Row& x) {
    double part[4] = {x.constant * x.constant, 0, 0, 0};
    Index k = 0;
    for (; k + 4 <= x.size; k += 4)
        for (int l = 0; l < 4; ++l)
            part[l] += static_cast<double>(x.values[k + l]) * static_cast<double>(x.values[k + l]);
    for (; k < x.size; ++k) part[0] += static_cast<double>(x.values[k]) * static_cast<double>(x.values[k]);
    return (part[0] + part[1]) + (part[2] + part[3]);
}

template <class R>
std::vector<double> squares(const R& rows, const Stop* stop = nullptr) {
    std::vector<double> square(static_cast<std::size_t>(rows.n_rows), 0.0);
    in_pieces(rows.n_rows, rows_a_piece, stop, [&](Index begin, Index end) {
        for (Index i = begin; i < end; ++i) {
            square[i] = squared_length(rows.row(i));
            if (!std::isfinite(square[i]))
                throw std::invalid_argument("X has values whose squares overflow: scale the columns (StandardScaler)");
        }
    });
    return square;
}

template <class L, class R>
class CoordinateDescent {
public:
    // square = |x_i|^2 for every row
    CoordinateDescent(const R& rows, const std::vector<double>& square)
        : rows_(rows),
          square_(square),
          n_(rows.n_rows),
          w_(static_cast<std::size_t>(rows.n_cols)),
          v_(w_.size()),
          m_(n_) {}

    STEELYARD_CLONES Solution solve(const Risk& risk, const Stopping& stopping, const Solution* start) {
        Solution best;
        b_.assign(static_cast<std::size_t>(n_), L::kind == LossKind::logistic ? 0.5 : 0.0);
        if (start && !start->share.empty()) b_ = start->share;
        shuffler_.state = stopping.seed;
        double spread = sweeping_.spread;
        closing_ = Closing();
        if (start && start->pull.size() == w_.size()) {
            w_ = start->pull;
        } else {
            pull(rows_, risk, b_.data(), w_, stopping.stop);
            best.passes += 1;
        }
        while (true) {
            look(risk, stopping.stop, best);
            if (best.reaches(stopping.tol)) return best;
            best.status = why_not(best, w_, spread, closing_, stopping.max_passes);
            if (best.status.ended != Ended::limit || best.passes >= stopping.max_passes) return best;
            if (sweeps(risk, spread, stopping, best.passes)) spread *= sweeping_.closer;
        }
    }

private:
    // One pass: the objective at w as the sweeps have left it, and v(b) from scratch, which then is w; every row that
    // is not at rest becomes active again.
    STEELYARD_INLINE void look(const Risk& risk, const Stop* stop, Solution& best) {
        const R rows = rows_;
        std::fill(v_.begin(), v_.end(), 0.0);
        in_pieces(n_, rows_a_piece, stop, [&](Index begin, Index end) STEELYARD_INLINE_LAMBDA {
            for (Index i = begin; i < end; ++i) {
                look_ahead(rows, i, end);
                const auto x = rows.row(i);
                m_[i] = risk.y[i] * x.dot(w_.data());
                const double force = risk.cost[i] * b_[i] * risk.y[i];
                if (force != 0) x.add_to(v_.data(), force);
            }
        });
        const double primal = squared_norm(w_) / 2 + empirical<L>(risk.cost, n_, m_.data(), stop);
        const double dual = dual_terms<L>(risk.cost, n_, b_.data(), stop) - squared_norm(v_) / 2;
        best.offer_primal(primal, w_);
        if (best.offer_dual(dual, b_)) best.pull = v_;
        w_ = v_;
        best.passes += 1;
        closing_.see(primal, dual, best.passes);
        active_.clear();
        in_pieces(n_, rows_a_piece, stop, [&](Index begin, Index end) STEELYARD_INLINE_LAMBDA {
            for (Index i = begin; i < end; ++i)
                if (risk.cost[i] > 0 && !at_rest(b_[i], DualCoordinate<L>::gradient(b_[i], m_[i]), 0.0))
                    active_.push_back(i);
        });
    }

    // The share is at a bound and the gradient pushes it further out by more than `slack`.
    static STEELYARD_INLINE bool at_rest(double b, double gradient, double slack) {
        if constexpr (L::kind == LossKind::logistic) return false;
        return (b <= 0 && gradient < -slack) || (b >= L::largest_share && gradient > slack);
    }

    // True when the projected gradients agree to `spread`.
    STEELYARD_INLINE bool sweeps(const Risk& risk, double spread, const Stopping& stopping, double& passes) {
        double slack = HUGE_VAL;
        const double enough = std::min(stopping.max_passes, passes + sweeping_.passes_between_looks);
        while (passes < enough) {
            passes += static_cast<double>(active_.size()) / static_cast<double>(n_);
            const double largest = one_sweep(risk, slack, stopping.stop);
            if (spread_ <= spread || active_.empty()) return true;
            slack = largest > 0 ? largest : HUGE_VAL;
        }
        return false;
    }

    STEELYARD_INLINE void shuffle(const Stop* stop) {
        const Index size = static_cast<Index>(active_.size());
        in_pieces(size, rows_a_piece, stop, [&](Index begin, Index end) STEELYARD_INLINE_LAMBDA {
            for (Index k = begin; k < end; ++k) std::swap(active_[k], active_[k + shuffler_.below(size - k)]);
        });
    }

    // Every active row once, in random order. Sets spread_, and returns the largest projected gradient.
    STEELYARD_INLINE double one_sweep(const Risk& risk, double slack, const Stop* stop) {
        constexpr Index ahead = 8;  // rows, as in `look_ahead`: sweeps visit them in random order
        const R rows = rows_;
        double high = -HUGE_VAL, low = HUGE_VAL;
        shuffle(stop);
        StopEvery ask(stop, rows_a_piece);
        Index size = static_cast<Index>(active_.size());
        for (Index k = 0; k < size; ++k) {
            ask();
            if (k + ahead < size) rows.prefetch(active_[k + ahead]);
            const Index i = active_[k];
            const auto x = rows.row(i);
            const double gradient = DualCoordinate<L>::gradient(b_[i], risk.y[i] * x.dot(w_.data()));
            if (at_rest(b_[i], gradient, slack)) {
                active_[k--] = active_[--size];
                continue;
            }
            const double projected = at_rest(b_[i], gradient, 0.0) ? 0 : gradient;
            high = std::max(high, projected);
            low = std::min(low, projected);
            if (std::fabs(projected) < sweeping_.no_closer) continue;
            const double before = b_[i];
            b_[i] = DualCoordinate<L>::best(before, gradient, risk.cost[i] * square_[i]);
            x.add_to(w_.data(), risk.cost[i] * (b_[i] - before) * risk.y[i]);
        }
        active_.resize(static_cast<std::size_t>(size));
        spread_ = size > 0 ? high - low : 0;
        return std::max(high, -low);
    }

    const R& rows_;
    const std::vector<double>& square_;
    Index n_;
    std::vector<double> w_, v_, m_, b_;
    std::vector<Index> active_;
    Shuffler shuffler_{0};
    Sweeping sweeping_;
    Closing closing_;
    double spread_ = 0;
};

}  // namespace steelyard
