// A linear model w.x + b under stochastic steps, averaged, at a cost of O(non-zeros) a step.
//
// Kept are v, u and three numbers, with
//     w = scale v                                      so that weight decay touches one number,
//     sum_t c_t w_t = spent v - u                      with spent = sum_t c_t scale_t, the mass of the average.
// A step changes v by d, and u by spent d: the average needs no work for coordinates that do not move.
//
// Steps are eta x (plain), or per coordinate in AdaGrad's way (Duchi, Hazan & Singer 2011): eta rho_j x_j with
// rho_j = 1 / sqrt(sum of squared gradients). With z = (g x_j rho_j)^2 the new rho is rho / sqrt(1 + z); for z below
// 1/4 a polynomial stands in for the root and the division, with an error below 0.2 % that falls like z^4.
#pragma once

#include <cmath>
#include <vector>

#include "clones.hpp"
#include "rows.hpp"

namespace steelyard {

struct Scalars {
    double scale = 1.0;
    double spent = 0.0;  // sum of c_t scale_t
    double mass = 0.0;   // sum of c_t, for the intercept, which does not decay
    double b = 0.0, u_b = 0.0, rho_b = 1e150;
    double square_norm = 0.0;  // of w, followed only when there is a radius
};

class Weights {
public:
    std::vector<double> v, u, rho;
    Scalars at;

    Weights() = default;
    Weights(Index n, bool adaptive)
        : v(static_cast<std::size_t>(n)),
          u(static_cast<std::size_t>(n)),
          rho(adaptive ? static_cast<std::size_t>(n) : 0, 1e150) {}

    template <class Row>
    STEELYARD_INLINE double score(const Row& row) const {
        return at.scale * row.dot(v.data()) + at.b;
    }

    // One row enters the average, with weight c.
    STEELYARD_INLINE void count(double c) {
        at.spent += c * at.scale;
        at.mass += c;
    }

    // w += g eta rho x, after g x has entered rho.
    template <class Row>
    STEELYARD_INLINE void adaptive_step(const Row& row, double g, double eta) {
        double* const root = rho.data();
        double* const vs = v.data();
        double* const us = u.data();
        const double gg = g * g, pull = g * eta / at.scale, spent = at.spent;
        if (Row::is_dense && all_small(row, gg))  // no branch in the loop, so that it can be vectorised
            return row.each([=](Index j, double x) {
                const double a = x * root[j], r = root[j] * inverse_root(gg * a * a), d = pull * r * x;
                root[j] = r;
                vs[j] += d;
                us[j] += spent * d;
            });
        row.each([=](Index j, double x) {
            const double a = x * root[j], z = gg * a * a;
            const double r = z > small ? root_after(root[j], z) : root[j] * inverse_root(z), d = pull * r * x;
            root[j] = r;
            vs[j] += d;
            us[j] += spent * d;
        });
    }

    STEELYARD_INLINE void adaptive_intercept(double g, double eta) {
        const double a = g * at.rho_b;
        at.rho_b = root_after(at.rho_b, a * a);
        move_intercept(g * eta * at.rho_b);
    }

    // w += step x.
    template <class Row>
    STEELYARD_INLINE void plain_step(const Row& row, double step) {
        const double pull = step / at.scale;
        row.add_to(v.data(), pull);
        row.add_to(u.data(), at.spent * pull);
    }

    STEELYARD_INLINE void move_intercept(double step) {
        at.b += step;
        at.u_b += at.mass * step;
    }

    // w *= factor, in one multiplication; folded into v before the scale gets too small to divide by.
    void shrink(double factor) {
        at.square_norm *= factor * factor;
        at.scale *= factor;
        if (std::fabs(at.scale) > 1e-9) return;
        for (double& x : v) x *= at.scale;
        at.spent = at.scale == 0.0 ? 0.0 : at.spent / at.scale;
        at.scale = 1.0;
    }

    // The part of |w|^2 on the columns of a row.
    template <class Row>
    STEELYARD_INLINE double square_norm_on(const Row& row) const {
        double sum = 0.0;
        row.each([&sum, this](Index j, double x) {
            const double w = v[static_cast<std::size_t>(j)];
            if (x != 0.0) sum += w * w;
        });
        return sum * at.scale * at.scale;
    }

    // The nearest point of the ball of this radius.
    void project(double radius) {
        if (at.square_norm > radius * radius) shrink(radius / std::sqrt(at.square_norm));
    }

    double exact_square_norm() const {
        double sum = 0;
        for (double x : v) sum += x * x;
        return sum * at.scale * at.scale;
    }

    // The averaged model, or the last one while nothing has been averaged.
    std::vector<double> averaged() const {
        std::vector<double> w(v.size());
        for (std::size_t j = 0; j < w.size(); ++j)
            w[j] = at.mass > 0 ? (at.spent * v[j] - u[j]) / at.mass : at.scale * v[j];
        return w;
    }
    double averaged_intercept() const { return at.mass > 0 ? at.b - at.u_b / at.mass : at.b; }

    std::vector<double> last() const {
        std::vector<double> w(v);
        for (double& x : w) x *= at.scale;
        return w;
    }

    static constexpr double small = 0.25;
    static constexpr double untouched = 1e150;  // rho of a coordinate without a gradient so far

    // rho / sqrt(1 + z). The first gradient of a coordinate counts as four, else a rare feature's first step would be its
    // largest.
    static STEELYARD_INLINE double root_after(double rho, double z) {
        return rho / std::sqrt(1.0 + z) * (rho == untouched ? 0.5 : 1.0);
    }

    // 1 / sqrt(1 + z) for z up to `small`.
    static STEELYARD_INLINE double inverse_root(double z) { return 1.0 - z * (0.5 - z * (0.375 - z * 0.3125)); }

    template <class Row>
    STEELYARD_INLINE bool all_small(const Row& row, double gg) const {
        const double* const root = rho.data();
        int large = 0;
        row.each([=, &large](Index j, double x) {
            const double a = x * root[j];
            large |= gg * a * a > small ? 1 : 0;
        });
        return large == 0;
    }

    // Goes on from the given model with an empty average.
    void restart(std::vector<double> w, double b) {
        v = std::move(w);
        u.assign(u.size(), 0.0);
        at.scale = 1.0;
        at.spent = at.mass = at.u_b = 0.0;
        at.b = b;
        at.square_norm = exact_square_norm();
    }
};

}  // namespace steelyard
