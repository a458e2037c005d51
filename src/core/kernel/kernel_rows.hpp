// Rows of a kernel matrix, computed when asked for and kept within a given number of bytes.
//
//   linear       k(x, z) = x.z
//   rbf          k(x, z) = exp(-gamma |x - z|^2)
//   poly         k(x, z) = (gamma x.z + coef0)^degree
//   precomputed  the matrix given is the kernel matrix
//
// plus a constant, which is an appended constant feature. A row is n numbers, as long as the data have rows, so that
// any solver on the same data can use it, whatever its labels, costs or active rows: the cache outlives a call. Floats
// do for a solver that stops at a tolerance; the exact path, whose kinks are decided in the last digits, takes doubles.
// The row used longest ago is dropped first. A pointer stays good until two further rows were asked for.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "base/rows.hpp"
#include "base/simd.hpp"

namespace steelyard {

enum class KernelKind { linear, rbf, poly, precomputed };

struct KernelSpec {
    KernelKind kind = KernelKind::rbf;
    double gamma = 1.0, coef0 = 0.0;
    int degree = 3;
    double constant = 0.0;
};

// exp(x) for x <= 0 in operations that every vector unit has: x = n log 2 + r, a polynomial in r, and n written into
// the exponent. With `terms` = 8 to about 1e-10, and 0 below -100 as in a float; with 13 to the rounding of a double.
template <int terms = 8>
STEELYARD_INLINE double exp_of_negative(double x) {
    constexpr double shift = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer, kept in the low bits
    constexpr double least = terms > 8 ? -700.0 : -100.0;
    constexpr double factor[14] = {
        1.0,        1.0,         1.0 / 2,      1.0 / 6,       1.0 / 24,       1.0 / 120,       1.0 / 720,
        1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800};
    const double shifted = x * 1.4426950408889634 + shift;
    const double n = shifted - shift;
    const double r = (x - n * 0.693147180369123816490) - n * 1.90821492927058770002e-10;
    double p = factor[terms];
    for (int k = terms - 1; k >= 0; --k) p = p * r + factor[k];
    std::int64_t bits, exponent;
    std::memcpy(&exponent, &shifted, sizeof exponent);
    std::memcpy(&bits, &p, sizeof bits);
    bits += static_cast<std::int64_t>(static_cast<std::uint64_t>(exponent) << 52);
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return x < least ? 0.0 : value;
}

// Dense data in blocks of rows, feature by feature within a block, so that one row meets a block's rows side by side.
class RowBlocks {
public:
    static constexpr Index width = 32;

    template <class T>
    explicit RowBlocks(const DenseRows<T>& X)
        : n_(X.n_rows), d_(X.n_cols), values_(static_cast<std::size_t>((n_ + width - 1) / width * width * d_)) {
        for (Index i = 0; i < n_; ++i) X.row(i).each([&](Index j, double x) { values_[at(i, j)] = x; });
    }

    void take(Index i, std::vector<double>& x) const {
        x.resize(d_);
        for (Index j = 0; j < d_; ++j) x[j] = values_[at(i, j)];
    }

    // products[k] = x . row k for every row, and the block's padding behind the last one.
    STEELYARD_CLONES void multiply(const double* x, double* products) const {
        for (Index start = 0; start < n_; start += width) {
            const double* block = values_.data() + start * d_;
            double sum[width] = {};
            for (Index j = 0; j < d_; ++j)
                for (Index k = 0; k < width; ++k) sum[k] += x[j] * block[j * width + k];
            std::memcpy(products + start, sum, sizeof sum);
        }
    }

    Index padded() const { return (n_ + width - 1) / width * width; }

private:
    Index n_, d_;
    std::vector<double> values_;

    Index at(Index i, Index j) const { return i / width * width * d_ + j * width + i % width; }
};

struct KernelMap {
    KernelSpec spec;

    // products and squared norms to kernel values.
    template <class T>
    STEELYARD_CLONES void operator()(const double* products, const double* norms, double norm, Index n, T* out) const {
        constexpr int terms = sizeof(T) > 4 ? 13 : 8;
        if (spec.kind == KernelKind::rbf) {
            for (Index k = 0; k < n; ++k) {
                const double distance = norm + norms[k] - 2.0 * products[k];
                out[k] = static_cast<T>(exp_of_negative<terms>(-spec.gamma * (distance > 0.0 ? distance : 0.0)) +
                                        spec.constant);
            }
        } else if (spec.kind == KernelKind::poly) {
            for (Index k = 0; k < n; ++k)
                out[k] = static_cast<T>(power(spec.gamma * products[k] + spec.coef0) + spec.constant);
        } else {
            for (Index k = 0; k < n; ++k) out[k] = static_cast<T>(products[k] + spec.constant);
        }
    }

