// How many numbers a table has: the product of two lengths, which may pass 2^63 though there are no numbers. numpy
// makes an array of no rows and 2^58 columns, scipy a matrix of 2^62 columns with nothing in them, and a product that
// has come round to a small number is a table that is written beyond its end.
#pragma once

#include <cstddef>
#include <limits>
#include <new>

#include "base/rows.hpp"

namespace steelyard {

inline std::size_t numbers_of(Index n, Index d) {
    if (d > 0 && n > std::numeric_limits<Index>::max() / d) throw std::bad_alloc();
    return static_cast<std::size_t>(n * d);
}

}  // namespace steelyard
