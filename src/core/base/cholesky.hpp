// The Cholesky factor of a Gram matrix that changes by one row at a time.
//
// Lower triangular, column by column, so that every inner loop runs along a column.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/rows.hpp"

namespace steelyard {

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
        for (Index j = 0; j < k; ++j)
            std::memmove(at(j) + k, at(j) + k + 1, sizeof(double) * static_cast<std::size_t>(rest));
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

}  // namespace steelyard
