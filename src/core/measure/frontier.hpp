// Every operating point of scored rows: one sort, one pass.
//
// Given finite scores s_i, labels and weights w_i >= 0, the rule "positive if score > t" changes only where t passes a
// distinct score. Comes back, for t rising from below all scores to the largest: the threshold (in the middle of its
// gap), TPR and TNR. The caller makes sure that both classes have weight.
//
// The sort is a radix sort on the bits of the scores, stable and linear; runs of equal scores become one point.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

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

namespace detail {

struct Entry {
    std::uint64_t key;
    double mass;  // +w for a positive row, -w for a negative one
};

// Unsigned integers in the order of the doubles: flip the sign bit, and all bits of negative numbers.
inline std::uint64_t to_key(double score) {
    const double s = score + 0.0;  // -0.0 and 0.0 are one score
    std::uint64_t bits;
    std::memcpy(&bits, &s, sizeof bits);
    return bits >> 63 ? ~bits : bits | (std::uint64_t{1} << 63);
}

inline double to_score(std::uint64_t key) {
    const std::uint64_t bits = key >> 63 ? key & ~(std::uint64_t{1} << 63) : ~key;
    double s;
    std::memcpy(&s, &bits, sizeof s);
    return s;
}

inline void radix_sort(std::vector<Entry>& entries) {
    constexpr int digit = 11, passes = 6;
    constexpr std::size_t buckets = std::size_t{1} << digit;
    std::vector<std::array<std::size_t, buckets>> counts(passes);
    for (auto& c : counts) c.fill(0);
    for (const Entry& e : entries)
        for (int p = 0; p < passes; ++p) ++counts[static_cast<std::size_t>(p)][(e.key >> (digit * p)) & (buckets - 1)];
    std::vector<Entry> other(entries.size());
    for (int p = 0; p < passes; ++p) {
        auto& count = counts[static_cast<std::size_t>(p)];
        // All scores share this digit, as probabilities do in their highest bits: nothing to move.
        if (std::any_of(count.begin(), count.end(), [&](std::size_t c) { return c == entries.size(); })) continue;
        std::size_t start = 0;
        for (std::size_t& c : count) start += std::exchange(c, start);
        for (const Entry& e : entries) other[count[(e.key >> (digit * p)) & (buckets - 1)]++] = e;
        entries.swap(other);
    }
}

// Two neighbouring floats have no number between them; the lower one separates them, since the rule is strict.
inline double middle(double low, double high) {
    const double m = low + (high - low) / 2.0;
    return m > low && m < high ? m : low;
}

}  // namespace detail

inline Frontier scan_frontier(const ScoredRows& rows) {
    using detail::Entry;
    std::vector<Entry> entries(rows.size);
    for (std::size_t i = 0; i < rows.size; ++i) {
        const double w = rows.weight ? rows.weight[i] : 1.0;
        entries[i] = {detail::to_key(rows.scores[i]), rows.positive[i] ? w : -w};
    }
    detail::radix_sort(entries);

    Frontier out;
    for (auto* v : {&out.thresholds, &out.tpr, &out.tnr}) v->reserve(rows.size + 1);
    double positive = 0.0, negative = 0.0;  // mass at or below the threshold
    const auto put = [&](double threshold) {
        out.thresholds.push_back(threshold);
        out.tpr.push_back(positive);
        out.tnr.push_back(negative);
    };
    if (rows.size) put(std::nextafter(detail::to_score(entries[0].key), -std::numeric_limits<double>::infinity()));
    for (std::size_t i = 0; i < rows.size; ++i) {
        (entries[i].mass > 0.0 ? positive : negative) += std::fabs(entries[i].mass);
        const bool last = i + 1 == rows.size;
        if (!last && entries[i + 1].key == entries[i].key) continue;
        const double score = detail::to_score(entries[i].key);
        put(last ? score : detail::middle(score, detail::to_score(entries[i + 1].key)));
    }
    for (double& x : out.tpr) x = 1.0 - x / positive;
    for (double& x : out.tnr) x /= negative;
    return out;
}

}  // namespace steelyard
