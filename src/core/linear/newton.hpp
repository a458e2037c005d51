// Newton's method on some of the rows, the others held by their tangent.
//
//   min over w   1/2 |w|^2 + sum over chosen rows of C_i loss(m_i) - o.w,     o = sum over all other rows of C_i b_i
//   y_i x_i
//
// with the shares b of the others as they were at the start: o is what the whole sum of forces v, known from a pass
// over all rows (lockstep.hpp), has more than that of the chosen ones. For the hinge the chosen rows are those near
// the margin, and the others change nothing as long as none of them comes there; for the smooth losses they are a
// sample that stands for all. Where all rows are chosen o is zero.
//
// Squared hinge and logistic are minimised as they stand. The hinge has a kink, so near z = 1 - m = 0 it is rounded to
//   max over b in [0, 1] of  b z + mu entropy(b) = mu log(1 + exp(z / mu)),     b = 1 / (1 + exp(-z / mu)),
// whose share b is feasible for the dual of the hinge itself: every step carries a certificate for the true problem. At
// the optimum of the rounded one w = v(b), and what is left of the gap is
//   rounding = sum_i C_i (hinge(z_i) - b_i z_i),
// a sum over the rows within some mu of the margin that shrinks like mu^2. So mu is not guessed but set from the gap
// that is wanted.
#pragma once

#include <memory>

#include "base/cholesky.hpp"
#include "linear/chosen.hpp"
#include "linear/conjugate.hpp"
#include "linear/line_search.hpp"
#include "linear/risk.hpp"

namespace steelyard {

// The loss as Newton sees it: share and curvature, rounded for the hinge.
template <class L>
struct Rounded {
    // In units of mu: further from the margin a share, within 1e-7 of 0 or 1, is 0 or 1.
    static constexpr double reach = 16;
    double mu, steepness;  // 1 / mu

    explicit Rounded(double width) : mu(width), steepness(1 / width) {}

    STEELYARD_INLINE double share(double m) const {
        if constexpr (L::kind == LossKind::hinge) {
            const double u = (1 - m) * steepness, far = std::fabs(u);
            const double e = far > reach ? 0.0 : exp_of_negative<6>(-far);
            return (u > 0 ? 1.0 : e) / (1 + e);
        } else {
            return L::share(m);
        }
    }
    // From the margin and its share. (Leaving out small curvatures costs more steps than it saves: in some directions,
    // as of rare one-hot columns, there are no others.)
    STEELYARD_INLINE double curvature(double m, double share) const {
        if constexpr (L::kind == LossKind::squared_hinge) {
            return L::curvature(m);
        } else {
            return share * (1 - share) * (L::kind == LossKind::hinge ? steepness : 1.0);
        }
    }
    // dual_term(share(m)), for the smooth losses by the equality of Fenchel and Young: no further logarithm.
    STEELYARD_INLINE double dual_term(double m, double value, double b) const {
        return L::kind == LossKind::hinge ? b : value + b * m;
    }
};

// What steers Newton on the hinge: how mu is fitted to what the gap may still be. The rounding error falls like mu^2,
// hence the square roots in `adjust`.
struct Rounding {
    // Once, at a warm start: mu goes to where the rounding is half of the wanted gap, but by no more than these
    // factors. A narrow rounding helps near the solution and hurts far from it.
    double narrowest = 0.02, widest = 8;
    double cold = 0.5;    // mu from w = 0, where z = 1: all rows have curvature
    double budget = 0.5;  // the part of the wanted gap that rounding may take; the rest is for w not being v(b)
    // Later only down, when the rounded problem is solved (the residual is below this part of the rounding) and the
    // budget is exceeded by more than a fifth: to four fifths of the budget, by a factor within these bounds.
    double solved = 0.3, exceeded = 1.2, aim = 0.8, most = 0.1, least = 0.7;
};

// What Newton is asked for, and what the rows that it does not see add.
struct Target {
    double tol;                   // on the gap, relative to the objective of all rows
    double most_steps;            // of Newton
    double widest_mu = HUGE_VAL;  // for the chosen rows to have all those that are rounded
    const double* v = nullptr;    // sum of C_i b_i y_i x_i over all rows at the start; null: there are no others
    double primal = 0;            // the objective of all rows at the start
    const Stop* stop = nullptr;
};

struct NewtonPoint {
    std::vector<double> w;
    double mu;
    bool warm;  // w is near a solution, so that mu may be fitted at once
};

// What the chosen rows say at one point.
struct Reading {
    double risk = 0;      // sum of C_i loss_i
    double rounding = 0;  // see above
};

// The loops over chosen rows, compiled for every vector unit.
template <class L, class Chosen>
struct NewtonLoops {
    static STEELYARD_CLONES void margins(const Chosen& rows, const double* w, double* m) {
        for (Index b = 0; b < rows.n_blocks(); ++b) rows.margins(b, w, m + b * block_rows);
    }

