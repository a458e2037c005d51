// Bindings of the cost path: tracing, replaying and auditing it, and the sign changes of scores along it.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>

#include "bind/arrays.hpp"
#include "bind/kernel.hpp"
#include "bind/matrix.hpp"
#include "bind/path.hpp"
#include "path/approximate.hpp"
#include "path/audit.hpp"
#include "path/crossings.hpp"
#include "path/equal_rows.hpp"
#include "path/kernel_space.hpp"
#include "path/trace.hpp"

namespace nb = nanobind;
using namespace steelyard;

namespace {

// The exact path computes in float64 only: its kinks are decided in the last digits.
using PathMatrix = std::variant<DenseRows<double>, SparseRows<double>>;

// low, low_rate, high, high_rate: one row of the matrix is one CostBox.
const CostBox* boxes(const Matrix& box) {
    static_assert(sizeof(CostBox) == 4 * sizeof(double), "a CostBox is four numbers");
    if (box.shape(1) != 4) throw std::invalid_argument("box needs four columns: low, low_rate, high, high_rate");
    return reinterpret_cast<const CostBox*>(box.data());
}

// Ctrl-C ends the trace, and what was traced is kept: the interrupt is taken here and reported in the log. Asked as
// often as you like, it looks twenty times a second: to look it must wait for Python's lock.
bool interrupted() {
    using Clock = std::chrono::steady_clock;
    thread_local Clock::time_point looked{};
    const auto now = Clock::now();
    if (now - looked < std::chrono::milliseconds(50)) return false;
    looked = now;
    const nb::gil_scoped_acquire held;
    if (PyErr_CheckSignals() == 0) return false;
    PyErr_Clear();
    return true;
}

// name, gamma, coef0, degree, constant, bytes of the cache
using KernelGiven = std::optional<std::tuple<std::string, double, double, int, double, double>>;

// The rows of a path with their signs, targets and boxes, in the space of the features or of a kernel. Keeps the arrays
// alive that it points into. One caller at a time: a cached row of the kernel may be dropped by the next one.
class PathOn {
    template <class Task>
    auto in_space(Task&& task) {
        const nb::gil_scoped_release release;
        const std::lock_guard<std::mutex> one(busy_);
        if (kernel_) return task(KernelSpace(*kernel_));
        return std::visit([&](const auto& x) { return task(LinearSpace<std::decay_t<decltype(x)>>(x)); }, rows_);
    }

public:
    PathOn(AnyArray values, OptionalVector columns, OptionalVector starts, Index n_cols, Doubles sign, Doubles target,
           Matrix box, KernelGiven kernel)
        : kept_(nb::make_tuple(values, columns, starts, sign, target, box)),
          rows_(rows_as<PathMatrix>(values, columns, starts, n_cols)),
          given_{sign.data(), target.data(), boxes(box)} {
        if (!kernel) return;
        const auto& [name, gamma, coef0, degree, constant, bytes] = *kernel;
        kernel_ = std::make_unique<KernelRowsOf<double>>(rows_as<Rows>(values, columns, starts, n_cols),
                                                         kernel_spec(name, gamma, coef0, degree, constant), bytes);
    }

    PathLog trace(double start, double end, std::uint64_t seed) {
        return in_space([&](const auto& space) {
            return PathTrace<std::decay_t<decltype(space)>>(space, {given_, start, end, 30, seed}, interrupted).trace();
        });
    }

    OwnedMatrix recover(const PathLog& log, Doubles tau) {
        std::size_t columns = 1;
        std::vector<double> out;
        in_space([&](const auto& space) {
            PathReplay<std::decay_t<decltype(space)>> path(space, given_, log);
            columns = static_cast<std::size_t>(space.size());
            out.resize(tau.shape(0) * columns);
            for (std::size_t k = 0; k < tau.shape(0); ++k) path.recover(tau(k), out.data() + k * columns);
            return 0;
        });
        return own(std::move(out), columns);
    }

    std::tuple<OwnedMatrix, OwnedVector> walk(const PathLog& log, Index first, Index last) {
        std::size_t columns = 1;
        std::vector<double> out, speed;
        in_space([&](const auto& space) {
            PathReplay<std::decay_t<decltype(space)>> path(space, given_, log);
            columns = static_cast<std::size_t>(space.size());
            out.resize(static_cast<std::size_t>(last - first) * columns);
            double* next = out.data();
            path.visit(first, last, [&](Index, const PathPoint&) {
                path.write(next);
                if (!std::decay_t<decltype(space)>::written_out) speed.push_back(path.speed());
                next += columns;
            });
            return 0;
        });
        return {own(std::move(out), columns), own(std::move(speed))};
    }

    double audit(const PathLog& log, Doubles original, double unit, Index every) {
        return in_space([&](const auto& space) {
            return PathAudit<std::decay_t<decltype(space)>>(space, {given_, original.data(), unit}, log).worst(every);
        });
    }

