// The most violated confusion matrix of a structural SVM: by one pass, by divide and conquer, or by the whole table.
//
//   given   scores s_i of P positive and N negative rows, kappa > 0, and a loss L(a, b) of the confusion matrix in
//           which a positives and b negatives are called positive
//   find    max over label vectors y'  L(y') - kappa sum of y_i s_i over the rows where y' differs from y
//
// For given counts the cheapest rows to flip are the lowest positives and the highest negatives, so this is
//
//   max over (a, b)  L(a, b) + U[a] + F[b],    U[a] = -kappa (sum of the P - a lowest positive scores),
//                                              F[b] = kappa (sum of the b highest negative scores),   both concave.
//
// L of the count a + b alone: the best a + b calls are the rows of highest score, whatever their class, so one walk
// down the sorted scores visits every candidate. L whose mixed difference L(a+1, b+1) - L(a+1, b) - L(a, b+1) + L(a, b)
// has one sign: the best b of a row of the table moves one way as a grows, so divide and conquer needs
// O((P + N) log P) cells. Any L: the table (Joachims 2005, Algorithm 2), which the others are tested against;
// structural/branch_and_bound.hpp spares most of it.
#pragma once

#include <limits>
#include <vector>

#include "base/rows.hpp"
#include "base/sort.hpp"
#include "measure/tape.hpp"

namespace steelyard {

// Cells or rows between two looks at the stop: a cell takes 5 to 100 ns, so a look comes every few milliseconds.
constexpr int cells_at_once = 1 << 16;

// Scores of the two classes, highest first, and what flipping rows earns.
class SortedScores {
public:
    double kappa = 1;
    std::vector<double> positive, negative;
    std::vector<double> U, F;

    Index P() const { return static_cast<Index>(positive.size()); }
    Index N() const { return static_cast<Index>(negative.size()); }

    void sort(const double* scores, const bool* is_positive, Index n, const Stop* stop = nullptr) {
        const auto positives = static_cast<std::size_t>(std::count(is_positive, is_positive + n, true));
        keys_[0].rows.resize(static_cast<std::size_t>(n) - positives);
        keys_[1].rows.resize(positives);
        std::uint64_t* next[2] = {keys_[0].rows.data(), keys_[1].rows.data()};
        for (Index i = 0; i < n; ++i) *next[is_positive[i]]++ = to_key(scores[i]);
        for (const int side : {0, 1}) {
            keys_[side].sort(stop);
            auto& falling = side ? positive : negative;
            falling.resize(keys_[side].rows.size());
            std::transform(keys_[side].rows.rbegin(), keys_[side].rows.rend(), falling.begin(), to_score);
        }
        check(stop);
        U.resize(positive.size() + 1);
        F.resize(negative.size() + 1);
        U[positive.size()] = F[0] = 0;
        for (std::size_t a = positive.size(); a > 0; --a) U[a - 1] = U[a] - kappa * positive[a - 1];
        for (std::size_t b = 0; b < negative.size(); ++b) F[b + 1] = F[b] + kappa * negative[b];
        check(stop);
    }

private:
    RadixSort<std::uint64_t> keys_[2];  // kept, so that a step does not ask for its memory again
};

struct Cell {
    Index a = 0, b = 0;
    double value = -std::numeric_limits<double>::infinity();

    void offer(Index row, Index column, double worth) {
        if (worth > value) *this = {row, column, worth};
    }
};

// Which confusion matrices count: those with `least` to `most` calls.
struct Calls {
    Index least, most;
};

// L(a, b) = values[a + b].
struct CountLoss {
    const double* values;
    double operator()(Index a, Index b) const { return values[a + b]; }
};

// L(a, b) = scale (top - measure), where top is the measure of a perfect prediction.
struct MeasureLoss {
    Tape* tape;
    double P, N, prevalence, smoothing, scale, top;

    double operator()(Index a, Index b) const {
        const double tpr = static_cast<double>(a) / P, tnr = (N - static_cast<double>(b)) / N;
        return scale * (top - tape->evaluate({tpr, tnr, prevalence, smoothing}).value);
    }
};

// Joachims 2005, Algorithm 2: every cell.
template <class Loss>
Cell search_table(const SortedScores& s, const Loss& loss, const Calls& calls, const Stop* stop = nullptr) {
    Cell best;
    StopEvery heard(stop, cells_at_once);
    for (Index a = 0; a <= s.P(); ++a) {
        const Index first = std::max<Index>(0, calls.least - a), last = std::min(s.N(), calls.most - a);
        for (Index b = first; b <= last; ++b) {
            heard();
            best.offer(a, b, loss(a, b) + s.U[a] + s.F[b]);
        }
    }
    return best;
}

// A loss of the count: down the merged scores, from no calls to all. Ten million rows take 50 ms, between two looks at
// the stop: none is needed here.
inline Cell search_counts(const SortedScores& s, const CountLoss& loss) {
    Cell best;
    Index a = 0, b = 0;
    best.offer(0, 0, loss(0, 0) + s.U[0] + s.F[0]);
    while (a < s.P() || b < s.N()) {
        const bool next_is_positive = b == s.N() || (a < s.P() && s.positive[a] >= s.negative[b]);
        ++(next_is_positive ? a : b);
        best.offer(a, b, loss(a, b) + s.U[a] + s.F[b]);
    }
    return best;
}

// A loss with a mixed difference of one sign: >= 0 if `rises`, <= 0 otherwise.
template <class Loss>
struct DividedSearch {
    const SortedScores& s;
    const Loss& loss;
    bool rises;
    StopEvery heard;
    Cell best;

    // Rows a0 .. a1 of the table, whose best columns lie in b0 .. b1.
    void rows(Index a0, Index a1, Index b0, Index b1) {
        if (a0 > a1) return;
        const Index a = a0 + (a1 - a0) / 2;
        Cell here;
        for (Index b = b0; b <= b1; ++b) {
            heard();
            here.offer(a, b, loss(a, b) + s.U[a] + s.F[b]);
        }
        best.offer(here.a, here.b, here.value);
        rows(a0, a - 1, rises ? b0 : here.b, rises ? here.b : b1);
        rows(a + 1, a1, rises ? here.b : b0, rises ? b1 : here.b);
    }
};

template <class Loss>
Cell search_divided(const SortedScores& s, const Loss& loss, bool rises, const Stop* stop = nullptr) {
    DividedSearch<Loss> search{s, loss, rises, {stop, cells_at_once}, {}};
    search.rows(0, s.P(), 0, s.N());
    return search.best;
}

}  // namespace steelyard
