// The contents page of the core: what Python can call, and which header does the work.
//
//   evaluate_tape        measure/tape.hpp              value and gradient of a measure at many points
//   scan_frontier        measure/frontier.hpp          every operating point of scored rows
//   StreamLearner        stream/learner.hpp        NEMSIS, SCAN, SPADE, stochastic Neyman-Pearson   (bind_stream.cpp)
//   solve_cost_grid      linear/cost_grid.hpp         linear models for every cost pair and every C    (bind_batch.cpp)
//   solve_master         linear/master.hpp            the bundle's small quadratic problem, for tests  (bind_batch.cpp)
//   line_search          linear/line_search.hpp       the best step along a ray, for tests             (bind_batch.cpp)
//   StructuralSvm        structural/cutting_planes.hpp        cutting planes for any loss of the confusions
//   (bind_structural.cpp) most_violated        structural/confusion_search.hpp       the search of structural SVMs, for
//   tests         (bind_structural.cpp) trace_path           path/trace.hpp        every kink of the cost path, exactly
//   (bind_path.cpp) recover_path         path/replay.hpp       the model anywhere on it; walk_path, audit_path
//   (bind_path.cpp) trace_approximately  path/approximate.hpp  knots of a certified approximate path (bind_path.cpp)
//   KernelMatrix         kernel/kernel_rows.hpp       rows of a kernel matrix, cached; kernel/smo.hpp solves on it
//   (bind_smo.cpp) score_crossings      path/crossings.hpp         where scores change sign along a path
//   (bind_path.cpp)
//
// Here and only here Python objects turn into arrays and structs. Long calls release the GIL.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <tuple>

#include "bind/arrays.hpp"
#include "bind/kernel.hpp"
#include "bind/linear.hpp"
#include "bind/path.hpp"
#include "bind/rows.hpp"
#include "bind/stream.hpp"
#include "bind/structural.hpp"
#include "measure/frontier.hpp"
#include "measure/tape.hpp"

namespace nb = nanobind;
using namespace steelyard;

namespace {

Tape make_tape(Ints op, Ints left, Ints right, Doubles number) {
    const std::size_t length = op.shape(0);
    if (left.shape(0) != length || right.shape(0) != length || number.shape(0) != length)
        throw std::invalid_argument("the four arrays of a tape must have one length");
    std::vector<Instruction> steps(length);
    for (std::size_t k = 0; k < length; ++k) steps[k] = {static_cast<Op>(op(k)), left(k), right(k), number(k)};
    return Tape(std::move(steps));
}

std::pair<OwnedVector, OwnedMatrix> evaluate_tape(Ints op, Ints left, Ints right, Doubles number, Matrix points) {
    if (points.shape(1) != 4) throw std::invalid_argument("points need four columns: tpr, tnr, prevalence, smoothing");
    Tape tape = make_tape(op, left, right, number);
    const std::size_t m = points.shape(0);
    std::vector<double> values(m), gradients(2 * m);
    {
        nb::gil_scoped_release release;
        for (std::size_t i = 0; i < m; ++i) {
            const auto found = tape.evaluate({points(i, 0), points(i, 1), points(i, 2), points(i, 3)});
            values[i] = found.value;
            gradients[2 * i] = found.d_tpr;
            gradients[2 * i + 1] = found.d_tnr;
        }
    }
    return {own(std::move(values)), own(std::move(gradients), 2)};
}

std::tuple<OwnedVector, OwnedVector, OwnedVector> scan(Doubles scores, Bools positive, std::optional<Doubles> weight) {
    const std::size_t n = scores.shape(0);
    if (positive.shape(0) != n || (weight && weight->shape(0) != n))
        throw std::invalid_argument("scores, labels and weights must have one length");
    const ScoredRows rows{scores.data(), positive.data(), weight ? weight->data() : nullptr, n};
    Frontier found;
    {
        nb::gil_scoped_release release;
        found = scan_frontier(rows);
    }
    return {own(std::move(found.thresholds)), own(std::move(found.tpr)), own(std::move(found.tnr))};
}

}  // namespace

NB_MODULE(_core, m) {
    m.doc() = "The compiled core of steelyard. Private: use the Python layers above it.";
    m.def("evaluate_tape", &evaluate_tape, nb::arg("op"), nb::arg("left"), nb::arg("right"), nb::arg("number"),
          nb::arg("points"), "Values and gradients of a tape at points (m, 4).");
    m.def("scan_frontier", &scan, nb::arg("scores"), nb::arg("positive"), nb::arg("weight") = nb::none(),
          "Thresholds, TPR and TNR of every operating point, by rising threshold.");
    bind_rows(m);
    bind_linear(m);
    bind_stream(m);
    bind_structural(m);
    bind_path(m);
    bind_smo(m);
}
