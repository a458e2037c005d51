// Rows of two classes copied from a stream: the values of each and, behind them, its columns if it is sparse, all in
// one block of memory.
//
// One block, that nobody clears before it is written. A row that replaces another takes its room if it fits; what
// replaced rows have left behind is dropped once it is more than half. Room is taken before any row is written, so that
// a chunk is kept whole or not at all.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "base/rows.hpp"
#include "base/simd.hpp"

namespace steelyard {

// Memory as it comes: bytes that are written before they are read need no zeros.
template <class T>
struct AsItComes : std::allocator<T> {
    template <class U>
    struct rebind {
        using other = AsItComes<U>;
    };
    template <class U>
    void construct(U*) {}
    template <class U, class... Values>
    void construct(U* at, Values&&... values) {
        ::new (static_cast<void*>(at)) U(std::forward<Values>(values)...);
    }
};

class KeptRows {
public:
    using Bytes = std::vector<std::byte, AsItComes<std::byte>>;
    struct Place {
        std::int64_t start = 0, size = 0, sparse = 0;
    };
    Bytes bytes;
    std::vector<Place> places[2];
    std::vector<double> weight[2];

    // Room for rows in the first `n` places of a class, and for so many more bytes at the end.
    void take_places(int side, std::size_t n) {
        grow(places[side], n);
        grow(weight[side], n);
    }
    void take_bytes(std::int64_t more) {
        grow(bytes, bytes.size() + static_cast<std::size_t>(more));
        bytes.resize(bytes.size() + static_cast<std::size_t>(more));
    }

    // Bytes that a row may need, and whether the room of this place is enough.
    template <class Row>
    static std::int64_t needed(const Row& row) {
        return room(row.size, !Row::is_dense);
    }
    bool has_room(int side, std::size_t place, std::int64_t bytes_needed) const {
        return place < places[side].size() &&
               bytes_needed <= room(places[side][place].size, places[side][place].sparse != 0);
    }

    // Writes a row where there is room for it; its place there, without the start. A dense row in which most entries
    // are zero is kept as a sparse one.
    template <class T>
    static STEELYARD_INLINE Place write(std::byte* at, const DenseRow<T>& row) {
        auto* x = reinterpret_cast<double*>(at);
        Index some[8] = {0, 0, 0, 0, 0, 0, 0, 0}, k = 0;  // numbers that are not zero, side by side
        for (; k + 8 <= row.size; k += 8)
            for (int m = 0; m < 8; ++m) some[m] += row.values[k + m] != T(0);
        for (; k < row.size; ++k) some[0] += row.values[k] != T(0);
        const Index size = ((some[0] + some[1]) + (some[2] + some[3])) + ((some[4] + some[5]) + (some[6] + some[7]));
        if (2 * size >= row.size) {
            for (k = 0; k < row.size; ++k) x[k] = static_cast<double>(row.values[k]);
            return {0, row.size, 0};
        }
        auto* j = reinterpret_cast<std::int32_t*>(at + 8 * size);
        row.each([&](Index column, double value) {
            if (value != 0.0) *x++ = value, *j++ = static_cast<std::int32_t>(column);
        });
        return {0, size, 1};
    }
    template <class T>
    static STEELYARD_INLINE Place write(std::byte* at, const SparseRow<T>& row) {
        auto* const x = reinterpret_cast<double*>(at);
        auto* const j = reinterpret_cast<std::int32_t*>(at + 8 * row.size);
        for (Index k = 0; k < row.size; ++k) x[k] = static_cast<double>(row.values[k]);
        row.columns.visit([&](const auto* columns) STEELYARD_INLINE_LAMBDA {
            for (Index k = 0; k < row.size; ++k) j[k] = static_cast<std::int32_t>(columns[k]);
        });
        return {0, row.size, 1};
    }

    // A row that `write` has written at `start`, or elsewhere for a place that has room for it.
    void put(int side, std::size_t place, const Place& row, double w) {
        if (places[side].size() <= place) places[side].resize(place + 1), weight[side].resize(place + 1);
        places[side][place] = row, weight[side][place] = w;
    }
    void put_again(int side, std::size_t place, const Place& row, double w, const std::byte* from) {
        const std::int64_t start = places[side][place].start;
        std::memcpy(bytes.data() + start, from, static_cast<std::size_t>(room(row.size, row.sparse != 0)));
        put(side, place, {start, row.size, row.sparse}, w);
    }

