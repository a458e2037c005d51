// Memory that runs out: `requests_left` says how many requests are granted from here, -1 all of them.
//
// For one file of a test program: it takes the place of operator new. Under the address sanitizer whoever loses what he
// was given before the failure is told so at the end (LeakSanitizer).
#pragma once

#include <atomic>
#include <cstdlib>
#include <new>

static std::atomic<long> requests_left{-1}, refusals{0};

static void* given(std::size_t size, std::size_t line) {
    if (requests_left >= 0 && requests_left.fetch_sub(1) <= 0) {
        requests_left = 0;  // after one that fails there is no more for the others
        ++refusals;
        throw std::bad_alloc();
    }
#if defined(_WIN32)  // which has a free of its own for what is aligned
    return line == 0 ? std::malloc(size + 1) : _aligned_malloc(size + 1, line);
#else
    return line == 0 ? std::malloc(size + 1) : std::aligned_alloc(line, (size + line) / line * line);
#endif
}
// NOLINTBEGIN(misc-definitions-in-headers): what takes the place of operator new may not be inline.
void* operator new(std::size_t size) { return given(size, 0); }
void* operator new[](std::size_t size) { return given(size, 0); }
void* operator new(std::size_t size, std::align_val_t line) { return given(size, static_cast<std::size_t>(line)); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return std::malloc(size + 1); }
// Not to be inlined: GCC would see what is new given to free, and not that new is malloc.
#if defined(__GNUC__)
__attribute__((noinline))
#endif
static void given_back(void* at) {
    std::free(at);
}
static void line_given_back(void* at) {
#if defined(_WIN32)
    _aligned_free(at);
#else
    given_back(at);
#endif
}
void operator delete(void* at) noexcept { given_back(at); }
void operator delete(void* at, std::size_t) noexcept { given_back(at); }
void operator delete[](void* at) noexcept { given_back(at); }
void operator delete[](void* at, std::size_t) noexcept { given_back(at); }
void operator delete(void* at, std::align_val_t) noexcept { line_given_back(at); }
void operator delete(void* at, std::size_t, std::align_val_t) noexcept { line_given_back(at); }
// NOLINTEND(misc-definitions-in-headers)
