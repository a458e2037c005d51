// Bindings of the cost path: tracing, replaying and auditing it, and the sign changes of scores along it.
#include "bind/path.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <mutex>
#include <optional>
#include <tuple>

#include "bind/arrays.hpp"
#include "bind/kernel.hpp"
#include "bind/rows.hpp"
#include "bind/stop.hpp"
#include "path/approximate.hpp"
#include "path/audit.hpp"
#include "path/crossings.hpp"
#include "path/equal_rows.hpp"
#include "path/kernel_space.hpp"
#include "path/trace.hpp"

namespace nb = nanobind;
using namespace steelyard;

namespace {

// low, low_rate, high, high_rate: one row of the matrix is one CostBox.
const CostBox* boxes(const Matrix& box) {
    static_assert(sizeof(CostBox) == 4 * sizeof(double), "a CostBox is four numbers");
    if (box.shape(1) != 4) throw std::invalid_argument("box needs four columns: low, low_rate, high, high_rate");
    return reinterpret_cast<const CostBox*>(box.data());
}

// Calls a function of Python, which may raise: that ends the path as a signal does.
class CalledWatch final : public PathWatch {
public:
    explicit CalledWatch(nb::handle call) : call_(call) {}

private:
    void see(double tau, Index models) const override {
        const nb::gil_scoped_acquire gil;
        call_(tau, models);
    }
    nb::handle call_;  // of the caller, who waits
};

// name, gamma, coef0, degree, constant, bytes of the cache
using KernelGiven = std::optional<std::tuple<std::string, double, double, int, double, double>>;

// The rows of a path with their signs, targets and boxes, in the space of the features or of a kernel. Keeps the arrays
// alive that it points into. With a kernel one caller at a time: a cached row may be dropped by the next one.
class PathOn {
    template <class Task>
    auto in_space(Task&& task) {
        return without_gil([&](const Stop& stop) {
            if (!kernel_)
                return visit(*rows_,
                             [&](const auto& x) { return task(LinearSpace<std::decay_t<decltype(x)>>(x), stop); });
            std::unique_lock<std::timed_mutex> one(busy_, std::defer_lock);
            while (!one.try_lock_for(Stop::between_looks)) stop.check();
            return task(KernelSpace(*kernel_), stop);
        });
    }

public:
    PathOn(const RowsIn& rows, Doubles sign, Doubles target, Matrix box, const KernelGiven& kernel)
        : rows_(rows), kept_(nb::make_tuple(sign, target, box)), given_{sign.data(), target.data(), boxes(box)} {
        rows.check_length(sign.shape(0), "sign");
        rows.check_length(target.shape(0), "target");
        rows.check_length(box.shape(0), "box");
        if (rows.n_rows() == 0) throw std::invalid_argument("a path needs rows");
        if (!kernel) return;
        const auto& [name, gamma, coef0, degree, constant, bytes] = *kernel;
        const KernelSpec spec = kernel_spec(name, gamma, coef0, degree, constant);
        const double cache = bytes;
        without_gil([&](const Stop&) { kernel_ = std::make_unique<KernelRowsOf<double>>(*rows_, spec, cache); });
    }

    std::vector<PathLog> trace(std::pair<double, double> range, std::uint64_t seed, nb::handle watch, double middle,
                               int n_threads) {
        const auto [start, end] = range;
        if (!(start >= 0 && start < end && end <= 1))
            throw std::invalid_argument("a range satisfies 0 <= low < high <= 1");
        const CalledWatch told(watch);
        const PathProblem problem{given_, start, end, seed, watch.is_none() ? nullptr : &told, middle, n_threads};
        return in_space([&](const auto& space, const Stop& stop) {
            return PathTrace<std::decay_t<decltype(space)>>(space, problem, &stop).trace();
        });
    }

    OwnedMatrix recover(const PathLog& log, Doubles tau) {
        for (std::size_t k = 0; k < tau.shape(0); ++k)
            if (!(tau(k) >= log.start && tau(k) <= log.end)) throw std::invalid_argument("tau is outside of the path");
        std::vector<double> out;
        const std::size_t columns = check_log(log);
        in_space([&](const auto& space, const Stop& stop) {
            PathReplay<std::decay_t<decltype(space)>> path(space, given_, log, &stop);
            out.resize(tau.shape(0) * columns);
            for (std::size_t k = 0; k < tau.shape(0); ++k) path.recover(tau(k), out.data() + k * columns);
        });
        return own(std::move(out), tau.shape(0), columns);
    }

