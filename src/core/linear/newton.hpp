// Primal Newton, for few columns.
//
// Squared hinge and logistic are minimised as they stand. The hinge has a kink, so near z = 1 - m = 0 it is rounded to
//   max over b in [0, 1] of  b z - mu (b - 1/2)^2 + mu / 4,     b = clip(1/2 + z / (2 mu)),
// whose share b is feasible for the dual of the hinge itself: every step carries a certificate for the true problem. At
// the optimum of the rounded one w = v(b), and what is left of the gap is
//   rounding = sum_i C_i (hinge(z_i) - b_i z_i),
// a sum over the rows with |z| < mu that shrinks like mu^2. So mu is not guessed but set from the gap that is wanted.
//
// A step costs one pass for the direction, at most one for the gradient, and d^2 for each row with curvature.
#pragma once

#include "base/cholesky.hpp"
#include "linear/line_search.hpp"
#include "linear/risk.hpp"

namespace steelyard {

// The loss as Newton sees it: share and curvature, rounded for the hinge.
template <class L>
struct Rounded {
    double mu = 1, steepness = 0.5;  // 1 / (2 mu)

    void set(double width) {
        mu = width;
        steepness = 0.5 / width;
    }
    STEELYARD_INLINE double share(double m) const {
        if constexpr (L::kind == LossKind::hinge) {
            const double b = 0.5 + (1 - m) * steepness;
            return b < 0 ? 0 : (b > 1 ? 1 : b);
        } else {
            return L::share(m);
        }
    }
    STEELYARD_INLINE double curvature(double m) const {
        if constexpr (L::kind == LossKind::hinge) {
            return std::fabs(1 - m) < mu ? steepness : 0;
        } else {
            return L::curvature(m);
        }
    }
};

// The last row of H += c x x', that of the constant column.
template <class Row>
STEELYARD_INLINE void add_constant(const Row& x, double c, double* row) {
    if (x.constant == 0) return;
    const double scaled = c * x.constant;
    x.each([&](Index k, double value) STEELYARD_INLINE_LAMBDA { row[k] += scaled * value; });
}

// H += c x x' (d x d, lower triangle)
template <class T>
STEELYARD_INLINE void add_outer(const DenseRow<T>& x, double c, double* H, Index d) {
    for (Index j = 0; j < x.size; ++j) {
        const double scaled = c * static_cast<double>(x.values[j]);
        double* row = H + j * d;
        for (Index k = 0; k <= j; ++k) row[k] += scaled * static_cast<double>(x.values[k]);
    }
    add_constant(x, c, H + x.size * d);
}

template <class T>
STEELYARD_INLINE void add_outer(const SparseRow<T>& x, double c, double* H, Index d) {
    x.columns.visit([&](const auto* columns) STEELYARD_INLINE_LAMBDA {
        for (Index j = 0; j < x.size; ++j) {
            const double scaled = c * static_cast<double>(x.values[j]);
            double* row = H + columns[j] * d;
            for (Index k = 0; k < x.size; ++k)
                if (columns[k] <= columns[j]) row[columns[k]] += scaled * static_cast<double>(x.values[k]);
        }
    });
    add_constant(x, c, H + x.constant_at * d);
}

// What steers Newton on the hinge: how mu is fitted to what the gap may still be. The rounding error falls like mu^2,
// hence the square roots in `adjust`.
struct Rounding {
    // Once, at the start: mu goes to where the rounding is half of the wanted gap, but by no more than these factors. A
    // narrow rounding helps near the solution and hurts far from it.
    double narrowest_cold = 0.25, narrowest_warm = 0.02, widest = 8;
    double budget = 0.5;  // the part of the wanted gap that rounding may take; the rest is for w not being v(b)
    // Later only down, when the rounded problem is solved (the residual is below this part of the rounding) and the
    // budget is exceeded by more than a fifth: to four fifths of the budget, by a factor within these bounds.
    double solved = 0.3, exceeded = 1.2, aim = 0.8, most = 0.1, least = 0.7;
};

template <class L, class R>
class Newton {
public:
    explicit Newton(const R& rows)
        : rows_(rows),
          n_(rows.n_rows),
          d_(rows.n_cols),
          m_(n_),
          s_(n_),
          share_(n_),
          w_(d_),
          v_(d_),
          p_(d_),
          H_(d_ * d_) {}

    STEELYARD_CLONES Solution solve(const Risk& risk, const Stopping& stopping, const Solution* start) {
        Solution best;
        const bool warm = start && !start->w.empty();
        if (warm)
            w_ = start->w;
        else
            std::fill(w_.begin(), w_.end(), 0.0);
        loss_.set(warm ? start->rounding : 1.0);
        narrowest_ = warm ? rounding_.narrowest_warm : rounding_.narrowest_cold;
        margins(rows_, risk.y, w_.data(), m_.data(), stopping.stop);
        best.passes = 1;
        best.status = {Ended::limit, "Newton's steps are used up"};
        bool fresh = true;
        for (int step = 0; step < most_steps;) {
            const double rounding = certify(risk, stopping.stop, best);
            best.rounding = loss_.mu;
            if (best.reaches(stopping.tol)) return best;
            if (best.passes >= stopping.max_passes) return ended(best, {Ended::limit, out_of_passes});
            if (adjust(rounding, rounding_.budget * stopping.tol * best.primal, fresh)) continue;
            if (!direction(risk, stopping.stop))
                return ended(best, Status::trouble("the Hessian of a Newton step is not positive definite"));
            const double t = search(risk, stopping.stop);
            if (!(t > 0)) return ended(best, Status::trouble("no step along Newton's direction goes down"));
            for (Index j = 0; j < d_; ++j) w_[j] += t * p_[j];
            for (Index i = 0; i < n_; ++i) m_[i] += t * s_[i];
            ++step;
        }
        return best;
    }

private:
    // Ten to forty do on every set of benchmarks/batch.py; whoever needs more is cycling, and coordinate descent goes
    // on from there.
    static constexpr int most_steps = 200;
    // Of the slope at the start, what may be left at the end of a line search: an exact one costs more passes over the
    // margins than it saves steps.
    static constexpr double slope_left = 0.1;

