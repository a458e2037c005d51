// What bindings.cpp needs to know of bind_path.cpp.
#pragma once

#include <nanobind/nanobind.h>

namespace steelyard {

void bind_path(nanobind::module_& m);

}  // namespace steelyard