    // Sums, and four of them a column in v, which must be zero.
    static STEELYARD_CLONES Reading read(const Chosen& rows, const double* cost, const double* m, const Rounded<L> loss,
                                         double* share, double* v) {
        Lanes risk = lanes(0), rounding = lanes(0);
        for (Index b = 0; b < rows.n_blocks(); ++b) {
            double f[block_rows], value[block_rows], excess[block_rows];
            const double *c = cost + b * block_rows, *mb = m + b * block_rows;
            double* sb = share + b * block_rows;
            for (Index r = 0; r < block_rows; ++r) {
                const double s = loss.share(mb[r]), lost = L::value(mb[r]);
                sb[r] = s;
                f[r] = c[r] * s;
                value[r] = c[r] * lost;
                excess[r] = L::kind == LossKind::hinge ? c[r] * (lost - s * (1 - mb[r])) : 0.0;
            }
            for (Index r = 0; r < block_rows; r += 4) {
                risk += lanes_at(value + r);
                rounding += lanes_at(excess + r);
            }
            rows.pull(b, f, v);
        }
        return {sum_of(risk), sum_of(rounding)};
    }

    static STEELYARD_CLONES void hessian(const Chosen& rows, const double* cost, const double* m, const double* share,
                                         const Rounded<L> loss, Gram& gram) {
        gram.clear();
        for (Index b = 0; b < rows.n_blocks(); ++b) {
            double c[block_rows];
            const Index at = b * block_rows;
            for (Index r = 0; r < block_rows; ++r) c[r] = cost[at + r] * loss.curvature(m[at + r], share[at + r]);
            for (Index r = 0; r < block_rows; ++r)
                if (c[r] != 0) rows.add_to(gram, at + r, c[r]);
        }
        gram.flush();
    }

    static STEELYARD_CLONES void curvatures(Index n, const double* cost, const double* m, const double* share,
                                            const Rounded<L> loss, double* c) {
        STEELYARD_NO_OVERLAP
        for (Index i = 0; i < n; ++i) c[i] = cost[i] * loss.curvature(m[i], share[i]);
    }

    // sum of C_i b_i s_i at m + t s
    static STEELYARD_CLONES double force(Index n, const double* cost, const double* m, const double* s, double t,
                                         const Rounded<L> loss) {
        double sum[8] = {};
        for (Index i = 0; i < n; i += 8)  // n is a multiple of a block
            for (Index k = 0; k < 8; ++k) sum[k] += cost[i + k] * loss.share(m[i + k] + t * s[i + k]) * s[i + k];
        return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
    }

