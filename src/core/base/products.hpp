// What engines ask of rows as a whole: products with models, sums by coefficient, norms; and what is wrong with rows.
//
//   scores   s_ik = x_i . w_k          for every row and every model
//   sums     g_k  = sum_i a_ki x_i     for every set of coefficients
//   norms    |x_i|^2
//
// The sums are added up in blocks of rows. The blocks are taken in stripes, one running sum for each, so that the bits
// do not depend on the number of threads and the memory not on the number of blocks.
#pragma once

#include <algorithm>
#include <atomic>
#include <vector>

#include "base/parallel.hpp"
#include "base/rows.hpp"
#include "base/stop.hpp"

namespace steelyard {

// `count` vectors one after another, each as long as there are columns (models) or rows (coefficients).
struct Stack {
    const double* at;
    Index count;
};

// One model and one set of coefficients, which the cutting planes ask for, have loops of their own: for rows of fifty
// columns the loop over models costs a fifth of a product, and half of a sum of which most coefficients are zero.
struct Products {
    // The rows of a view need not follow each other in memory, where the machine would see the next one coming.
    static constexpr Index ahead = 8;
    template <class R>
    static STEELYARD_INLINE void look_ahead(const R& rows, Index i, Index end) {
        if (rows.which && i + ahead < end) rows.prefetch(i + ahead);
    }

    // The constant column's part is the same in every row.
    template <class R>
    static STEELYARD_INLINE void forward_one(const R& rows, const double* w, double* out, Index begin, Index end) {
        const R stored = viewed(rows, {});
        const double offset = rows.constant != 0 ? rows.constant * w[rows.n_stored] : 0;
        for (Index i = begin; i < end; ++i) {
            look_ahead(rows, i, end);
            out[i] = stored.row(rows.which ? rows.which[i] : i).dot(w) + offset;
        }
    }
    template <class R>
    STEELYARD_CLONES static void forward(const R& rows, const Stack& W, double* out, Index begin, Index end) {
        if (W.count == 1) return forward_one(rows, W.at, out, begin, end);
        for (Index i = begin; i < end; ++i) {
            look_ahead(rows, i, end);
            const auto x = rows.row(i);
            for (Index k = 0; k < W.count; ++k) out[i * W.count + k] = x.dot(W.at + k * rows.n_cols);
        }
    }
    template <class R>
    STEELYARD_CLONES static void backward(const R& rows, const Stack& a, double* out, Index begin, Index end) {
        if (a.count == 1) {
            for (Index i = begin; i < end; ++i)
                if (a.at[i] != 0) rows.row(i).add_to(out, a.at[i]);
            return;
        }
        for (Index i = begin; i < end; ++i) {
            look_ahead(rows, i, end);
            const auto x = rows.row(i);
            for (Index k = 0; k < a.count; ++k) {
                const double scale = a.at[k * rows.n_rows + i];
                if (scale != 0) x.add_to(out + k * rows.n_cols, scale);
            }
        }
    }
};

template <class R>
void multiply(const R& rows, const Stack& W, double* out, int n_threads, const Stop& stop) {
    const Blocks blocks{rows.n_rows};
    const auto block = [&](Index b) {
        stop.check();
        Products::forward(rows, W, out, blocks.begin(b), blocks.end(b));
    };
    parallel_for(n_threads, blocks.count(), block, &stop);
}

// out must be zero.
template <class R>
void add_up(const R& rows, const Stack& a, double* out, int n_threads, const Stop& stop) {
    const Blocks blocks{rows.n_rows};
    const Index width = a.count * rows.n_cols;
    const auto block = [&](Index b, double* into) {
        stop.check();
        Products::backward(rows, a, into, blocks.begin(b), blocks.end(b));
    };
    add_in_stripes(n_threads, blocks.count(), width, out, block, &stop);
}

template <class R>
void square(const R& rows, double* out, const Stop& stop) {
    const Blocks blocks{rows.n_rows};
    for (Index b = 0; b < blocks.count(); ++b) {
        stop.check();
        for (Index i = blocks.begin(b); i < blocks.end(b); ++i) {
            double sum = 0;
            rows.row(i).each([&sum](Index, double x) { sum += x * x; });
            out[i] = sum;
        }
    }
}

struct Fault {
    const char* what = "";
    Index row = -1;
};

// How to look: `values` is off where somebody else will see numbers that are not finite.
struct Looking {
    int n_threads = 1;
    bool values = true;
};

// The first row with a column outside the matrix or a value that is not finite; if there is none, the first whose
// columns do not rise.
struct FaultIn {
    bool values;

    template <class R>
    STEELYARD_CLONES void block(const R& rows, Index begin, Index end, Fault& bad, Fault& unordered) const {
        if constexpr (!R::is_dense)
            if (!rows.which && in_order(rows, begin, end)) return;
        for (Index i = begin; i < end && bad.row < 0; ++i) {
            const auto x = rows.row(i);
            if (!x.inside(rows.n_stored))
                bad = {"outside", i};
            else if (values && !is_finite(x))
                bad = {"not finite", i};
            else if (unordered.row < 0 && !rises(x))
                unordered = {"unordered", i};
        }
    }

    // Whether all is well with a block of sparse rows, taken as one long row: most are, and short ones one by one take
    // five times as long. Columns may fall from one row to the next, and nowhere else.
    template <class T>
    STEELYARD_INLINE bool in_order(const SparseRows<T>& rows, Index begin, Index end) const {
        const Index first = rows.starts[begin];
        const SparseRow<T> all{rows.values + first, rows.columns.from(first), rows.starts[end] - first};
        if (!all.inside(rows.n_stored) || (values && !is_finite(all))) return false;
        return all.columns.visit([&](const auto* at) STEELYARD_INLINE_LAMBDA {
            Index falls = 0;
            for (Index k = 1; k < all.size; ++k) falls += at[k - 1] >= at[k];
            for (Index i = begin + 1; i < end; ++i) {
                const Index k = rows.starts[i] - first;
                if (k > 0 && rows.starts[i + 1] - first > k) falls -= at[k - 1] >= at[k];
            }
            return falls == 0;
        });
    }

    template <class Row>
    static STEELYARD_INLINE bool rises(const Row& x) {
        if constexpr (Row::is_dense) {
            return true;
        } else {
            return x.columns.visit([&](const auto* at) STEELYARD_INLINE_LAMBDA {
                bool rising = true;
                for (Index k = 1; k < x.size; ++k) rising &= at[k - 1] < at[k];
                return rising;
            });
        }
    }
};

template <class R>
Fault find_fault(const R& rows, const Stop& stop, const Looking& how = {}) {
    if (R::is_dense && !how.values) return {};
    const Blocks blocks{rows.n_rows};
    std::vector<Fault> bad(static_cast<std::size_t>(blocks.count())), unordered(bad.size());
    std::atomic<Index> first{blocks.count()};  // block with something bad: what comes behind it need not be looked at
    const auto block = [&](Index b) {
        stop.check();
        const auto k = static_cast<std::size_t>(b);
        if (b > first.load(std::memory_order_relaxed)) return;
        FaultIn{how.values}.block(rows, blocks.begin(b), blocks.end(b), bad[k], unordered[k]);
        Index seen = first.load(std::memory_order_relaxed);
        while (bad[k].row >= 0 && b < seen && !first.compare_exchange_weak(seen, b)) {
        }
    };
    parallel_for(how.n_threads, blocks.count(), block, &stop);
    for (const auto* faults : {&bad, &unordered})
        for (const Fault& fault : *faults)
            if (fault.row >= 0) return fault;
    return {};
}

}  // namespace steelyard
