// A uniform sample of the rows of each class, from a stream of unknown length, kept with their values.
//
// The threshold that goes with a model is found on it exactly, at any time, without another pass. Row number k of a
// class takes a free place while there is one, and afterwards replaces a random one with probability capacity / k. The
// number of the next row that does is drawn at once (Algorithm L of Li 1994), so the rows between cost nothing. Draws
// depend on the seed, the class and the number of rows taken only. Rows are copied when a chunk has been learned, so
// only survivors cost anything.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/random.hpp"
#include "base/rows.hpp"
#include "base/stop.hpp"
#include "stream/reservoir_rows.hpp"

namespace steelyard {

class Reservoir {
public:
    static constexpr Index nowhere = -1;     // in place of a place
    static constexpr std::size_t ahead = 8;  // rows that are prefetched, as in BlockedShuffle

    Reservoir() = default;
    Reservoir(const Index (&capacity)[2], std::uint64_t seed)
        : capacity_{capacity[0], capacity[1]}, mixed_{mix(seed), mix(seed + 1)} {}

    // The place that the next row of this class takes, or nowhere.
    STEELYARD_INLINE Index offer(int side) {
        const std::int64_t k = ++counters.accepted[side];
        return k == counters.next[side] ? take_place(side) : nowhere;
    }

    // `offer` and `note` for the rows from `first` on, when none of them is held out. Most blocks of rows have none
    // that takes a place, and need only their negatives counted.
    void offer_all(const std::int8_t* y, const double* weight, Index first, Index n_rows, const Stop* stop) {
        const std::int64_t before[2] = {counters.accepted[0], counters.accepted[1]};
        StopEvery ask(stop, 1 << 16);
        for (Index i = first; i < n_rows;) {
            ask();
            if (weight == nullptr && i + block <= n_rows && skip_block(y + i)) {
                i += block;
                continue;
            }
            for (const Index end = std::min(i + block, n_rows); i < end; ++i) {
                if (weight != nullptr && weight[i] == 0.0) continue;
                const int side = y[i] > 0;
                if (++counters.accepted[side] == counters.next[side]) note(side, take_place(side), i, false);
            }
        }
        for (int side = 0; side < 2; ++side) counters.offered[side] += counters.accepted[side] - before[side];
    }

    struct Pending {
        Index row = nowhere;
        bool held = false;  // only the reservoir may see it
    };

    // Notes that a row of the present chunk takes a place; `keep` copies the rows that are still noted at its end.
    void note(int side, Index place, Index row, bool held) {
        auto& pending = pending_[side];
        if (static_cast<Index>(pending.size()) <= place) pending.resize(static_cast<std::size_t>(place) + 1);
        pending[static_cast<std::size_t>(place)] = {row, held};
    }
    const std::vector<Pending>& pending(int side) const { return pending_[side]; }
    void forget_pending() { pending_[0].clear(), pending_[1].clear(); }

    // All the memory that `keep` will need, so that it cannot fail.
    template <class Matrix>
    void take_room(const Matrix& rows) {
        std::int64_t bytes = 0;
        for (int side = 0; side < 2; ++side) {
            const auto& pending = pending_[side];
            kept.take_places(side, pending.size());
            for (std::size_t place = 0; place < pending.size(); ++place)
                if (pending[place].row != nowhere) bytes += kept.bytes_for(side, place, rows.row(pending[place].row));
        }
        kept.take_bytes(bytes);
    }

    template <class Matrix>
    void keep(const Matrix& rows, const double* weight) {
        for (int side = 0; side < 2; ++side) {
            const auto& pending = pending_[side];
            for (std::size_t place = 0; place < pending.size(); ++place) {
                const Index later = pending[std::min(place + ahead, pending.size() - 1)].row, i = pending[place].row;
                if (later != nowhere) rows.prefetch(later);
                if (i != nowhere) kept.put(side, place, rows.row(i), weight == nullptr ? 1.0 : weight[i]);
            }
        }
        forget_pending();
        kept.compact();
    }

