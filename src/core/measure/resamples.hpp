// What the bootstrap counts: rows of one class, how often each is in each draw, and what models or thresholds call.
//
//   shares_above   of every draw, and of the rows that it left out, the share of the weight above each of some cuts
//   calls_drawn    of every model, the weight in each draw of the rows that it calls
//
// `drawn` is rows x draws, a byte each: a row is hardly ever a dozen times in a draw. Sums are doubles, so that counts
// are exact.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/rows.hpp"
#include "base/simd.hpp"
#include "base/stop.hpp"

namespace steelyard {

struct DrawnRows {
    const std::uint8_t* drawn;
    const double* weight;  // null: all ones
    Index n, draws;

    double weight_of(Index i) const { return weight ? weight[i] : 1.0; }
    const std::uint8_t* of(Index i) const { return drawn + i * draws; }
};

constexpr Index rows_a_look = 4096;  // between two looks at the stop token: some tens of microseconds

// Into (cuts x 2 draws): first the draws, then what they left out. `scores` are those of the rows, cuts ascend.
STEELYARD_CLONES inline void heap_rows(const DrawnRows& rows, const double* scores, const double* cuts, Index count,
                                       Index begin, Index end, double* heaps) {
    const Index draws = rows.draws;
    for (Index i = begin; i < end; ++i) {
        const double weight = rows.weight_of(i);
        double* heap = heaps + (std::lower_bound(cuts, cuts + count, scores[i]) - cuts) * 2 * draws;
        const std::uint8_t* times = rows.of(i);
        for (Index k = 0; k < draws; ++k) heap[k] += weight * times[k];
        for (Index k = 0; k < draws; ++k) heap[draws + k] += times[k] == 0 ? weight : 0.0;
    }
}

inline std::vector<double> shares_above(const DrawnRows& rows, const double* scores, const double* cuts, Index count,
                                        const Stop* stop) {
    const Index width = 2 * rows.draws;
    std::vector<double> heaps(static_cast<std::size_t>((count + 1) * width), 0.0);
    for (Index i = 0; i < rows.n; i += rows_a_look) {
        check(stop);
        heap_rows(rows, scores, cuts, count, i, std::min(rows.n, i + rows_a_look), heaps.data());
    }
    for (Index c = count - 1; c >= 0; --c)
        for (Index k = 0; k < width; ++k) heaps[c * width + k] += heaps[(c + 1) * width + k];
    std::vector<double> all(heaps.begin(), heaps.begin() + width);
    for (double& sum : all) sum = sum > 0 ? 1 / sum : 1.0;
    heaps.erase(heaps.begin(), heaps.begin() + width);
    for (Index c = 0; c < count; ++c)
        for (Index k = 0; k < width; ++k) heaps[c * width + k] *= all[k];
    return heaps;
}

STEELYARD_CLONES inline void add_calls(const DrawnRows& rows, const bool* called, Index models, Index begin, Index end,
                                       double* sums) {
    const Index draws = rows.draws;
    for (Index i = begin; i < end; ++i) {
        const double weight = rows.weight_of(i);
        const std::uint8_t* times = rows.of(i);
        for (Index m = 0; m <= models; ++m) {
            if (m < models && !called[i * models + m]) continue;
            double* sum = sums + m * (draws + 1);
            sum[0] += weight;
            for (Index k = 0; k < draws; ++k) sum[k + 1] += weight * times[k];
        }
    }
}

// (models + 1) x (1 + draws): the weight called, in the sample and in every draw; last that of all rows.
inline std::vector<double> calls_drawn(const DrawnRows& rows, const bool* called, Index models, const Stop* stop) {
    std::vector<double> sums(static_cast<std::size_t>((models + 1) * (rows.draws + 1)), 0.0);
    for (Index i = 0; i < rows.n; i += rows_a_look) {
        check(stop);
        add_calls(rows, called, models, i, std::min(rows.n, i + rows_a_look), sums.data());
    }
    return sums;
}

}  // namespace steelyard