    static STEELYARD_CLONES void advance(Index n, double t, const double* s, const double* before, double* m) {
        STEELYARD_NO_OVERLAP
        for (Index i = 0; i < n; ++i) m[i] = before[i] + t * s[i];
    }
};

template <class L, class Chosen>
class Newton {
public:
    // Improves the point as far as the target asks for. The number of steps comes back, or -1 where numbers got out of
    // hand; the point then is as it was.
    int solve(const Chosen& rows, const std::vector<double>& cost, const Target& target, NewtonPoint& point) {
        begin(rows, cost, point);
        read(target.stop);
        settle(target);
        bool fresh = point.warm;
        decrement_ = HUGE_VAL;
        for (int step = 0;; ++step) {
            double wanted = target.tol * objective();
            if (!std::isfinite(wanted) || !all_finite(v_)) return -1;
            while (!is_enough(wanted) && adjust(target, how_.budget * wanted, fresh)) read(target.stop);
            if (is_enough(wanted) || step >= target.most_steps || !(wanted > 0)) return leave(point, step);
            if (!direction(wanted, target.stop)) return -1;
            if (!go(target.stop)) return leave(point, step);
        }
    }
    const std::vector<double>& margins() const { return m_; }

private:
    using Loops = NewtonLoops<L, Chosen>;

    // Of the gap that is wanted, what the chosen rows alone may leave.
    static constexpr double enough = 0.75;
    // Of the slope at the start, what may be left at the end of a line search: an exact one costs more passes over the
    // margins than it saves steps.
    static constexpr double slope_left = 0.1;
    // Where p is found by products: of the residual what they may leave, a tenth as in LIBLINEAR's Newton, and of the
    // square that would be enough for the gap.
    static constexpr double step_left = 0.1, gap_left = 0.25;

    Index size() const { return rows_->n_blocks() * block_rows; }
    double objective() const { return base_ + squared_norm(w_) / 2 + at_.risk - dot(others_, w_); }
    bool is_enough(double wanted) const { return at_.rounding + residual() / 2 <= enough * wanted; }

    static double dot(const std::vector<double>& a, const std::vector<double>& b) {
        double sum = 0;
        for (std::size_t j = 0; j < a.size(); ++j) sum += a[j] * b[j];
        return sum;
    }
    double residual() const {
        double sum = 0;
        for (std::size_t j = 0; j < w_.size(); ++j) sum += (w_[j] - v_[j]) * (w_[j] - v_[j]);
        return sum;
    }

    void begin(const Chosen& rows, const std::vector<double>& cost, const NewtonPoint& point) {
        rows_ = &rows;
        cost_ = cost.data();
        w_ = point.w;
        mu_ = point.mu;
        const auto n = static_cast<std::size_t>(size()), d = static_cast<std::size_t>(rows.d);
        m_.resize(n);
        s_.resize(n);
        share_.resize(n);
        before_.resize(n);
        p_.resize(d);
        v_.resize(d);
        others_.assign(d, 0.0);
        base_ = 0;
        products_ = true;
        if (H_.size() != d * d) {
            H_.assign(d * d, 0.0);
            gram_ = std::make_unique<Gram>(rows.d);
        }
        Loops::margins(rows, w_.data(), m_.data());
    }

    // Risk, rounding and v at the current margins.
    void read(const Stop* stop) {
        check(stop);
        sums_.assign(4 * v_.size(), 0.0);
        at_ = Loops::read(*rows_, cost_, m_.data(), Rounded<L>(mu_), share_.data(), sums_.data());
        for (std::size_t j = 0; j < v_.size(); ++j) v_[j] = sum_of(lanes_at(sums_.data() + 4 * j)) + others_[j];
    }

    // At the start: what the other rows add to v and to the objective.
    void settle(const Target& target) {
        if (!target.v) return;
        for (std::size_t j = 0; j < v_.size(); ++j) {
            others_[j] = target.v[j] - v_[j];
            v_[j] = target.v[j];
        }
        base_ = target.primal - objective();
    }

    // Fits mu to the budget: see `Rounding`. True if it has moved.
    bool adjust(const Target& target, double budget, bool& fresh) {
        if (L::kind != LossKind::hinge) return false;
        double factor = 1;
        if (fresh) {
            const double wanted = std::sqrt(budget / std::max(at_.rounding, std::numeric_limits<double>::min()));
            factor = std::max(how_.narrowest, std::min(how_.widest, wanted));
            factor = std::min(factor, std::max(1.0, target.widest_mu / mu_));
        } else if (std::min(residual() / 2, decrement_) < how_.solved * at_.rounding &&
                   at_.rounding > how_.exceeded * budget) {
            factor = std::max(how_.most, std::min(how_.least, std::sqrt(how_.aim * budget / at_.rounding)));
        }
        fresh = false;
        if (factor != 1) decrement_ = HUGE_VAL;
        mu_ *= factor;
        return factor != 1;
    }

