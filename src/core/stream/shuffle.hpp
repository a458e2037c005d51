// The order of the rows in one pass: as they come, or a blocked shuffle.
//
// A full shuffle reads a large matrix one row at a time from all over memory. Here blocks of neighbouring rows are put
// in random order, and the rows of a window of many blocks are shuffled among each other, so that memory is read in
// pieces of a page or more while rows that were neighbours, and data sorted by class, are mixed. Up to
// `rows_per_block * blocks_per_window` rows it is a full shuffle. 32 rows are a page or more from 16 doubles a row on;
// 64 blocks from all over the data are as good as a sample of it; eight rows ahead hide the latency of memory behind
// the arithmetic (benchmarks/online.py, "dense shuffled").
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "base/rows.hpp"

namespace steelyard {

class BlockedShuffle {
public:
    // 32 rows of 16 doubles are a page; a window of 2,048 rows mixes far beyond neighbours and fits the second cache.
    // Eight rows ahead is about as long as memory takes at the speed of the loop.
    static constexpr Index rows_per_block = 32, blocks_per_window = 64, ahead = 8;

    BlockedShuffle(Index n_rows, std::uint64_t seed)
        : n_rows_(n_rows),
          blocks_(static_cast<std::size_t>((n_rows + rows_per_block - 1) / rows_per_block)),
          seed_(seed) {
        for (std::size_t k = 0; k < blocks_.size(); ++k) blocks_[k] = static_cast<Index>(k);
        shuffle(blocks_);
    }

    // Calls visit(row, row that comes a little later) for every row once; stops when it returns false.
    template <class Visit>
    STEELYARD_INLINE void each(Visit&& visit) {
        std::vector<Index> window;
        window.reserve(static_cast<std::size_t>(rows_per_block * blocks_per_window));
        for (std::size_t first = 0; first < blocks_.size(); first += blocks_per_window) {
            fill(window, first);
            const std::size_t m = window.size();
            for (std::size_t k = 0; k < m; ++k)
                if (!visit(window[k], window[std::min<std::size_t>(k + ahead, m - 1)])) return;
        }
    }

private:
    Index n_rows_;
    std::vector<Index> blocks_;
    std::uint64_t seed_, drawn_ = 0;

    void fill(std::vector<Index>& window, std::size_t first) {
        window.clear();
        const std::size_t last = std::min<std::size_t>(blocks_.size(), first + blocks_per_window);
        for (std::size_t k = first; k < last; ++k) {
            const Index start = blocks_[k] * rows_per_block, end = std::min(n_rows_, start + rows_per_block);
            for (Index i = start; i < end; ++i) window.push_back(i);
        }
        shuffle(window);
    }

    void shuffle(std::vector<Index>& items) {
        for (std::size_t k = items.size(); k > 1; --k) std::swap(items[k - 1], items[draw_below(seed_, drawn_++, k)]);
    }
};

}  // namespace steelyard
