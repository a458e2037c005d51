// The bindings of kernel machines, for bindings.cpp and for paths on kernels.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "kernel/kernel_rows.hpp"

namespace steelyard {

// The kernel by its name in Python.
KernelSpec kernel_spec(const std::string& name, double gamma, double coef0, int degree, double constant);

void bind_smo(nanobind::module_& m);

}  // namespace steelyard
