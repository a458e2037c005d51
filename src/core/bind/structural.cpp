// Bindings of the structural SVM: the loss, the search for the most violated confusion matrix, and the cutting planes.
#include "bind/structural.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>

#include <memory>
#include <string>
#include <tuple>

#include "bind/arrays.hpp"
#include "bind/matrix.hpp"
#include "bind/measure.hpp"
#include "structural/cutting_planes.hpp"

namespace nb = nanobind;
using namespace steelyard;

namespace {

Search search_of(const std::string& name) {
    if (name == "counts") return Search::counts;
    if (name == "pruned") return Search::pruned;
    if (name == "divide") return Search::divide;
    if (name == "table") return Search::table;
    throw nb::value_error("search is 'counts', 'pruned', 'divide' or 'table'");
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
    Cell cell;
    {
        nb::gil_scoped_release release;
        SortedScores sorted;
        sorted.kappa = kappa;
        sorted.sort(scores.data(), positive.data(), n);
        cell = most_violated(loss, sorted);
    }
    return {cell.a, cell.b, cell.value};
}

// Keeps the arrays alive that the solver points into.
struct Structural {
    nb::object X;
    Bools positive;
    std::unique_ptr<StructuralSvm> svm;
};

std::unique_ptr<Structural> start(const Rows& rows, nb::object X, Bools positive, const ConfusionLoss& loss, double C,
                                  bool intercept, int n_threads) {
    const Index n = visit(rows, [](const auto& x) { return x.n_rows; });
    if (static_cast<Index>(positive.shape(0)) != n) throw std::invalid_argument("rows and labels must have one length");
    check_counts(loss, n);
    auto made = std::make_unique<Structural>(Structural{std::move(X), positive, nullptr});
    const StructuralOptions options{C, intercept, n_threads};
    made->svm = std::make_unique<StructuralSvm>(rows, positive.data(), loss, options);
    return made;
}

std::unique_ptr<Structural> start_dense(AnyMatrix X, Bools positive, const ConfusionLoss& loss, double C,
                                        bool intercept, int n_threads) {
    return start(dense_rows(X), nb::cast(X), positive, loss, C, intercept, n_threads);
}

std::unique_ptr<Structural> start_sparse(AnyVector values, AnyVector columns, AnyVector starts, Index n_cols,
                                         Bools positive, const ConfusionLoss& loss, double C, bool intercept,
                                         int n_threads) {
    const Rows rows = sparse_rows(values, columns, starts, n_cols);
    return start(rows, nb::make_tuple(values, columns, starts), positive, loss, C, intercept, n_threads);
}

std::tuple<double, double, Index, Index> step(Structural& self, double slack) {
    nb::gil_scoped_release release;
    const Progress now = self.svm->step(slack);
    return {now.primal, now.dual, now.cell.a, now.cell.b};
}

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
    nb::class_<Structural>(m, "StructuralSvm", "The cutting planes of a structural SVM, one step at a time.")
        .def_static("dense", &start_dense, "X"_a, "positive"_a, "loss"_a, "C"_a, "intercept"_a, "n_threads"_a)
        .def_static("sparse", &start_sparse, "values"_a, "columns"_a, "starts"_a, "n_cols"_a, "positive"_a, "loss"_a,
                    "C"_a, "intercept"_a, "n_threads"_a)
        .def("step", &step, "slack"_a, "One cut: the best objective so far, the lower bound, and the cut's two counts.")
        .def(
            "weights", [](const Structural& self) { return own(std::vector<double>(self.svm->best())); },
            "The best w so far; the intercept comes last.");
}

}  // namespace steelyard
