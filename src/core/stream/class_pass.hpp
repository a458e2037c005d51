// K linear models of several classes, row by row: scores, the table of what was called what, and one step of each.
//
// A row x of class y with weight c pulls with a = c pull[y], the weight that the measure gives its class. One of two
// rewards says which models move, and how far, g_k:
//   rival      a min(1, s_y - s_r), r the class that leads among the others (Crammer & Singer 2001)
//   softmax    a log p_y
// (The hinge of each class against the rest was behind both: docs/classes.md.)
// Steps are those of `stream/weights.hpp`: per coordinate in AdaGrad's way, averaged at no cost for what does not move.
// All that goes from one row to the next lies in arrays of the caller, so that he can copy, save and restore it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/rows.hpp"
#include "base/simd.hpp"
#include "base/stop.hpp"
#include "stream/weights.hpp"

namespace steelyard {

enum class ClassLoss : std::int32_t { rival, softmax };

// Models one after another, K x d each, and their intercepts, K each; then what is known of all rows.
struct ClassState {
    double *v, *u, *squares;      // as in `Weights`, with scale = 1
    double *b, *u_b, *squares_b;  // of the intercepts
    double* confusion;            // K x K: the weight of class y (rows) that was called k, before it was learned
    double* numbers;              // see below
    Index n_classes, n_cols;

    // In `numbers`: rows learned, their weight in the average, and the scale of the inputs from the first rows.
    enum { rows, mass, looked, entries, sum_of_squares, count_of_numbers };
};

struct ClassRun {
    const std::int32_t* codes;
    const double* weight;  // null: all 1
    const Index* order;    // the rows to learn from, n of them
    Index n;
    const double* pull;  // of each class
    ClassLoss loss;
    double unit_step;
    bool intercept;
};

class ClassPass {
public:
    ClassPass(const ClassState& state, const ClassRun& run)
        : s_(state), run_(run), scores_(size(state)), g_(size(state)) {}

    template <class Matrix>
    void over(const Matrix& rows, const Stop* stop) {
        in_pieces<Index>(run_.n, 1024, stop, [&](Index begin, Index end) { piece(rows, begin, end); });
    }

private:
    static constexpr double warm = 1000.0;  // rows that set the scale of the inputs, as `Warmup::rows_needed`

    ClassState s_;
    ClassRun run_;
    std::vector<double> scores_, g_;

    // Nothing is thrown in here: see `base/simd.hpp`.
    template <class Matrix>
    STEELYARD_CLONES void piece(const Matrix& rows, Index begin, Index end) {
        for (Index t = begin; t < end; ++t) {
            const Index i = run_.order[t];
            one(rows.row(i), run_.codes[i], run_.weight ? run_.weight[i] : 1.0);
        }
    }

    static std::size_t size(const ClassState& state) { return static_cast<std::size_t>(state.n_classes); }

    template <class Row>
    STEELYARD_INLINE void one(const Row& row, Index y, double weight) {
        double* const n = s_.numbers;
        n[ClassState::rows] += 1.0;
        if (n[ClassState::looked] < warm) look(row);
        const double squares = n[ClassState::sum_of_squares];
        const double eta = run_.unit_step / (squares > 0.0 ? std::sqrt(squares / n[ClassState::entries]) : 1.0);
        for (Index k = 0; k < s_.n_classes; ++k) {
            const double score = row.dot(s_.v + k * s_.n_cols) + s_.b[k];
            at(scores_, k) = std::isfinite(score) ? score : std::isnan(score) ? 0.0 : std::copysign(1e300, score);
        }
        const auto called = std::max_element(scores_.begin(), scores_.end()) - scores_.begin();
        s_.confusion[y * s_.n_classes + called] += weight;
        slopes(y, weight * run_.pull[y]);
        for (Index k = 0; k < s_.n_classes; ++k)
            if (at(g_, k) != 0.0) step(row, k, at(g_, k), eta);
        n[ClassState::mass] += weight * n[ClassState::rows];  // later rows count for more, as for two classes
    }

    template <class Row>
    STEELYARD_INLINE void look(const Row& row) {
        row.each([this](Index, double x) {
            if (x != 0.0) s_.numbers[ClassState::entries] += 1.0;
            s_.numbers[ClassState::sum_of_squares] += x * x;
        });
        s_.numbers[ClassState::looked] += 1.0;
    }

    void slopes(Index y, double a) {
        std::fill(g_.begin(), g_.end(), 0.0);
        if (run_.loss == ClassLoss::rival) {
            Index rival = y == 0 ? 1 : 0;
            for (Index k = 0; k < s_.n_classes; ++k)
                if (k != y && at(scores_, k) > at(scores_, rival)) rival = k;
            if (at(scores_, y) - at(scores_, rival) < 1.0) at(g_, y) = a, at(g_, rival) = -a;
        } else {
            const double top = *std::max_element(scores_.begin(), scores_.end());
            double sum = 0.0;
            for (Index k = 0; k < s_.n_classes; ++k) sum += at(g_, k) = std::exp(at(scores_, k) - top);
            for (Index k = 0; k < s_.n_classes; ++k) at(g_, k) = a * ((k == y ? 1.0 : 0.0) - at(g_, k) / sum);
        }
    }

    template <class Row>
    STEELYARD_INLINE void step(const Row& row, Index k, double g, double eta) {
        double *const v = s_.v + k * s_.n_cols, *const u = s_.u + k * s_.n_cols, *const q = s_.squares + k * s_.n_cols;
        const double mass = s_.numbers[ClassState::mass];
        const AdaptiveStep step(g, eta), step_b(g, run_.unit_step);
        if constexpr (Row::is_dense) {
            const auto* const values = row.values;
            STEELYARD_NO_OVERLAP
            for (Index j = 0; j < row.size; ++j) {
                const double x = static_cast<double>(values[j]), sum = step.sum(q[j], x);
                const double d = step.length(x, sum);
                q[j] = sum;
                v[j] += d;
                u[j] += mass * d;
            }
        } else {
            row.each([=](Index j, double x) STEELYARD_INLINE_LAMBDA {
                q[j] = step.sum(q[j], x);
                const double d = step.length(x, q[j]);
                v[j] += d;
                u[j] += mass * d;
            });
        }
        if (!run_.intercept) return;
        s_.squares_b[k] = step_b.sum(s_.squares_b[k], 1.0);
        const double d = step_b.length(1.0, s_.squares_b[k]);
        s_.b[k] += d;
        s_.u_b[k] += mass * d;
    }

    static double& at(std::vector<double>& xs, Index k) { return xs[static_cast<std::size_t>(k)]; }
};

}  // namespace steelyard
