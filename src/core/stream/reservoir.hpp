// A uniform sample of the rows of each class, from a stream of unknown length, kept with their values.
//
// The threshold that goes with a model is found on it exactly, at any time, without another pass. Row number k of a
// class takes a free place while there is one, and afterwards replaces a random one with probability capacity / k. The
// number of the next row that does is drawn at once (Algorithm L of Li 1994), so the rows between cost nothing. Draws
// depend on the seed, the class and the number of rows taken only. What a chunk brings is known before it is learned:
// the pass copies those rows while it has them at hand, and they take their places when it has come to its end.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/random.hpp"
#include "base/rows.hpp"
#include "base/stop.hpp"
#include "stream/marked_rows.hpp"
#include "stream/reservoir_rows.hpp"

namespace steelyard {

class Reservoir {
public:
    static constexpr Index nowhere = -1;  // in place of a place

    Reservoir() = default;
    Reservoir(const Index (&capacity)[2], std::uint64_t seed)
        : capacity_{capacity[0], capacity[1]}, mixed_{mix(seed), mix(seed + 1)} {}

    // The place that the next row of this class takes, or nowhere.
    STEELYARD_INLINE Index offer(int side) {
        const std::int64_t k = ++counters.accepted[side];
        return k == counters.next[side] ? take_place(side) : nowhere;
    }

    // `offer` and `note` for the rows from `first` on, when none of them is held out. A piece in which a row takes a
    // place is sorted by class, without a branch a row; then the numbers of those rows say where they are.
    void offer_all(const std::int8_t* y, const double* weight, Index first, Index n_rows, const Stop* stop) {
        const std::int64_t before[2] = {counters.accepted[0], counters.accepted[1]};
        StopEvery ask(stop, (1 << 16) / static_cast<int>(piece));
        for (Index i = first; i < n_rows; i += piece) {
            ask();
            const Piece rows(y + i, weight == nullptr ? nullptr : weight + i, std::min(piece, n_rows - i));
            for (int side = 0; side < 2; ++side) {
                auto& next = counters.next[side];
                const std::int64_t start = counters.accepted[side], end = start + rows.count[side];
                while (next <= end) {
                    const Index row = i + rows.at[side][next - start - 1];
                    note(side, take_place(side), row, false);
                }
                counters.accepted[side] = end;
            }
        }
        for (int side = 0; side < 2; ++side) counters.offered[side] += counters.accepted[side] - before[side];
    }

    struct Pending {
        Index row = nowhere;
        bool held = false;      // only the reservoir may see it
        bool apart = false;     // it lies in `apart_` for now: its place has room for it
        KeptRows::Place place;  // where it lies, and as what
    };

    // Notes that a row of the present chunk takes a place; those that are still noted at the end of it are kept.
    void note(int side, Index place, Index row, bool held) {
        auto& pending = pending_[side];
        if (static_cast<Index>(pending.size()) <= place) pending.resize(static_cast<std::size_t>(place) + 1);
        pending[static_cast<std::size_t>(place)] = {row, held, false, {}};
    }
    const std::vector<Pending>& pending(int side) const { return pending_[side]; }
    void forget_pending() {
        if (taken_ >= 0) kept.bytes.resize(static_cast<std::size_t>(taken_));
        finish();
    }

    // All the memory that the rows of the chunk will need, so that `copy` and `keep` cannot fail.
    template <class Matrix>
    void take_room(const Matrix& rows) {
        std::int64_t room[2] = {0, 0};  // in the block, and apart from it
        Index last = -1;
        for (int side = 0; side < 2; ++side) {
            kept.take_places(side, pending_[side].size());
            for (std::size_t place = 0; place < pending_[side].size(); ++place) {
                Pending& one = pending_[side][place];
                if (one.row == nowhere) continue;
                const std::int64_t needed = kept.needed(rows.row(one.row));
                one.apart = kept.has_room(side, place, needed);
                room[one.apart] += needed;
                last = std::max(last, one.row);
            }
        }
        apart_.resize(static_cast<std::size_t>(room[1]));
        taken_ = next_[0] = static_cast<std::int64_t>(kept.bytes.size());
        next_[1] = 0;
        kept.take_bytes(room[0]);
        mark(last);
    }

    // The pass is at this row: it is copied, if it is one of those that are noted, behind the one before. (To the rows'
    // places all over memory it took more than twice as long, and the pass's own stores waited.)
    template <class Row>
    STEELYARD_INLINE void copy(Index i, const Row& row) {
        if (!marks_.has(i)) return;
        const std::int32_t mark = places_[marks_.rank(i)];
        Pending& one = pending_[mark > 0][static_cast<std::size_t>(std::abs(mark) - 1)];
        std::int64_t& next = next_[one.apart];
        one.place = KeptRows::write((one.apart ? apart_.data() : kept.bytes.data()) + next, row);
        one.place.start = next;
        next += kept.needed(row);
    }

    void keep(const double* weight) {
        for (int side = 0; side < 2; ++side)
            for (std::size_t place = 0; place < pending_[side].size(); ++place) {
                const Pending& one = pending_[side][place];
                if (one.row == nowhere) continue;
                const double w = weight == nullptr ? 1.0 : weight[one.row];
                if (one.apart)
                    kept.put_again(side, place, one.place, w, apart_.data() + one.place.start);
                else
                    kept.put(side, place, one.place, w);
            }
        finish();
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
    MarkedRows marks_;                  // of the chunk, those that take a place
    std::vector<std::int32_t> places_;  // of each, in order: -1, -2, ... of class 0, 1, 2, ... of class 1
    KeptRows::Bytes apart_;
    std::int64_t taken_ = -1;        // bytes before room was taken for the chunk
    std::int64_t next_[2] = {0, 0};  // where the next row is copied to, in the block and apart from it

    void mark(Index last) {
        marks_ = MarkedRows(last + 1);
        const auto each = [&](auto&& f) {
            for (const int side : {0, 1})
                for (std::size_t place = 0; place < pending_[side].size(); ++place)
                    if (pending_[side][place].row != nowhere)
                        f(pending_[side][place].row, static_cast<std::int32_t>(place + 1) * (side ? 1 : -1));
        };
        each([&](Index row, std::int32_t) { marks_.add(row); });
        places_.resize(marks_.count());
        each([&](Index row, std::int32_t place) { places_[marks_.rank(row)] = place; });
    }
    void finish() {
        pending_[0].clear(), pending_[1].clear();
        marks_ = MarkedRows();
        std::vector<std::int32_t>().swap(places_);
        KeptRows::Bytes().swap(apart_);
        taken_ = -1;
    }

    double next_uniform(int side) { return uniform(mixed_[side], static_cast<std::uint64_t>(++counters.draws[side])); }

    // Rows of a piece by class; those without weight are in neither. A place in it is one byte.
    static constexpr Index piece = 256;
    struct Piece {
        std::uint8_t at[2][piece];
        std::int64_t count[2] = {0, 0};

        STEELYARD_INLINE Piece(const std::int8_t* y, const double* weight, Index n) {
            std::int64_t neg = 0, pos = 0;
            for (Index i = 0; i < n; ++i) {
                const bool counts = weight == nullptr || weight[i] != 0.0, positive = y[i] > 0;
                at[0][neg] = at[1][pos] = static_cast<std::uint8_t>(i);
                neg += counts && !positive, pos += counts && positive;
            }
            count[0] = neg, count[1] = pos;
        }
    };

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
