// The rows on the margin, and the Cholesky factor of their Gram matrix, one row in or out at a time.
//
//   Z = (s_k x_k) for the members k,   G = Z Z' = F F'
//
// `solve(base, target)` finds the coefficients a with  Z (base + Z'a) = target  and returns  base + Z'a : with target = 0 that is
// the part of base off the span of the members, with target = the margins it is the model that keeps them there. One step of
// refinement with the true rows follows (unless it is a direction that needs none), and its size tells how far the factor has degraded.
// A row that lies in the span is not taken: one whose Schur complement, what is left of |z|^2 off the span, is below `dependent` times
// |z|^2. The factor gives it as a difference that is all rounding near there, so below `doubtful` it is had from the rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "rows.hpp"

namespace steelyard {

// Lower triangular, column by column, so that every inner loop runs along a column.
class GrowingCholesky {
   public:
    Index size() const { return size_; }
    void clear() { size_ = 0; }

    // What is left of |z|^2 off the span, with v = Z z; the new row of the factor is kept for `append`.
    STEELYARD_CLONES double schur(const double* v, double square) {
        reserve(size_ + 1);
        row_.assign(v, v + size_);
        double left = square;
        for (Index j = 0; j < size_; ++j) {
            const double* column = at(j);
            const double x = row_[j] / column[j];
            row_[j] = x;
            left -= x * x;
            for (Index i = j + 1; i < size_; ++i) row_[i] -= x * column[i];
        }
        return left;
    }

    // The squares of its diagonal.
    double smallest() const {
        double least = HUGE_VAL;
        for (Index j = 0; j < size_; ++j) least = std::min(least, at(j)[j]);
        return least * least;
    }
    double largest() const {
        double most = 0;
        for (Index j = 0; j < size_; ++j) most = std::max(most, at(j)[j]);
        return most * most;
    }

    void append(double left) {
        for (Index j = 0; j < size_; ++j) at(j)[size_] = row_[j];
        at(size_)[size_] = std::sqrt(left);
        ++size_;
    }

    // Without member k the rows below it get the rank-one update  F F' + l l',  l the k-th column below the diagonal.
    STEELYARD_CLONES void remove(Index k) {
        const Index rest = size_ - 1 - k;
        row_.assign(at(k) + k + 1, at(k) + size_);
        for (Index j = 0; j < k; ++j) std::memmove(at(j) + k, at(j) + k + 1, sizeof(double) * static_cast<std::size_t>(rest));
        for (Index j = k; j < size_ - 1; ++j)
            std::memcpy(at(j) + j, at(j + 1) + j + 1, sizeof(double) * static_cast<std::size_t>(size_ - 1 - j));
        --size_;
        for (Index j = k; j < size_; ++j) {
            double* column = at(j);
            double* l = row_.data() - k;
            const double r = std::sqrt(column[j] * column[j] + l[j] * l[j]), c = column[j] / r, s = l[j] / r;
            column[j] = r;
            for (Index i = j + 1; i < size_; ++i) {
                const double f = column[i];
                column[i] = c * f + s * l[i];
                l[i] = c * l[i] - s * f;
            }
        }
    }

    STEELYARD_CLONES void solve(double* b) const {
        for (Index j = 0; j < size_; ++j) {
            const double* column = at(j);
            const double x = b[j] /= column[j];
            for (Index i = j + 1; i < size_; ++i) b[i] -= x * column[i];
        }
        for (Index j = size_ - 1; j >= 0; --j) {
            const DenseRow<double> below{at(j) + j + 1, size_ - 1 - j};
            b[j] = (b[j] - below.dot(b + j + 1)) / at(j)[j];
        }
    }

   private:
    double* at(Index j) { return f_.data() + j * stride_; }
    const double* at(Index j) const { return f_.data() + j * stride_; }

    void reserve(Index size) {
        if (size <= stride_) return;
        const Index stride = 2 * size + 16;
        std::vector<double> f(static_cast<std::size_t>(stride * stride));
        for (Index j = 0; j < size_; ++j) std::copy(at(j) + j, at(j) + size_, f.data() + j * stride + j);
        f_.swap(f);
        stride_ = stride;
    }

    Index size_ = 0, stride_ = 0;
    std::vector<double> f_, row_;
};

template <class R>
class MarginSet {
   public:
    static constexpr double dependent = 1e-14, doubtful = 1e-4, degraded = 1e-6, ample = 1e-2;

