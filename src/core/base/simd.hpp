// One wheel for every x86-64 machine, without giving up its vector units.
//
// A function marked STEELYARD_CLONES is compiled three times (baseline, AVX2 + FMA, AVX-512) and the loader picks the
// best one the machine has. Everything that it calls in its hot loop must be STEELYARD_INLINE, or that part keeps the
// baseline instructions. Where the compiler has no target_clones the mark means nothing and the build is plain; the
// sanitizers are such a case, since they cannot run before the loader has resolved the clones.
//
// GCC takes a call to such a function for one that cannot throw: an exception that leaves it (a stop, no memory) meets
// a caller without a way on, and the program is aborted. So nothing is thrown inside (a stop is asked for between two
// calls, memory is taken before), or the function is called through `may_throw`.
#pragma once

#include <cstddef>  // __GLIBC__: musl's loader cannot choose between clones

// The extensions that GCC and clang share. STEELYARD_ISO leaves them out, as MSVC must, so that what stands in for them
// is compiled and tested where they are (.ci/portable).
#if defined(__GNUC__) && !defined(STEELYARD_ISO)
#define STEELYARD_GNU
#endif

#if defined(STEELYARD_GNU) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(STEELYARD_PLAIN)
#define STEELYARD_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define STEELYARD_CLONES
#endif

// Before a loop whose arrays do not overlap, so that they need not be compared first.
#if defined(STEELYARD_GNU) && defined(__clang__)
#define STEELYARD_NO_OVERLAP _Pragma("clang loop vectorize(assume_safety)")
#elif defined(STEELYARD_GNU)
#define STEELYARD_NO_OVERLAP _Pragma("GCC ivdep")
#else
#define STEELYARD_NO_OVERLAP
#endif

#if defined(STEELYARD_GNU)
#define STEELYARD_INLINE inline __attribute__((always_inline))
#define STEELYARD_INLINE_LAMBDA __attribute__((always_inline))
#elif defined(_MSC_VER)
#define STEELYARD_INLINE __forceinline
#define STEELYARD_INLINE_LAMBDA
#else
#define STEELYARD_INLINE inline
#define STEELYARD_INLINE_LAMBDA
#endif

namespace steelyard {

// The same function, or member function, as one of which the compiler knows nothing:
//   may_throw(&find<R>)(rows)        (this->*may_throw(&Search::step))(x)
template <class Function>
STEELYARD_INLINE Function may_throw(Function function) {
#if defined(STEELYARD_GNU)
    asm("" : "+m"(function));
#endif
    return function;
}

// The same number, as one of which the compiler knows nothing: a product that it is cannot be fused with a sum that it
// is in, which some loops would do and others not, with other bits.
STEELYARD_INLINE double unfused(double x) {
#if defined(STEELYARD_GNU)
    asm("" : "+m"(x));
#endif
    return x;
}

}  // namespace steelyard
