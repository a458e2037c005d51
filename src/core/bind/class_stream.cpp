// The pass of several classes for Python: arrays that it learns in, checked for their sizes here.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <optional>
#include <stdexcept>

#include "bind/arrays.hpp"
#include "bind/rows.hpp"
#include "bind/stop.hpp"
#include "bind/stream.hpp"
#include "stream/class_pass.hpp"

namespace steelyard {

namespace {

using Table = nb::ndarray<double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Square = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Order = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void require(bool sound, const char* what) {
    if (!sound) throw std::invalid_argument(what);
}

// `models` is v, u and the squares, 3 x K x d; `offsets` the same of the intercepts, 3 x K.
void class_pass(const RowsIn& rows, const Ints& codes, const std::optional<Doubles>& weight, const Order& order,
                const Doubles& pull, Table& models, Square& offsets, Square& confusion, Numbers& numbers, int loss,
                double unit_step, bool intercept) {
    const std::size_t k = models.shape(1), d = models.shape(2);
    rows.check_length(codes.shape(0), "y");
    if (weight) rows.check_length(weight->shape(0), "sample_weight");
    require(models.shape(0) == 3 && offsets.shape(0) == 3 && offsets.shape(1) == k, "the models do not fit");
    require(confusion.shape(0) == k && confusion.shape(1) == k && pull.shape(0) == k && k >= 2,
            "the classes do not fit");
    require(numbers.shape(0) == ClassState::count_of_numbers && loss >= 0 && loss <= 1, "the numbers do not fit");
    require(static_cast<Index>(d) == rows.n_cols(), "the number of columns has changed");
    for (std::size_t t = 0; t < order.shape(0); ++t) {
        const Index i = order.data()[t];
        require(i >= 0 && i < rows.n_rows(), "a row that is not there");
        const auto code = codes.data()[i];
        require(code >= 0 && static_cast<std::size_t>(code) < k, "a class that is not there");
    }
    const auto part = [&](auto& array, std::size_t n, std::size_t length) { return array.data() + n * length; };
    const ClassState state{part(models, 0, k * d), part(models, 1, k * d), part(models, 2, k * d), part(offsets, 0, k),
                           part(offsets, 1, k),    part(offsets, 2, k),    confusion.data(),       numbers.data(),
                           static_cast<Index>(k),  static_cast<Index>(d)};
    const ClassRun run{
        codes.data(), weight ? weight->data() : nullptr, order.data(), static_cast<Index>(order.shape(0)),
        pull.data(),  static_cast<ClassLoss>(loss),      unit_step,    intercept};
    without_gil([&](const Stop& stop) {
        visit(*rows, [&](const auto& x) {
            require(x.constant == 0, "a stream learner has intercepts of its own");
            ClassPass(state, run).over(x, &stop);
        });
        return 0;
    });
}

}  // namespace

void bind_class_stream(nb::module_& m) {
    using namespace nb::literals;
    m.def("class_pass", &class_pass, "rows"_a, "codes"_a, "weight"_a.none(), "order"_a, "pull"_a, "models"_a,
          "offsets"_a, "confusion"_a, "numbers"_a, "loss"_a, "unit_step"_a, "intercept"_a,
          "Learn from rows of several classes, in arrays that are changed; rows are known to be sound.");
}

}  // namespace steelyard
