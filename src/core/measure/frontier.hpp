// Every operating point of scored rows: one sort, one pass.
//
// Given finite scores s_i, labels and weights w_i >= 0, the rule "positive if score > t" changes only where t passes a
// distinct score. Comes back, for t rising from below all scores to the largest: the threshold (in the middle of its
// gap), TPR and TNR. The caller makes sure that both classes have weight.
//
// The sort is that of base/sort.hpp; runs of equal scores become one point.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "base/sort.hpp"

namespace steelyard {

struct ScoredRows {
    const double* scores;
    const bool* positive;
    const double* weight;  // null: all ones
    std::size_t size;
};

struct Frontier {
    std::vector<double> thresholds, tpr, tnr;
};

// Two neighbouring floats have no number between them; the lower one separates them, since the rule is strict.
inline double middle_of(double low, double high) {
    const double m = low + (high - low) / 2.0;
    return m > low && m < high ? m : low;
}

// The scratch memory of the sort is given back before the points are made, which then need no more than there was.
inline std::vector<Ranked> by_score(const ScoredRows& rows, const Stop* stop) {
    ScoreSort sorted;
    sorted.rows.reserve(rows.size);  // and written piece by piece: the first touch of new memory takes its time
    in_pieces(rows.size, ScoreSort::at_once, stop, [&](std::size_t begin, std::size_t end) {
        sorted.rows.resize(end);
        for (std::size_t i = begin; i < end; ++i) {
            const double w = rows.weight ? rows.weight[i] : 1.0;
            sorted.rows[i] = {to_key(rows.scores[i]), rows.positive[i] ? w : -w};
        }
    });
    sorted.sort(stop);
    return std::move(sorted.rows);
}

inline Frontier scan_frontier(const ScoredRows& rows, const Stop* stop = nullptr) {
    const std::vector<Ranked> entries = by_score(rows, stop);
    Frontier out;
    for (auto* v : {&out.thresholds, &out.tpr, &out.tnr}) v->reserve(rows.size + 1);
    double positive = 0.0, negative = 0.0;  // mass at or below the threshold
    const auto put = [&](double threshold) {
        out.thresholds.push_back(threshold);
        out.tpr.push_back(positive);
        out.tnr.push_back(negative);
    };
    if (rows.size) put(std::nextafter(to_score(entries[0].key), -std::numeric_limits<double>::infinity()));
    StopEvery heard(stop, static_cast<int>(ScoreSort::at_once));
    for (std::size_t i = 0; i < rows.size; ++i) {
        heard();
        (entries[i].mass > 0.0 ? positive : negative) += std::fabs(entries[i].mass);
        const bool last = i + 1 == rows.size;
        if (!last && entries[i + 1].key == entries[i].key) continue;
        const double score = to_score(entries[i].key);
        put(last ? score : middle_of(score, to_score(entries[i + 1].key)));
    }
    in_pieces(out.tpr.size(), ScoreSort::at_once, stop, [&](std::size_t begin, std::size_t end) {
        for (std::size_t k = begin; k < end; ++k) {
            out.tpr[k] = 1.0 - out.tpr[k] / positive;
            out.tnr[k] /= negative;
        }
    });
    return out;
}

}  // namespace steelyard
