// Blocks of rows over threads, with the same bits for any number of them.
//
// The blocks depend on the number of rows only. A thread takes blocks as they come, each block writes to its own place,
// and whoever reduces does it in block order: the number of threads changes who works, never what is added to what.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "base/rows.hpp"
#include "base/stop.hpp"

namespace steelyard {

// task(k) for k in 0 .. count - 1, on up to n_threads threads; the first exception is thrown again here. A thread that
// the system will not give means one less, never an abort. With `stop`, this thread goes on asking it when it has no
// task left and waits for others: only the thread that made the token can look.
template <class Task>
void parallel_for(int n_threads, Index count, Task&& task, const Stop* stop = nullptr) {
    const Index workers = std::min<Index>(n_threads, count);
    if (workers <= 1) {
        for (Index k = 0; k < count; ++k) task(k);
        return;
    }
    std::atomic<Index> next{0};
    std::exception_ptr failure;
    Index busy = 0;
    std::mutex guard;
    std::condition_variable idle;
    const auto work = [&] {
        for (Index k = next++; k < count; k = next++) {
            try {
                task(k);
            } catch (...) {
                const std::lock_guard<std::mutex> lock(guard);
                if (!failure) failure = std::current_exception();
                next = count;  // what has not begun will not
            }
        }
    };
    const auto worker = [&] {
        work();
        const std::lock_guard<std::mutex> lock(guard);
        if (--busy == 0) idle.notify_one();
    };
    std::vector<std::thread> threads;
    threads.reserve(static_cast<std::size_t>(workers));
    for (Index k = 1; k < workers; ++k) {
        try {
            const std::lock_guard<std::mutex> lock(guard);
            threads.emplace_back(worker);
            ++busy;
        } catch (const std::exception&) {
            break;
        }
    }
    work();
    if (stop) {
        std::unique_lock<std::mutex> lock(guard);
        while (!idle.wait_for(lock, Stop::between_looks, [&] { return busy == 0; })) {
            lock.unlock();
            if (stop->is_asked_for()) next = count;  // who is at work hears of it at his next check
            lock.lock();
        }
    }
    for (auto& thread : threads) thread.join();
    if (failure) std::rethrow_exception(failure);
    if (stop) stop->check();
}

struct Blocks {
    // Rows: tens to hundreds of microseconds of work, so that handing a block out costs nothing and a stop is heard.
    static constexpr Index size = 8192;
    Index n;
    Index count() const { return (n + size - 1) / size; }
    Index begin(Index k) const { return k * size; }
    Index end(Index k) const { return std::min(n, (k + 1) * size); }
};

// out += the sum over the blocks of what task(block, into) adds to `into`, `width` numbers. Block b goes to stripe
// b % stripes, in order, and the stripes are added in order: the bits are the same for any number of threads, and the
// memory is that of `stripes` partial sums, however many blocks there are.
template <class Task>
void add_in_stripes(int n_threads, Index n_blocks, Index width, double* out, Task&& task, const Stop* stop = nullptr) {
    constexpr Index most = 16;  // threads that can be kept busy, and copies of `width` numbers that are held at most
    const Index stripes = std::min(most, n_blocks);
    const auto stripe = [&](Index s, double* into) {
        for (Index b = s; b < n_blocks; b += stripes) task(b, into);
    };
    if (n_threads <= 1 || stripes <= 1) {
        std::vector<double> part(static_cast<std::size_t>(stripes > 1 ? width : 0));
        for (Index s = 0; s < stripes; ++s) {
            if (stripes == 1) return stripe(0, out);
            std::fill(part.begin(), part.end(), 0.0);
            stripe(s, part.data());
            for (Index j = 0; j < width; ++j) out[j] += part[static_cast<std::size_t>(j)];
        }
        return;
    }
    std::vector<std::vector<double>> parts(static_cast<std::size_t>(stripes));
    parallel_for(
        n_threads, stripes,
        [&](Index s) {
            auto& part = parts[static_cast<std::size_t>(s)];
            part.assign(static_cast<std::size_t>(width), 0.0);
            stripe(s, part.data());
        },
        stop);
    for (const auto& part : parts)
        for (Index j = 0; j < width; ++j) out[j] += part[static_cast<std::size_t>(j)];
}

}  // namespace steelyard
