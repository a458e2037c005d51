// What module.cpp needs to know of linear.cpp and bundle.cpp.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "linear/losses.hpp"

namespace steelyard {

// Throws unless there is such a loss.
LossKind loss_of(const std::string& name);

void bind_linear(nanobind::module_& m);
void bind_bundle(nanobind::module_& m);  // called by bind_linear

}  // namespace steelyard
