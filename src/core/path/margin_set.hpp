// The rows on the margin, and the Cholesky factor of their Gram matrix, one row in or out at a time.
//
//   Z = (s_k x_k) for the members k,   G = Z Z' = F F'
//
// `solve(base, target)` finds the coefficients a with  Z (base + Z'a) = target  and returns  base + Z'a : with target =
// 0 that is the part of base off the span of the members, with target = the margins it is the model that keeps them
// there. One step of refinement with the true rows follows (unless it is a direction that needs none), and its size
// tells how far the factor has degraded. A row that lies in the span is not taken: one whose Schur complement, what is
// left of |z|^2 off the span, is below `dependent` times |z|^2. The factor gives it as a difference that is all
// rounding near there, so below `doubtful` it is had from the rows.
#pragma once

#include "path/space.hpp"

namespace steelyard {

template <class S>
class MarginSet {
public:
    // A Schur complement below `doubtful` of |z|^2 has lost four digits to cancellation, and is had from the rows. A
    // refinement above `degraded` says that the factor has lost ten. With `ample` left of the diagonal and of the base
    // no more than two digits were lost, and a direction needs no refinement.
    static constexpr double doubtful = 1e-4, degraded = 1e-6, ample = 1e-2;
    static constexpr double sound = 1e-6;
    static constexpr double least = 1e-30;  // of |z|^2, so that a row that must belong has a root: squared rounding

    MarginSet(const S& space, const double* sign, const Stop* stop = nullptr)
        : space_(space), sign_(sign), stop_(stop), rows_(space, members_, sign) {}
    MarginSet(const MarginSet&) = delete;

    const std::vector<Index>& members() const { return members_; }
    Index size() const { return static_cast<Index>(members_.size()); }
    const typename S::Members& rows() const { return rows_; }

    // False, and nothing changes, if row i lies in the span of the members: so does every row if these are as many as
    // the space has dimensions, whatever rounding leaves of it.
    bool add(Index i) {
        if (size() >= space_.size()) return false;
        const double left = off_members(i);
        if (!(left > S::dependent * space_.square(i))) return false;
        join(i, left);
        rows_.enter(i);
        return true;
    }
    // For a row that is known to belong.
    void add_always(Index i) {
        join(i, off_members(i));
        rows_.enter(i);
    }

    void remove(Index position) {
        factor_.remove(position);
        rows_.leave(members_[position]);
        members_.erase(members_.begin() + position);
    }

    void assign(const std::vector<Index>& members) {
        factor_.clear();
        for (Index i : members_) rows_.leave(i);
        members_.clear();
        for (Index i : members) {
            check(stop_);
            add_always(i);
        }
    }

    // a and out = base + Z'a with Z out = target (null: zero). True if the factor had degraded and was made again.
    bool solve(const PathVector& base, const double* target, std::vector<double>& a, PathVector& out) {
        if (start_and_solve(base, target, a, out) <= degraded) return false;
        refactor();
        start_and_solve(base, target, a, out);
        return true;
    }

    // Whether the factor alone is enough for a direction: with pivots not more than this share apart a solution with it
    // has ten digits.
    bool is_sound() const { return factor_.smallest() >= sound * factor_.largest(); }

    // Takes off what a direction has along the members: out += Z'c, a += c with Z out = 0 then.
    STEELYARD_CLONES void take_off(std::vector<double>& a, PathVector& out) {
        for (Index k = 0; k < size(); ++k) work_[k] = -sign_[members_[k]] * rows_.value(members_[k], out);
        factor_.solve(work_.data());
        for (Index k = 0; k < size(); ++k) {
            a[k] += work_[k];
            rows_.add(out, members_[k], sign_[members_[k]] * work_[k]);
        }
    }

    // The change of a that would put the members of the model `out` on their targets, by the factor.
    STEELYARD_CLONES void correction(const double* target, const PathVector& out, std::vector<double>& change) const {
        for (Index k = 0; k < size(); ++k)
            change[k] = target[members_[k]] - sign_[members_[k]] * rows_.value(members_[k], out);
        factor_.solve(change.data());
    }

    // Column k of G^-1.
    void inverse_column(Index k, std::vector<double>& column) const {
        column.assign(members_.size(), 0.0);
        column[k] = 1;
        factor_.solve(column.data(), k);
    }

    // base + Z'a
    void combine(const PathVector& base, const std::vector<double>& a, PathVector& out) const {
        rows_.start(base, out);
        add_rows(a, out);
    }
    // out += Z'a
    STEELYARD_CLONES void add_rows(const std::vector<double>& a, PathVector& out) const {
        for (Index k = 0; k < size(); ++k) rows_.add(out, members_[k], sign_[members_[k]] * a[k]);
    }

private:
    // Returns the relative size of the refinement. All memory is taken here: nothing may be thrown in clones.
    double start_and_solve(const PathVector& base, const double* target, std::vector<double>& a, PathVector& out) {
        rows_.start(base, out);
        a.assign(members_.size(), 0.0);
        work_.resize(members_.size());
        return solve_refined(base, target, a, out);
    }

    STEELYARD_CLONES double solve_refined(const PathVector& base, const double* target, std::vector<double>& a,
                                          PathVector& out) {
        const Index m = size();
        double first = 0, second = 0;
        for (int round = 0; round < 2 && m > 0; ++round) {
            if (round == 1 && !target && accurate(base, out)) return 0;
            for (Index k = 0; k < m; ++k)
                work_[k] = (target ? target[members_[k]] : 0.0) - sign_[members_[k]] * rows_.value(members_[k], out);
            factor_.solve(work_.data());
            double& size = round ? second : first;
            for (Index k = 0; k < m; ++k) {
                a[k] += work_[k];
                size = std::max(size, std::fabs(work_[k]));
                rows_.add(out, members_[k], sign_[members_[k]] * work_[k]);
            }
        }
        return first > 0 ? second / first : 0;
    }

    // Whether a direction needs no refinement: members far from dependent, and an ample part of `base` left.
    bool accurate(const PathVector& base, const PathVector& out) const {
        return factor_.smallest() >= ample * factor_.largest() && rows_.is_ample(base, out, ample);
    }

    // The same members in the same order, so that models and directions stay what they are.
    void refactor() {
        std::vector<Index> members;
        members.swap(members_);
        factor_.clear();
        for (Index i : members) {
            check(stop_);
            join(i, off_members(i));
        }
    }

    // The Schur complement of row i. Its products with the members stay in work_.
    double off_members(Index i) {
        const double whole = space_.square(i);
        work_.resize(static_cast<std::size_t>(size()) + 1);
        (rows_.*may_throw(&S::Members::products))(i, work_);
        const double left = factor_.schur(work_.data(), whole);
        return left > doubtful * whole ? left : (rows_.*may_throw(&S::Members::off_span))(i, factor_, work_);
    }

    // Whatever rounding has left of it, if only NaN: a has a place for every member.
    void join(Index i, double left) {
        const double at_least = least * space_.square(i);
        factor_.append(left > at_least ? left : at_least);
        members_.push_back(i);
    }

    const S& space_;
    const double* sign_;
    const Stop* stop_;
    GrowingCholesky factor_;
    std::vector<Index> members_;
    typename S::Members rows_;
    std::vector<double> work_;
};

}  // namespace steelyard
