// The path of a kernel machine in the dual form: a model is a sum of the rows' functions,  f = sum_i c_i k(x_i, .).
//
// A force, the sum over the rows off the margin, is kept by its values at all rows, so a row that moves costs one row
// of the kernel matrix, from the cache. A model is a force and the members' coefficients, and has at row i the value
//   f(x_i) = force_i + sum_k c_k k(x_i, x_k),    k over the members.
// The members' columns of the kernel matrix are laid side by side, so that a row near the margin is looked at by one
// product as long as there are members: not the columns of a factor of the whole matrix, and not its rows. The length
// of a direction with coefficients r off the margin (force q = K r) is |f|^2 = r.q + sum_k c_k q_k since its values at
// the members are 0; a difference, so it is known to `blur` times the force only, and taken that much too long.
//
// With a large C a value is a small difference of large sums, and every row's has rounding of its own: no function of
// the space, so the members' coefficients answer it with that rounding over the smallest eigenvalue of their Gram
// matrix. Forces are therefore summed to twice the digits (base/compensated_sum.hpp).
#pragma once

#include "base/compensated_sum.hpp"
#include "base/huge_pages.hpp"
#include "kernel/kernel_rows.hpp"
#include "path/space.hpp"

namespace steelyard {

class KernelSpace {
public:
    static constexpr bool written_out = false;
    static constexpr double dependent = 1e-11;  // products are known to the 1e-13 or so of a kernel value, squared off
    static constexpr Index renewal = 1024;      // as in the space of the features

    explicit KernelSpace(KernelRowsOf<double>& kernel) : kernel_(kernel) {}

    Index n_rows() const { return kernel_.size(); }
    Index size() const { return kernel_.size(); }
    int pace() const { return 1; }  // a row of the kernel may have to be computed
    double square(Index i) const { return kernel_.diagonal()[i]; }

    void clear(PathVector& force) const {
        force.v.assign(static_cast<std::size_t>(n_rows()), 0.0);
        force.c = force.low = force.v;
    }
    void add(PathVector& force, Index i, double scale) const {
        add_product(scale, kernel_.row(i), n_rows(), force.v.data(), force.low.data());
        force.c[i] += scale;
    }
    double value(Index i, const PathVector& force) const { return force.v[i] + force.low[i]; }

    class Members {
    public:
        Members(const KernelSpace& space, const std::vector<Index>& members, const double* sign)
            : kernel_(space.kernel_),
              members_(members),
              sign_(sign),
              slot_(static_cast<std::size_t>(kernel_.size()), -1) {}

        void enter(Index i) {
            const auto m = static_cast<Index>(owner_.size());
            if (m == stride_) widen();
            const double* row = kernel_.row(i);
            for (Index j = 0; j < kernel_.size(); ++j) block_[j * stride_ + m] = row[j];
            slot_[i] = m;
            owner_.push_back(i);
        }

        // The last column takes the place that becomes free.
        void leave(Index i) {
            const Index free = slot_[i], last = static_cast<Index>(owner_.size()) - 1;
            for (Index j = 0; j < kernel_.size() && free != last; ++j)
                block_[j * stride_ + free] = block_[j * stride_ + last];
            slot_[owner_[last]] = free;
            owner_[free] = owner_[last];
            slot_[i] = -1;
            owner_.pop_back();
        }

        void start(const PathVector& base, PathVector& model) const {
            model.v = base.v;
            model.low = base.low;
            model.c.assign((owner_.size() + lane - 1) / lane * lane, 0.0);
        }
        STEELYARD_INLINE double value(Index i, const PathVector& model) const {
            return model.v[i] +
                   DenseRow<double>{block_.data() + i * stride_, static_cast<Index>(model.c.size())}.dot(
                       model.c.data()) +
                   model.low[i];
        }
        STEELYARD_INLINE void add(PathVector& model, Index i, double scale) const { model.c[slot_[i]] += scale; }

        void products(Index i, std::vector<double>& work) const {
            for (std::size_t k = 0; k < members_.size(); ++k) work[k] = product(i, members_[k]);
        }

