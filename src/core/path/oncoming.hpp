// The leg that comes towards another one from the end of its range, and how it stood after each straight stretch.
//
// It may be followed by two threads: by the one that waits for how it stands next, and by one that has nothing else to
// do and goes ahead, in case that it will be asked for. Where it stands does not depend on who followed it or how far
// it is ahead. A log can be cut where the leg stood as long as no checkpoint of it has been thinned out since, so
// nobody goes ahead further than that.
#pragma once

#include <condition_variable>
#include <exception>
#include <iterator>
#include <list>
#include <memory>
#include <mutex>

#include "path/leg.hpp"

namespace steelyard {

template <class S>
class OncomingLeg {
public:
    using Leg = PathLeg<S>;
    using Way = typename Leg::Way;

    // From one tau to the other; `apart` as in DualPath::follow.
    OncomingLeg(const S& space, const PathProblem& problem, const double* norm, double from, double to, double apart,
                const Stop* stop)
        : space_(space), problem_(problem), norm_(norm), from_(from), to_(to), apart_(apart), stop_(stop) {}

    // How it stands, first of all where it begins; null: rounding has won.
    const PathStand* now() { return wait_for(0); }
    // How it stands after the next straight stretch; null: there is none, or rounding has won before.
    const PathStand* next() { return wait_for(1); }
    void move_on() {
        const std::lock_guard<std::mutex> lock(guard_);
        stands_.pop_front();
    }
    PathLog take() {
        dismiss();
        std::unique_lock<std::mutex> lock(guard_);
        changed_.wait(lock, [&] { return !busy_; });
        return leg_->take(stands_.front());
    }

    // On a thread of its own, until it is dismissed.
    void go_ahead() {
        std::unique_lock<std::mutex> lock(guard_);
        while (!over_ && !dismissed_) {
            if (busy_) {
                changed_.wait(lock);
                continue;
            }
            if (leg_ && !leg_->stays_whole()) break;
            step(lock);
        }
    }
    // Nobody will ask any more.
    void dismiss() {
        const std::lock_guard<std::mutex> lock(guard_);
        dismissed_ = true;
        stop_.ask();
        changed_.notify_all();
    }

private:
    // The k-th from now on; it stays where it is when others are added.
    const PathStand* wait_for(int k) {
        std::unique_lock<std::mutex> lock(guard_);
        while (static_cast<int>(stands_.size()) <= k && !over_) {
            if (!busy_) {
                step(lock);
                continue;
            }
            changed_.wait_for(lock, Stop::between_looks);
            lock.unlock();
            check(&stop_);
            lock.lock();
        }
        return k < static_cast<int>(stands_.size()) ? &*std::next(stands_.begin(), k) : nullptr;
    }

    // A part of the way, while others may wait for the end of it.
    void step(std::unique_lock<std::mutex>& lock) {
        std::list<PathStand> found;
        std::exception_ptr failure;
        bool goes_on = false;
        busy_ = true;
        lock.unlock();
        try {
            const Followed how = follow();
            if (how == Followed::straight) found.push_back(leg_->stand());
            goes_on = how == Followed::straight || how == Followed::crooked;
        } catch (...) {
            failure = std::current_exception();
        }
        lock.lock();
        stands_.splice(stands_.end(), found);
        busy_ = false;
        over_ = !goes_on;
        changed_.notify_all();
        if (failure && !dismissed_) std::rethrow_exception(failure);
    }

    // Where it begins counts as the end of a straight stretch.
    Followed follow() {
        if (leg_) return leg_->follow(to_, nullptr, apart_);
        leg_ = std::make_unique<Leg>(space_, problem_, norm_, from_, to_ < from_ ? Way::down : Way::up, &stop_);
        return leg_->settle() ? Followed::straight : Followed::lost;
    }

    const S& space_;
    PathProblem problem_;
    const double* norm_;
    double from_, to_, apart_;
    Stop stop_;
    std::mutex guard_;
    std::condition_variable changed_;
    // By who holds the guard; the leg by who is busy with it.
    std::unique_ptr<Leg> leg_;
    std::list<PathStand> stands_;  // from how it stands on
    bool busy_ = false, over_ = false, dismissed_ = false;
};

}  // namespace steelyard
