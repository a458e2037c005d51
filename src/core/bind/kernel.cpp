// Bindings of kernel machines: a kernel matrix with its cache, and the quadratic problems solved on it.
#include "bind/kernel.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <chrono>
#include <cmath>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <tuple>

#include "bind/arrays.hpp"
#include "bind/rows.hpp"
#include "bind/stop.hpp"
#include "kernel/smo.hpp"

using namespace steelyard;

namespace {

// One caller at a time: a cached row may be dropped by the next one. Whoever waits for another thread has given up the
// GIL, and hears signals.
class KernelMatrix {
public:
    KernelMatrix(const RowsIn& X, const KernelSpec& spec, double cache_bytes) : X_(X) {
        without_gil([&](const Stop& stop) { rows_ = std::make_unique<KernelRows>(*X, spec, cache_bytes, &stop); });
    }

    template <class Task>
    void alone(Task&& task) {
        without_gil([&](const Stop& stop) {
            std::unique_lock<std::timed_mutex> one(busy_, std::defer_lock);
            while (!one.try_lock_for(Stop::between_looks)) stop.check();
            task(*rows_, stop);
        });
    }

    const RowsIn& X() const { return X_; }
    Index n_computed() const { return rows_->n_computed(); }
    Index n_slots() const { return rows_->n_slots(); }
    std::size_t copied_bytes() const { return rows_->copied_bytes(); }

private:
    RowsIn X_;  // keeps the arrays alive
    std::unique_ptr<KernelRows> rows_;
    std::timed_mutex busy_;
};

OwnedVector product(KernelMatrix& kernel, Doubles b) {
    kernel.X().check_length(b.shape(0), "b");
    const auto n = static_cast<Index>(b.shape(0));
    std::vector<double> Kb(b.shape(0), 0.0);
    kernel.alone([&](KernelRows& rows, const Stop& stop) {
        for (Index j = 0; j < n; ++j) {
            if (b(j) == 0.0) continue;
            stop.check();
            const float* K = rows.row(j, &stop);
            for (Index i = 0; i < n; ++i) Kb[i] += b(j) * static_cast<double>(K[i]);
        }
    });
    return own(std::move(Kb));
}

using Solved = std::tuple<OwnedVector, OwnedVector, double, double, double, Index, int, std::string>;

Solved solve(KernelMatrix& kernel, Doubles q, Doubles lower, Doubles upper, Doubles b, Doubles Kb, double tol,
             Index max_steps, bool shrinking) {
    for (const auto& [length, name] : {std::pair(q.shape(0), "q"),
                                       {lower.shape(0), "lower"},
                                       {upper.shape(0), "upper"},
                                       {b.shape(0), "b"},
                                       {Kb.shape(0), "Kb"}})
        kernel.X().check_length(length, name);
    std::vector<double> found, products;
    double bias = 0, objective = 0, violation = 0;
    Index steps = 0;
    Status status;
    kernel.alone([&](KernelRows& rows, const Stop& stop) {
        Smo smo(rows, {q.data(), lower.data(), upper.data()}, {tol, shrinking, &stop},
                {b.data(), b.data() + b.shape(0)}, {Kb.data(), Kb.data() + Kb.shape(0)});
        smo.run(max_steps);
        smo.finish();
        status = smo.status();
        bias = smo.bias();
        objective = smo.objective();
        violation = smo.violation();
        steps = smo.n_steps();
        found = smo.take_b();
        products = smo.take_Kb();
    });
    return {own(std::move(found)),
            own(std::move(products)),
            bias,
            objective,
            violation,
            steps,
            static_cast<int>(status.ended),
            status.where};
}

}  // namespace

namespace steelyard {

KernelSpec kernel_spec(const std::string& name, double gamma, double coef0, int degree, double constant) {
    // A power is as many products as its degree; beyond a thousand nothing but 0, 1 and infinity comes of it.
    constexpr int largest_degree = 1000;
    if (degree < 0 || degree > largest_degree) throw nb::value_error("the degree of a kernel is 0 to 1000");
    if (!(gamma >= 0.0) || !std::isfinite(gamma) || !std::isfinite(coef0) || !std::isfinite(constant))
        throw nb::value_error("gamma, coef0 and the constant of a kernel are finite numbers, gamma not below zero");
    if (name == "linear") return {KernelKind::linear, gamma, coef0, degree, constant};
    if (name == "rbf") return {KernelKind::rbf, gamma, coef0, degree, constant};
    if (name == "poly") return {KernelKind::poly, gamma, coef0, degree, constant};
    if (name == "precomputed") return {KernelKind::precomputed, gamma, coef0, degree, constant};
    throw nb::value_error("kernel is 'linear', 'rbf', 'poly' or 'precomputed'");
}

void bind_smo(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<KernelSpec>(m, "KernelSpec", "A kernel by name, with its parameters and a constant that is added.")
        .def(
            "__init__",
            [](KernelSpec* spec, const std::string& name, double gamma, double coef0, int degree, double constant) {
                new (spec) KernelSpec(kernel_spec(name, gamma, coef0, degree, constant));
            },
            "kernel"_a, "gamma"_a, "coef0"_a, "degree"_a, "constant"_a = 0.0);
    nb::class_<KernelMatrix>(m, "KernelMatrix", "A kernel matrix whose rows are computed when needed, and cached.")
        .def(nb::init<const RowsIn&, const KernelSpec&, double>(), "rows"_a, "spec"_a, "cache_bytes"_a)
        .def("product", &product, "b"_a, "K b; only the rows with b != 0 are computed.")
        .def("solve", &solve, "q"_a, "lower"_a, "upper"_a, "b"_a, "Kb"_a, "tol"_a, "max_steps"_a, "shrinking"_a,
             "From a feasible b with its K b: b, K b, bias, objective, violation, steps, and how it ended (and where).")
        .def_prop_ro("n_computed", &KernelMatrix::n_computed, "Rows computed so far: cache hits do not count.")
        .def_prop_ro("n_slots", &KernelMatrix::n_slots, "Rows that fit the cache.")
        .def_prop_ro("copied_bytes", &KernelMatrix::copied_bytes, "Beside the cache: the copy of dense rows.");
}

}  // namespace steelyard
