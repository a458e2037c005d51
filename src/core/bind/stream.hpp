// The stream learner's part of the module; what is in it stands in module.cpp.
#pragma once

#include <nanobind/nanobind.h>

namespace steelyard {

void bind_stream(nanobind::module_& m);
void bind_class_stream(nanobind::module_& m);

}  // namespace steelyard
