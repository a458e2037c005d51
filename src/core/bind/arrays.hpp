// numpy arrays in and out: the types that the bindings share.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <memory>
#include <typeinfo>
#include <utility>
#include <vector>

namespace steelyard {

namespace nb = nanobind;

using Ints = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Bools = nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Doubles = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

using OwnedVector = nb::ndarray<nb::numpy, double, nb::ndim<1>>;
using OwnedMatrix = nb::ndarray<nb::numpy, double, nb::ndim<2>>;

// A vector for numpy to hold, without a copy: it is freed with its capsule, or here if there is no memory for one.
template <class T>
struct Kept {
    explicit Kept(std::vector<T>&& given) : data(std::make_unique<std::vector<T>>(std::move(given))) {
        owner = nb::capsule(data.get(), [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
        values = data.release()->data();
    }
    std::unique_ptr<std::vector<T>> data;
    nb::capsule owner;
    T* values = nullptr;
};

template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> own(std::vector<T>&& data) {
    const std::size_t size = data.size();
    const Kept<T> kept(std::move(data));
    return {kept.values, {size}, kept.owner};
}

inline OwnedMatrix own(std::vector<double>&& data, std::size_t rows, std::size_t columns) {
    const Kept<double> kept(std::move(data));
    return OwnedMatrix(kept.values, {rows, columns}, kept.owner);
}

// A list from Python. nanobind's own conversion may not throw, so that a list without memory would end the process.
template <class T>
std::vector<T> listed(const nb::sequence& given) {
    std::vector<T> found;
    found.reserve(nb::len(given));
    for (nb::handle item : given) {
        try {
            found.push_back(nb::cast<T>(item));
        } catch (const std::bad_cast&) {
            throw nb::type_error("a list holds something of another kind than it should");
        }
    }
    return found;
}

}  // namespace steelyard