    std::tuple<OwnedMatrix, OwnedVector> walk(const PathLog& log, Index first, Index last) {
        if (!(0 <= first && first <= last && last <= log.size() + 2))
            throw std::invalid_argument("a path of K kinks has the knots 0 .. K + 1");
        std::vector<double> out, speed;
        const std::size_t columns = check_log(log);
        in_space([&](const auto& space, const Stop& stop) {
            PathReplay<std::decay_t<decltype(space)>> path(space, given_, log, &stop);
            out.resize(static_cast<std::size_t>(last - first) * columns);
            double* next = out.data();
            path.visit(first, last, [&](Index, const PathPoint&) {
                path.write(next);
                if (!std::decay_t<decltype(space)>::written_out) speed.push_back(path.speed());
                next += columns;
            });
        });
        return {own(std::move(out), static_cast<std::size_t>(last - first), columns), own(std::move(speed))};
    }

    double audit(const PathLog& log, Doubles original, double unit, Index every) {
        rows_.check_length(original.shape(0), "original");
        if (every < 1) throw std::invalid_argument("every is a number of knots, at least 1");
        check_log(log);
        return in_space([&](const auto& space, const Stop& stop) {
            const AuditProblem problem{given_, original.data(), unit};
            return PathAudit<std::decay_t<decltype(space)>>(space, problem, log, &stop).worst(every);
        });
    }

    Index n_computed() {
        return in_space([&](const auto&, const Stop&) { return kernel_ ? kernel_->n_computed() : 0; });
    }

private:
    // The size of a model; raises if the log is of other rows.
    std::size_t check_log(const PathLog& log) const {
        const auto size = static_cast<std::size_t>(kernel_ ? rows_.n_rows() : rows_.n_cols());
        const bool fits = static_cast<Index>(log.side.size()) == rows_.n_rows() && !log.checkpoints.empty() &&
                          log.checkpoints.front().forces.p.v.size() == size &&
                          log.checkpoints.front().forces.p.low.size() == (kernel_ ? size : 0);
        if (!fits) throw std::invalid_argument("this is the log of a path on other rows");
        return size;
    }