    // p = -H^{-1} gradient, and s = its margins
    bool direction(double wanted, const Stop* stop) {
        check(stop);
        force_.resize(v_.size());
        for (std::size_t j = 0; j < v_.size(); ++j) force_[j] = v_[j] - w_[j];
        if (!by_products(wanted, stop) && !by_factor()) return false;
        Loops::margins(*rows_, p_.data(), s_.data());
        return true;
    }

    bool by_factor() {
        const Index d = rows_->d;
        Loops::hessian(*rows_, cost_, m_.data(), share_.data(), Rounded<L>(mu_), *gram_);
        gram_->copy_to(H_.data());
        for (Index j = 0; j < d; ++j) H_[j * d + j] += 1;
        if (!factor_.factor(H_.data(), d)) return false;
        p_ = force_;
        factor_.solve(p_.data());
        return true;
    }

    // On sparse rows, as close as a step of Newton is worth, and no closer than the gap needs. Where once that was
    // dear it is not tried again.
    bool by_products(double wanted, const Stop* stop) {
        if constexpr (Chosen::is_sparse && L::kind != LossKind::hinge) {
            if (!products_) return false;
            curvature_.resize(m_.size());
            Loops::curvatures(size(), cost_, m_.data(), share_.data(), Rounded<L>(mu_), curvature_.data());
            const double left = std::max(step_left * step_left * residual(), gap_left * 2 * enough * wanted);
            products_ = conjugate_.solve(*rows_, curvature_.data(), {force_, left, stop}, p_);
            return products_;
        }
        return false;
    }

    // Along p: the whole step, if little slope is left there; else as far as the slope says. False if nowhere.
    bool go(const Stop* stop) {
        const double wp = dot(w_, p_) - dot(others_, p_), pp = squared_norm(p_);
        const double at_start = dot(w_, p_) - dot(v_, p_);
        if (!(at_start < 0)) return false;
        before_.swap(m_);
        move(1.0, 1.0);
        read(stop);
        double t = 1;
        if (const double left = dot(w_, p_) - dot(v_, p_); !(std::fabs(left) <= slope_left * -at_start)) {
            const Rounded<L> loss(mu_);
            const auto slope = [&](double l) {
                check(stop);
                return wp + l * pp - Loops::force(size(), cost_, before_.data(), s_.data(), l, loss);
            };
            t = bracketed_root(slope, at_start, left, slope_left);
            if (!(t > 0) || !std::isfinite(t)) return false;
            move(t, t - 1);
            read(stop);
        }
        decrement_ = t > 0.5 ? -at_start / 2 : HUGE_VAL;
        return true;
    }

    // m = before + t s, and w further by `more` of p.
    void move(double t, double more) {
        for (std::size_t j = 0; j < w_.size(); ++j) w_[j] += more * p_[j];
        Loops::advance(size(), t, s_.data(), before_.data(), m_.data());
    }

    int leave(NewtonPoint& point, int steps) const {
        point.w = w_;
        point.mu = mu_;
        return steps;
    }

    const Chosen* rows_ = nullptr;
    const double* cost_ = nullptr;
    Rounding how_;
    Reading at_;
    double mu_ = 1, base_ = 0;
    double decrement_ = HUGE_VAL;  // how much lower the last full step, by its own model, could get
    std::vector<double> m_, s_, share_, before_, w_, v_, p_, H_, others_, sums_, force_, curvature_;
    bool products_ = true;  // may find p
    std::unique_ptr<Gram> gram_;
    GrowingCholesky factor_;
    ConjugateDirection<Chosen> conjugate_;
};

}  // namespace steelyard
