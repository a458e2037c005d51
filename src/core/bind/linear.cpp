// Bindings of the batch engine: the cost grid, and its two inner problems for the tests.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <tuple>

#include "bind/arrays.hpp"
#include "bind/linear.hpp"
#include "bind/matrix.hpp"
#include "linear/cost_grid.hpp"

namespace nb = nanobind;
using namespace steelyard;

namespace {

using BatchRows = Rows;

LossKind loss_of(const std::string& name) {
    if (name == "hinge") return LossKind::hinge;
    if (name == "squared_hinge") return LossKind::squared_hinge;
    if (name == "logistic") return LossKind::logistic;
    throw nb::value_error("loss is 'hinge', 'squared_hinge' or 'logistic'");
}

SolverKind solver_of(const std::string& name) {
    if (name == "coordinate") return SolverKind::coordinate;
    if (name == "newton") return SolverKind::newton;
    if (name == "newton_first") return SolverKind::newton_first;
    if (name == "coordinate_first") return SolverKind::coordinate_first;
    if (name == "bundle") return SolverKind::bundle;
    throw nb::value_error("solver is 'coordinate', 'newton', 'bundle', 'newton_first' or 'coordinate_first'");
}

nb::list to_python(std::vector<Solution>&& found) {
    nb::list out;
    for (auto& s : found) {
        const double gap = s.gap();
        out.append(nb::make_tuple(own(std::move(s.w)), s.primal, s.dual, gap, s.passes, s.converged,
                                  own(std::move(s.history))));
    }
    return out;
}

nb::list solve_cost_grid(AnyArray values, OptionalVector columns, OptionalVector starts, Index n_cols, Doubles y,
                         Doubles weight, Matrix costs, Doubles C, const std::string& loss, const std::string& solver,
                         double tol, double max_passes, std::uint64_t seed, int n_threads, double mu, bool line_search,
                         bool share_cuts) {
    const auto rows = rows_as<BatchRows>(values, columns, starts, n_cols);
    Grid grid{y.data(),
              weight.data(),
              {},
              {C.data(), C.data() + C.shape(0)},
              solver_of(solver),
              {tol, max_passes, seed},
              {mu, line_search, share_cuts, n_threads}};
    for (std::size_t k = 0; k < costs.shape(0); ++k) grid.pairs.push_back({costs(k, 1), costs(k, 0)});
    const LossKind kind = loss_of(loss);
    std::vector<Solution> found;
    {
        nb::gil_scoped_release release;
        found = std::visit(
            [&](const auto& x) { return visit_loss(kind, [&](auto l) { return solve_grid<decltype(l)>(x, grid); }); },
            rows);
    }
    return to_python(std::move(found));
}

std::tuple<OwnedVector, OwnedVector, double> solve_master(Matrix g, Doubles h, Ints side, double cap_positive,
                                                          double cap_negative, double slack, int max_pivots) {
    CutPool pool(static_cast<Index>(g.shape(1)));
    for (std::size_t j = 0; j < g.shape(0); ++j) pool.add(side(j), g.data() + j * g.shape(1), h(j));
    Master master(pool);
    master.set_caps(cap_negative, cap_positive);
    const double value = master.solve(slack, max_pivots);
    std::vector<double> a(g.shape(0), 0.0), w(g.shape(1));
    for (std::size_t k = 0; k < master.support().size(); ++k) a[master.support()[k]] = master.weights()[k];
    master.primal(w.data());
    return {own(std::move(a)), own(std::move(w)), value};
}

double line_search(Doubles cost, Doubles m, Doubles s, double wp, double pp, const std::string& loss) {
    const Ray ray{static_cast<Index>(m.shape(0)), cost.data(), m.data(), s.data(), wp, pp};
    std::vector<Kink> kinks;
    return visit_loss(loss_of(loss), [&](auto l) { return best_step<decltype(l)>(ray, kinks); });
}

}  // namespace

namespace steelyard {

void bind_batch(nb::module_& m) {
    using namespace nb::literals;
    m.def("solve_cost_grid", &solve_cost_grid, "values"_a, "columns"_a.none(), "starts"_a.none(), "n_cols"_a, "y"_a,
          "weight"_a, "costs"_a, "C"_a, "loss"_a, "solver"_a, "tol"_a, "max_passes"_a, "seed"_a, "n_threads"_a, "mu"_a,
          "line_search"_a, "share_cuts"_a,
          "Every pair of costs (c_pos, c_neg) with every C (ascending), pair-major: tuples (w, primal, dual, gap, "
          "passes, "
          "converged, history).");
    m.def("solve_master", &solve_master, "g"_a, "h"_a, "side"_a, "cap_positive"_a, "cap_negative"_a, "slack"_a,
          "max_pivots"_a, "Weights of the cuts, w and the dual value of the bundle's master problem.");
    m.def("line_search", &line_search, "cost"_a, "m"_a, "s"_a, "wp"_a, "pp"_a, "loss"_a,
          "The step l >= 0 that minimises 1/2 |w + l p|^2 + sum cost loss(m + l s).");
}

}  // namespace steelyard
