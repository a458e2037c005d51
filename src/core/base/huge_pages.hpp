// Large arrays that are touched at random: on huge pages where the system has them, and zero without being written.
//
// A fresh array costs one page fault for every 4 KiB that is written, which for a model of 60,000 features takes longer
// than a quarter of the learning from 20,000 rows. Arrays of half a huge page or more are laid on whole huge pages
// instead (Linux; elsewhere this is the usual allocator). Smaller ones come and go in a search, thousands of times, and
// the system would zero a whole page for each: from an eighth of a page on, as it was, that took 7 % of a search on
// letter. The system hands out zeros, so new elements are not set to zero once more: a LargeVector may grow, but one
// that has been cleared or cut does not get its zeros back. Small arrays begin with a cache line.
#pragma once

#include <cstdint>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace steelyard {

template <class T>
struct HugePages {
    using value_type = T;
    static constexpr std::size_t page = std::size_t{1} << 21;  // a huge page of x86-64 and AArch64
    static constexpr std::size_t least = page / 2;             // bytes of an array that is laid on pages (see above)
    static constexpr std::align_val_t line{64};                // bytes of a cache line

    HugePages() = default;
    template <class U>
    HugePages(const HugePages<U>&) {}

    T* allocate(std::size_t n) {
        const std::size_t bytes = n * sizeof(T);
#if defined(__linux__)
        if (bytes >= least) return static_cast<T*>(whole_pages(rounded(bytes)));
#endif
        void* const at = ::operator new(bytes, line);
        return static_cast<T*>(std::memset(at, 0, bytes));
    }
    void deallocate(T* at, [[maybe_unused]] std::size_t n) {
#if defined(__linux__)
        if (n * sizeof(T) >= least) {
            munmap(at, rounded(n * sizeof(T)));
            return;
        }
#endif
        ::operator delete(at, line);
    }

    template <class U>
    void construct(U*) {}  // it is zero already
    template <class U, class... Values>
    void construct(U* at, Values&&... values) {
        ::new (static_cast<void*>(at)) U(std::forward<Values>(values)...);
    }

    template <class U>
    bool operator==(const HugePages<U>&) const {
        return true;
    }
    template <class U>
    bool operator!=(const HugePages<U>&) const {
        return false;
    }

#if defined(__linux__)
private:
    static std::size_t rounded(std::size_t bytes) { return (bytes + page - 1) / page * page; }

    // A map of one page more, cut to where a huge page may begin.
    static void* whole_pages(std::size_t bytes) {
        void* const map =
            mmap(nullptr, bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (map == MAP_FAILED) throw std::bad_alloc();
        const auto start = reinterpret_cast<std::uintptr_t>(map), at = (start + page - 1) / page * page;
        if (at > start) munmap(map, at - start);
        if (start + page > at) munmap(reinterpret_cast<void*>(at + bytes), start + page - at);
        madvise(reinterpret_cast<void*>(at), bytes, MADV_HUGEPAGE);  // a hint: without it the pages are small ones
        return reinterpret_cast<void*>(at);
    }
#endif
};

template <class T>
using LargeVector = std::vector<T, HugePages<T>>;

}  // namespace steelyard
