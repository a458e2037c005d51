// Measures for Python: values and gradients of a tape, and every operating point of scored rows.
#include "bind/measure.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "bind/stop.hpp"
#include "measure/class_sweep.hpp"
#include "measure/frontier.hpp"
#include "measure/resamples.hpp"
#include "measure/score_units.hpp"

namespace steelyard {

Tape tape_of(const Ints& op, const Ints& left, const Ints& right, const Doubles& number, std::int32_t n_inputs) {
    const std::size_t length = op.shape(0);
    if (left.shape(0) != length || right.shape(0) != length || number.shape(0) != length)
        throw std::invalid_argument("the four arrays of a tape must have one length");
    std::vector<Instruction> steps(length);
    for (std::size_t k = 0; k < length; ++k) steps[k] = {static_cast<Op>(op(k)), left(k), right(k), number(k)};
    return Tape(std::move(steps), n_inputs);
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

ClassMeasure class_measure_of(const nb::list& lifts, Tape formula, const nb::list& tables) {
    std::vector<Lift> made;
    for (const auto& item : lifts) {
        const auto lift = nb::cast<std::tuple<std::int32_t, std::int32_t, Tape>>(item);
        if (std::get<0>(lift) < 0 || std::get<0>(lift) > static_cast<std::int32_t>(LiftKind::costs))
            throw std::invalid_argument("unknown lift of a measure");
        made.push_back({static_cast<LiftKind>(std::get<0>(lift)), std::get<1>(lift), std::get<2>(lift)});
    }
    std::vector<CostTable> costs;
    for (const auto& item : tables) {
        const auto table = nb::cast<Matrix>(item);
        costs.emplace_back(table.data(), table.data() + table.size());
    }
    return {std::move(made), std::move(formula), std::move(costs)};
}

// The best offset of class k; `goal` is made anew for every call, since its tapes are scratch space.
std::tuple<double, double, double> best_offset(const Matrix& scores, const Matrix& labels, const Doubles& offsets,
                                               std::size_t k, ClassGoal goal) {
    const std::size_t n = scores.shape(0), width = scores.shape(1);
    if (labels.shape(0) != n || labels.shape(1) != width || offsets.shape(0) != width || k >= width || n == 0)
        throw std::invalid_argument("scores, labels and offsets must be of the same rows and classes");
    if (width < 2) throw std::invalid_argument("an offset is one of several classes");
    const ClassRows rows{scores.data(), labels.data(), n, width};
    const ClassCut found =
        without_gil([&](const Stop& stop) { return ClassSweep(rows, offsets.data(), k, goal, &stop).best(&stop); });
    return {found.offset, found.value, found.missed};
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

using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Calls = nb::ndarray<const bool, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

DrawnRows drawn_rows(const Bytes& drawn, const std::optional<Doubles>& weight, std::size_t n) {
    if (drawn.shape(0) != n || (weight && weight->shape(0) != n))
        throw std::invalid_argument("rows, draws and weights must be of the same rows");
    return {drawn.data(), weight ? weight->data() : nullptr, static_cast<Index>(n), static_cast<Index>(drawn.shape(1))};
}

nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<2>> rows_drawn(std::size_t n, std::size_t draws, std::uint64_t seed) {
    auto found = without_gil(
        [&](const Stop& stop) { return draw_rows(static_cast<Index>(n), static_cast<Index>(draws), seed, &stop); });
    const Kept<std::uint8_t> kept(std::move(found));
    return {kept.values, {n, draws}, kept.owner};
}

OwnedMatrix shares_above_cuts(const Doubles& scores, const Doubles& cuts, const Bytes& drawn,
                              const std::optional<Doubles>& weight) {
    const DrawnRows rows = drawn_rows(drawn, weight, scores.shape(0));
    const auto count = static_cast<Index>(cuts.shape(0));
    auto found =
        without_gil([&](const Stop& stop) { return shares_above(rows, scores.data(), cuts.data(), count, &stop); });
    return own(std::move(found), cuts.shape(0), 2 * drawn.shape(1));
}

OwnedMatrix calls_in_draws(const Calls& called, const Bytes& drawn, const std::optional<Doubles>& weight) {
    const DrawnRows rows = drawn_rows(drawn, weight, called.shape(0));
    const auto models = static_cast<Index>(called.shape(1));
    auto found = without_gil([&](const Stop& stop) { return calls_drawn(rows, called.data(), models, &stop); });
    return own(std::move(found), called.shape(1) + 1, drawn.shape(1) + 1);
}

OwnedMatrix units(const Matrix& scores, const Doubles& at, const std::optional<Doubles>& weight) {
    const std::size_t n = scores.shape(0), models = scores.shape(1);
    if (n == 0 || (weight && weight->shape(0) != n))
        throw std::invalid_argument("scores and weights must be of the same rows, at least one");
    if (std::any_of(at.data(), at.data() + at.shape(0), [](double share) { return std::isnan(share); }))
        throw std::invalid_argument("a share is NaN");
    auto found = without_gil([&](const Stop& stop) {
        return units_of_scores(scores.data(), static_cast<Index>(n), static_cast<Index>(models),
                               weight ? weight->data() : nullptr, at.data(), static_cast<Index>(at.shape(0)), &stop);
    });
    return own(std::move(found), models, at.shape(0) + 3);
}

}  // namespace

void bind_measure(nb::module_& m) {
    using namespace nb::literals;
    m.def("evaluate_tape", &evaluate_tape, "op"_a, "left"_a, "right"_a, "number"_a, "points"_a,
          "Values and gradients of a tape at points (m, 4).");
    m.def("scan_frontier", &scan, "scores"_a, "positive"_a, "weight"_a = nb::none(),
          "Thresholds, TPR and TNR of every operating point, by rising threshold.");
    m.def("draw_rows", &rows_drawn, "n"_a, "draws"_a, "seed"_a,
          "How often each of n rows is in each of some draws with replacement, at most 255 times.");
    m.def("shares_above", &shares_above_cuts, "scores"_a, "cuts"_a, "drawn"_a, "weight"_a = nb::none(),
          "Of rows drawn so often: the share above each cut, in each draw and in what it left out.");
    m.def("calls_drawn", &calls_in_draws, "called"_a, "drawn"_a, "weight"_a = nb::none(),
          "The weight that each model calls, in the sample and in each draw; last that of all rows.");
    m.def("score_units", &units, "scores"_a, "at"_a, "weight"_a = nb::none(),
          "Of each column: quantiles, mean, standard deviation, largest size.");
    nb::class_<Tape>(m, "Tape", "A measure as instructions.")
        .def(
            "__init__",
            [](Tape* self, const Ints& op, const Ints& left, const Ints& right, const Doubles& number,
               std::int32_t n_inputs) { new (self) Tape(tape_of(op, left, right, number, n_inputs)); },
            "op"_a, "left"_a, "right"_a, "number"_a, "n_inputs"_a = 4);
    nb::class_<ClassMeasure>(m, "ClassMeasure", "A measure of several classes: a formula of what is lifted from each.")
        .def(
            "__init__",
            [](ClassMeasure* self, const nb::list& lifts, const Tape& formula, const nb::list& tables) {
                new (self) ClassMeasure(class_measure_of(lifts, formula, tables));
            },
            "lifts"_a, "formula"_a, "tables"_a = nb::list());
    nb::class_<ClassConstraint>(m, "ClassConstraint",
                                "Not negative where it holds; `whole` decides where `below` is 0.")
        .def(
            "__init__",
            [](ClassConstraint* self, const ClassMeasure& cleared, const std::optional<ClassMeasure>& below,
               const std::optional<ClassMeasure>& whole) {
                if (below.has_value() != whole.has_value())
                    throw std::invalid_argument("a constraint that is cleared of a denominator has its whole, too");
                new (self) ClassConstraint{cleared, below, whole};
            },
            "cleared"_a, "below"_a = nb::none(), "whole"_a = nb::none());
    nb::class_<ClassGoal>(m, "ClassGoal", "What offsets are chosen for.")
        .def(
            "__init__",
            [](ClassGoal* self, const ClassMeasure& measure, const nb::sequence& constraints, double smoothing,
               bool monotone, double tolerance, double tie, double apart) {
                new (self) ClassGoal{measure, listed<ClassConstraint>(constraints), smoothing, monotone, tolerance, tie,
                                     apart};
            },
            "measure"_a, "constraints"_a, "smoothing"_a, "monotone"_a, "tolerance"_a, "tie"_a, "apart"_a);
    m.def("best_offset", &best_offset, "scores"_a, "labels"_a, "offsets"_a, "k"_a, "goal"_a,
          "The best offset of class k with the others fixed, the measure there, and what the constraints miss.");
}

}  // namespace steelyard
