// The master problems of all tracks of a bundle, on one pool of cuts or on one each.
//
//   for each track k:   min over w  1/2 |w|^2 + sum_c cap_kc max(0, max_j g_j.w + h_j)            (master.hpp)
//
// A cut that was in no master's support for `idle` rounds is dropped, so that the memory is that of the cuts of a few
// rounds and does not grow with their number.
#pragma once

#include <memory>
#include <stdexcept>

#include "base/parallel.hpp"
#include "linear/class_risks.hpp"
#include "linear/master.hpp"

namespace steelyard {

struct MasterOptions {
    bool share_cuts = true;
    Index idle = 20;       // rounds; see BundleOptions in solvers/linear/bundle.py
    int max_pivots = 100;  // in a round: an unfinished master still gives a valid bound, and goes on in the next
};

class Masters {
public:
    Masters(Index n_tracks, Index n_cols, const MasterOptions& options) : options_(options), n_cols_(n_cols) {
        if (n_tracks < 1 || n_cols < 1) throw std::invalid_argument("masters need a track and a column at least");
        const Index n_pools = options.share_cuts ? 1 : n_tracks;
        for (Index k = 0; k < n_pools; ++k) pools_.push_back(std::make_unique<Pool>(n_cols));
        for (Index k = 0; k < n_tracks; ++k) {
            Pool& pool = *pools_[static_cast<std::size_t>(options.share_cuts ? 0 : k)];
            masters_.emplace_back(pool.cuts);
            pool.masters.push_back(k);
            pool_of_.push_back(&pool);
        }
    }

    Index n_cols() const { return n_cols_; }
    Index n_tracks() const { return static_cast<Index>(masters_.size()); }
    Index n_cuts() const {
        Index sum = 0;
        for (const auto& pool : pools_) sum += pool->cuts.size();
        return sum;
    }

    void set_caps(Index track, double negative, double positive) {
        masters_[static_cast<std::size_t>(track)].set_caps(negative, positive);
    }

    // The dual value and the point of each of these tracks: values[k], and row k of W.
    void propose(const Tracks& tracks, const double* slack, double* values, double* W, int n_threads,
                 const Stop& stop) {
        ++round_;
        parallel_for(
            n_threads, tracks.count,
            [&](Index k) {
                Master& master = masters_[static_cast<std::size_t>(tracks.which[k])];
                values[k] = master.solve(slack[k], options_.max_pivots, &stop);
                master.primal(W + k * n_cols_);
            },
            &stop);
        for (Index k = 0; k < tracks.count; ++k) {
            const auto track = static_cast<std::size_t>(tracks.which[k]);
            for (Index j : masters_[track].support()) pool_of_[track]->used[static_cast<std::size_t>(j)] = round_;
        }
    }

    // The cuts of these tracks, for each the negative class first.
    void add(const Tracks& tracks, const double* g, const double* h, const Stop& stop) {
        for (Index k = 0; k < 2 * tracks.count; ++k) {
            stop.check();
            Pool& pool = *pool_of_[static_cast<std::size_t>(tracks.which[k / 2])];
            pool.cuts.add(static_cast<int>(k % 2), g + k * n_cols_, h[k]);
            pool.used.push_back(round_);
        }
        for (auto& pool : pools_) tidy(*pool);
    }
    // One cut of one side of a track.
    void add(Index track, int side, const double* g, double h) {
        Pool& pool = *pool_of_[static_cast<std::size_t>(track)];
        pool.cuts.add(side, g, h);
        pool.used.push_back(round_);
        tidy(pool);
    }

private:
    struct Pool {
        explicit Pool(Index n_cols) : cuts(n_cols) {}
        CutPool cuts;
        std::vector<Index> used;     // the last round in which a cut was in a support, or came
        std::vector<Index> masters;  // who works on it
        Index full = fewest;         // cuts at which it is time to look for idle ones
    };
    static constexpr Index fewest = 64;  // not worth the trouble below

    // When the pool has grown by half since the last time, so that moving cuts about costs less than making them.
    void tidy(Pool& pool) {
        if (pool.cuts.size() < pool.full) return;
        std::vector<char> keep(pool.used.size());
        for (std::size_t j = 0; j < keep.size(); ++j) keep[j] = round_ - pool.used[j] < options_.idle;
        for (Index k : pool.masters)
            for (Index j : masters_[static_cast<std::size_t>(k)].support()) keep[static_cast<std::size_t>(j)] = 1;
        const std::vector<Index> number = pool.cuts.drop(keep);
        for (Index k : pool.masters) masters_[static_cast<std::size_t>(k)].renumber(number);
        for (std::size_t j = 0; j < number.size(); ++j)
            if (number[j] >= 0) pool.used[static_cast<std::size_t>(number[j])] = pool.used[j];
        pool.used.resize(static_cast<std::size_t>(pool.cuts.size()));
        pool.full = std::max<Index>(fewest, pool.cuts.size() + pool.cuts.size() / 2);
    }

    MasterOptions options_;
    Index n_cols_, round_ = 0;
    std::vector<std::unique_ptr<Pool>> pools_;
    std::vector<Pool*> pool_of_;
    std::vector<Master> masters_;
};

}  // namespace steelyard
