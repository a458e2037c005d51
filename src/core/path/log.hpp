// What is kept of a path: its events, and checkpoints at which the solution can be had without what came before.
//
// At parameter tau the sets are: below (margin under its target, a = high), above (a = low), members (on the margin).
// The force of the rows off the margin (path/forces.hpp), v(tau) = p + tau q, gives the solution with the members:
//   w = v + Z'a  with  Z w = target.
// An event moves one row, so it changes p and q by one row or the members by one. A checkpoint holds p, q, the
// members and their a. When there are more than `stride` of them every second one goes and the stride doubles: O(K +
// sqrt(K) d) numbers for K events.
#pragma once

#include <cstdint>
#include <vector>

#include "path/forces.hpp"

namespace steelyard {

struct Checkpoint {
    Index event;  // the number of events before it
    double tau;
    bool forced;        // what came before does not lead here by single events
    PathForces forces;  // of a kernel: without the coefficients, which follow from the sides
    std::vector<Index> members;
    std::vector<double> a;  // theirs
};

struct PathLog {
    std::vector<double> tau;
    std::vector<std::int32_t> row;
    std::vector<std::int8_t> from, to;
    std::vector<std::int8_t> side;  // of every row at the start
    std::vector<Checkpoint> checkpoints;
    Index stride = 32;          // events between two checkpoints, at first
    double start = 0, end = 1;  // the range that was reached
    Index refactored = 0, start_events = 0;
    double drift = 0;  // of the margins, at most, between two fresh solutions

    Index size() const { return static_cast<Index>(tau.size()); }
    bool due() const { return checkpoints.empty() || size() >= checkpoints.back().event + stride; }

    void add(double at, Index i, Side was, Side is) {
        tau.push_back(at);
        row.push_back(static_cast<std::int32_t>(i));
        from.push_back(static_cast<std::int8_t>(was));
        to.push_back(static_cast<std::int8_t>(is));
    }

    // Whether so many more events leave every checkpoint where it is.
    bool stays_whole(Index more) const {
        return static_cast<Index>(checkpoints.size()) + more / stride + 1 <= 2 * stride;
    }
    void thin() {
        if (static_cast<Index>(checkpoints.size()) <= 2 * stride) return;
        stride *= 2;
        std::vector<Checkpoint> kept;
        for (auto& c : checkpoints)
            if (c.forced || kept.empty() || c.event >= kept.back().event + stride) kept.push_back(std::move(c));
        checkpoints.swap(kept);
    }

    // The first so many events.
    void cut(Index events) {
        const auto n = static_cast<std::size_t>(events);
        tau.resize(n), row.resize(n), from.resize(n), to.resize(n);
        while (checkpoints.back().event > events) checkpoints.pop_back();
    }
};

}  // namespace steelyard
