// Bindings of kernel machines: a kernel matrix with its cache, and the quadratic problems solved on it.
#include "bind/kernel.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>

#include <memory>
#include <mutex>
#include <string>
#include <tuple>

#include "bind/arrays.hpp"
#include "bind/matrix.hpp"
#include "kernel/smo.hpp"

namespace nb = nanobind;
using namespace steelyard;

namespace {

// Keeps the arrays alive that the rows point into. One caller at a time: a cached row may be dropped by the next one.
struct KernelMatrix {
    nb::object X;
    std::unique_ptr<KernelRows> rows;
    std::mutex busy;
};

std::unique_ptr<KernelMatrix> make(const Rows& rows, nb::object X, const KernelSpec& spec, double cache_bytes) {
    auto made = std::make_unique<KernelMatrix>();
    made->X = std::move(X);
    made->rows = std::make_unique<KernelRows>(rows, spec, cache_bytes);
    return made;
}

std::unique_ptr<KernelMatrix> dense(AnyMatrix X, const std::string& kernel, double gamma, double coef0, int degree,
                                    double cache_bytes) {
    return make(dense_rows(X), nb::cast(X), kernel_spec(kernel, gamma, coef0, degree, 0.0), cache_bytes);
}

std::unique_ptr<KernelMatrix> sparse(AnyVector values, AnyVector columns, AnyVector starts, Index n_cols,
                                     const std::string& kernel, double gamma, double coef0, int degree,
                                     double cache_bytes) {
    const Rows rows = sparse_rows(values, columns, starts, n_cols);
    return make(rows, nb::make_tuple(values, columns, starts), kernel_spec(kernel, gamma, coef0, degree, 0.0),
                cache_bytes);
}

void check_length(const KernelMatrix& kernel, std::initializer_list<std::size_t> lengths) {
    for (const std::size_t length : lengths)
        if (static_cast<Index>(length) != kernel.rows->size())
            throw std::invalid_argument("every vector must have one number a row");
}

OwnedVector product(KernelMatrix& kernel, Doubles b) {
    check_length(kernel, {b.shape(0)});
    const Index n = kernel.rows->size();
    std::vector<double> Kb(n, 0.0);
    {
        nb::gil_scoped_release release;
        const std::lock_guard<std::mutex> one(kernel.busy);
        for (Index j = 0; j < n; ++j) {
            if (b(j) == 0.0) continue;
            const float* K = kernel.rows->row(j);
            for (Index i = 0; i < n; ++i) Kb[i] += b(j) * static_cast<double>(K[i]);
        }
    }
    return own(std::move(Kb));
}

using Solved = std::tuple<OwnedVector, OwnedVector, double, double, double, Index, bool>;

Solved solve(KernelMatrix& kernel, Doubles q, Doubles lower, Doubles upper, Doubles b, Doubles Kb, double tol,
             Index max_steps, bool shrinking) {
    check_length(kernel, {q.shape(0), lower.shape(0), upper.shape(0), b.shape(0), Kb.shape(0)});
    const std::lock_guard<std::mutex> one(kernel.busy);
    Smo smo(*kernel.rows, {q.data(), lower.data(), upper.data()}, {tol, shrinking}, {b.data(), b.data() + b.shape(0)},
            {Kb.data(), Kb.data() + Kb.shape(0)});
    // In pieces short enough that Ctrl-C is heard.
    for (bool done = false; !done && smo.n_steps() < max_steps;) {
        {
            nb::gil_scoped_release release;
            done = smo.run(std::min<Index>(2000, max_steps - smo.n_steps()));
        }
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
    smo.finish();
    return {own(std::vector<double>(smo.b())),
            own(std::vector<double>(smo.Kb())),
            smo.bias(),
            smo.objective(),
            smo.violation(),
            smo.n_steps(),
            smo.solved()};
}

}  // namespace

namespace steelyard {

KernelSpec kernel_spec(const std::string& name, double gamma, double coef0, int degree, double constant) {
    if (name == "linear") return {KernelKind::linear, gamma, coef0, degree, constant};
    if (name == "rbf") return {KernelKind::rbf, gamma, coef0, degree, constant};
    if (name == "poly") return {KernelKind::poly, gamma, coef0, degree, constant};
    if (name == "precomputed") return {KernelKind::precomputed, gamma, coef0, degree, constant};
    throw nb::value_error("kernel is 'linear', 'rbf', 'poly' or 'precomputed'");
}

void bind_smo(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<KernelMatrix>(m, "KernelMatrix", "A kernel matrix whose rows are computed when needed, and cached.")
        .def_static("dense", &dense, "X"_a, "kernel"_a, "gamma"_a, "coef0"_a, "degree"_a, "cache_bytes"_a)
        .def_static("sparse", &sparse, "values"_a, "columns"_a, "starts"_a, "n_cols"_a, "kernel"_a, "gamma"_a,
                    "coef0"_a, "degree"_a, "cache_bytes"_a)
        .def("product", &product, "b"_a, "K b; only the rows with b != 0 are computed.")
        .def("solve", &solve, "q"_a, "lower"_a, "upper"_a, "b"_a, "Kb"_a, "tol"_a, "max_steps"_a, "shrinking"_a,
             "From a feasible b with its K b: b, K b, bias, objective, violation, steps, and whether tol was reached.")
        .def_prop_ro(
            "n_computed", [](const KernelMatrix& k) { return k.rows->n_computed(); },
            "Rows computed so far: cache hits do not count.")
        .def_prop_ro("n_slots", [](const KernelMatrix& k) { return k.rows->n_slots(); }, "Rows that fit the cache.");
}

}  // namespace steelyard
