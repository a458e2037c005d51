// The stream learner for Python: settings, duals made of tapes, and a learner that learns, saves and loads.
#include "bind/stream.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>

#include "bind/arrays.hpp"
#include "bind/matrix.hpp"
#include "stream/archive.hpp"
#include "stream/learner.hpp"

namespace steelyard {

using Signs = nb::ndarray<const std::int8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// The learner with what Python needs around it.
class StreamLearner {
public:
    StreamLearner(const LearnerSettings& settings, Index n_cols, const Duals& duals)
        : learner_(settings, n_cols, duals) {}

    Index learn(const Rows& rows, const Signs& y, const std::optional<Doubles>& weight, const Pass& pass) {
        const auto n = std::visit([](const auto& m) { return m.n_rows; }, rows);
        const auto d = std::visit([](const auto& m) { return m.n_cols; }, rows);
        if (static_cast<Index>(y.shape(0)) != n || (weight && static_cast<Index>(weight->shape(0)) != n))
            throw std::invalid_argument("rows, labels and weights must have one length");
        if (d != learner_.n_cols()) throw std::invalid_argument("the number of columns has changed");
        const Labels labels{y.data(), weight ? weight->data() : nullptr};
        if (pass.first) held_.clear();
        nb::gil_scoped_release release;
        return std::visit([&](const auto& matrix) { return learner_.learn(matrix, labels, pass, held_); }, rows);
    }

