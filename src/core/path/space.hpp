// Where a path's models live: the space of the features, or that of a kernel's functions (path/kernel_space.hpp).
//
// The path needs sums of rows (forces), models  base + sum of the members' rows,  and inner products of a row with
// either. In the space of the features both are vectors of n_cols numbers. A space has
//   add, value      a row added to a force, and its product with one
//   Members         what is kept of the rows on the margin: products of a row with a model and with the members,
//                   lengths
//   Pack            rows kept together for their products with one model after the other
//   written_out     whether a model is its own vector, so that a step along the path is an addition
//   pace            rows between two questions whether to stop: about a million operations
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/cholesky.hpp"
#include "base/stop.hpp"
#include "path/packed_rows.hpp"

namespace steelyard {

// A force: v is the sum (features) or its values at all rows (kernel), and then c the coefficients of all rows.
// A model: v is the vector, or the force it has apart from the members, and then c the coefficients of the members.
// `low` is what rounding has left out of v (kernel), so that v + low is known to twice the digits.
struct PathVector {
    std::vector<double> v, c, low;
};

// Rows of so many numbers that take about half a millisecond together.
inline int pace_of(Index numbers) {
    constexpr Index operations = 1 << 20;  // additions and products in that time
    return static_cast<int>(operations / std::max<Index>(numbers, 16) + 1);
}

struct Lengths {
    double speed, size;  // of a direction, and of the force it comes from
};

template <class R>
class LinearSpace {
public:
    static constexpr bool written_out = true;
    // The least share of |z|^2 off the members' span: a part of 1e-12 of z, which has four digits of the sixteen left.
    // A row with less off the span stays where it is; rows of float32 that tie up to its rounding have 1e-14 or so.
    static constexpr double dependent = 1e-24;
    // Events after which forces are summed anew: a thousand additions lose three digits of sixteen, and one sum over
    // all rows then costs less than the rows looked at on the way.
    static constexpr Index renewal = 1024;

    explicit LinearSpace(const R& rows)
        : rows_(rows), pace_(pace_of(rows.n_entries() / std::max<Index>(rows.n_rows, 1))) {}

    Index n_rows() const { return rows_.n_rows; }
    int pace() const { return pace_; }
    Index size() const { return rows_.n_cols; }  // of a force
    double square(Index i) const {
        double sum = 0;
        rows_.row(i).each([&](Index, double value) { sum += value * value; });
        return sum;
    }

    void clear(PathVector& force) const { force.v.assign(static_cast<std::size_t>(rows_.n_cols), 0.0); }
    STEELYARD_INLINE void add(PathVector& force, Index i, double scale) const {
        rows_.row(i).add_to(force.v.data(), scale);
    }
    STEELYARD_INLINE double value(Index i, const PathVector& force) const { return rows_.row(i).dot(force.v.data()); }

    class Members {
    public:
        Members(const LinearSpace& space, const std::vector<Index>& members, const double* sign)
            : rows_(space.rows_), members_(members), sign_(sign) {}

        void enter(Index) {}
        void leave(Index) {}

        void start(const PathVector& base, PathVector& model) const { model.v = base.v; }
        STEELYARD_INLINE double value(Index i, const PathVector& model) const {
            return rows_.row(i).dot(model.v.data());
        }
        STEELYARD_INLINE void add(PathVector& model, Index i, double scale) const {
            rows_.row(i).add_to(model.v.data(), scale);
        }

        // work[k] = z_k.z_i
        STEELYARD_CLONES void products(Index i, std::vector<double>& work) {
            z_.assign(static_cast<std::size_t>(rows_.n_cols), 0.0);
            rows_.row(i).add_to(z_.data(), sign_[i]);
            times_z(work);
        }

        // |z - Z'c|^2 for the z of `products` and c = G^-1 Z z, taken off twice so that the factor's own error is gone.
        STEELYARD_CLONES double off_span(Index, const GrowingCholesky& factor, std::vector<double>& work) {
            for (int round = 0; round < 2; ++round) {
                times_z(work);
                factor.solve(work.data());
                for (std::size_t k = 0; k < members_.size(); ++k)
                    rows_.row(members_[k]).add_to(z_.data(), -sign_[members_[k]] * work[k]);
            }
            return squared(z_);
        }

        Lengths lengths(const PathVector& q, const PathVector& direction) const {
            return {std::sqrt(squared(direction.v)), std::sqrt(squared(q.v))};
        }
        // Whether an ample part of a force is left in what came of it, so that nothing has cancelled.
        bool is_ample(const PathVector& base, const PathVector& model, double share) const {
            return squared(model.v) > share * squared(base.v);
        }

        double distance(const PathVector& a, const PathVector& b) const {
            double square = 0;
            for (std::size_t j = 0; j < a.v.size(); ++j) square += (a.v[j] - b.v[j]) * (a.v[j] - b.v[j]);
            return std::sqrt(square);
        }
        // How far any margin at the model is from that at the force, at most; `longest` is max |x|.
        double margins_apart(const PathVector& model, const PathVector& force, double longest) const {
            return distance(model, force) * longest;
        }

    private:
        static double squared(const std::vector<double>& v) {
            return DenseRow<double>{v.data(), static_cast<Index>(v.size())}.dot(v.data());
        }
        STEELYARD_INLINE void times_z(std::vector<double>& work) const {
            for (std::size_t k = 0; k < members_.size(); ++k)
                work[k] = sign_[members_[k]] * rows_.row(members_[k]).dot(z_.data());
        }

        const R& rows_;
        const std::vector<Index>& members_;
        const double* sign_;
        std::vector<double> z_;
    };

    // Rows packed for their products with one model after the other.
    class Pack : public PackedRows<R> {
    public:
        Pack(const LinearSpace& space, const Members&, const Stop* stop) : PackedRows<R>(space.rows_, stop) {}
    };

private:
    R rows_;
    int pace_;
};

}  // namespace steelyard
