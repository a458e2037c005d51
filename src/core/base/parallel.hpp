// Blocks of rows over threads, with the same bits for any number of them.
//
// The blocks depend on the number of rows only. A thread takes blocks as they come, each block writes to its own place,
// and whoever reduces does it in block order: the number of threads changes who works, never what is added to what.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "base/rows.hpp"

namespace steelyard {

// task(k) for k in 0 .. count - 1, on up to n_threads threads; the first exception is thrown again here.
template <class Task>
void parallel_for(int n_threads, Index count, Task&& task) {
    const Index workers = std::min<Index>(n_threads, count);
    if (workers <= 1) {
        for (Index k = 0; k < count; ++k) task(k);
        return;
    }
    std::atomic<Index> next{0};
    std::exception_ptr failure;
    std::mutex guard;
    const auto work = [&] {
        for (Index k = next++; k < count; k = next++) {
            try {
                task(k);
            } catch (...) {
                const std::lock_guard<std::mutex> lock(guard);
                if (!failure) failure = std::current_exception();
            }
        }
    };
    std::vector<std::thread> threads;
    for (Index k = 1; k < workers; ++k) threads.emplace_back(work);
    work();
    for (auto& thread : threads) thread.join();
    if (failure) std::rethrow_exception(failure);
}

struct Blocks {
    static constexpr Index size = 8192;
    Index n;
    Index count() const { return (n + size - 1) / size; }
    Index begin(Index k) const { return k * size; }
    Index end(Index k) const { return std::min(n, (k + 1) * size); }
};

}  // namespace steelyard
