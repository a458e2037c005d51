// The contents page of the core: what Python can call, and which headers do the work.
//
//   Halt                          base/stop.hpp                    an end for other threads' calls    stop.cpp
//   Rows                          base/rows.hpp, products.hpp      data, views and products            rows.cpp
//   Tape, evaluate_tape           measure/tape.hpp                 value and gradient of a measure    measure.cpp
//   scan_frontier                 measure/frontier.hpp             every operating point of scores    measure.cpp
//   draw_rows, shares_above, ...   measure/resamples.hpp            what the bootstrap counts          measure.cpp
//   score_units                   measure/score_units.hpp          quantiles of many models' scores   measure.cpp
//   StreamLearner                 stream/learner.hpp               row by row: NEMSIS, SCAN and more  stream.cpp
//   class_pass                    stream/class_pass.hpp            the same for K classes             class_stream.cpp
//   solve_cost_grid               linear/cost_grid.hpp             every cost pair and every C        linear.cpp
//   solve_master, line_search     linear/master.hpp                parts of the bundle, for tests     linear.cpp
//   StructuralSvm, most_violated  structural/cutting_planes.hpp    any loss of the confusions         structural.cpp
//   trace_path, recover_path      path/trace.hpp, replay.hpp       every kink of the cost path        path.cpp
//   trace_approximately           path/approximate.hpp             knots of an approximate path       path.cpp
//   score_crossings               path/crossings.hpp               where scores change sign           path.cpp
//   KernelMatrix                  kernel/kernel_rows.hpp, smo.hpp  cached rows of a kernel, and SMO   kernel.cpp
//
// In bind/ and only there Python objects turn into arrays and structs. Long calls release the GIL, and ask for a stop.
#include <nanobind/nanobind.h>

#include "bind/kernel.hpp"
#include "bind/linear.hpp"
#include "bind/measure.hpp"
#include "bind/path.hpp"
#include "bind/rows.hpp"
#include "bind/stop.hpp"
#include "bind/stream.hpp"
#include "bind/structural.hpp"

NB_MODULE(_core, m) {
    using namespace steelyard;
    m.doc() = "The compiled core of steelyard. Private: use the Python layers above it.";
    bind_stop(m);
    bind_rows(m);
    bind_measure(m);
    bind_linear(m);
    bind_stream(m);
    bind_class_stream(m);
    bind_structural(m);
    bind_path(m);
    bind_smo(m);
}
