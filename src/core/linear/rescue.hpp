// Coordinate descent for the tracks that Newton does not serve: those with most of all rows at the margin, and those
// whose rounds do not come to an end.
//
// It starts from the shares at w, or from those of the last C, which it keeps. Tracks go in groups
// (coordinate_lanes.hpp).
#pragma once

#include <memory>
#include <mutex>

#include "linear/coordinate_lanes.hpp"
#include "linear/track.hpp"

namespace steelyard {

template <class L, class R>
class Rescue {
public:
    Rescue(const R& rows, const double* y, const double* weight, const Evaluation<L, R>& all, const Stopping& stopping,
           int n_threads)
        : rows_(rows), y_(y), weight_(weight), all_(all), stopping_(stopping), n_threads_(n_threads) {}

    // Whether all that descent and Newton hold may stay while the other one works: descent has eight numbers a row,
    // Newton a copy of many rows. Up to a second cache they do; asking for it each time takes a tenth of a grid
    // (letter).
    bool may_keep() const {
        constexpr Index numbers = Index{1} << 20;
        return rows_.n_rows * (CoordinateLanes<L, R>::width + rows_.n_cols) <= numbers;
    }

    // Those who are stuck go on by coordinate descent, in groups of equal size: which tracks share their rows does not
    // depend on the number of threads.
    void operator()(const std::vector<Track*>& busy, const std::vector<double>& C, double max_passes) {
        std::vector<Track*> stuck;
        for (Track* track : busy)
            if (track->stuck) stuck.push_back(track);
        if (stuck.empty()) return;
        C_ = &C;
        max_passes_ = max_passes;
        find_shares(stuck);
        if (square_.empty()) square_ = squares(rows_, stopping_.stop);
        const std::size_t width = CoordinateLanes<L, R>::width, count = stuck.size();
        const std::size_t groups = (count + width - 1) / width;
        parallel_for(
            n_threads_, static_cast<Index>(groups),
            [&](Index g) {
                const std::size_t begin = g * count / groups, end = (g + 1) * count / groups;
                descend({stuck.begin() + begin, stuck.begin() + end});
            },
            stopping_.stop);
    }

private:
    // The shares at w, of those who have none from an earlier descent.
    void find_shares(const std::vector<Track*>& tracks) {
        std::vector<Model> models;
        std::vector<Model*> asked;
        std::vector<Track*> without;
        for (Track* track : tracks)
            if (track->share.empty()) without.push_back(track);
        if (without.empty()) return;
        for (Track* track : without) {
            track->share.resize(static_cast<std::size_t>(rows_.n_rows));
            track->found[track->at].passes += 1;
            models.push_back(track->model);
            models.back().share = track->share.data();
            models.back().half = 0;
        }
        asked.reserve(models.size());
        for (Model& model : models) asked.push_back(&model);
        all_.pass(asked, n_threads_, stopping_.stop);
        for (std::size_t k = 0; k < without.size(); ++k) without[k]->pull = models[k].v;
    }

    void descend(const std::vector<Track*>& tracks) {
        std::vector<DescentLane> lanes(tracks.size());
        for (std::size_t k = 0; k < lanes.size(); ++k) {
            Track& track = *tracks[k];
            const double C = (*C_)[track.at];
            lanes[k] = {{C * track.pair.negative, C * track.pair.positive}, &track.found[track.at], {}, track.pull};
            lanes[k].share.swap(track.share);
            for (double& v : lanes[k].pull) v *= C;
        }
        Stopping stopping = stopping_;
        stopping.max_passes = max_passes_;
        std::unique_ptr<CoordinateLanes<L, R>> descent = borrow();
        descent->solve(lanes, stopping);
        give_back(std::move(descent));
        for (std::size_t k = 0; k < lanes.size(); ++k) {
            Track& track = *tracks[k];
            Solution& best = track.found[track.at];
            track.point.w = best.w;
            track.pull = lanes[k].pull;
            for (double& v : track.pull) v /= (*C_)[track.at];
            if (track.model.share) best.share = lanes[k].share;
            track.share.swap(lanes[k].share);
            track.from.clear();
            track.next();
        }
    }

    std::unique_ptr<CoordinateLanes<L, R>> borrow() {
        const std::lock_guard<std::mutex> lock(guard_);
        if (spare_.empty()) return std::make_unique<CoordinateLanes<L, R>>(rows_, y_, weight_, square_);
        std::unique_ptr<CoordinateLanes<L, R>> one = std::move(spare_.back());
        spare_.pop_back();
        return one;
    }
    void give_back(std::unique_ptr<CoordinateLanes<L, R>>&& one) {
        const std::lock_guard<std::mutex> lock(guard_);
        if (may_keep()) spare_.push_back(std::move(one));
    }

    const R& rows_;
    const double *y_, *weight_;
    const Evaluation<L, R>& all_;
    Stopping stopping_;
    int n_threads_;
    const std::vector<double>* C_ = nullptr;
    double max_passes_ = 0;
    std::vector<double> square_;
    std::vector<std::unique_ptr<CoordinateLanes<L, R>>> spare_;
    std::mutex guard_;
};

}  // namespace steelyard
