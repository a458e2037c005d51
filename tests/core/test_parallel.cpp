// Tasks over threads: what they throw arrives, fewer threads do as well, and a token that wants an end reaches them
// all.

#if defined(__linux__)
#include <dlfcn.h>
#include <pthread.h>
#endif

#include <atomic>
#include <cerrno>
#include <chrono>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/parallel.hpp"
#include "base/rows.hpp"
#include "base/stop.hpp"
#include "check.hpp"
#include "wish.hpp"

using namespace steelyard;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__linux__)
static constexpr bool threads_can_be_refused = false;  // the sanitizers have a pthread_create of their own
static std::atomic<int> threads_left{0};
#else
static constexpr bool threads_can_be_refused = true;
static std::atomic<int> threads_left{std::numeric_limits<int>::max()};

// In place of the system's, so that it can run out of threads.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* how, void* (*what)(void*), void* with) {
    using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    if (threads_left-- <= 0) return EAGAIN;
    static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
    return create(thread, how, what, with);
}
#endif

static void test_exceptions_of_a_task() {
    for (const int n_threads : {1, 2, 5}) {
        std::atomic<int> begun{0};
        std::string said;
        try {
            parallel_for(n_threads, 10000, [&](Index k) {
                ++begun;
                if (k == 17) throw std::runtime_error("task 17");
            });
        } catch (const std::runtime_error& error) {
            said = error.what();
        }
        expect(said == "task 17", "what a task throws arrives");
        expect(begun >= 18, "those before it were begun");
    }
}

static void test_threads_that_the_system_will_not_give() {
    if (!threads_can_be_refused) return;
    for (const int given : {0, 1, 2}) {
        threads_left = given;
        std::vector<std::atomic<int>> done(1000);
        parallel_for(4, 1000, [&](Index k) { ++done[static_cast<std::size_t>(k)]; });
        bool once = true;
        for (const auto& times : done) once &= times == 1;
        expect(once, "every task once, with however many threads there are");
    }
    threads_left = std::numeric_limits<int>::max();
}

// Runs `task` on two threads and says how it ended.
template <class Task>
static bool is_stopped(const Stop& stop, Index count, Task&& task) {
    try {
        parallel_for(2, count, task, &stop);
    } catch (const Stopped&) {
        return true;
    }
    return false;
}

static void test_stop() {
    Wish wish;
    const auto started = std::chrono::steady_clock::now();
    const auto waited = [&] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    };
    wish.check();
    expect(wish.looks == 0, "it does not look at once");
    while (waited() < 0.12) wish.check();
    expect(wish.looks >= 1 && wish.looks <= 2, "it looks every 50 ms");
    wish.wanted = true;

    // Both threads work; only this one looks, and both leave.
    std::atomic<int> begun{0}, left{0};
    const bool both = is_stopped(wish, 2, [&](Index) {
        ++begun;
        while (begun < 2 && waited() < 20) std::this_thread::yield();  // a worker may come late
        try {
            while (waited() < 20) wish.check();
        } catch (const Stopped&) {
            ++left;
            throw;
        }
    });
    expect(both && left == 2, "a worker leaves when the maker of the token has looked");

    // This one has nothing left to do and waits: it still looks, or the worker would never hear of it.
    Wish later;
    later.wanted = true;
    const auto me = std::this_thread::get_id();
    std::atomic<bool> worker_has_one{false}, worker_left{false};
    const bool stopped = is_stopped(later, 2, [&](Index) {
        if (std::this_thread::get_id() == me) {
            while (!worker_has_one && waited() < 20) std::this_thread::yield();
            return;
        }
        worker_has_one = true;
        try {
            while (waited() < 20) later.check();
        } catch (const Stopped&) {
            worker_left = true;
            throw;
        }
    });
    expect(stopped && worker_left && waited() < 10, "a worker hears of it while the maker of the token waits");

    int calls = 0;
    StopEvery sometimes(&wish, 100);
    try {
        for (;; ++calls) sometimes();
    } catch (const Stopped&) {
    }
    expect(calls == 99, "asked once in a hundred calls");
    StopEvery nobody(nullptr, 1);
    nobody();
    check(nullptr);
}

int main() {
    test_exceptions_of_a_task();
    test_threads_that_the_system_will_not_give();
    test_stop();
    return verdict();
}