    MarginSet(const R& rows, const double* sign) : rows_(rows), sign_(sign) {}

    const std::vector<Index>& members() const { return members_; }
    Index size() const { return static_cast<Index>(members_.size()); }
    double square(Index i) const {
        double sum = 0;
        rows_.row(i).each([&](Index, double value) { sum += value * value; });
        return sum;
    }

    // False, and nothing changes, if row i lies in the span of the members.
    bool add(Index i) { return add(i, dependent); }
    // For a row that is known to belong.
    void add_always(Index i) { add(i, -HUGE_VAL); }

    void remove(Index position) {
        factor_.remove(position);
        members_.erase(members_.begin() + position);
    }

    void assign(const std::vector<Index>& members) {
        factor_.clear();
        members_.clear();
        for (Index i : members) add_always(i);
    }

    // a and out = base + Z'a with Z out = target (null: zero). True if the factor had degraded and was made again.
    bool solve(const std::vector<double>& base, const double* target, std::vector<double>& a, std::vector<double>& out) {
        if (solve_refined(base, target, a, out) <= degraded) return false;
        refactor();
        solve_refined(base, target, a, out);
        return true;
    }

   private:
    // Returns the relative size of the refinement.
    STEELYARD_CLONES double solve_refined(const std::vector<double>& base, const double* target, std::vector<double>& a, std::vector<double>& out) {
        const Index m = size();
        out = base;
        a.assign(static_cast<std::size_t>(m), 0.0);
        double first = 0, second = 0;
        for (int round = 0; round < 2 && m > 0; ++round) {
            if (round == 1 && !target && accurate(base, out)) return 0;
            work_.resize(static_cast<std::size_t>(m));
            for (Index k = 0; k < m; ++k)
                work_[k] = (target ? target[members_[k]] : 0.0) - sign_[members_[k]] * rows_.row(members_[k]).dot(out.data());
            factor_.solve(work_.data());
            double& size = round ? second : first;
            for (Index k = 0; k < m; ++k) {
                a[k] += work_[k];
                size = std::max(size, std::fabs(work_[k]));
                rows_.row(members_[k]).add_to(out.data(), sign_[members_[k]] * work_[k]);
            }
        }
        return first > 0 ? second / first : 0;
    }

    void refactor() { assign(std::vector<Index>(members_)); }

    bool add(Index i, double threshold) {
        const double whole = square(i);
        products(i);
        double left = factor_.schur(work_.data(), whole);
        if (!(left > doubtful * whole)) left = off_span();
        if (!(left > threshold * whole)) return false;
        if (!(left > 1e-15 * whole)) left = 1e-15 * whole;
        factor_.append(left);
        members_.push_back(i);
        return true;
    }

    // Whether a direction needs no refinement: members far from dependent, and an ample part of `base` left, so that nothing cancels.
    bool accurate(const std::vector<double>& base, const std::vector<double>& out) const {
        if (factor_.smallest() < ample * factor_.largest()) return false;
        double whole = 0, left = 0;
        for (std::size_t j = 0; j < out.size(); ++j) {
            whole += base[j] * base[j];
            left += out[j] * out[j];
        }
        return left > ample * whole;
    }

    // |z - Z'c|^2 with z in `wide_` and c = G^-1 Z z, taken off twice so that the factor's own error is gone.
    STEELYARD_CLONES double off_span() {
        for (int round = 0; round < 2; ++round) {
            for (Index k = 0; k < size(); ++k) work_[k] = sign_[members_[k]] * rows_.row(members_[k]).dot(wide_.data());
            factor_.solve(work_.data());
            for (Index k = 0; k < size(); ++k) rows_.row(members_[k]).add_to(wide_.data(), -sign_[members_[k]] * work_[k]);
        }
        double left = 0;
        for (double x : wide_) left += x * x;
        return left;
    }

    STEELYARD_CLONES void products(Index i) {
        wide_.assign(static_cast<std::size_t>(rows_.n_cols), 0.0);
        rows_.row(i).add_to(wide_.data(), sign_[i]);
        work_.resize(static_cast<std::size_t>(size()) + 1);
        for (Index k = 0; k < size(); ++k) work_[k] = sign_[members_[k]] * rows_.row(members_[k]).dot(wide_.data());
    }

    const R& rows_;
    const double* sign_;
    GrowingCholesky factor_;
    std::vector<Index> members_;
    std::vector<double> work_, wide_;
};

}  // namespace steelyard
