// What the bootstrap counts: rows of one class, how often each is in each draw, and what models or thresholds call.
//
//   draw_rows      how often each row is in each draw
//   shares_above   of every draw, and of the rows that it left out, the share of the weight above each of some cuts
//   calls_drawn    of every model, the weight in each draw of the rows that it calls
//
// `drawn` is rows x draws, a byte each: a row is hardly ever a dozen times in a draw. Sums are doubles, so that counts
// are exact.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/random.hpp"
#include "base/rows.hpp"
#include "base/simd.hpp"
#include "base/sizes.hpp"
#include "base/sort.hpp"
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

// How often each of n rows is in each of so many draws with replacement, n x draws. Eight draws at a time: their counts
// lie row by row in a cache while numbers are drawn, and are moved to their place together.
inline std::vector<std::uint8_t> draw_rows(Index n, Index draws, std::uint64_t seed, const Stop* stop) {
    constexpr Index together = 8;  // counts of so many draws of 30,000 rows are 240 KB: a second-level cache
    std::vector<std::uint8_t> counts(numbers_of(n, together)), drawn(numbers_of(n, draws));
    Shuffler random{mix(seed)};
    for (Index first = 0; first < draws; first += together) {
        const Index some = std::min(together, draws - first);
        std::fill(counts.begin(), counts.end(), std::uint8_t{0});
        for (Index k = 0; k < some; ++k) {
            check(stop);
            std::uint8_t* const count = counts.data() + k * n;
            for (Index i = 0; i < n; ++i) {
                std::uint8_t& one = count[random.below(n)];
                one = static_cast<std::uint8_t>(one + (one < 255));  // hardly ever a dozen
            }
        }
        for (Index i = 0; i < n; ++i)
            for (Index k = 0; k < some; ++k) drawn[i * draws + first + k] = counts[k * n + i];
    }
    return drawn;
}

// Running sums over rows as they come: of the draws, and of what they left out. Sum: counts, or weights.
template <class Sum>
struct RunningDraws {
    std::vector<Sum> in, out;

    explicit RunningDraws(Index draws) : in(static_cast<std::size_t>(draws), 0), out(in) {}

    void add(const std::uint8_t* times, Sum weight) {
        Sum *const i = in.data(), *const o = out.data();
        const Index draws = static_cast<Index>(in.size());
        STEELYARD_NO_OVERLAP
        for (Index k = 0; k < draws; ++k) i[k] += weight * static_cast<Sum>(times[k]);
        STEELYARD_NO_OVERLAP
        for (Index k = 0; k < draws; ++k) o[k] += times[k] == 0 ? weight : Sum{0};
    }
};

// The last row first: so many before `end`.
template <class Sum>
STEELYARD_CLONES void add_before(const DrawnRows& rows, const Ranked* end, Index count, RunningDraws<Sum>& sums) {
    for (; count > 0; --count) {
        const auto i = static_cast<Index>((--end)->mass);
        sums.add(rows.of(i), static_cast<Sum>(rows.weight_of(i)));
    }
}

// From the highest score down: what lies above each cut (ascending), into cuts x 2 draws; then the shares of it.
template <class Sum>
void walk_down(const DrawnRows& rows, const std::vector<Ranked>& order, const double* cuts, Index count, double* above,
               const Stop* stop) {
    RunningDraws<Sum> sums(rows.draws);
    const Index draws = rows.draws;
    const Ranked* end = order.data() + order.size();  // from here on they are counted
    const auto go_to = [&](const Ranked* to) {
        while (end != to) {
            check(stop);
            const Index some = std::min<Index>(end - to, rows_a_look);
            add_before(rows, end, some, sums);
            end -= some;
        }
    };
    for (Index c = count - 1; c >= 0; --c) {
        go_to(std::upper_bound(order.data(), end, cuts[c],
                               [](double cut, const Ranked& row) { return cut < to_score(row.key); }));
        double* const to = above + c * 2 * draws;
        for (Index k = 0; k < draws; ++k) to[k] = static_cast<double>(sums.in[k]);
        for (Index k = 0; k < draws; ++k) to[draws + k] = static_cast<double>(sums.out[k]);
    }
    go_to(order.data());
    std::vector<double> per(sums.in.begin(), sums.in.end());
    per.insert(per.end(), sums.out.begin(), sums.out.end());
    for (double& sum : per) sum = sum > 0 ? 1 / sum : 1.0;
    for (Index c = 0; c < count; ++c)
        for (Index k = 0; k < 2 * draws; ++k) above[c * 2 * draws + k] *= per[k];
}

inline std::vector<double> shares_above(const DrawnRows& rows, const double* scores, const double* cuts, Index count,
                                        const Stop* stop) {
    ScoreSort sorted;
    sorted.rows.resize(static_cast<std::size_t>(rows.n));
    for (Index i = 0; i < rows.n; ++i) sorted.rows[i] = {to_key(scores[i]), static_cast<double>(i)};
    sorted.sort(stop);
    std::vector<double> above(numbers_of(count, 2 * rows.draws));
    if (rows.weight)
        walk_down<double>(rows, sorted.rows, cuts, count, above.data(), stop);
    else
        walk_down<std::uint32_t>(rows, sorted.rows, cuts, count, above.data(), stop);
    return above;
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
    std::vector<double> sums(numbers_of(models + 1, rows.draws + 1), 0.0);
    for (Index i = 0; i < rows.n; i += rows_a_look) {
        check(stop);
        add_calls(rows, called, models, i, std::min(rows.n, i + rows_a_look), sums.data());
    }
    return sums;
}

}  // namespace steelyard
