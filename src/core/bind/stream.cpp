// The stream learner for Python: settings, duals made of tapes, and a learner that learns, saves and loads.
#include "bind/stream.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include "bind/arrays.hpp"
#include "bind/rows.hpp"
#include "bind/stop.hpp"
#include "stream/archive.hpp"
#include "stream/learner.hpp"

namespace steelyard {

namespace {

using Signs = nb::ndarray<const std::int8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// The learner for one call at a time: another one that comes meanwhile, from another thread or from the handler of a
// signal, is refused, never made to wait with the GIL in its hands. `solvers/stream/learner.py` has threads take turns.
class StreamLearner {
public:
    StreamLearner(const LearnerSettings& settings, Index n_cols, const Duals& duals)
        : learner_(settings, n_cols, duals) {}
    explicit StreamLearner(const Learner& learner) : learner_(learner) {}

    template <class F>
    auto alone(F&& f) {
        if (busy_.exchange(true)) throw std::runtime_error("this stream learner is in use: another call has not ended");
        const Free free{busy_};
        return f(learner_);
    }

    // (fault, row) of the first row that cannot be learned: "" if all were.
    std::tuple<std::string, Index> learn(const RowsIn& rows, const Signs& y, const std::optional<Doubles>& weight,
                                         const Pass& pass) {
        rows.check_length(y.shape(0), "y");
        if (weight) rows.check_length(weight->shape(0), "sample_weight");
        const Labels labels{y.data(), weight ? weight->data() : nullptr};
        const Fault fault = without_gil([&](const Stop& stop) {
            return alone([&](Learner& it) {
                return visit(*rows, [&](const auto& x) {
                    if (x.constant != 0) throw std::invalid_argument("a stream learner has an intercept of its own");
                    if (x.n_cols != it.n_cols()) throw std::invalid_argument("the number of columns has changed");
                    return it.learn(x, labels, pass, &stop);
                });
            });
        });
        return {fault.what, fault.row};
    }

private:
    struct Free {
        std::atomic<bool>& busy;
        ~Free() { busy = false; }
    };

