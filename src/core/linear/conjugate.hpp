// Newton's direction on sparse rows by conjugate gradients, where that is less work than a Hessian and its factor.
//
//   (I + sum over chosen rows of c_i x_i x_i') p = g
//
// preconditioned by the diagonal. A product with the left side looks twice at the entries of the rows with c != 0; a
// Hessian takes half of their entries squared, and its factor d^3 / 6, so that products win where rows are few and
// columns many: the first rounds of a search (w8a, 301 columns, twelve entries a row: 1,700 rows take half to a third
// of the time, 6,400 rows as long, 28,000 are slower).
#pragma once

#include "linear/chosen.hpp"

namespace steelyard {

// What operations cost beside an addition into a Hessian, and when products are tried: fitted to the times above.
struct ProductCosts {
    double entry = 2.4;     // of a row, in a product
    double column = 6;      // of the vectors of a step
    double factor = 0.05;   // each of the d^3 / 6 operations of a factor, eight at a time
    double worth = 7;       // products are tried if a Hessian costs as much as so many of them,
    double patience = 2.5;  // and given up when they have cost as much as so many Hessians
};

// The right side, and the square of what may be left of it.
struct RightSide {
    const std::vector<double>& g;
    double left;
    const Stop* stop;
};

template <class Chosen>
class ConjugateDirection {
public:
    // c: the curvature of each row. False, and p is anything, if the Hessian is cheaper.
    bool solve(const Chosen& rows, const double* c, const RightSide& wanted, std::vector<double>& p) {
        const double affordable = products_for_a_hessian(rows, c);
        if (!(affordable >= costs_.worth)) return false;
        const std::size_t d = wanted.g.size();
        p.assign(d, 0.0);
        s_.assign(d, 0.0);
        diagonal_.assign(d, 1.0);
        z_.resize(d);
        r_ = wanted.g;
        squares(rows, c, diagonal_.data());
        double before = HUGE_VAL;
        for (int k = 0; k < costs_.patience * affordable; ++k) {
            check(wanted.stop);
            double rz = 0, curvature = 0, left = 0;
            for (std::size_t j = 0; j < d; ++j) rz += r_[j] * (z_[j] = r_[j] / diagonal_[j]);
            for (std::size_t j = 0; j < d; ++j) s_[j] = z_[j] + rz / before * s_[j];
            q_ = s_;
            product(rows, c, s_.data(), q_.data());
            for (std::size_t j = 0; j < d; ++j) curvature += s_[j] * q_[j];
            const double t = rz / curvature;
            if (!(t > 0) || !(t < HUGE_VAL)) return false;
            for (std::size_t j = 0; j < d; ++j) {
                p[j] += t * s_[j];
                r_[j] -= t * q_[j];
                left += r_[j] * r_[j];
            }
            if (left <= wanted.left) return true;
            before = rz;
        }
        return false;
    }

private:
    double products_for_a_hessian(const Chosen& rows, const double* c) {
        double entries = 0, additions = 0;
        which_.clear();
        for (Index i = 0; i < rows.n; ++i) {
            if (c[i] == 0) continue;
            which_.push_back(i);
            const auto size = static_cast<double>(rows.size_of(i));
            entries += size;
            additions += size * (size + 1) / 2;
        }
        const auto d = static_cast<double>(rows.d);
        return (additions + costs_.factor * d * d * d / 6) / (costs_.entry * entries + costs_.column * d);
    }
    STEELYARD_CLONES void product(const Chosen& rows, const double* c, const double* z, double* q) const {
        for (const Index i : which_) rows.add_product(i, c[i], z, q);
    }
    STEELYARD_CLONES void squares(const Chosen& rows, const double* c, double* diagonal) const {
        for (const Index i : which_) rows.add_squares(i, c[i], diagonal);
    }

    ProductCosts costs_;
    std::vector<Index> which_;
    std::vector<double> diagonal_, r_, z_, q_, s_;
};

}  // namespace steelyard
