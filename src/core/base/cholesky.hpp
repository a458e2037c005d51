// The Cholesky factor of a Gram matrix, made at once or changed by one row at a time.
//
// Lower triangular, column by column, so that every inner loop runs along a column. Only the triangle is stored, with
// room for half as many rows again: (3 m / 2)^2 / 2 numbers for m rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/lanes.hpp"
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
        reserve(n + width);
        for (Index i = 0; i < n; ++i)
            for (Index j = 0; j <= i; ++j) at(j)[i] = A[i * n + j];
        if (!factor_columns(n)) return false;
        size_ = n;
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
        return size_ ? square(*std::max_element(inverse_.begin(), inverse_.begin() + size_)) : HUGE_VAL;
    }
    double largest() const { return size_ ? square(*std::min_element(inverse_.begin(), inverse_.begin() + size_)) : 0; }

    void append(double left) {
        for (Index j = 0; j < size_; ++j) at(j)[size_] = row_[j];
        set_diagonal(size_, std::sqrt(left));
        ++size_;
    }

    // Without member k the rows below it get the rank-one update  F F' + l l',  l the k-th column below the diagonal.
    void remove(Index k) {
        row_.assign(at(k) + k + 1, at(k) + size_);
        take_out(k);
    }

    // The entries of b before `first` are zero.
    STEELYARD_CLONES void solve(double* b, Index first = 0) const {
        forward(b, first);
        backward(b);
    }

private:
    static constexpr Index width = 4;  // columns at a time: one load serves as many, and no sum waits for the last
    using Lanes = LanesOf<8>;

    // The loops of `schur` and `remove`: without an allocation, since nothing may be thrown in clones.
    STEELYARD_CLONES double eliminate(double left) {
        forward(row_.data(), 0);
        for (Index j = 0; j < size_; ++j) left -= row_[j] * row_[j];
        return left;
    }

    // The columns of A become those of its factor, a panel of them at a time: first less what the columns before say of
    // it, with one load for the whole panel, then among themselves.
    STEELYARD_CLONES bool factor_columns(Index n) {
        for (Index j = 0; j < n; j += width) {
            const Index end = std::min(j + width, n);
            reduce(j, end, n);
            for (Index k = j; k < end; ++k) {
                double* column = at(k);
                for (Index p = j; p < k; ++p) take_off(at(p), at(p)[k], column, k, n);
                if (!(column[k] > 0) || column[k] == HUGE_VAL) return false;
                set_diagonal(k, std::sqrt(column[k]));
                for (Index i = k + 1; i < n; ++i) column[i] *= inverse_[k];
            }
        }
        return true;
    }
    // Eight rows at a time; what is read beyond the last row is in the spare room of its column, and not kept.
    STEELYARD_INLINE void reduce(Index j, Index end, Index n) {
        for (Index i = j; i < n; i += 8) {
            Lanes sum[width] = {}, x;
            for (Index p = 0; p < j; ++p) {
                const double* before = at(p);
                std::memcpy(&x, before + i, sizeof x);
                for (Index k = 0; k < width; ++k) sum[k] += x * before[j + k];
            }
            for (Index k = j; k < end; ++k) {
                double less[8];
                std::memcpy(less, &sum[k - j], sizeof less);
                for (Index row = std::max(i, k); row < std::min(i + 8, n); ++row) at(k)[row] -= less[row - i];
            }
        }
    }
    STEELYARD_INLINE static void take_off(const double* from, double times, double* column, Index begin, Index end) {
        STEELYARD_NO_OVERLAP
        for (Index i = begin; i < end; ++i) column[i] -= times * from[i];
    }

    // F x = b, in place: a few columns at a time.
    STEELYARD_INLINE void forward(double* b, Index first) const {
        for (Index j = first; j < size_; j += width) {
            const Index end = std::min(j + width, size_);
            for (Index k = j; k < end; ++k) {
                b[k] *= inverse_[k];
                for (Index i = k + 1; i < end; ++i) b[i] -= b[k] * at(k)[i];
            }
            if (end < j + width) break;
            const double *c0 = at(j), *c1 = at(j + 1), *c2 = at(j + 2), *c3 = at(j + 3);
            const double x0 = b[j], x1 = b[j + 1], x2 = b[j + 2], x3 = b[j + 3];
            STEELYARD_NO_OVERLAP
            for (Index i = end; i < size_; ++i) b[i] -= (x0 * c0[i] + x1 * c1[i]) + (x2 * c2[i] + x3 * c3[i]);
        }
    }

    // F'x = b, in place, from the last column on: first as many as do not make a full group.
    STEELYARD_INLINE void backward(double* b) const {
        Index end = size_;
        for (Index j = end - end % width; end > 0; end = j, j -= width) {
            double below[width] = {0, 0, 0, 0};
            if (end - j == width) dots(j, end, b, below);
            for (Index k = end - 1; k >= j; --k) {
                double x = b[k] - below[k - j];
                for (Index i = k + 1; i < end; ++i) x -= at(k)[i] * b[i];
                b[k] = x * inverse_[k];
            }
        }
    }
    // out[k] = the part of column j + k from `end` on, times b.
    STEELYARD_INLINE void dots(Index j, Index end, const double* b, double* out) const {
        const double* c[width] = {at(j), at(j + 1), at(j + 2), at(j + 3)};
        Lanes sum[width] = {Lanes{}, Lanes{}, Lanes{}, Lanes{}}, x, y;
        Index i = end;
        for (; i + 8 <= size_; i += 8) {
            std::memcpy(&x, b + i, sizeof x);
            for (Index k = 0; k < width; ++k) {
                std::memcpy(&y, c[k] + i, sizeof y);
                sum[k] += x * y;
            }
        }
        for (Index k = 0; k < width; ++k)
            out[k] = ((sum[k][0] + sum[k][1]) + (sum[k][2] + sum[k][3])) +
                     ((sum[k][4] + sum[k][5]) + (sum[k][6] + sum[k][7]));
        for (; i < size_; ++i)
            for (Index k = 0; k < width; ++k) out[k] += c[k][i] * b[i];
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
            set_diagonal(j, r);
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

    static double square(double inverse) { return 1 / (inverse * inverse); }
    STEELYARD_INLINE void set_diagonal(Index j, double value) {
        at(j)[j] = value;
        inverse_[j] = 1 / value;
    }

    void reserve(Index size) {
        if (size <= room_) return;
        const Index room = size + size / 2 + 16;
        std::vector<double> f(static_cast<std::size_t>(room * (room + 1) / 2));
        for (Index j = 0; j < size_; ++j) std::copy(at(j) + j, at(j) + size_, f.data() + column(j, room) + j);
        f_.swap(f);
        inverse_.resize(static_cast<std::size_t>(room));
        room_ = room;
    }

    Index size_ = 0, room_ = 0;
    std::vector<double> f_, row_, inverse_;  // inverse_: of the diagonal
};

}  // namespace steelyard