    Learner learner_;
    std::atomic<bool> busy_{false};
};

void bind_settings(nb::module_& m) {
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
        .def_rw("clip", &DualSettings::clip)
        .def_rw("share_power", &DualSettings::share_power);
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
        .def_rw("hinge_first", &LearnerSettings::hinge_first)
        .def_rw("eta0", &LearnerSettings::eta0)
        .def_rw("unit_step", &LearnerSettings::unit_step)
        .def_rw("alpha", &LearnerSettings::alpha)
        .def_rw("radius", &LearnerSettings::radius)
        .def_rw("growth", &LearnerSettings::growth)
        .def_rw("intercept", &LearnerSettings::intercept)
        .def_rw("refresh", &LearnerSettings::refresh)
        .def_rw("epoch", &LearnerSettings::epoch)
        .def_rw("epoch_growth", &LearnerSettings::epoch_growth)
        .def_prop_rw(
            "capacity", [](const LearnerSettings& s) { return std::pair(s.capacity[0], s.capacity[1]); },
            [](LearnerSettings& s, std::pair<Index, Index> rows) {
                s.capacity[0] = rows.first, s.capacity[1] = rows.second;
            })
        .def_rw("held_while_wide", &LearnerSettings::held_while_wide)
        .def_rw("seed", &LearnerSettings::seed);
    nb::class_<Pass>(m, "Pass").def(
        "__init__",
        [](Pass* self, bool shuffle, std::uint64_t number, bool disposable) {
            new (self) Pass{shuffle, number, disposable};
        },
        nb::arg("shuffle"), nb::arg("number"), nb::arg("disposable"));
}

void bind_duals(nb::module_& m) {
    nb::class_<Stage>(m, "Stage")
        .def("__init__", [](Stage* self, const Tape& tape, int first, int second, double low, double high) {
            new (self) Stage{tape.with_inputs(Tape::n_rates), {first, second}, low, high};
        });
    nb::class_<Duals>(m, "Duals")
        .def(nb::init<>())
        .def("set_measure", [](Duals& d, const Tape& tape) { d.measure = tape.with_inputs(Tape::n_rates); })
        .def("set_constraint", [](Duals& d, const Tape& tape) { d.constraint = tape.with_inputs(Tape::n_rates); })
        .def("set_objective", [](Duals& d, const nb::sequence& stages) { d.objective = Nest(listed<Stage>(stages)); })
        .def("set_denominator",
             [](Duals& d, const nb::sequence& stages) { d.denominator = Nest(listed<Stage>(stages)); });
}

// A function of the learner, for Python to call while no other thread is at it.
template <class F>
auto reading(F f) {
    return [f](StreamLearner& s) { return s.alone(f); };
}

int checked_side(int side) {
    if (side != 0 && side != 1) throw nb::index_error("there are two classes, 0 and 1");
    return side;
}

OwnedVector reservoir_scores(StreamLearner& s, int side, const Doubles& w) {
    return s.alone([&](Learner& it) {
        if (static_cast<Index>(w.shape(0)) != it.n_cols())
            throw std::invalid_argument("a model has one number a column");
        return own(it.reservoir.kept.scores(checked_side(side), w.data()));
    });
}

// What the reservoir holds: negatives are side 0, positives side 1.
void bind_reservoir(nb::class_<StreamLearner>& learner) {
    learner.def("reservoir_scores", &reservoir_scores)
        .def("reservoir_rows",
             [](StreamLearner& s, int side) {
                 return s.alone([&](Learner& it) {
                     auto& kept = it.reservoir.kept;
                     return own(kept.dense(checked_side(side), it.n_cols()), kept.weight[side].size(),
                                static_cast<std::size_t>(it.n_cols()));
                 });
             })
        .def("reservoir_csr",
             [](StreamLearner& s, int side) {
                 return s.alone([&](Learner& it) {
                     auto table = it.reservoir.kept.table(checked_side(side));
                     return std::tuple(own(std::move(table.values)), own(std::move(table.columns)),
                                       own(std::move(table.starts)));
                 });
             })
        .def_prop_ro("reservoir_stored", reading([](Learner& it) {
                         return std::pair(it.reservoir.kept.n_stored(0), it.reservoir.kept.n_stored(1));
                     }))
        .def("reservoir_weights",
             [](StreamLearner& s, int side) {
                 return s.alone([&](Learner& it) {
                     return own(std::vector<double>(it.reservoir.kept.weight[checked_side(side)]));
                 });
             })
        .def_prop_ro("reservoir_offered", reading([](Learner& it) {
                         const auto& offered = it.reservoir.counters.offered;
                         return std::pair(offered[0], offered[1]);
                     }));
}

void bind_learner(nb::module_& m) {
    auto learner = nb::class_<StreamLearner>(m, "StreamLearner");
    bind_reservoir(learner);
    learner.def(nb::init<const LearnerSettings&, Index, const Duals&>())
        .def("learn", &StreamLearner::learn, nb::arg("rows"), nb::arg("y"), nb::arg("weight").none(), nb::arg("run"),
             "Learn from rows; what is wrong (\"\" if nothing) and in which row. Whatever fails changes nothing.")
        .def("copy", [](StreamLearner& s) { return s.alone([](Learner& it) { return new StreamLearner(it); }); })
        .def("coefficients",
             [](StreamLearner& s, bool averaged) {
                 return s.alone([&](Learner& it) { return own(it.now.coefficients(averaged)); });
             })
        .def("intercept",
             [](StreamLearner& s, bool averaged) {
                 return s.alone([&](Learner& it) { return it.now.intercept(averaged); });
             })
        .def("history", reading([](Learner& it) {
                 const auto& marks = it.now.history.marks;
                 return own(std::vector<double>(marks), marks.size() / History::width, History::width);
             }))
        .def_prop_ro("rows", reading([](Learner& it) { return it.now.t + it.now.held; }))
        .def_prop_ro("rows_once", reading([](Learner& it) { return it.now.rows_once(); }))
        .def_prop_ro("class_mass", reading([](Learner& it) {
                         return std::pair(it.now.duals.tally.rows[0], it.now.duals.tally.rows[1]);
                     }))
        .def_prop_ro("rates",
                     reading([](Learner& it) { return std::pair(it.now.duals.rate(0), it.now.duals.rate(1)); }))
        .def_prop_ro("multiplier", reading([](Learner& it) { return it.now.duals.multiplier.lam; }))
        .def_prop_ro("level", reading([](Learner& it) { return it.now.duals.level; }))
        .def_prop_ro("spread", reading([](Learner& it) { return it.now.warmup.spread(); }))
        .def("save", reading([](Learner& it) {
                 const std::string bytes = save(it);
                 return nb::bytes(bytes.data(), bytes.size());
             }))
        .def("load", [](StreamLearner& s, const nb::bytes& state) {
            s.alone([&](Learner& it) { load(it, state.c_str(), state.size()); });
        });
}

}  // namespace

void bind_stream(nb::module_& m) {
    bind_settings(m);
    bind_duals(m);
    bind_learner(m);
}

}  // namespace steelyard
