// Large arrays that are touched at random: on huge pages where the system has them.
//
// A fresh array costs one page fault for every 4 KiB that is written, which for a model of 60,000 features takes longer
// than a quarter of the learning from 20,000 rows. Arrays of an eighth of a huge page or more are laid on whole huge
// pages instead (Linux; elsewhere this is the usual allocator).
#pragma once

#include <cstdlib>
#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace steelyard {

template <class T>
struct HugePages {
    using value_type = T;
    static constexpr std::size_t page = std::size_t{1} << 21;

    HugePages() = default;
    template <class U>
    HugePages(const HugePages<U>&) {}

    T* allocate(std::size_t n) {
        const std::size_t bytes = n * sizeof(T);
#if defined(__linux__)
        if (bytes >= page / 8) {
            const std::size_t whole = (bytes + page - 1) / page * page;
            void* const at = whole >= bytes ? std::aligned_alloc(page, whole) : nullptr;
            if (at == nullptr) throw std::bad_alloc();
            madvise(at, whole, MADV_HUGEPAGE);  // a hint: without it the pages are small ones
            return static_cast<T*>(at);
        }
#endif
        void* const at = std::malloc(bytes);
        if (at == nullptr) throw std::bad_alloc();
        return static_cast<T*>(at);
    }
    void deallocate(T* at, std::size_t) { std::free(at); }

    template <class U>
    bool operator==(const HugePages<U>&) const {
        return true;
    }
    template <class U>
    bool operator!=(const HugePages<U>&) const {
        return false;
    }
};

template <class T>
using LargeVector = std::vector<T, HugePages<T>>;

}  // namespace steelyard
