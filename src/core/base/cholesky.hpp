// The Cholesky factor of a Gram matrix, made at once or changed by one row at a time.
//
// Lower triangular, column by column, so that every inner loop runs along a column. Only the triangle is stored, with
// room for half as many rows again: (3 m / 2)^2 / 2 numbers for m rows.
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
    // Only the first `size` rows stay.
    void cut(Index size) { size_ = size; }

    // The factor of A (row-major, n x n, the lower triangle is read); false if A is not positive definite.
    bool factor(const double* A, Index n) {
        clear();
        reserve(n);
        for (Index i = 0; i < n; ++i) {
            const double left = schur(A + i * n, A[i * n + i]);
            if (!(left > 0) || left == HUGE_VAL) return false;
            append(left);
        }
        return true;
    }

    // What is left of |z|^2 off the span, with v = Z z; the new row of the factor is kept for `append`.
    double schur(const double* v, double square) {
        reserve(size_ + 1);
        row_.assign(v, v + size_);
        return eliminate(square);
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
    void remove(Index k) {
        row_.assign(at(k) + k + 1, at(k) + size_);
        take_out(k);
    }

    // The entries of b before `first` are zero.
    STEELYARD_CLONES void solve(double* b, Index first = 0) const {
        for (Index j = first; j < size_; ++j) {
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
    // The loops of `schur` and `remove`: without an allocation, since nothing may be thrown in clones.
    STEELYARD_CLONES double eliminate(double left) {
        for (Index j = 0; j < size_; ++j) {
            const double* column = at(j);
            const double x = row_[j] / column[j];
            row_[j] = x;
            left -= x * x;
            for (Index i = j + 1; i < size_; ++i) row_[i] -= x * column[i];
        }
        return left;
    }

    STEELYARD_CLONES void take_out(Index k) {
        const Index rest = size_ - 1 - k;
        for (Index j = 0; j < k; ++j)
            std::memmove(at(j) + k, at(j) + k + 1, sizeof(double) * static_cast<std::size_t>(rest));
        for (Index j = k; j < size_ - 1; ++j)
            std::memcpy(at(j) + j, at(j + 1) + j + 1, sizeof(double) * static_cast<std::size_t>(size_ - 1 - j));
        --size_;
        for (Index j = k; j < size_; ++j) {
            double* column = at(j) + j;
            double* l = row_.data() + (j - k);
            const double r = std::sqrt(column[0] * column[0] + l[0] * l[0]), c = column[0] / r, s = l[0] / r;
            column[0] = r;
            for (Index i = 1; i < size_ - j; ++i) {
                const double f = column[i];
                column[i] = c * f + s * l[i];
                l[i] = c * l[i] - s * f;
            }
        }
    }

    // Column j from its row 0 on, of which only rows j .. are there: column 0 has `room_` rows, each next one less.
    std::size_t column(Index j, Index room) const { return static_cast<std::size_t>(j * room - j * (j + 1) / 2); }
    double* at(Index j) { return f_.data() + column(j, room_); }
    const double* at(Index j) const { return f_.data() + column(j, room_); }

    void reserve(Index size) {
        if (size <= room_) return;
        const Index room = size + size / 2 + 16;
        std::vector<double> f(static_cast<std::size_t>(room * (room + 1) / 2));
        for (Index j = 0; j < size_; ++j) std::copy(at(j) + j, at(j) + size_, f.data() + column(j, room) + j);
        f_.swap(f);
        room_ = room;
    }

    Index size_ = 0, room_ = 0;
    std::vector<double> f_, row_;
};

}  // namespace steelyard