    Index n_computed() const { return kernel_ ? kernel_->n_computed() : 0; }

private:
    nb::object kept_;
    PathMatrix rows_;
    PathData given_;
    std::unique_ptr<KernelRowsOf<double>> kernel_;
    std::mutex busy_;
};

std::vector<Index> equal_rows(AnyArray values, OptionalVector columns, OptionalVector starts, Index n_cols,
                              Doubles label) {
    const auto rows = rows_as<PathMatrix>(values, columns, starts, n_cols);
    const nb::gil_scoped_release release;
    return std::visit([&](const auto& x) { return EqualRows<std::decay_t<decltype(x)>>(x, label.data()).first(); },
                      rows);
}

std::tuple<OwnedVector, OwnedVector, OwnedVector> score_crossings(AnyArray values, OptionalVector columns,
                                                                  OptionalVector starts, Index n_cols, Doubles norm,
                                                                  Doubles tau, Matrix w, Doubles way) {
    const auto rows = rows_as<PathMatrix>(values, columns, starts, n_cols);
    const Knots knots{tau.data(), w.data(), way.data(), static_cast<Index>(tau.shape(0)), n_cols};
    Crossings found;
    {
        const nb::gil_scoped_release release;
        found = std::visit([&](const auto& x) { return find_crossings(x, norm.data(), knots); }, rows);
    }
    return {own(std::move(found.row)), own(std::move(found.tau)), own(std::move(found.sign))};
}

SolverKind solver_of(const std::string& name) {
    if (name == "newton_first") return SolverKind::newton_first;
    return name == "coordinate_first" ? SolverKind::coordinate_first : SolverKind::coordinate;
}

std::tuple<OwnedVector, OwnedMatrix, double, double, bool> trace_approximately(
    AnyArray values, OptionalVector columns, OptionalVector starts, Index n_cols, Doubles y, Doubles weight, double C,
    double start, double end, double tol, const std::string& solver, std::uint64_t seed) {
    const auto rows = rows_as<PathMatrix>(values, columns, starts, n_cols);
    const ApproximateProblem problem{y.data(), weight.data(), C, start, end, tol, solver_of(solver), seed};
    ApproximatePath found;
    {
        const nb::gil_scoped_release release;
        found = std::visit(
            [&](const auto& x) { return ApproximateTrace<std::decay_t<decltype(x)>>(x, problem, interrupted).trace(); },
            rows);
    }
    return {own(std::move(found.tau)), own(std::move(found.w), static_cast<std::size_t>(n_cols)), found.gap,
            found.passes, found.interrupted};
}

nb::tuple to_state(const PathLog& log) {
    nb::list checkpoints;
    for (const auto& c : log.checkpoints) {
        const PathVector &p = c.forces.p, &q = c.forces.q;
        checkpoints.append(nb::make_tuple(c.event, c.tau, c.forced, p.v, p.low, q.v, q.low, c.members));
    }
    const auto ints = [](const std::vector<std::int8_t>& sides) {
        return std::vector<int>(sides.begin(), sides.end());
    };
    return nb::make_tuple(log.tau, log.row, ints(log.from), ints(log.to), checkpoints, log.stride, log.start, log.end,
                          log.interrupted, log.drift, ints(log.side));
}

void from_state(PathLog& log, const nb::tuple& state) {
    new (&log) PathLog();
    log.tau = nb::cast<std::vector<double>>(state[0]);
    log.row = nb::cast<std::vector<std::int32_t>>(state[1]);
    const auto sides = [&](int k, std::vector<std::int8_t>& to) {
        for (int side : nb::cast<std::vector<int>>(state[k])) to.push_back(static_cast<std::int8_t>(side));
    };
    sides(2, log.from);
    sides(3, log.to);
    sides(10, log.side);
    for (nb::handle item : state[4]) {
        const auto c = nb::cast<nb::tuple>(item);
        const auto numbers = [&](int k) { return nb::cast<std::vector<double>>(c[k]); };
        log.checkpoints.push_back({nb::cast<Index>(c[0]),
                                   nb::cast<double>(c[1]),
                                   nb::cast<bool>(c[2]),
                                   {{numbers(3), {}, numbers(4)}, {numbers(5), {}, numbers(6)}},
                                   nb::cast<std::vector<Index>>(c[7])});
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
        .def_prop_ro(
            "tau", [](const PathLog& log) { return own(std::vector<double>(log.tau)); }, nb::rv_policy::move)
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
    nb::class_<PathOn>(m, "PathOn", "The rows of a path with their signs, targets and boxes, and the path on them.")
        .def(nb::init<AnyArray, OptionalVector, OptionalVector, Index, Doubles, Doubles, Matrix, KernelGiven>(),
             "values"_a, "columns"_a.none(), "starts"_a.none(), "n_cols"_a, "sign"_a, "target"_a, "box"_a,
             "kernel"_a.none(),
             "box has the columns low, low_rate, high, high_rate; kernel is (name, gamma, coef0, degree, constant, "
             "cache bytes).")
        .def("trace", &PathOn::trace, "start"_a, "end"_a, "seed"_a, "Every kink of the path from start to end.")
        .def("recover", &PathOn::recover, "log"_a, "tau"_a,
             "The model at each tau, from the nearest checkpoint: w, or the rows' coefficients.")
        .def("walk", &PathOn::walk, "log"_a, "first"_a, "last"_a,
             "The models at the knots first .. last - 1 (start, events, end), and for a kernel how fast they move from "
             "there on.")
        .def("audit", &PathOn::audit, "log"_a, "original"_a, "unit"_a, "every"_a,
             "The largest violation of the optimality conditions at every so many knots.")
        .def_prop_ro("n_computed", &PathOn::n_computed, "Rows of the kernel matrix computed so far.");
    m.def("trace_approximately", &trace_approximately, "values"_a, "columns"_a.none(), "starts"_a.none(), "n_cols"_a,
          "y"_a, "weight"_a, "C"_a, "start"_a, "end"_a, "tol"_a, "solver"_a, "seed"_a,
          "Knots and models (tau, w) with a certified gap at every tau: tau, w, gap, passes, interrupted.");
    m.def("score_crossings", &score_crossings, "values"_a, "columns"_a.none(), "starts"_a.none(), "n_cols"_a, "norm"_a,
          "tau"_a, "w"_a, "way"_a,
          "Row, tau and new sign of every sign change of the rows' scores along the models w at tau; way is how far "
          "they have moved.");
}

}  // namespace steelyard
