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
#include <vector>

#include "pages.hpp"
#include "random.hpp"
#include "rows.hpp"

namespace steelyard {

class Reservoir {
public:
    static constexpr Index nowhere = -1;

    Reservoir() = default;
    Reservoir(Index capacity, std::uint64_t seed) : capacity_(capacity), mixed_{mix(seed), mix(seed + 1)} {}

    // The place that the next row of this class takes, or nowhere.
    STEELYARD_INLINE Index offer(int side) {
        const std::int64_t k = ++counters.accepted[side];
        return k == counters.next[side] ? take_place(side) : nowhere;
    }

    // `offer` and `note` for the rows from `first` on, when none of them is held out.
    void offer_all(const std::int8_t* y, const double* weight, Index first, Index n_rows) {
        std::int64_t negative = counters.accepted[0], positive = counters.accepted[1];
        for (Index i = first; i < n_rows; ++i) {
            if (weight != nullptr && weight[i] == 0.0) continue;
            const int side = y[i] > 0;
            positive += side;
            negative += 1 - side;
            if (positive == counters.next[1]) note(1, take_place(1), i, false);
            if (negative == counters.next[0]) note(0, take_place(0), i, false);
        }
        counters.offered[0] += negative - counters.accepted[0], counters.offered[1] += positive - counters.accepted[1];
        counters.accepted[0] = negative, counters.accepted[1] = positive;
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

    template <class Matrix>
    void keep(const Matrix& rows, const double* weight) {
        for (int side = 0; side < 2; ++side) {
            const auto& pending = pending_[side];
            make_room(kept[side], rows, pending.size());
            for (std::size_t place = 0; place < pending.size(); ++place) {
                const Index ahead = pending[std::min(place + 8, pending.size() - 1)].row, i = pending[place].row;
                if (ahead != nowhere) rows.prefetch(ahead);
                if (i != nowhere) store(side, place, rows.row(i), weight == nullptr ? 1.0 : weight[i]);
            }
        }
        forget_pending();
        for (int side = 0; side < 2; ++side) kept[side].compact();
    }

    // Rows of one class: values and columns one after another; a dense row has no columns.
    struct Rows {
        LargeVector<double> values;
        LargeVector<std::int32_t> columns;
        std::vector<double> weight;
        std::vector<std::int64_t> start, column_start, size;

        // Drops what replaced rows have left behind once it is more than half.
        void compact() {
            std::int64_t live = 0;
            for (std::int64_t n : size) live += n;
            if (2 * live >= static_cast<std::int64_t>(values.size())) return;
            Rows fresh;
            for (std::size_t k = 0; k < size.size(); ++k) {
                fresh.add(values.data() + start[k], column_start[k] < 0 ? nullptr : columns.data() + column_start[k],
                          size[k], weight[k]);
            }
            *this = std::move(fresh);
        }
        void add(const double* x, const std::int32_t* where, std::int64_t n, double w) {
            start.push_back(static_cast<std::int64_t>(values.size()));
            column_start.push_back(where == nullptr ? -1 : static_cast<std::int64_t>(columns.size()));
            size.push_back(n);
            weight.push_back(w);
            values.insert(values.end(), x, x + n);
            if (where != nullptr) columns.insert(columns.end(), where, where + n);
        }
        std::vector<double> scores(const std::vector<double>& w) const {
            std::vector<double> out(size.size());
            for (std::size_t k = 0; k < size.size(); ++k)
                out[k] = column_start[k] < 0
                             ? DenseRow<double>{values.data() + start[k], size[k]}.dot(w.data())
                             : SparseRow<double, std::int32_t>{values.data() + start[k],
                                                               columns.data() + column_start[k], size[k]}
                                   .dot(w.data());
            return out;
        }
    };

    struct Counters {
        std::int64_t offered[2] = {0, 0}, accepted[2] = {0, 0};
        std::int64_t next[2] = {1, 1}, draws[2] = {0, 0};  // number of the row that takes the next place
        double largest[2] = {1.0, 1.0};  // a row is kept if its uniform number is among the smallest; the largest kept
    };
    Counters counters;
    Rows kept[2];

private:
    Index capacity_ = 0;
    std::uint64_t mixed_[2] = {0, 0};
    std::vector<Pending> pending_[2];

    double next_uniform(int side) {
        return uniform(mixed_[side], static_cast<std::uint64_t>(++counters.draws[side]));
    }

    // The place of row `next`, and the number of the row after it that takes one.
    Index take_place(int side) {
        const std::int64_t k = counters.next[side]++;
        if (k < capacity_) return k - 1;
        const auto capacity = static_cast<double>(capacity_);
        const Index place = k == capacity_ ? k - 1 : static_cast<Index>(next_uniform(side) * capacity);
        double& largest = counters.largest[side];
        largest *= std::exp(std::log(next_uniform(side)) / capacity);
        const double skipped = std::floor(std::log(next_uniform(side)) / std::log1p(-largest));
        counters.next[side] += static_cast<std::int64_t>(std::min(skipped, 1e18));
        return place;
    }

    // One allocation for many rows.
    template <class Matrix>
    static void make_room(Rows& into, const Matrix& rows, std::size_t n) {
        if (rows.n_rows == 0) return;
        const std::size_t more = n * static_cast<std::size_t>(rows.n_entries() / rows.n_rows);
        if (into.values.empty()) into.values.reserve(more);
        if (into.columns.empty() && !decltype(rows.row(0))::is_dense) into.columns.reserve(more);
    }

    static void reserve(Rows& into, std::size_t place) {
        while (into.size.size() <= place) {
            into.start.push_back(0), into.column_start.push_back(-1), into.size.push_back(0),
                into.weight.push_back(0.0);
        }
    }

    // A dense row in which most entries are zero is kept as a sparse one.
    template <class T>
    void store(int side, std::size_t place, const DenseRow<T>& row, double weight) {
        const auto zeros = std::count(row.values, row.values + row.size, T(0));
        if (2 * zeros > row.size) return store_non_zeros(side, place, row, weight);
        Rows& into = kept[side];
        reserve(into, place);
        const bool fits = into.size[place] == row.size && into.column_start[place] < 0;
        const auto end = static_cast<std::int64_t>(into.values.size());
        if (fits)
            std::copy(row.values, row.values + row.size, into.values.begin() + into.start[place]);
        else
            into.values.insert(into.values.end(), row.values, row.values + row.size), into.start[place] = end;
        into.column_start[place] = -1, into.size[place] = row.size, into.weight[place] = weight;
    }

    template <class T, class I>
    void store(int side, std::size_t place, const SparseRow<T, I>& row, double weight) {
        Rows& into = kept[side];
        reserve(into, place);
        into.start[place] = static_cast<std::int64_t>(into.values.size());
        into.column_start[place] = static_cast<std::int64_t>(into.columns.size());
        into.size[place] = row.size, into.weight[place] = weight;
        into.values.insert(into.values.end(), row.values, row.values + row.size);
        into.columns.insert(into.columns.end(), row.columns, row.columns + row.size);
    }

    template <class Row>
    void store_non_zeros(int side, std::size_t place, const Row& row, double weight) {
        Rows& into = kept[side];
        reserve(into, place);
        into.start[place] = static_cast<std::int64_t>(into.values.size());
        into.column_start[place] = static_cast<std::int64_t>(into.columns.size());
        row.each([&](Index j, double x) {
            if (x == 0.0) return;
            into.values.push_back(x);
            into.columns.push_back(static_cast<std::int32_t>(j));
        });
        into.size[place] = static_cast<std::int64_t>(into.values.size()) - into.start[place],
        into.weight[place] = weight;
    }
};

}  // namespace steelyard
