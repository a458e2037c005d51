// Bindings of the structural SVM: the loss, the search for the most violated confusion matrix, and the cutting planes.
#include "bind/structural.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <mutex>
#include <string>
#include <tuple>

#include "bind/arrays.hpp"
#include "bind/measure.hpp"
#include "bind/rows.hpp"
#include "bind/stop.hpp"
#include "structural/cutting_planes.hpp"

namespace nb = nanobind;
using namespace steelyard;

namespace {

Search search_of(const std::string& name) {
    if (name == "counts") return Search::counts;
    if (name == "bounds") return Search::bounds;
    if (name == "divide") return Search::divide;
    if (name == "table") return Search::table;
    throw nb::value_error("search is 'counts', 'bounds', 'divide' or 'table'");
}

ConfusionLoss counts_loss(Doubles counts, const std::string& search) {
    ConfusionLoss loss;
    loss.search = search_of(search);
    if (loss.search != Search::counts && loss.search != Search::table)
        throw nb::value_error("a loss of the count is searched by 'counts' or by 'table'");
    loss.counts.assign(counts.data(), counts.data() + counts.shape(0));
    loss.calls = {0, static_cast<Index>(counts.shape(0)) - 1};
    return loss;
}

ConfusionLoss measure_loss(Ints op, Ints left, Ints right, Doubles number, double smoothing, double scale, double top,
                           const std::string& search, int mixed, Index least, Index most) {
    ConfusionLoss loss;
    loss.search = search_of(search);
    if (loss.search == Search::counts) throw nb::value_error("a measure has no table of counts");
    if (loss.search == Search::divide && mixed == 0)
        throw nb::value_error("divide and conquer needs a mixed difference of one sign");
    loss.tape = tape_of(op, left, right, number);
    loss.smoothing = smoothing;
    loss.scale = scale;
    loss.top = top;
    loss.mixed = mixed;
    loss.calls = {least, most};
    return loss;
}

void check_counts(const ConfusionLoss& loss, Index n) {
    if (!loss.counts.empty() && static_cast<Index>(loss.counts.size()) != n + 1)
        throw std::invalid_argument("a loss of the count needs a value for each of 0 .. n calls");
}

std::tuple<Index, Index, double> find_most_violated(ConfusionLoss loss, Doubles scores, Bools positive, double kappa) {
    const auto n = static_cast<Index>(scores.shape(0));
    if (static_cast<Index>(positive.shape(0)) != n)
        throw std::invalid_argument("scores and labels must have one length");
    check_counts(loss, n);
    const Cell cell = without_gil([&](const Stop& stop) {
        SortedScores sorted;
        sorted.kappa = kappa;
        sorted.sort(scores.data(), positive.data(), n, &stop);
        return most_violated(loss, sorted, &stop);
    });
    return {cell.a, cell.b, cell.value};
}

// The solver, what it points into, and a lock for threads that share it.
class Structural {
public:
    Structural(const RowsIn& rows, Bools positive, const ConfusionLoss& loss, const StructuralOptions& options)
        : rows_(rows), positive_(checked(positive, loss)), svm_(*rows_, positive_.data(), loss, options) {}

    std::tuple<double, double, int, std::string> step(double slack) {
        const Progress now = without_gil([&](const Stop& stop) {
            const std::lock_guard<std::mutex> lock(mutex_);
            return svm_.step(slack, stop);
        });
        return {now.primal, now.dual, static_cast<int>(now.status.ended), now.status.where};
    }

    OwnedVector weights() {
        return own(without_gil([&](const Stop&) {
            const std::lock_guard<std::mutex> lock(mutex_);
            return std::vector<double>(svm_.best());
        }));
    }

    bool looked() {
        return without_gil([&](const Stop&) {
            const std::lock_guard<std::mutex> lock(mutex_);
            return svm_.looked();
        });
    }

private:
    Bools checked(Bools positive, const ConfusionLoss& loss) const {
        rows_.check_length(positive.shape(0), "the labels");
        check_counts(loss, rows_.n_rows());
        return positive;
    }
    RowsIn rows_;
    Bools positive_;
    std::mutex mutex_;
    StructuralSvm svm_;
};

}  // namespace

namespace steelyard {

void bind_structural(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<ConfusionLoss>(m, "ConfusionLoss", "A loss of the confusion matrix, and how its table is searched.")
        .def_static("of_counts", &counts_loss, "counts"_a, "search"_a, "The loss for 0 .. n calls.")
        .def_static("of_measure", &measure_loss, "op"_a, "left"_a, "right"_a, "number"_a, "smoothing"_a, "scale"_a,
                    "top"_a, "search"_a, "mixed"_a, "least"_a, "most"_a,
                    "scale (top - measure), over matrices with least .. most calls.");
    m.def("most_violated", &find_most_violated, "loss"_a, "scores"_a, "positive"_a, "kappa"_a,
          "Called positives, called negatives and the value of the most violated confusion matrix.");
    nb::class_<StructuralOptions>(m, "StructuralOptions")
        .def(
            "__init__",
            [](StructuralOptions* self, double C, double smallest_mu, Index idle, int max_pivots, int n_threads) {
                new (self) StructuralOptions{C, smallest_mu, {true, idle, max_pivots}, n_threads};
            },
            "C"_a, nb::kw_only(), "smallest_mu"_a, "idle"_a, "max_pivots"_a, "n_threads"_a);
    nb::class_<Structural>(m, "StructuralSvm", "The cutting planes of a structural SVM, one step at a time.")
        .def(nb::init<const RowsIn&, Bools, const ConfusionLoss&, const StructuralOptions&>(), "rows"_a, "positive"_a,
             "loss"_a, "options"_a)
        .def("step", &Structural::step, "slack"_a,
             "One cut: the best objective so far, the lower bound, and the status.")
        .def("weights", &Structural::weights, "The best w so far.")
        .def_prop_ro("looked", &Structural::looked, "Whether scores of all rows have been seen that were numbers.");
}

}  // namespace steelyard