    double of_itself(double norm) const {
        if (spec.kind == KernelKind::rbf) return 1.0 + spec.constant;
        return (spec.kind == KernelKind::poly ? power(spec.gamma * norm + spec.coef0) : norm) + spec.constant;
    }

    STEELYARD_INLINE double power(double base) const {
        double result = 1.0;
        for (int k = 0; k < spec.degree; ++k) result *= base;
        return result;
    }
};

template <class T>
class KernelRowsOf {
public:
    KernelRowsOf(const Rows& X, const KernelSpec& spec, double cache_bytes) : X_(X), map_{spec} {
        visit(X, [&](const auto& x) { prepare(x); });
        const double row_bytes = static_cast<double>(sizeof(T)) * static_cast<double>(std::max<Index>(n_, 1));
        const double slots = std::min(static_cast<double>(n_), cache_bytes / row_bytes);
        slots_.resize(static_cast<std::size_t>(std::max(2.0, slots)));
        where_.assign(n_, -1);
    }

    Index size() const { return n_; }
    const std::vector<double>& diagonal() const { return diagonal_; }
    Index n_slots() const { return static_cast<Index>(slots_.size()); }
    Index n_computed() const { return n_computed_; }

    const T* row(Index i) {
        Index slot = where_[i];
        if (slot < 0) {
            slot = used_ < n_slots() ? used_++ : oldest();
            Slot& fresh = slots_[slot];
            if (fresh.row >= 0) where_[fresh.row] = -1;
            fresh.row = -1;  // nothing is kept if the next lines throw
            fresh.values.resize(n_);
            compute(i, fresh.values.data());
            fresh.row = i;
            where_[i] = slot;
            ++n_computed_;
        }
        slots_[slot].asked = ++clock_;
        return slots_[slot].values.data();
    }

private:
    struct Slot {
        Index row = -1;
        std::uint64_t asked = 0;
        std::vector<T> values;
    };

    Rows X_;
    KernelMap map_;
    Index n_ = 0, used_ = 0, n_computed_ = 0;
    std::uint64_t clock_ = 0;
    std::optional<RowBlocks> blocks_;
    std::vector<double> norms_, diagonal_, x_, products_;
    std::vector<Slot> slots_;
    std::vector<Index> where_;

    template <class X>
    void prepare(const X& x) {
        n_ = x.n_rows;
        diagonal_.resize(n_);
        if (map_.spec.kind == KernelKind::precomputed) {
            if (x.n_cols != n_) throw std::invalid_argument("a precomputed kernel matrix must be square");
            for (Index i = 0; i < n_; ++i)
                x.row(i).each([&](Index j, double v) { diagonal_[i] = j == i ? v : diagonal_[i]; });
            for (double& k : diagonal_) k += map_.spec.constant;
            return;
        }
        norms_.assign(n_, 0.0);
        for (Index i = 0; i < n_; ++i) {
            x.row(i).each([&](Index, double v) { norms_[i] += v * v; });
            diagonal_[i] = map_.of_itself(norms_[i]);
        }
        products_.resize(n_);
        x_.assign(x.n_cols, 0.0);
        if constexpr (std::decay_t<decltype(x.row(0))>::is_dense) {
            blocks_.emplace(x);
            products_.resize(blocks_->padded());
        }
    }

    void compute(Index i, T* out) {
        if (map_.spec.kind == KernelKind::precomputed) {
            visit(X_, [&](const auto& x) {
                std::fill(out, out + n_, static_cast<T>(map_.spec.constant));
                x.row(i).each([&](Index j, double v) { out[j] = static_cast<T>(v + map_.spec.constant); });
            });
            return;
        }
        if (blocks_) {
            blocks_->take(i, x_);
            blocks_->multiply(x_.data(), products_.data());
        } else {
            visit(X_, [&](const auto& x) { multiply_sparse(x, i); });
        }
        map_(products_.data(), norms_.data(), norms_[i], n_, out);
        out[i] = static_cast<T>(diagonal_[i]);
    }

    template <class X>
    void multiply_sparse(const X& x, Index i) {
        x.row(i).each([&](Index j, double v) { x_[j] = v; });
        for (Index k = 0; k < n_; ++k) products_[k] = x.row(k).dot(x_.data());
        x.row(i).each([&](Index j, double) { x_[j] = 0.0; });
    }

    // A scan over the slots: a row costs far more to compute.
    Index oldest() const {
        const auto found = std::min_element(slots_.begin(), slots_.end(),
                                            [](const Slot& a, const Slot& b) { return a.asked < b.asked; });
        return static_cast<Index>(found - slots_.begin());
    }
};

using KernelRows = KernelRowsOf<float>;

}  // namespace steelyard
