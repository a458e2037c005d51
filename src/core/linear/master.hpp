// The bundle's master problem, in its dual: a quadratic over two capped simplices, by an active set that is kept warm.
//
//   primal     min over w  1/2 |w|^2 + sum_c cap_c max(0, max_j g_j.w + h_j)          (j over the cuts of side c)
//   dual       max over a  h.a - 1/2 a' G a,   a >= 0,  sum of a over side c <= cap_c,   G = Gram matrix of the cuts,
//              w = -sum_j a_j g_j
//
// The caps C c+ and C c- appear nowhere else, so one pool and one Gram matrix serve every cost pair and every C.
//
// A pivot walks towards the optimum on the support until a weight reaches zero or a cap fills; once there, a cap with
// a negative multiplier is let go, or the cut with the most to gain enters. On a tight side the moves are differences
// to a reference cut, so the sum is kept by construction and only the reduced Hessian is factored: the support's Gram
// matrix itself is often singular (one-hot columns) where the reduced one is not. Any feasible a is a valid bound, so
// the search may stop early.
#pragma once

#include <cmath>
#include <limits>

#include "base/cholesky.hpp"
#include "base/stop.hpp"
#include "linear/cuts.hpp"

namespace steelyard {

class Master {
public:
    explicit Master(const CutPool& pool) : pool_(&pool) {}

    // New caps: the old point, scaled side by side, is feasible again.
    void set_caps(double negative, double positive) {
        const double cap[2] = {negative, positive};
        for (std::size_t k = 0; k < support_.size(); ++k) {
            const int c = pool_->side(support_[k]);
            a_[k] *= cap_[c] > 0 ? cap[c] / cap_[c] : 0;
        }
        std::copy(cap, cap + 2, cap_);
        arrange();
    }

    // Improves a for at most max_pivots pivots and returns the dual value; done when no cut promises more than `slack`.
    double solve(double slack, int max_pivots, const Stop* stop = nullptr) {
        banned_.assign(static_cast<std::size_t>(pool_->size()), 0);
        for (int pivot = 0; pivot < max_pivots; ++pivot) {
            check(stop);
            if (!walk() || release()) continue;
            const Index entering = price(slack);
            if (entering < 0) break;
            support_.push_back(entering);
            a_.push_back(0);
            free_.push_back(size() - 1);
            factor_from(static_cast<Index>(free_.size()) - 1);
        }
        return value();
    }

    // w = -sum_j a_j g_j
    void primal(double* w) const {
        std::fill(w, w + pool_->columns(), 0.0);
        for (Index k = 0; k < size(); ++k) {
            const double* g = pool_->g(support_[k]);
            for (Index j = 0; j < pool_->columns(); ++j) w[j] -= a_[k] * g[j];
        }
    }

    // After cuts have been dropped from the pool, none of the support among them.
    void renumber(const std::vector<Index>& number) {
        for (Index& j : support_) j = number[static_cast<std::size_t>(j)];
    }

    const std::vector<Index>& support() const { return support_; }
    const std::vector<double>& weights() const { return a_; }

private:
    Index size() const { return static_cast<Index>(support_.size()); }
    int side(Index k) const { return pool_->side(support_[k]); }

    // h_j - (G a)_j: what a little more of cut j would gain.
    double gain(Index j) const {
        double sum = pool_->h(j);
        for (Index k = 0; k < size(); ++k) sum -= a_[k] * pool_->gram(j, support_[k]);
        return sum;
    }

    // Picks the references and factors the reduced Hessian anew; needed when a cut leaves or a cap fills or is let go.
    void arrange() {
        reference_[0] = reference_[1] = -1;
        free_.clear();
        for (Index k = 0; k < size(); ++k) {
            const int c = side(k);
            if (tight_[c] && reference_[c] < 0) {
                reference_[c] = k;
            } else {
                free_.push_back(k);
            }
        }
        for (int c = 0; c < 2; ++c) tight_[c] = reference_[c] >= 0;
        factor_from(0);
    }

    // (g_k - g_ref).(g_l - g_ref'), where the reference of a side that is not tight is the zero cut.
    double reduced(Index k, Index l) const {
        const Index rk = reference_[side(k)], rl = reference_[side(l)];
        double sum = pool_->gram(support_[k], support_[l]);
        if (rl >= 0) sum -= pool_->gram(support_[k], support_[rl]);
        if (rk >= 0) sum -= pool_->gram(support_[rk], support_[l]);
        if (rk >= 0 && rl >= 0) sum += pool_->gram(support_[rk], support_[rl]);
        return sum;
    }

