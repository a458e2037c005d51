// Measures for Python: values and gradients of a tape, and every operating point of scored rows.
#include "bind/measure.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "bind/stop.hpp"
#include "measure/frontier.hpp"

namespace steelyard {

Tape tape_of(const Ints& op, const Ints& left, const Ints& right, const Doubles& number) {
    const std::size_t length = op.shape(0);
    if (left.shape(0) != length || right.shape(0) != length || number.shape(0) != length)
        throw std::invalid_argument("the four arrays of a tape must have one length");
    std::vector<Instruction> steps(length);
    for (std::size_t k = 0; k < length; ++k) steps[k] = {static_cast<Op>(op(k)), left(k), right(k), number(k)};
    return Tape(std::move(steps));
}

namespace {

std::pair<OwnedVector, OwnedMatrix> evaluate_tape(const Ints& op, const Ints& left, const Ints& right,
                                                  const Doubles& number, const Matrix& points) {
    if (points.shape(1) != 4) throw std::invalid_argument("points need four columns: tpr, tnr, prevalence, smoothing");
    Tape tape = tape_of(op, left, right, number);
    const std::size_t m = points.shape(0);
    std::vector<double> values(m), gradients(2 * m);
    without_gil([&](const Stop& stop) {
        StopEvery ask(&stop, 4096);
        for (std::size_t i = 0; i < m; ++i) {
            ask();
            const auto found = tape.evaluate({points(i, 0), points(i, 1), points(i, 2), points(i, 3)});
            values[i] = found.value;
            gradients[2 * i] = found.d_tpr;
            gradients[2 * i + 1] = found.d_tnr;
        }
    });
    return {own(std::move(values)), own(std::move(gradients), m, 2)};
}

std::tuple<OwnedVector, OwnedVector, OwnedVector> scan(const Doubles& scores, const Bools& positive,
                                                       const std::optional<Doubles>& weight) {
    const std::size_t n = scores.shape(0);
    if (positive.shape(0) != n || (weight && weight->shape(0) != n))
        throw std::invalid_argument("scores, labels and weights must have one length");
    const ScoredRows rows{scores.data(), positive.data(), weight ? weight->data() : nullptr, n};
    Frontier found = without_gil([&](const Stop& stop) { return scan_frontier(rows, &stop); });
    return {own(std::move(found.thresholds)), own(std::move(found.tpr)), own(std::move(found.tnr))};
}

}  // namespace

void bind_measure(nb::module_& m) {
    using namespace nb::literals;
    m.def("evaluate_tape", &evaluate_tape, "op"_a, "left"_a, "right"_a, "number"_a, "points"_a,
          "Values and gradients of a tape at points (m, 4).");
    m.def("scan_frontier", &scan, "scores"_a, "positive"_a, "weight"_a = nb::none(),
          "Thresholds, TPR and TNR of every operating point, by rising threshold.");
    nb::class_<Tape>(m, "Tape", "A measure as instructions.")
        .def(
            "__init__",
            [](Tape* self, const Ints& op, const Ints& left, const Ints& right, const Doubles& number) {
                new (self) Tape(tape_of(op, left, right, number));
            },
            "op"_a, "left"_a, "right"_a, "number"_a);
}

}  // namespace steelyard
