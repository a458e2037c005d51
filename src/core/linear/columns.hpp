// Rows of few columns, 64 at a time, column by column: the form in which one load of a row serves every model.
//
//   margins   m = X w            each number of the block is used where it lies, no sum across a vector
//   pull      v += X' f          four running sums a column, added up once at the end
//   Gram      H += sum c x x'    over the rows with c != 0, gathered row by row, in tiles that stay in registers
//
// A block is made from rows of any kind (dense, CSR, float32, views, the constant column) once and then asked by all
// models of a grid; `DenseChosen` (chosen.hpp) are rows kept in this form.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/lanes.hpp"
#include "base/rows.hpp"

namespace steelyard {

// 64 rows of 55 columns are 28 KB: they stay in the first-level cache while one model after the other is asked.
constexpr Index block_rows = 64;
// Numbers from one column to the next. With 64 all columns would begin in the same few sets of that cache.
constexpr Index block_step = block_rows + 8;

using Lanes = LanesOf<4>;  // as every vector unit since 2013 has them
STEELYARD_INLINE Lanes lanes(double x) { return Lanes{x, x, x, x}; }
STEELYARD_INLINE double sum_of(const Lanes& x) { return (x[0] + x[1]) + (x[2] + x[3]); }
STEELYARD_INLINE Lanes lanes_at(const double* at) {
    Lanes x;
    std::memcpy(&x, at, sizeof x);
    return x;
}
STEELYARD_INLINE Lanes lanes_at(const float* at) {
    return Lanes{static_cast<double>(at[0]), static_cast<double>(at[1]), static_cast<double>(at[2]),
                 static_cast<double>(at[3])};
}
STEELYARD_INLINE void put(double* at, const Lanes& x) { std::memcpy(at, &x, sizeof x); }

// Up to 64 dense rows as columns; those that are missing are zero.
template <class R>
STEELYARD_INLINE void load_block(const R& rows, Index begin, Index count, double* x) {
    if (count < block_rows) std::fill(x, x + rows.n_cols * block_step, 0.0);
    for (Index r = 0; r < count; ++r) {
        double* at = x + r;
        rows.row(begin + r).each([&](Index j, double value) STEELYARD_INLINE_LAMBDA { at[j * block_step] = value; });
    }
}

struct Columns {
    static constexpr Index some = 32;  // rows whose sums stay in registers together: eight vectors

    static STEELYARD_INLINE void margins(const double* x, Index d, const double* w, double* m) {
        for (Index at = 0; at < block_rows; at += some) {
            Lanes sum[8] = {};
            const double* column = x + at;
            for (Index j = 0; j < d; ++j, column += block_step) {
                const Lanes wj = lanes(w[j]);
                for (Index k = 0; k < 8; ++k) sum[k] += wj * lanes_at(column + 4 * k);
            }
            for (Index k = 0; k < 8; ++k) put(m + at + 4 * k, sum[k]);
        }
    }

    // v: four sums a column
    static STEELYARD_INLINE void pull(const double* x, Index d, const double* f, double* v) {
        for (Index at = 0; at < block_rows; at += some) {
            Lanes force[8];
            for (Index k = 0; k < 8; ++k) force[k] = lanes_at(f + at + 4 * k);
            const double* column = x + at;
            for (Index j = 0; j < d; ++j, column += block_step) {
                Lanes even = lanes_at(v + 4 * j), odd = lanes(0);
                for (Index k = 0; k < 8; k += 2) {
                    even += force[k] * lanes_at(column + 4 * k);
                    odd += force[k + 1] * lanes_at(column + 4 * k + 4);
                }
                even += odd;
                put(v + 4 * j, even);
            }
        }
    }
};

// Numbers from one row to the next where rows lie one after another, the last ones zero.
STEELYARD_INLINE Index row_step(Index d) { return (d + 7) / 8 * 8; }

// H += sum of c x x' (lower triangle) over rows that come one by one, added up 64 rows at a time.
class Gram {
public:
    explicit Gram(Index d)
        : d_(d), step_(row_step(d)), x_(block_rows * step_), scaled_(block_rows * step_), H_(step_ * step_) {}

    void clear() {
        std::fill(H_.begin(), H_.end(), 0.0);
        count_ = 0;
    }
    template <class T>
    STEELYARD_INLINE void add(const T* row, double c) {
        double* x = x_.data() + count_ * step_;
        double* scaled = scaled_.data() + count_ * step_;
        const Lanes factor = lanes(c);
        for (Index j = 0; j < step_; j += 4) {
            const Lanes here = lanes_at(row + j);
            put(x + j, here);
            put(scaled + j, factor * here);
        }
        if (++count_ == block_rows) flush();
    }
    // A row by its entries: half the work where columns ascend, as they nearly always do.
    STEELYARD_INLINE void add(const std::int32_t* columns, const double* values, Index size, double c) {
        bool ascend = true;
        for (Index j = 1; j < size; ++j) ascend &= columns[j - 1] < columns[j];
        for (Index j = 0; j < size; ++j) {
            const double scaled = c * values[j];
            double* row = H_.data() + columns[j] * step_;
            if (ascend) {
                for (Index k = 0; k <= j; ++k) row[columns[k]] += scaled * values[k];
            } else {
                for (Index k = 0; k < size; ++k)
                    if (columns[k] <= columns[j]) row[columns[k]] += scaled * values[k];
            }
        }
    }
    STEELYARD_INLINE void flush() {
        for (Index j = 0; j < step_; j += 4)
            for (Index k = 0; k < j + 4; k += 8) tile(j, k);
        count_ = 0;
    }
    // d x d, row by row, the lower triangle.
    void copy_to(double* out) const {
        for (Index j = 0; j < d_; ++j) std::copy_n(H_.data() + j * step_, j + 1, out + j * d_);
    }

private:
    // Four rows by eight columns of H.
    STEELYARD_INLINE void tile(Index j, Index k) {
        Lanes sum[8] = {};
        const double *a = scaled_.data() + j, *b = x_.data() + k;
        for (Index r = 0; r < count_; ++r, a += step_, b += step_) {
            const Lanes left = lanes_at(b), right = lanes_at(b + 4);
            for (Index i = 0; i < 4; ++i) {
                const Lanes factor = lanes(a[i]);
                sum[2 * i] += factor * left;
                sum[2 * i + 1] += factor * right;
            }
        }
        for (Index i = 0; i < 4; ++i) {
            double* row = H_.data() + (j + i) * step_ + k;
            sum[2 * i] += lanes_at(row);
            sum[2 * i + 1] += lanes_at(row + 4);
            put(row, sum[2 * i]);
            put(row + 4, sum[2 * i + 1]);
        }
    }

    Index d_, step_, count_ = 0;
    std::vector<double> x_, scaled_, H_;
};

}  // namespace steelyard