    // Rows `first` .. of the Cholesky factor of the reduced Hessian; the rows above stand. Cuts that lie in each
    // other's span leave nothing on the diagonal but rounding: a ridge a little above that keeps the factor finite.
    void factor_from(Index first) {
        const Index n = static_cast<Index>(free_.size());
        const double ridge = 1e-14 * std::max(pool_->largest(), std::numeric_limits<double>::min());
        factor_.cut(first);
        step_.resize(static_cast<std::size_t>(n));
        for (Index i = first; i < n; ++i) {
            for (Index j = 0; j < i; ++j) step_[j] = reduced(free_[i], free_[j]);
            const double left = factor_.schur(step_.data(), reduced(free_[i], free_[i]));
            factor_.append(std::max(left, 0.0) + ridge);
        }
    }

    // move_ = from a to the optimum on the support. Solved for the difference: rounding errors then stay small against
    // the residual instead of against a.
    void aim() {
        const Index n = static_cast<Index>(free_.size());
        double base[2] = {0, 0};
        for (int c = 0; c < 2; ++c)
            if (tight_[c]) base[c] = gain(support_[reference_[c]]);
        step_.resize(static_cast<std::size_t>(n));
        for (Index i = 0; i < n; ++i) step_[i] = gain(support_[free_[i]]) - base[side(free_[i])];
        factor_.solve(step_.data());
        move_.assign(static_cast<std::size_t>(size()), 0.0);
        for (Index i = 0; i < n; ++i) {
            move_[free_[i]] = step_[i];
            const Index r = reference_[side(free_[i])];
            if (r >= 0) move_[r] -= step_[i];
        }
    }

    // True when the optimum on the support was reached, false when a weight or a cap blocked the way.
    bool walk() {
        if (support_.empty()) return true;
        aim();
        double length = 1, total[2] = {0, 0}, drift[2] = {0, 0};
        Index leaving = -1;
        int filling = -1;
        for (Index k = 0; k < size(); ++k) {
            total[side(k)] += a_[k];
            drift[side(k)] += move_[k];
            if (move_[k] < 0 && a_[k] + length * move_[k] < 0) {
                length = a_[k] / -move_[k];
                leaving = k;
            }
        }
        for (int c = 0; c < 2; ++c) {
            if (tight_[c] || !(drift[c] > 0) || total[c] + length * drift[c] <= cap_[c]) continue;
            length = std::max(0.0, (cap_[c] - total[c]) / drift[c]);
            filling = c;
        }
        for (Index k = 0; k < size(); ++k) a_[k] = std::max(0.0, a_[k] + length * move_[k]);
        if (filling >= 0) {
            tight_[filling] = true;
            arrange();
            return false;
        }
        if (leaving >= 0) drop(leaving, length == 0);
        return leaving < 0;
    }

    // A cut that left without having moved would enter again at once: not before the next call.
    void drop(Index k, bool ban) {
        if (ban) banned_[support_[k]] = 1;
        support_.erase(support_.begin() + k);
        a_.erase(a_.begin() + k);
        arrange();
    }

    // A cap whose multiplier is negative holds the point back.
    bool release() {
        for (int c = 0; c < 2; ++c) {
            nu_[c] = tight_[c] ? gain(support_[reference_[c]]) : 0;
            if (nu_[c] >= 0) continue;
            tight_[c] = false;
            arrange();
            return true;
        }
        return false;
    }

    // The cut outside the support with the most to gain if it took its whole cap, or -1.
    Index price(double slack) const {
        Index best = -1;
        double most = slack;
        for (Index j = 0; j < pool_->size(); ++j) {
            const int c = pool_->side(j);
            if (cap_[c] <= 0 || banned_[j]) continue;
            const double promise = cap_[c] * (gain(j) - nu_[c]);
            if (promise > most && std::find(support_.begin(), support_.end(), j) == support_.end()) {
                most = promise;
                best = j;
            }
        }
        return best;
    }

    // Rounding may carry a past a cap by a hair, and then it would bound nothing: all of a shrinks by one factor. (Each
    // side by its own would disturb w, where the two nearly cancel.)
    double value() const {
        std::vector<double> w(static_cast<std::size_t>(pool_->columns()));
        primal(w.data());
        double total[2] = {0, 0}, linear = 0, square = 0, factor = 1;
        for (Index k = 0; k < size(); ++k) {
            total[side(k)] += a_[k];
            linear += a_[k] * pool_->h(support_[k]);
        }
        for (double x : w) square += x * x;
        for (int c = 0; c < 2; ++c)
            if (total[c] > cap_[c]) factor = std::min(factor, cap_[c] / total[c]);
        return factor * linear - factor * factor * square / 2;
    }

    const CutPool* pool_;
    double cap_[2] = {0, 0}, nu_[2] = {0, 0};
    bool tight_[2] = {false, false};
    Index reference_[2] = {-1, -1};
    std::vector<Index> support_, free_;  // cuts with weight; positions of those that move on their own
    std::vector<double> a_, move_, step_;
    GrowingCholesky factor_;
    std::vector<char> banned_;
};

}  // namespace steelyard
