// Memory that runs out at the n-th allocation: loaded before everything else (LD_PRELOAD), armed from Python by ctypes.
//
//   arm(n, least, core)   from now on, of the allocations of at least `least` bytes, the n-th fails, once
//   disarm()              how many were counted since
//   live()                what `operator new` has handed out and `operator delete` has not got back
//
// With `core`, only what the core's code asks `operator new` for is counted: that is where our promise is ours alone.
// Without, everything that the process asks for is: numpy's arrays, Python's larger objects, scikit-learn's.
#include <dlfcn.h>
#include <malloc.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
}

namespace {

std::atomic<bool> armed{false};
std::atomic<long> counted{0}, alive{0};
long fails_at = 0;
std::size_t smallest = 0;
bool core_only = false;

bool is_in(const char* library, void* caller) {
    Dl_info info;
    return dladdr(caller, &info) != 0 && info.dli_fname && std::strstr(info.dli_fname, library) != nullptr;
}

bool fails(std::size_t size) { return size >= smallest && ++counted == fails_at; }

// What `malloc` and its kin ask; `operator new` does not go through them. GCC's OpenMP, under scikit-learn's models,
// and OpenBLAS get what they ask for: one has no answer but exit(1), the other does not look (dlaed3, in an
// eigenproblem).
bool fails_anywhere(std::size_t size, void* caller) {
    return armed && !core_only && fails(size) && !is_in("libgomp", caller) && !is_in("openblas", caller);
}

void* made(std::size_t size, std::size_t alignment, void* caller) {
    if (armed && (!core_only || is_in("steelyard/_core", caller)) && fails(size)) return nullptr;
    void* p = alignment ? __libc_memalign(alignment, size) : __libc_malloc(size ? size : 1);
    if (p) ++alive;
    return p;
}

void* made_or_thrown(std::size_t size, std::size_t alignment, void* caller) {
    if (void* p = made(size, alignment, caller)) return p;
    throw std::bad_alloc();
}

void given_back(void* p) {
    if (p) --alive;
    free(p);
}

}  // namespace

extern "C" {

void arm(long n, std::size_t least, int core) {
    fails_at = n;
    smallest = least;
    core_only = core != 0;
    counted = 0;
    armed = true;
}

long disarm() {
    armed = false;
    return counted;
}

long live() { return alive; }

void* malloc(std::size_t size) {
    return fails_anywhere(size, __builtin_return_address(0)) ? (errno = ENOMEM, nullptr) : __libc_malloc(size);
}

void* calloc(std::size_t count, std::size_t size) {
    return fails_anywhere(count * size, __builtin_return_address(0)) ? (errno = ENOMEM, nullptr)
                                                                     : __libc_calloc(count, size);
}

void* realloc(void* p, std::size_t size) {
    return fails_anywhere(size, __builtin_return_address(0)) ? (errno = ENOMEM, nullptr) : __libc_realloc(p, size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) {
    return fails_anywhere(size, __builtin_return_address(0)) ? (errno = ENOMEM, nullptr)
                                                             : __libc_memalign(alignment, size);
}

int posix_memalign(void** p, std::size_t alignment, std::size_t size) {
    if (fails_anywhere(size, __builtin_return_address(0))) return ENOMEM;
    *p = __libc_memalign(alignment, size);
    return *p ? 0 : ENOMEM;
}
}

void* operator new(std::size_t size) { return made_or_thrown(size, 0, __builtin_return_address(0)); }
void* operator new[](std::size_t size) { return made_or_thrown(size, 0, __builtin_return_address(0)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
    return made_or_thrown(size, static_cast<std::size_t>(alignment), __builtin_return_address(0));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
    return made_or_thrown(size, static_cast<std::size_t>(alignment), __builtin_return_address(0));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    return made(size, 0, __builtin_return_address(0));
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
    return made(size, 0, __builtin_return_address(0));
}
void operator delete(void* p) noexcept { given_back(p); }
void operator delete[](void* p) noexcept { given_back(p); }
void operator delete(void* p, std::size_t) noexcept { given_back(p); }
void operator delete[](void* p, std::size_t) noexcept { given_back(p); }
void operator delete(void* p, std::align_val_t) noexcept { given_back(p); }
void operator delete[](void* p, std::align_val_t) noexcept { given_back(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { given_back(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { given_back(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { given_back(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { given_back(p); }
