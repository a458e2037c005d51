// Bindings of the linear room: grids of certified models by coordinate descent and Newton.
#include "bind/linear.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "bind/arrays.hpp"
#include "bind/rows.hpp"
#include "bind/stop.hpp"
#include "linear/cost_grid.hpp"

namespace steelyard {

namespace {

// What to solve, and how: the fields of `CostGrid` in Python.
struct GridSettings {
    std::vector<std::pair<double, double>> costs;  // (c_pos, c_neg)
    std::vector<double> C;                         // ascending
    std::string loss = "hinge";
    std::string solver = "coordinate";
    double tol = 1e-3;
    double max_passes = 1e4;
    std::uint64_t seed = 0;
    int n_threads = 1;
};

SolverKind solver_of(const std::string& name) {
    if (name == "coordinate") return SolverKind::coordinate;
    if (name == "newton") return SolverKind::newton;
    if (name == "newton_first") return SolverKind::newton_first;
    if (name == "coordinate_first") return SolverKind::coordinate_first;
    throw nb::value_error("solver is 'coordinate', 'newton', 'newton_first' or 'coordinate_first'");
}

nb::list to_python(std::vector<Solution>&& found) {
    nb::list out;
    for (auto& s : found) {
        const double gap = s.gap();
        out.append(nb::make_tuple(own(std::move(s.w)), s.primal, gap, s.passes, static_cast<int>(s.status.ended),
                                  s.status.where));
    }
    return out;
}

// A problem with a negative cost has no minimum that the sweeps could come to, and they go on for all their passes.
template <class Numbers>
void check_costs(const Numbers& costs, std::size_t size, const char* what) {
    for (std::size_t i = 0; i < size; ++i)
        if (!(costs[i] >= 0 && std::isfinite(costs[i])))
            throw nb::value_error((std::string(what) + " must be finite and not negative").c_str());
}

nb::list solve_cost_grid(const RowsIn& rows, Doubles y, std::optional<Doubles> weight, const GridSettings& settings,
                         std::optional<Matrix> start) {
    rows.check_length(y.shape(0), "y");
    if (weight) rows.check_length(weight->shape(0), "sample_weight");
    if (settings.costs.empty() || settings.C.empty()) return nb::list();
    if (!(settings.tol > 0 && settings.max_passes > 0)) throw nb::value_error("tol and max_passes must be positive");
    for (const auto& [positive, negative] : settings.costs) {
        const double both[] = {positive, negative};
        check_costs(both, 2, "costs");
    }
    check_costs(settings.C, settings.C.size(), "C");
    if (weight) check_costs(weight->data(), weight->shape(0), "sample_weight");
    if (!std::is_sorted(settings.C.begin(), settings.C.end())) throw nb::value_error("C must be ascending");
    if (start && (start->shape(0) != settings.costs.size() || static_cast<Index>(start->shape(1)) != rows.n_cols()))
        throw nb::value_error("start needs a row for every pair of costs, as long as a row of X");
    Grid grid{y.data(),          weight ? weight->data() : nullptr, {},
              settings.C,        solver_of(settings.solver),        {settings.tol, settings.max_passes, settings.seed},
              settings.n_threads};
    for (const auto& [positive, negative] : settings.costs) grid.pairs.push_back({negative, positive});
    grid.start = start ? start->data() : nullptr;
    const LossKind kind = loss_of(settings.loss);
    return to_python(without_gil([&](const Stop& stop) {
        grid.stopping.stop = &stop;
        return visit(*rows, [&](const auto& x) {
            return visit_loss(kind, [&](auto loss) { return solve_grid<decltype(loss)>(x, grid); });
        });
    }));
}

}  // namespace

LossKind loss_of(const std::string& name) {
    if (name == "hinge") return LossKind::hinge;
    if (name == "squared_hinge") return LossKind::squared_hinge;
    if (name == "logistic") return LossKind::logistic;
    throw nb::value_error("loss is 'hinge', 'squared_hinge' or 'logistic'");
}

void bind_linear(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<GridSettings>(m, "CostGrid", "Every pair of costs (c_pos, c_neg) with every C (ascending), and how.")
        .def(nb::init<>())
        .def_prop_rw(
            "costs", [](const GridSettings& s) { return s.costs; },
            [](GridSettings& s, const nb::sequence& costs) { s.costs = listed<std::pair<double, double>>(costs); })
        .def_prop_rw(
            "C", [](const GridSettings& s) { return s.C; },
            [](GridSettings& s, const nb::sequence& C) { s.C = listed<double>(C); })
        .def_prop_rw(
            "loss", [](const GridSettings& s) { return s.loss; },
            [](GridSettings& s, const char* loss) { s.loss = loss; })
        .def_prop_rw(
            "solver", [](const GridSettings& s) { return s.solver; },
            [](GridSettings& s, const char* solver) { s.solver = solver; })
        .def_rw("tol", &GridSettings::tol)
        .def_rw("max_passes", &GridSettings::max_passes)
        .def_rw("seed", &GridSettings::seed)
        .def_rw("n_threads", &GridSettings::n_threads);
    m.def("solve_cost_grid", &solve_cost_grid, "rows"_a, "y"_a, "weight"_a.none(), "grid"_a, "start"_a = nb::none(),
          "Pair-major: tuples (w, objective, gap, passes, how it ended, where).");
    bind_bundle(m);
}

}  // namespace steelyard
