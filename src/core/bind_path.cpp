// Bindings of the cost path: tracing, replaying and auditing it, and the sign changes of scores along it.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <tuple>

#include "approximate_path.hpp"
#include "arrays.hpp"
#include "bind_path.hpp"
#include "crossings.hpp"
#include "equal_rows.hpp"
#include "path_audit.hpp"
#include "path_trace.hpp"

namespace nb = nanobind;
using namespace steelyard;

namespace {

// The exact path computes in float64 only: its kinks are decided in the last digits.
using PathMatrix = std::variant<DenseRows<double>, SparseRows<double, std::int32_t>>;
using Values = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;
using Columns = std::optional<Ints>;

PathMatrix rows_of(const Values& values, const Columns& columns, const Columns& starts, Index n_cols) {
    if (!columns) return DenseRows<double>{values.data(), static_cast<Index>(values.shape(0)), n_cols};
    return SparseRows<double, std::int32_t>{values.data(), columns->data(), starts->data(), static_cast<Index>(starts->shape(0)) - 1, n_cols};
}

// low, low_rate, high, high_rate: one row of the matrix is one CostBox.
const CostBox* boxes(const Matrix& box) {
    static_assert(sizeof(CostBox) == 4 * sizeof(double), "a CostBox is four numbers");
    if (box.shape(1) != 4) throw std::invalid_argument("box needs four columns: low, low_rate, high, high_rate");
    return reinterpret_cast<const CostBox*>(box.data());
}

// Ctrl-C ends the trace, and what was traced is kept: the interrupt is taken here and reported in the log.
bool interrupted() {
    const nb::gil_scoped_acquire held;
    if (PyErr_CheckSignals() == 0) return false;
    PyErr_Clear();
    return true;
}

std::vector<Index> equal_rows(Values values, Columns columns, Columns starts, Index n_cols, Doubles label) {
    const PathMatrix rows = rows_of(values, columns, starts, n_cols);
    const nb::gil_scoped_release release;
    return std::visit([&](const auto& x) { return EqualRows<std::decay_t<decltype(x)>>(x, label.data()).first(); }, rows);
}

PathLog trace_path(Values values, Columns columns, Columns starts, Index n_cols, Doubles sign, Doubles target, Matrix box, double start,
                   double end, std::uint64_t seed) {
    const PathMatrix rows = rows_of(values, columns, starts, n_cols);
    const PathProblem problem{{sign.data(), target.data(), boxes(box)}, start, end, 30, seed};
    const nb::gil_scoped_release release;
    return std::visit([&](const auto& x) { return PathTrace<std::decay_t<decltype(x)>>(x, problem).trace(interrupted); }, rows);
}

template <class Task>
auto replay(const PathMatrix& rows, const PathData& problem, const PathLog& log, Task&& task) {
    const nb::gil_scoped_release release;
    return std::visit(
        [&](const auto& x) {
            PathReplay<std::decay_t<decltype(x)>> path(x, problem, log);
            return task(path);
        },
        rows);
}

OwnedMatrix recover_path(Values values, Columns columns, Columns starts, Index n_cols, Doubles sign, Doubles target, Matrix box,
                         const PathLog& log, Doubles tau) {
    const PathData problem{sign.data(), target.data(), boxes(box)};
    std::vector<double> out(tau.shape(0) * static_cast<std::size_t>(n_cols));
    replay(rows_of(values, columns, starts, n_cols), problem, log, [&](auto& path) {
        for (std::size_t k = 0; k < tau.shape(0); ++k) path.recover(tau(k), out.data() + k * static_cast<std::size_t>(n_cols));
        return 0;
    });
    return own(std::move(out), static_cast<std::size_t>(n_cols));
}

OwnedMatrix walk_path(Values values, Columns columns, Columns starts, Index n_cols, Doubles sign, Doubles target, Matrix box,
                      const PathLog& log, Index first, Index last) {
    const PathData problem{sign.data(), target.data(), boxes(box)};
    std::vector<double> out(static_cast<std::size_t>((last - first) * n_cols));
    replay(rows_of(values, columns, starts, n_cols), problem, log, [&](auto& path) {
        auto next = out.begin();
        path.visit(first, last, [&](Index, const PathPoint& at) { next = std::copy(at.w.begin(), at.w.end(), next); });
        return 0;
    });
    return own(std::move(out), static_cast<std::size_t>(n_cols));
}

double audit_path(Values values, Columns columns, Columns starts, Index n_cols, Doubles sign, Doubles target, Matrix box, const PathLog& log,
                  Doubles original, double unit, Index every) {
    const PathMatrix rows = rows_of(values, columns, starts, n_cols);
    const AuditProblem problem{{sign.data(), target.data(), boxes(box)}, original.data(), unit};
    const nb::gil_scoped_release release;
    return std::visit([&](const auto& x) { return PathAudit<std::decay_t<decltype(x)>>(x, problem, log).worst(every); }, rows);
}

std::tuple<OwnedVector, OwnedVector, OwnedVector> score_crossings(Values values, Columns columns, Columns starts, Index n_cols, Doubles tau, Matrix w) {
    const PathMatrix rows = rows_of(values, columns, starts, n_cols);
    const Knots knots{tau.data(), w.data(), static_cast<Index>(tau.shape(0)), n_cols};
    Crossings found;
    {
        const nb::gil_scoped_release release;
        found = std::visit([&](const auto& x) { return find_crossings(x, knots); }, rows);
    }
    return {own(std::move(found.row)), own(std::move(found.tau)), own(std::move(found.sign))};
}

SolverKind solver_of(const std::string& name) {
    if (name == "newton_first") return SolverKind::newton_first;
    return name == "coordinate_first" ? SolverKind::coordinate_first : SolverKind::coordinate;
}

std::tuple<OwnedVector, OwnedMatrix, double, double, bool> trace_approximately(Values values, Columns columns, Columns starts, Index n_cols,
                                                                               Doubles y, Doubles weight, double C, double start, double end,
                                                                               double tol, const std::string& solver, std::uint64_t seed) {
    const PathMatrix rows = rows_of(values, columns, starts, n_cols);
    const ApproximateProblem problem{y.data(), weight.data(), C, start, end, tol, solver_of(solver), seed};
    ApproximatePath found;
    {
        const nb::gil_scoped_release release;
        found = std::visit([&](const auto& x) { return ApproximateTrace<std::decay_t<decltype(x)>>(x, problem).trace(interrupted); }, rows);
    }
    return {own(std::move(found.tau)), own(std::move(found.w), static_cast<std::size_t>(n_cols)), found.gap, found.passes, found.interrupted};
}

nb::tuple to_state(const PathLog& log) {
    nb::list checkpoints;
    for (const auto& c : log.checkpoints) checkpoints.append(nb::make_tuple(c.event, c.tau, c.forced, c.forces.p, c.forces.q, c.members));
    std::vector<int> from(log.from.begin(), log.from.end()), to(log.to.begin(), log.to.end());
    return nb::make_tuple(log.tau, log.row, from, to, checkpoints, log.stride, log.start, log.end, log.interrupted, log.drift);
}

void from_state(PathLog& log, const nb::tuple& state) {
    new (&log) PathLog();
    log.tau = nb::cast<std::vector<double>>(state[0]);
    log.row = nb::cast<std::vector<std::int32_t>>(state[1]);
    for (int side : nb::cast<std::vector<int>>(state[2])) log.from.push_back(static_cast<std::int8_t>(side));
    for (int side : nb::cast<std::vector<int>>(state[3])) log.to.push_back(static_cast<std::int8_t>(side));
    for (nb::handle item : state[4]) {
        const auto c = nb::cast<nb::tuple>(item);
        log.checkpoints.push_back({nb::cast<Index>(c[0]), nb::cast<double>(c[1]), nb::cast<bool>(c[2]),
                                   {nb::cast<std::vector<double>>(c[3]), nb::cast<std::vector<double>>(c[4])}, nb::cast<std::vector<Index>>(c[5])});
    }
    log.stride = nb::cast<Index>(state[5]);
    log.start = nb::cast<double>(state[6]);
    log.end = nb::cast<double>(state[7]);
    log.interrupted = nb::cast<bool>(state[8]);
    log.drift = nb::cast<double>(state[9]);
}

}  // namespace

