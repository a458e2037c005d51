// numpy arrays in and out: the types that the bindings share.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <vector>

namespace steelyard {

namespace nb = nanobind;

using Ints = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Bools = nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Doubles = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

using OwnedVector = nb::ndarray<nb::numpy, double, nb::ndim<1>>;
using OwnedMatrix = nb::ndarray<nb::numpy, double, nb::ndim<2>>;

// Hands a vector's memory to numpy without a copy.
template <class T>
nb::capsule keep(std::vector<T>* data) {
    return nb::capsule(data, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
}

template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> own(std::vector<T>&& data) {
    auto* kept = new std::vector<T>(std::move(data));
    return {kept->data(), {kept->size()}, keep(kept)};
}

inline OwnedMatrix own(std::vector<double>&& data, std::size_t columns) {
    auto* kept = new std::vector<double>(std::move(data));
    return OwnedMatrix(kept->data(), {kept->size() / columns, columns}, keep(kept));
}

}  // namespace steelyard