    RowsIn rows_;
    nb::object kept_;
    PathData given_;
    std::unique_ptr<KernelRowsOf<double>> kernel_;
    std::timed_mutex busy_;
};

using OwnedIndices = nb::ndarray<nb::numpy, Index, nb::ndim<1>>;

OwnedIndices equal_rows(const RowsIn& rows, Doubles label) {
    rows.check_length(label.shape(0), "label");
    auto found = without_gil([&](const Stop& stop) {
        return visit(
            *rows, [&](const auto& x) { return EqualRows<std::decay_t<decltype(x)>>(x, label.data(), &stop).first(); });
    });
    return own(std::move(found));
}

std::tuple<OwnedVector, OwnedVector, OwnedVector> score_crossings(const RowsIn& rows, Doubles norm, Doubles tau,
                                                                  Matrix w, Doubles way) {
    rows.check_length(norm.shape(0), "norm");
    const std::size_t size = tau.shape(0);
    if (size == 0 || w.shape(0) != size || way.shape(0) != size)
        throw std::invalid_argument("every knot needs a tau, a model and a way");
    if (static_cast<Index>(w.shape(1)) != rows.n_cols()) throw std::invalid_argument("a model has one number a column");
    const PathKnots knots{tau.data(), w.data(), way.data(), static_cast<Index>(size), rows.n_cols()};
    Crossings found = without_gil([&](const Stop& stop) {
        return visit(*rows, [&](const auto& x) { return find_crossings(x, norm.data(), knots, &stop); });
    });
    return {own(std::move(found.row)), own(std::move(found.tau)), own(std::move(found.sign))};
}

SolverKind knot_solver(const std::string& name) {
    if (name == "newton_first") return SolverKind::newton_first;
    if (name == "coordinate_first") return SolverKind::coordinate_first;
    if (name == "coordinate") return SolverKind::coordinate;
    throw nb::value_error("the knots of a path are solved by 'coordinate', 'coordinate_first' or 'newton_first'");
}

// tau, w, gap, passes, how it ended, and the tau that stayed above tol if one did
std::tuple<OwnedVector, OwnedMatrix, double, double, int, double> trace_approximately(
    const RowsIn& rows, Doubles y, std::optional<Doubles> weight, double C, std::pair<double, double> range, double tol,
    const char* solver, std::uint64_t seed, nb::handle watch) {
    rows.check_length(y.shape(0), "y");
    if (weight) rows.check_length(weight->shape(0), "weight");
    if (!(tol > 0)) throw nb::value_error("tol must be positive");
    const auto [start, end] = range;
    const CalledWatch told(watch);
    const ApproximateProblem problem{
        y.data(), weight ? weight->data() : nullptr, C, start, end, tol, knot_solver(solver),
        seed,     watch.is_none() ? nullptr : &told};
    ApproximatePath found = without_gil([&](const Stop& stop) {
        return visit(*rows, [&](const auto& x) {
            return ApproximateTrace<std::decay_t<decltype(x)>>(x, problem, &stop).trace();
        });
    });
    const std::size_t knots = found.tau.size();
    return {own(std::move(found.tau)),
            own(std::move(found.w), knots, static_cast<std::size_t>(rows.n_cols())),
            found.gap,
            found.passes,
            static_cast<int>(found.ended),
            found.where};
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
        .def_ro("start_events", &PathLog::start_events)
        .def_ro("refactored", &PathLog::refactored)
        .def_ro("drift", &PathLog::drift)
        .def("__getstate__", &log_to_state)
        .def("__setstate__", [](PathLog& log, const nb::tuple& state) { new (&log) PathLog(log_from_state(state)); });
    m.def("equal_rows", &equal_rows, "rows"_a, "label"_a,
          "For every row the first one with the same entries and the same label.");
    nb::class_<PathOn>(m, "PathOn", "The rows of a path with their signs, targets and boxes, and the path on them.")
        .def(nb::init<const RowsIn&, Doubles, Doubles, Matrix, const KernelGiven&>(), "rows"_a, "sign"_a, "target"_a,
             "box"_a, "kernel"_a.none(),
             "box has the columns low, low_rate, high, high_rate; kernel is (name, gamma, coef0, degree, constant, "
             "cache bytes).")
        .def("trace", &PathOn::trace, "tau_range"_a, "seed"_a, "watch"_a = nb::none(), "middle"_a = -1.0,
             "n_threads"_a = 1,
             "Every kink of the path from one end to the other, as legs: a log for each, in order, and a straight line "
             "between two. With a middle in the range it is followed both ways from there, on two threads if there are "
             "so many. watch(tau, kinks) is called now and then.")
        .def("recover", &PathOn::recover, "log"_a, "tau"_a,
             "The model at each tau, from the nearest checkpoint: w, or the rows' coefficients.")
        .def("walk", &PathOn::walk, "log"_a, "first"_a, "last"_a,
             "The models at the knots first .. last - 1 (start, events, end), and for a kernel how fast they move from "
             "there on.")
        .def("audit", &PathOn::audit, "log"_a, "original"_a, "unit"_a, "every"_a,
             "The largest violation of the optimality conditions at every so many knots.")
        .def_prop_ro("n_computed", &PathOn::n_computed, "Rows of the kernel matrix computed so far.");
    m.def("trace_approximately", &trace_approximately, "rows"_a, "y"_a, "weight"_a.none(), "C"_a, "tau_range"_a,
          "tol"_a, "solver"_a, "seed"_a, "watch"_a = nb::none(),
          "Knots and models (tau, w) with a certified gap at every tau: tau, w, gap, passes, how it ended, and the tau "
          "that stayed above tol if one did.");
    m.def("score_crossings", &score_crossings, "rows"_a, "norm"_a, "tau"_a, "w"_a, "way"_a,
          "Row, tau and new sign of every sign change of the rows' scores along the models w at tau; way is how far "
          "they have moved.");
}

}  // namespace steelyard
