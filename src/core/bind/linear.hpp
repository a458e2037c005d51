// What bindings.cpp needs to know of bind_batch.cpp.
#pragma once

#include <nanobind/nanobind.h>

namespace steelyard {

void bind_batch(nanobind::module_& m);

}  // namespace steelyard
