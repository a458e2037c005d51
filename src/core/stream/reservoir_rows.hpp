// Rows of two classes copied from a stream: the values of each and, behind them, its columns if it is sparse, all in
// one block of memory.
//
// One block, so that the system has few pages to clear for it. A row that replaces another takes its room if it fits;
// what replaced rows have left behind is dropped once it is more than half. Room is taken before any row is put, so
// that a chunk is kept whole or not at all.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <vector>

#include "base/huge_pages.hpp"
#include "base/rows.hpp"

namespace steelyard {

class KeptRows {
public:
    struct Place {
        std::int64_t start = 0, size = 0, sparse = 0;
    };
    LargeVector<std::byte> bytes;
    std::vector<Place> places[2];
    std::vector<double> weight[2];

    // Room for rows in the first `n` places of a class, and for so many bytes: `put` asks for no memory.
    void take_places(int side, std::size_t n) {
        grow(places[side], n);
        grow(weight[side], n);
    }
    void take_bytes(std::int64_t more) { grow(bytes, bytes.size() + static_cast<std::size_t>(more)); }

    // At most as many bytes are added by a row that takes this place.
    template <class Row>
    std::int64_t bytes_for(int side, std::size_t place, const Row& row) const {
        const std::int64_t needed = room(row.size, !Row::is_dense);
        if (place >= places[side].size()) return needed;
        const Place& p = places[side][place];
        return needed > room(p.size, p.sparse) ? needed : 0;
    }

    // A dense row in which most entries are zero is kept as a sparse one.
    template <class T>
    void put(int side, std::size_t place, const DenseRow<T>& row, double w) {
        const auto zeros = std::count(row.values, row.values + row.size, T(0));
        const bool sparse = 2 * zeros > row.size;
        const Place& p = make(side, place, sparse ? row.size - zeros : row.size, sparse, w);
        double* x = values(p);
        std::int32_t* j = columns(p);
        if (!sparse) {
            std::copy(row.values, row.values + row.size, x);
            return;
        }
        row.each([&](Index column, double value) {
            if (value != 0.0) *x++ = value, *j++ = static_cast<std::int32_t>(column);
        });
    }
    template <class T>
    void put(int side, std::size_t place, const SparseRow<T>& row, double w) {
        const Place& p = make(side, place, row.size, true, w);
        std::copy(row.values, row.values + row.size, values(p));
        std::int32_t* const to = columns(p);
        for (Index k = 0; k < row.size; ++k) to[k] = static_cast<std::int32_t>(row.columns[k]);
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
        LargeVector<std::byte> fresh;
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

    const Place& make(int side, std::size_t place, std::int64_t size, bool sparse, double w) {
        if (places[side].size() <= place) places[side].resize(place + 1), weight[side].resize(place + 1);
        Place& p = places[side][place];
        if (room(size, sparse) > room(p.size, p.sparse)) {
            p.start = static_cast<std::int64_t>(bytes.size());
            bytes.resize(bytes.size() + static_cast<std::size_t>(room(size, sparse)));
        }
        p.size = size, p.sparse = sparse, weight[side][place] = w;
        return p;
    }
};

}  // namespace steelyard