    std::vector<double> scores(int side, const double* w) {
        std::vector<double> out;
        out.reserve(places[side].size());
        for (const Place& p : places[side])
            out.push_back(p.sparse ? SparseRow<double>{values(p), columns(p), p.size}.dot(w)
                                   : DenseRow<double>{values(p), p.size}.dot(w));
        return out;
    }

    // The rows of a class with all their columns, one after another.
    std::vector<double> dense(int side, Index n_cols) {
        std::vector<double> out(places[side].size() * static_cast<std::size_t>(n_cols));
        double* into = out.data();
        for (const Place& p : places[side]) {
            if (p.sparse)
                SparseRow<double>{values(p), columns(p), p.size}.add_to(into, 1.0);
            else
                std::copy_n(values(p), p.size, into);
            into += n_cols;
        }
        return out;
    }

    // The rows of a class as CSR, with every number that is stored.
    struct Table {
        std::vector<double> values;
        std::vector<std::int32_t> columns;
        std::vector<std::int64_t> starts{0};
    };
    Table table(int side) {
        Table out;
        for (const Place& p : places[side]) {
            out.values.insert(out.values.end(), values(p), values(p) + p.size);
            for (std::int64_t k = 0; k < p.size; ++k)
                out.columns.push_back(p.sparse ? columns(p)[k] : static_cast<std::int32_t>(k));
            out.starts.push_back(static_cast<std::int64_t>(out.values.size()));
        }
        return out;
    }
    std::int64_t n_stored(int side) const {
        std::int64_t sum = 0;
        for (const Place& p : places[side]) sum += p.size;
        return sum;
    }

    // Whether all of it lies where it should, for rows with this many columns.
    bool is_sound(Index n_cols) {
        for (int side = 0; side < 2; ++side) {
            if (weight[side].size() != places[side].size()) return false;
            for (const double w : weight[side])
                if (!(w >= 0.0 && std::isfinite(w))) return false;
            for (const Place& p : places[side])
                if (!is_sound(p, n_cols)) return false;
        }
        return true;
    }

    void compact() {
        std::int64_t live = 0;
        each([&live](const Place& p) { live += room(p.size, p.sparse); });
        if (2 * live >= static_cast<std::int64_t>(bytes.size())) return;
        Bytes fresh;
        try {
            fresh.resize(static_cast<std::size_t>(live));
        } catch (const std::bad_alloc&) {
            return;  // it can wait
        }
        std::int64_t end = 0;
        each([&](Place& p) {
            std::memcpy(fresh.data() + end, bytes.data() + p.start, static_cast<std::size_t>(room(p.size, p.sparse)));
            p.start = end;
            end += room(p.size, p.sparse);
        });
        bytes = std::move(fresh);
    }

private:
    static std::int64_t room(std::int64_t size, bool sparse) { return 8 * (size + (sparse ? (size + 1) / 2 : 0)); }

    bool is_sound(const Place& p, Index n_cols) {
        const auto end = static_cast<std::int64_t>(bytes.size());
        if (p.start < 0 || p.start % 8 != 0 || p.size < 0 || p.size > end / 8 || (p.sparse != 0 && p.sparse != 1))
            return false;
        if (p.start > end - room(p.size, p.sparse)) return false;
        if (p.sparse) {
            const SparseRow<double> row{values(p), columns(p), p.size};
            return row.inside(n_cols) && is_finite(row);
        }
        return p.size == n_cols && is_finite(DenseRow<double>{values(p), p.size});
    }

    // By doubling, or a stream of small chunks would copy everything for each.
    template <class Vector>
    static void grow(Vector& it, std::size_t n) {
        if (n > it.capacity()) it.reserve(std::max(n, 2 * it.capacity()));
    }

    double* values(const Place& p) { return reinterpret_cast<double*>(bytes.data() + p.start); }
    std::int32_t* columns(const Place& p) {
        return reinterpret_cast<std::int32_t*>(bytes.data() + p.start + 8 * p.size);
    }
    template <class F>
    void each(F&& f) {
        for (auto& side : places)
            for (Place& p : side) f(p);
    }
};

}  // namespace steelyard
