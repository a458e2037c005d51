// Rows of a kernel matrix, computed when asked for and kept within a given number of bytes.
//
// A row is n numbers, as long as the data have rows, so that any solver on the same data can use it, whatever its
// labels, costs or active rows: the cache outlives a call. Floats do for a solver that stops at a tolerance; the exact
// path, whose kinks are decided in the last digits, takes doubles. The row used longest ago is dropped first. A pointer
// stays good until two further rows were asked for.
//
// Of a precomputed matrix a view has the rows and the columns that it names. Beside the cache, dense rows are held once
// more, in blocks (`RowBlocks`).
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/huge_pages.hpp"
#include "base/rows.hpp"
#include "base/stop.hpp"
#include "kernel/kernel_function.hpp"
#include "kernel/row_blocks.hpp"

namespace steelyard {

template <class T>
class KernelRowsOf {
public:
    KernelRowsOf(const Rows& X, const KernelSpec& spec, double cache_bytes, const Stop* stop = nullptr)
        : X_(X), map_{spec} {
        visit(X, [&](const auto& x) { prepare(x, stop); });
        check_size();
        const double row_bytes = static_cast<double>(sizeof(T)) * static_cast<double>(std::max<Index>(n_, 1));
        const double slots = std::min(static_cast<double>(n_), cache_bytes / row_bytes);
        slots_.resize(static_cast<std::size_t>(std::max(2.0, slots)));
        where_.assign(n_, -1);
    }

    Index size() const { return n_; }
    const std::vector<double>& diagonal() const { return diagonal_; }
    Index n_slots() const { return static_cast<Index>(slots_.size()); }
    Index n_computed() const { return n_computed_.load(std::memory_order_relaxed); }
    // What the copy of dense rows takes, beside the cache.
    std::size_t copied_bytes() const {
        return std::visit(
            [](const auto& blocks) -> std::size_t {
                if constexpr (std::is_same_v<std::decay_t<decltype(blocks)>, std::monostate>)
                    return 0;
                else
                    return blocks.n_bytes();
            },
            blocks_);
    }

    const T* row(Index i, const Stop* stop = nullptr) {
        Index slot = where_[i];
        if (slot < 0) {
            slot = used_ < n_slots() ? used_++ : oldest();
            Slot& fresh = slots_[slot];
            if (fresh.row >= 0) where_[fresh.row] = -1;
            fresh.row = -1;  // nothing is kept if the next lines throw
            if (!fresh.values) fresh.values = storage(slot);
            compute(i, fresh.values, stop);
            fresh.row = i;
            where_[i] = slot;
            n_computed_.fetch_add(1, std::memory_order_relaxed);
        }
        slots_[slot].asked = ++clock_;
        return slots_[slot].values;
    }

private:
    struct Slot {
        Index row = -1;
        std::uint64_t asked = 0;
        T* values = nullptr;
    };

    Rows X_;
    KernelMap map_;
    Index n_ = 0, used_ = 0;
    std::atomic<Index> n_computed_{0};  // read by whoever watches
    std::uint64_t clock_ = 0;
    std::variant<std::monostate, RowBlocks<float>, RowBlocks<double>> blocks_;
    std::vector<double> norms_, diagonal_, x_, products_;
    std::vector<Slot> slots_;
    std::vector<LargeVector<T>> slabs_;  // the rows of some slots each
    std::vector<Index> where_;

