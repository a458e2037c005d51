// Dense rows in blocks, feature by feature within a block, so that one row meets a block's rows side by side.
//
// This is a copy of the rows, in their own type: without it each inner product would be a sum along a row, and a row
// of a kernel matrix would take three times as long. Whoever keeps one counts it (`n_bytes`).
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/rows.hpp"
#include "base/simd.hpp"
#include "base/stop.hpp"

namespace steelyard {

template <class T>
class RowBlocks {
public:
    static constexpr Index width = 32;  // sums that fit the vector registers of AVX2 twice and of AVX-512 once

    RowBlocks(const DenseRows<T>& X, const Stop* stop)
        : n_(X.n_rows), d_(X.n_cols), values_(static_cast<std::size_t>(padded() * d_)) {
        StopEvery listen(stop, 64);
        for (Index i = 0; i < n_; ++i) {
            listen();
            X.row(i).each([&](Index j, double x) { values_[at(i, j)] = static_cast<T>(x); });
        }
    }

    void take(Index i, std::vector<double>& x) const {
        x.resize(d_);
        for (Index j = 0; j < d_; ++j) x[j] = static_cast<double>(values_[at(i, j)]);
    }

    // products[k] = x . row k for every row, and the block's padding behind the last one.
    void multiply(const double* x, double* products, const Stop* stop) const {
        constexpr Index at_once = Index{1} << 20;  // multiplications, under a millisecond, from one look to the next
        const Index step = std::max<Index>(1, at_once / std::max<Index>(1, width * d_)) * width;
        for (Index start = 0; start < n_; start += step) {
            check(stop);
            multiply_some(x, products, start, std::min(n_, start + step));
        }
    }

    Index padded() const { return (n_ + width - 1) / width * width; }
    std::size_t n_bytes() const { return values_.size() * sizeof(T); }

private:
    Index n_, d_;
    std::vector<T> values_;

    Index at(Index i, Index j) const { return i / width * width * d_ + j * width + i % width; }

    STEELYARD_CLONES void multiply_some(const double* x, double* products, Index begin, Index end) const {
        for (Index start = begin; start < end; start += width) {
            const T* block = values_.data() + start * d_;
            double sum[width] = {};
            for (Index j = 0; j < d_; ++j)
                for (Index k = 0; k < width; ++k) sum[k] += x[j] * static_cast<double>(block[j * width + k]);
            std::memcpy(products + start, sum, sizeof sum);
        }
    }
};

}  // namespace steelyard
