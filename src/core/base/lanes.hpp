// Doubles side by side that are added and multiplied together: LanesOf<2>, LanesOf<4>, LanesOf<8>.
//
// GCC and clang have vectors as a type and lower them to what the machine has, also where a function is compiled for
// several of them. Other compilers get a struct of as many doubles with the same few operators, in the same order of
// additions: the numbers are the same, and speed is left to their own vectoriser.
#pragma once

#include <cstddef>

#include "base/simd.hpp"

namespace steelyard {

#if defined(STEELYARD_GNU)

#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi"  // how vectors are handed over does not matter: all is inlined
#endif
template <std::size_t n>
struct LanesType;  // spelled out for each n, since GCC drops the attribute where its argument depends on one
template <>
struct LanesType<2> {
    using type = double __attribute__((vector_size(2 * sizeof(double))));
};
template <>
struct LanesType<4> {
    using type = double __attribute__((vector_size(4 * sizeof(double))));
};
template <>
struct LanesType<8> {
    using type = double __attribute__((vector_size(8 * sizeof(double))));
};
template <std::size_t n>
using LanesOf = typename LanesType<n>::type;

#else

template <std::size_t n>
struct LanesOf {
    double x[n];

    double operator[](std::size_t k) const { return x[k]; }
    LanesOf& operator+=(const LanesOf& other) {
        for (std::size_t k = 0; k < n; ++k) x[k] += other.x[k];
        return *this;
    }
    friend LanesOf operator*(LanesOf a, const LanesOf& b) {
        for (std::size_t k = 0; k < n; ++k) a.x[k] *= b.x[k];
        return a;
    }
    friend LanesOf operator*(LanesOf a, double b) {
        for (std::size_t k = 0; k < n; ++k) a.x[k] *= b;
        return a;
    }
    friend LanesOf operator+(LanesOf a, double b) {
        for (std::size_t k = 0; k < n; ++k) a.x[k] += b;
        return a;
    }
};

#endif

}  // namespace steelyard
