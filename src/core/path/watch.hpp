// Who watches a path grow is told, on the thread that traces, where it has come and how many models it has.
#pragma once

#include "base/rows.hpp"
#include "base/stop.hpp"

namespace steelyard {

class PathWatch {
public:
    PathWatch() = default;
    virtual ~PathWatch() = default;
    PathWatch(const PathWatch&) = delete;
    PathWatch& operator=(const PathWatch&) = delete;

    // For loops to call as often as they like: it is seen as often as a stop token looks.
    void at(double tau, Index models) const {
        const auto now = CoarseClock::now();
        if (now - last_ < Stop::between_looks) return;
        see(tau, models);
        last_ = CoarseClock::now();
    }

private:
    virtual void see(double tau, Index models) const = 0;

    mutable std::chrono::nanoseconds last_ = CoarseClock::now();
};

}  // namespace steelyard
