// What bindings.cpp needs to know of bind_structural.cpp.
#pragma once

#include <nanobind/nanobind.h>

namespace steelyard {

void bind_structural(nanobind::module_& m);

}  // namespace steelyard