    static Solution ended(Solution& best, const Status& status) {
        best.status = status;
        return std::move(best);
    }

    // Shares, v, primal and dual at the current margins. Returns the part of the gap that comes from rounding.
    STEELYARD_INLINE double certify(const Risk& risk, const Stop* stop, Solution& best) {
        std::fill(v_.begin(), v_.end(), 0.0);
        const R rows = rows_;
        const Rounded<L> loss = loss_;
        double primal = 0, dual = 0, rounding = 0;
        in_pieces(n_, rows_a_piece, stop, [&](Index begin, Index end) STEELYARD_INLINE_LAMBDA {
            for (Index i = begin; i < end; ++i) {
                look_ahead(rows_, i, end);
                const double c = risk.cost[i], b = loss.share(m_[i]);
                const double value = L::value(m_[i]), term = L::dual_term(b);
                share_[i] = b;
                primal += c * value;
                dual += c * term;
                rounding += c * (value - term + b * m_[i]);
                if (c * b != 0) rows.row(i).add_to(v_.data(), c * b * risk.y[i]);
            }
        });
        best.passes += 1;
        best.offer_primal(primal + squared_norm(w_) / 2, w_);
        best.offer_dual(dual - squared_norm(v_) / 2, share_);
        return rounding;
    }

    // Fits mu to the budget: see `Rounding`. True if it has moved.
    STEELYARD_INLINE bool adjust(double rounding, double budget, bool& fresh) {
        if (L::kind != LossKind::hinge) return false;
        double residual = 0;
        for (Index j = 0; j < d_; ++j) residual += (w_[j] - v_[j]) * (w_[j] - v_[j]);
        const Rounding& r = rounding_;
        double factor = 1;
        if (fresh) {
            const double wanted = std::sqrt(budget / std::max(rounding, std::numeric_limits<double>::min()));
            factor = std::max(narrowest_, std::min(r.widest, wanted));
        } else if (residual / 2 < r.solved * rounding && rounding > r.exceeded * budget) {
            factor = std::max(r.most, std::min(r.least, std::sqrt(r.aim * budget / rounding)));
        }
        fresh = false;
        loss_.set(loss_.mu * factor);
        return factor != 1;
    }

    // p = -H^{-1} gradient, and s = its margins
    STEELYARD_INLINE bool direction(const Risk& risk, const Stop* stop) {
        std::fill(H_.begin(), H_.end(), 0.0);
        const R rows = rows_;
        const Rounded<L> loss = loss_;
        // A row costs up to d^2 here, so pieces are shorter.
        in_pieces(n_, rows_a_piece / 8, stop, [&](Index begin, Index end) STEELYARD_INLINE_LAMBDA {
            for (Index i = begin; i < end; ++i) {
                look_ahead(rows, i, end);
                const double c = risk.cost[i] * loss.curvature(m_[i]);
                if (c != 0) add_outer(rows.row(i), c, H_.data(), d_);
            }
        });
        for (Index j = 0; j < d_; ++j) {
            H_[j * d_ + j] += 1;
            p_[j] = v_[j] - w_[j];
        }
        if (!factor_.factor(H_.data(), d_)) return false;
        factor_.solve(p_.data());
        margins(rows_, risk.y, p_.data(), s_.data(), stop);
        return true;
    }

    STEELYARD_INLINE double search(const Risk& risk, const Stop* stop) const {
        double wp = 0, pp = 0;
        for (Index j = 0; j < d_; ++j) {
            wp += w_[j] * p_[j];
            pp += p_[j] * p_[j];
        }
        const Rounded<L> loss = loss_;
        const double *cost = risk.cost, *m = m_.data(), *s = s_.data();
        const auto slope = [=](double t) STEELYARD_INLINE_LAMBDA {
            const double pull = sum_over_rows(n_, stop, [=](Index i) STEELYARD_INLINE_LAMBDA {
                return cost[i] * loss.share(m[i] + t * s[i]) * s[i];
            });
            return wp + t * pp - pull;
        };
        return bracketed_root(slope, slope_left);
    }

    const R& rows_;
    Index n_, d_;
    Rounded<L> loss_;
    Rounding rounding_;
    double narrowest_ = rounding_.narrowest_cold;
    std::vector<double> m_, s_, share_, w_, v_, p_, H_;
    GrowingCholesky factor_;
};

}  // namespace steelyard
