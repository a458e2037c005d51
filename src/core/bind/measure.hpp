// Measures for Python: tapes, and the operating points of scored rows. Whoever takes a tape makes it here.
#pragma once

#include <nanobind/nanobind.h>

#include "bind/arrays.hpp"
#include "measure/tape.hpp"

namespace steelyard {

// A tape of four arrays of one length; `Tape` refuses an instruction that reads what does not come before it.
Tape tape_of(const Ints& op, const Ints& left, const Ints& right, const Doubles& number, std::int32_t n_inputs = 4);

void bind_measure(nanobind::module_& m);

}  // namespace steelyard
