// One way to stop: a token that every long loop asks.
//
// A loop calls `check(stop)` every few thousand numbers or so. On the thread that made the token the call looks, at
// most every 50 ms, whether anybody wants an end (for Python: whether a signal has come); on all others it reads a
// flag. Where an end is wanted the loop is left by the exception `Stopped`, through `parallel_for` too, so that no loop
// needs a return value for it; what was computed is dropped, and what the caller had stays as it was.
#pragma once

#include <time.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/simd.hpp"

namespace steelyard {

struct Stopped {};

// A steady clock that may be some milliseconds late, and costs a fifth of the exact one where the system has such.
struct CoarseClock {
    static std::chrono::nanoseconds now() {
#if defined(CLOCK_MONOTONIC_COARSE)
        timespec t{};
        clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
        return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
#else
        return std::chrono::steady_clock::now().time_since_epoch();
#endif
    }
};

class Stop {
public:
    static constexpr std::chrono::milliseconds between_looks{50};  // half of what a person notices

    Stop() : owner_(std::this_thread::get_id()), last_(CoarseClock::now()) {}
    // For a part of the work that others may end by `ask`; whoever ends the whole (null: nobody) ends it, too.
    explicit Stop(const Stop* whole) : Stop() { whole_ = whole; }
    virtual ~Stop() = default;
    Stop(const Stop&) = delete;
    Stop& operator=(const Stop&) = delete;

    bool is_asked_for() const {
        if (asked_.load(std::memory_order_relaxed)) return true;
        if (whole_) return whole_->is_asked_for();
        if (std::this_thread::get_id() != owner_) return false;
        const auto now = CoarseClock::now();
        if (now - last_ < between_looks) return false;
        if (look()) asked_.store(true, std::memory_order_relaxed);
        last_ = CoarseClock::now();
        return asked_.load(std::memory_order_relaxed);
    }
    void check() const {
        if (is_asked_for()) throw Stopped{};
    }
    void ask() { asked_.store(true, std::memory_order_relaxed); }

protected:
    virtual bool look() const { return false; }

private:
    const Stop* whole_ = nullptr;
    std::thread::id owner_;
    mutable std::chrono::nanoseconds last_;  // only the owner's
    mutable std::atomic<bool> asked_{false};
};

inline void check(const Stop* stop) {
    if (stop) stop->check();
}

// f(begin, end) for one piece of 0 .. n - 1 after the other, asking before each: loops in f have nothing to do with it.
template <class Index, class F>
STEELYARD_INLINE void in_pieces(Index n, Index size, const Stop* stop, F&& f) {
    for (Index begin = 0; begin < n; begin += size) {
        check(stop);
        f(begin, n - begin < size ? n : begin + size);
    }
}

// For inner loops: asks once in `every` calls, so that not even the clock is read more often.
class StopEvery {
public:
    StopEvery(const Stop* stop, int every) : stop_(stop), every_(every), left_(every) {}
    void operator()() {
        if (--left_ > 0) return;
        left_ = every_;
        check(stop_);
    }

private:
    const Stop* stop_;
    int every_, left_;
};

}  // namespace steelyard
