// The bindings of cost paths, for module.cpp; and a traced path as arrays, for pickles.
#pragma once

#include <nanobind/nanobind.h>

#include "path/log.hpp"

namespace steelyard {

nanobind::tuple log_to_state(const PathLog& log);

// Raises unless the state is one that a path could have left: what is replayed from it is trusted.
PathLog log_from_state(const nanobind::tuple& state);

void bind_path(nanobind::module_& m);

}  // namespace steelyard
