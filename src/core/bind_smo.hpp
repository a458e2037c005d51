// The bindings of kernel machines, for bindings.cpp.
#pragma once

#include <nanobind/nanobind.h>

namespace steelyard {

void bind_smo(nanobind::module_& m);

}  // namespace steelyard