    template <class X>
    void prepare(const X& x, const Stop* stop) {
        n_ = x.n_rows;
        diagonal_.assign(n_, 0.0);
        StopEvery listen(stop, 64);
        if (map_.spec.kind == KernelKind::precomputed) {
            // A view of rows i, j, ... reads columns i, j, ...: they must be there.
            const bool in_columns =
                x.which ? std::all_of(x.which, x.which + n_, [&](Index k) { return k < x.n_cols; }) : x.n_cols == n_;
            if (x.constant != 0 || !in_columns)
                throw std::invalid_argument("a precomputed kernel matrix must be square");
            for (Index i = 0; i < n_; ++i) {
                listen();
                const Index own = column(x, i);
                x.row(i).each([&](Index j, double v) { diagonal_[i] = j == own ? v : diagonal_[i]; });
                diagonal_[i] += map_.spec.constant;
            }
            x_.assign(x.n_cols, 0.0);
            return;
        }
        norms_.assign(n_, 0.0);
        for (Index i = 0; i < n_; ++i) {
            listen();
            x.row(i).each([&](Index, double v) { norms_[i] += v * v; });
            diagonal_[i] = map_.of_itself(norms_[i]);
        }
        products_.resize(n_);
        x_.assign(x.n_cols, 0.0);
        if constexpr (X::is_dense) {
            using Blocks = RowBlocks<std::remove_const_t<std::remove_pointer_t<decltype(x.values)>>>;
            products_.resize(blocks_.template emplace<Blocks>(x, stop).padded());
        }
    }

    // A kernel value is at most the larger of two on the diagonal: where those and the norms fit T, all of them do.
    void check_size() const {
        for (Index i = 0; i < n_; ++i) {
            const double norm = norms_.empty() ? 0.0 : norms_[i];
            if (std::isfinite(norm) && std::isfinite(static_cast<T>(diagonal_[i]))) continue;
            throw std::invalid_argument("the kernel of row " + std::to_string(i) +
                                        " with itself is too large to compute with: scale the features to a variance "
                                        "of about 1 (StandardScaler)");
        }
    }

    template <class X>
    static Index column(const X& x, Index k) {
        return x.which ? x.which[k] : k;
    }

    void compute(Index i, T* out, const Stop* stop) {
        check(stop);
        if (map_.spec.kind == KernelKind::precomputed) {
            visit(X_, [&](const auto& x) { copy_row(x, i, out); });
            return;
        }
        std::visit(
            [&](const auto& blocks) {
                if constexpr (std::is_same_v<std::decay_t<decltype(blocks)>, std::monostate>) {
                    visit(X_, [&](const auto& x) { multiply_rows(x, i, stop); });
                } else {
                    blocks.take(i, x_);
                    blocks.multiply(x_.data(), products_.data(), stop);
                }
            },
            blocks_);
        map_(products_.data(), norms_.data(), norms_[i], n_, out);
        out[i] = static_cast<T>(diagonal_[i]);
    }

    template <class X>
    void copy_row(const X& x, Index i, T* out) {
        const auto row = x.row(i);
        if constexpr (X::is_dense) {
            for (Index k = 0; k < n_; ++k) out[k] = static_cast<T>(row.values[column(x, k)] + map_.spec.constant);
        } else {
            row.each([&](Index j, double v) { x_[j] = v; });
            for (Index k = 0; k < n_; ++k) out[k] = static_cast<T>(x_[column(x, k)] + map_.spec.constant);
            row.each([&](Index j, double) { x_[j] = 0.0; });
        }
    }

    template <class X>
    void multiply_rows(const X& x, Index i, const Stop* stop) {
        const auto row = x.row(i);
        row.each([&](Index j, double v) { x_[j] = v; });
        StopEvery listen(stop, 1024);
        try {
            for (Index k = 0; k < n_; ++k) {
                listen();
                products_[k] = x.row(k).dot(x_.data());
            }
        } catch (...) {
            std::fill(x_.begin(), x_.end(), 0.0);
            throw;
        }
        row.each([&](Index j, double) { x_[j] = 0.0; });
    }

    // Rows side by side on huge pages: one allocation each would cost a page fault for every 4 KiB, again and again
    // where the allocator gives them back in between.
    T* storage(Index slot) {
        const auto row_bytes = static_cast<Index>(sizeof(T)) * std::max<Index>(n_, 1);
        const Index a_slab = std::max<Index>(1, static_cast<Index>(HugePages<T>::page) / row_bytes);
        const Index slab = slot / a_slab;
        if (slab == static_cast<Index>(slabs_.size())) {
            const Index count = std::min(a_slab, n_slots() - slab * a_slab);
            slabs_.emplace_back(static_cast<std::size_t>(count * n_));
        }
        return slabs_[slab].data() + (slot - slab * a_slab) * n_;
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