    Learner& learner() { return learner_; }

private:
    Learner learner_;
    std::vector<std::uint8_t> held_;
};

static Tape tape_from(const Ints& op, const Ints& left, const Ints& right, const Doubles& number) {
    std::vector<Instruction> steps(op.shape(0));
    for (std::size_t k = 0; k < steps.size(); ++k) steps[k] = {static_cast<Op>(op(k)), left(k), right(k), number(k)};
    return Tape(std::move(steps));
}

static void bind_settings(nb::module_& m) {
    nb::class_<DualSettings>(m, "DualSettings")
        .def(nb::init<>())
        .def_rw("guard", &DualSettings::guard)
        .def_rw("counts", &DualSettings::counts)
        .def_rw("forget", &DualSettings::forget)
        .def_rw("scan", &DualSettings::scan)
        .def_rw("constrained", &DualSettings::constrained)
        .def_rw("balanced", &DualSettings::balanced)
        .def_rw("gain", &DualSettings::gain)
        .def_rw("floor", &DualSettings::floor)
        .def_rw("clip", &DualSettings::clip);
    nb::class_<LearnerSettings>(m, "LearnerSettings")
        .def(nb::init<>())
        .def_rw("duals", &LearnerSettings::duals)
        .def_prop_rw(
            "reward", [](const LearnerSettings& s) { return static_cast<int>(s.reward); },
            [](LearnerSettings& s, int kind) { s.reward = static_cast<Reward>(kind); })
        .def_prop_rw(
            "steps", [](const LearnerSettings& s) { return static_cast<int>(s.steps); },
            [](LearnerSettings& s, int kind) { s.steps = static_cast<Steps>(kind); })
        .def_rw("width", &LearnerSettings::width)
        .def_rw("eta0", &LearnerSettings::eta0)
        .def_rw("unit_step", &LearnerSettings::unit_step)
        .def_rw("alpha", &LearnerSettings::alpha)
        .def_rw("radius", &LearnerSettings::radius)
        .def_rw("growth", &LearnerSettings::growth)
        .def_rw("intercept", &LearnerSettings::intercept)
        .def_rw("refresh", &LearnerSettings::refresh)
        .def_rw("epoch", &LearnerSettings::epoch)
        .def_rw("epoch_growth", &LearnerSettings::epoch_growth)
        .def_rw("capacity", &LearnerSettings::capacity)
        .def_prop_rw(
            "held_out", [](const LearnerSettings& s) { return std::pair(s.held_out[0], s.held_out[1]); },
            [](LearnerSettings& s, std::pair<double, double> share) {
                s.held_out[0] = share.first, s.held_out[1] = share.second;
            })
        .def_rw("held_while_wide", &LearnerSettings::held_while_wide)
        .def_rw("seed", &LearnerSettings::seed);
    nb::class_<Pass>(m, "Pass")
        .def(nb::init<>())
        .def_rw("shuffle", &Pass::shuffle)
        .def_rw("first", &Pass::first)
        .def_rw("disposable", &Pass::disposable)
        .def_rw("number", &Pass::number);
}

static void bind_duals(nb::module_& m) {
    nb::class_<Tape>(m, "Tape").def("__init__", [](Tape* self, Ints op, Ints left, Ints right, Doubles number) {
        new (self) Tape(tape_from(op, left, right, number));
    });
    nb::class_<Stage>(m, "Stage")
        .def("__init__", [](Stage* self, const Tape& tape, int first, int second, double low, double high) {
            new (self) Stage{tape, {first, second}, low, high};
        });
    nb::class_<Duals>(m, "Duals")
        .def(nb::init<>())
        .def("set_measure", [](Duals& d, const Tape& tape) { d.measure = tape; })
        .def("set_constraint", [](Duals& d, const Tape& tape) { d.constraint = tape; })
        .def("set_objective", [](Duals& d, std::vector<Stage> stages) { d.objective = Nest(std::move(stages)); })
        .def("set_denominator", [](Duals& d, std::vector<Stage> stages) { d.denominator = Nest(std::move(stages)); });
}

static void bind_learner(nb::module_& m) {
    nb::class_<StreamLearner>(m, "StreamLearner")
        .def(nb::init<const LearnerSettings&, Index, const Duals&>())
        .def(
            "learn_dense",
            [](StreamLearner& s, AnyMatrix X, Signs y, std::optional<Doubles> weight, const Pass& pass) {
                return s.learn(dense_rows(X), y, weight, pass);
            },
            nb::arg("X"), nb::arg("y"), nb::arg("weight").none(), nb::arg("run"))
        .def(
            "learn_sparse",
            [](StreamLearner& s, AnyVector values, AnyVector columns, AnyVector starts, Index n_cols, Signs y,
               std::optional<Doubles> weight,
               const Pass& pass) { return s.learn(sparse_rows(values, columns, starts, n_cols), y, weight, pass); },
            nb::arg("values"), nb::arg("columns"), nb::arg("starts"), nb::arg("n_cols"), nb::arg("y"),
            nb::arg("weight").none(), nb::arg("run"))
        .def("coefficients",
             [](StreamLearner& s, bool averaged) { return own(s.learner().now.coefficients(averaged)); })
        .def("intercept", [](StreamLearner& s, bool averaged) { return s.learner().now.intercept(averaged); })
        .def("reservoir_scores",
             [](StreamLearner& s, int side, Doubles w) {
                 return own(s.learner().reservoir.kept.scores(side, {w.data(), w.data() + w.shape(0)}));
             })
        .def("reservoir_rows",
             [](StreamLearner& s, int side) {
                 Learner& it = s.learner();
                 return own(it.reservoir.kept.dense(side, it.n_cols()), static_cast<std::size_t>(it.n_cols()));
             })
        .def_prop_ro("reservoir_offered",
                     [](StreamLearner& s) {
                         const auto& offered = s.learner().reservoir.counters.offered;
                         return std::pair(offered[0], offered[1]);
                     })
        .def("reservoir_weights",
             [](StreamLearner& s, int side) {
                 return own(std::vector<double>(s.learner().reservoir.kept.weight[side]));
             })
        .def("history",
             [](StreamLearner& s) { return own(std::vector<double>(s.learner().now.history.marks), History::width); })
        .def_prop_ro("rows", [](StreamLearner& s) { return s.learner().now.t + s.learner().now.held; })
        .def_prop_ro("class_mass",
                     [](StreamLearner& s) {
                         const auto& t = s.learner().now.duals.tally;
                         return std::pair(t.rows[0], t.rows[1]);
                     })
        .def_prop_ro(
            "rates",
            [](StreamLearner& s) { return std::pair(s.learner().now.duals.rate(0), s.learner().now.duals.rate(1)); })
        .def_prop_ro("multiplier", [](StreamLearner& s) { return s.learner().now.duals.multiplier.lam; })
        .def_prop_ro("level", [](StreamLearner& s) { return s.learner().now.duals.level; })
        .def_prop_ro("spread", [](StreamLearner& s) { return s.learner().now.warmup.spread(); })
        .def("save",
             [](StreamLearner& s) {
                 const std::string bytes = save(s.learner());
                 return nb::bytes(bytes.data(), bytes.size());
             })
        .def("load", [](StreamLearner& s, nb::bytes state) { load(s.learner(), state.c_str(), state.size()); });
}

void bind_stream(nb::module_& m) {
    bind_settings(m);
    bind_duals(m);
    bind_learner(m);
}

}  // namespace steelyard