        // k(x, x) - 2 c'g + c'Gc  with g the products with row i and c = G^-1 g, refined once.
        STEELYARD_CLONES double off_span(Index i, const GrowingCholesky& factor, std::vector<double>& work) {
            const std::size_t m = members_.size();
            coefficient_.assign(m, 0.0);
            PathVector sum;  // minus row i, plus the members' rows times c
            start({}, sum);
            double left = 0;
            for (int round = 0; round < 3; ++round) {
                left = kernel_.diagonal()[i];
                for (std::size_t k = 0; k < m; ++k) {
                    const Index member = members_[k];
                    const DenseRow<double> row{block_.data() + member * stride_, static_cast<Index>(sum.c.size())};
                    const double g = product(i, member);
                    work[k] = g - sign_[member] * row.dot(sum.c.data());
                    left -= coefficient_[k] * (g + work[k]);
                }
                if (round == 2) break;
                factor.solve(work.data());
                for (std::size_t k = 0; k < m; ++k) {
                    coefficient_[k] += work[k];
                    add(sum, members_[k], sign_[members_[k]] * work[k]);
                }
            }
            return left;
        }

        Lengths lengths(const PathVector& q, const PathVector& direction) const {
            double whole = 0, taken = 0, exchanged = 0;
            for (std::size_t j = 0; j < q.v.size(); ++j) whole += q.c[j] * q.v[j];
            for (std::size_t k = 0; k < owner_.size(); ++k) {
                const double part = direction.c[k] * q.v[owner_[k]];
                taken += part;
                exchanged += std::fabs(part);
            }
            whole = std::max(whole, 0.0);
            return {std::sqrt(std::max(whole + taken, 0.0) + blur * (whole + exchanged)), std::sqrt(whole)};
        }
        bool is_ample(const PathVector&, const PathVector&, double) const { return false; }

        // Of two models on the same force.
        double distance(const PathVector& a, const PathVector& b) const {
            double square = 0;
            for (std::size_t k = 0; k < owner_.size(); ++k) {
                const double* row = block_.data() + owner_[k] * stride_;
                double sum = 0;
                for (std::size_t l = 0; l < owner_.size(); ++l) sum += row[l] * (a.c[l] - b.c[l]);
                square += (a.c[k] - b.c[k]) * sum;
            }
            return std::sqrt(std::max(square, 0.0));
        }
        double margins_apart(const PathVector& model, const PathVector& force, double) const {
            double most = 0;
            for (Index i = 0; i < kernel_.size(); ++i)
                most = std::max(most, std::fabs(value(i, model) - force.v[i] - force.low[i]));
            return most;
        }

    private:
        static constexpr std::size_t lane = 8;  // the partial sums of a product
        static constexpr double blur = 1e-14;   // a hundred roundings: what a difference of two sums has lost

        double product(Index i, Index member) const {
            return sign_[i] * sign_[member] * block_[i * stride_ + slot_[member]];
        }

        void widen() {
            const Index stride = 2 * stride_ + 32;
            LargeVector<double> block(static_cast<std::size_t>(kernel_.size() * stride), 0.0);
            for (Index j = 0; j < kernel_.size(); ++j)
                std::copy(block_.data() + j * stride_, block_.data() + (j + 1) * stride_, block.data() + j * stride);
            block_.swap(block);
            stride_ = stride;
        }

        KernelRowsOf<double>& kernel_;
        const std::vector<Index>& members_;
        const double* sign_;
        std::vector<Index> slot_, owner_;  // of a row, or -1; and back
        LargeVector<double> block_;        // row by row
        Index stride_ = 0;
        std::vector<double> coefficient_;
    };

    // The rows of the members' columns lie side by side already.
    class Pack {
    public:
        Pack(const KernelSpace&, const Members& members, const Stop*) : members_(members) {}
        void clear() { rows_.clear(); }
        void add(Index i) { rows_.push_back(i); }
        void add(const Index* which, std::size_t count) { rows_.insert(rows_.end(), which, which + count); }
        STEELYARD_CLONES void times(const PathVector& model, double* out) const {
            for (std::size_t k = 0; k < rows_.size(); ++k) out[k] = members_.value(rows_[k], model);
        }

    private:
        const Members& members_;
        std::vector<Index> rows_;
    };

private:
    KernelRowsOf<double>& kernel_;
};

}  // namespace steelyard