    struct Counters {
        std::int64_t offered[2] = {0, 0}, accepted[2] = {0, 0};
        std::int64_t next[2] = {1, 1}, draws[2] = {0, 0};  // number of the row that takes the next place
        double largest[2] = {1.0, 1.0};  // a row is kept if its uniform number is among the smallest; the largest kept
    };
    Counters counters;
    KeptRows kept;

private:
    Index capacity_[2] = {0, 0};
    std::uint64_t mixed_[2] = {0, 0};
    std::vector<Pending> pending_[2];

    double next_uniform(int side) { return uniform(mixed_[side], static_cast<std::uint64_t>(++counters.draws[side])); }

    static constexpr Index block = 8;  // labels of one byte, looked at as one word

    // Counts a block of labels, unless one of its rows takes a place.
    STEELYARD_INLINE bool skip_block(const std::int8_t* y) {
        std::uint64_t word;
        std::memcpy(&word, y, sizeof word);
        constexpr std::uint64_t ones = 0x0101010101010101ull;  // the sign bit of each label, added up in the top byte
        const auto negative = static_cast<std::int64_t>((((word >> 7) & ones) * ones) >> 56);
        auto& accepted = counters.accepted;
        if (accepted[0] + negative >= counters.next[0] || accepted[1] + block - negative >= counters.next[1])
            return false;
        accepted[0] += negative, accepted[1] += block - negative;
        return true;
    }

    // log x for x > 0, from the exponent and 2 artanh((m - 1)/(m + 1)) of a mantissa m in [sqrt 1/2, sqrt 2): six terms
    // leave a relative error of 1e-10, and a sample of 16,384 rows draws some fifty thousand.
    static STEELYARD_INLINE double quick_log(double x) {
        std::uint64_t bits;
        std::memcpy(&bits, &x, sizeof bits);
        const std::uint64_t shifted = bits - 0x3FE6A09E667F3BCDull;  // the bits of sqrt 1/2
        const auto exponent = static_cast<double>(static_cast<std::int64_t>(shifted) >> 52);
        bits = (shifted & 0x000FFFFFFFFFFFFFull) + 0x3FE6A09E667F3BCDull;
        double m;
        std::memcpy(&m, &bits, sizeof m);
        const double s = (m - 1.0) / (m + 1.0), q = s * s;
        const double series = 1.0 + q * (1.0 / 3 + q * (1.0 / 5 + q * (1.0 / 7 + q * (1.0 / 9 + q * (1.0 / 11)))));
        return exponent * 0.693147180559945309 + 2.0 * s * series;
    }
    static STEELYARD_INLINE double log_one_minus(double x) {
        return x > 0.01 ? quick_log(1.0 - x) : -x * (1.0 + x * (1.0 / 2.0 + x * (1.0 / 3.0 + x * (1.0 / 4.0))));
    }

    // The place of row `next`, and the number of the row after it that takes one.
    Index take_place(int side) {
        const std::int64_t k = counters.next[side]++;
        if (k < capacity_[side]) return k - 1;
        const auto capacity = static_cast<double>(capacity_[side]);
        const Index place = k == capacity_[side] ? k - 1 : static_cast<Index>(next_uniform(side) * capacity);
        double& largest = counters.largest[side];
        const double x =
            quick_log(next_uniform(side)) / capacity;  // at most a tenth, so four terms of exp(x) are plenty
        largest *= 1.0 + x * (1.0 + x * (1.0 / 2.0 + x * (1.0 / 6.0 + x * (1.0 / 24.0))));
        const double skipped = quick_log(next_uniform(side)) / log_one_minus(largest);
        counters.next[side] += static_cast<std::int64_t>(std::min(skipped, 1e18));
        return place;
    }
};

}  // namespace steelyard