namespace steelyard {

void bind_path(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<PathLog>(m, "PathLog", "Events and checkpoints of a traced path.")
        .def_prop_ro("tau", [](const PathLog& log) { return own(std::vector<double>(log.tau)); }, nb::rv_policy::move)
        .def_prop_ro("n_checkpoints", [](const PathLog& log) { return log.checkpoints.size(); })
        .def_ro("start", &PathLog::start)
        .def_ro("end", &PathLog::end)
        .def_ro("interrupted", &PathLog::interrupted)
        .def_ro("start_events", &PathLog::start_events)
        .def_ro("refactored", &PathLog::refactored)
        .def_ro("drift", &PathLog::drift)
        .def("__getstate__", &to_state)
        .def("__setstate__", &from_state);
    m.def("equal_rows", &equal_rows, "values"_a, "columns"_a.none(), "starts"_a.none(), "n_cols"_a, "label"_a,
          "For every row the first one with the same entries and the same label.");
    m.def("trace_path", &trace_path, "values"_a, "columns"_a.none(), "starts"_a.none(), "n_cols"_a, "sign"_a, "target"_a, "box"_a, "start"_a,
          "end"_a, "seed"_a, "Every kink of the path from start to end; box has the columns low, low_rate, high, high_rate.");
    m.def("recover_path", &recover_path, "values"_a, "columns"_a.none(), "starts"_a.none(), "n_cols"_a, "sign"_a, "target"_a, "box"_a, "log"_a,
          "tau"_a, "The model at each tau, from the nearest checkpoint.");
    m.def("walk_path", &walk_path, "values"_a, "columns"_a.none(), "starts"_a.none(), "n_cols"_a, "sign"_a, "target"_a, "box"_a, "log"_a,
          "first"_a, "last"_a, "The models at the knots first .. last - 1: start, events, end.");
    m.def("audit_path", &audit_path, "values"_a, "columns"_a.none(), "starts"_a.none(), "n_cols"_a, "sign"_a, "target"_a, "box"_a, "log"_a,
          "original"_a, "unit"_a, "every"_a, "The largest violation of the optimality conditions at every so many knots.");
    m.def("trace_approximately", &trace_approximately, "values"_a, "columns"_a.none(), "starts"_a.none(), "n_cols"_a, "y"_a, "weight"_a, "C"_a,
          "start"_a, "end"_a, "tol"_a, "solver"_a, "seed"_a, "Knots and models (tau, w) with a certified gap at every tau: tau, w, gap, passes, interrupted.");
    m.def("score_crossings", &score_crossings, "values"_a, "columns"_a.none(), "starts"_a.none(), "n_cols"_a, "tau"_a, "w"_a,
          "Row, tau and new sign of every sign change of the rows' scores along the models w at tau.");
}

}  // namespace steelyard
