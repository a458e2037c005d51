// Bindings of the bundle: the class risks of rows in memory, the masters, and both inner problems on their own.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include "base/sizes.hpp"
#include "bind/arrays.hpp"
#include "bind/linear.hpp"
#include "bind/rows.hpp"
#include "bind/stop.hpp"
#include "linear/masters.hpp"

namespace steelyard {

namespace {

using TracksIn = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void expect_length(std::size_t length, std::size_t wanted, const char* what) {
    if (length != wanted)
        throw std::invalid_argument(std::string(what) + " has " + std::to_string(length) + " entries instead of " +
                                    std::to_string(wanted));
}

Tracks tracks_of(const TracksIn& given) { return {given.data(), static_cast<Index>(given.shape(0))}; }

// `ClassRisks` with what it points into; one call at a time.
class ClassRisksIn {
public:
    ClassRisksIn(const RowsIn& rows, Doubles y, std::optional<Doubles> weight, const std::string& loss, int n_threads)
        : rows_(rows),
          y_(std::move(y)),
          weight_(std::move(weight)),
          risks_(*rows_, checked(y_, "y"), weight_ ? checked(*weight_, "sample_weight") : nullptr, loss_of(loss),
                 n_threads) {}

    Index n_cols() const { return risks_.n_cols(); }

    void begin(Index n_tracks) {
        if (n_tracks < 1) throw std::invalid_argument("there must be a track at least");
        alone([&](const Stop&) { risks_.begin(n_tracks); });
    }

    void look(TracksIn tracks, Matrix W) {
        expect_length(W.shape(0), tracks.shape(0), "W");
        expect_length(W.shape(1), static_cast<std::size_t>(n_cols()), "a point");
        alone([&](const Stop& stop) { risks_.look(tracks_of(tracks), W.data(), stop); });
    }

    OwnedMatrix risks(TracksIn tracks, Doubles at) {
        expect_length(at.shape(0), tracks.shape(0), "at");
        std::vector<double> out(2 * tracks.shape(0));
        alone([&](const Stop& stop) { risks_.risks(tracks_of(tracks), at.data(), out.data(), stop); });
        return own(std::move(out), tracks.shape(0), 2);
    }

    OwnedVector search(TracksIn tracks, Matrix caps, Doubles wp, Doubles pp) {
        expect_length(caps.size(), 2 * tracks.shape(0), "caps");
        expect_length(wp.shape(0), tracks.shape(0), "wp");
        expect_length(pp.shape(0), tracks.shape(0), "pp");
        std::vector<double> steps(tracks.shape(0));
        alone([&](const Stop& stop) {
            risks_.search(tracks_of(tracks), caps.data(), wp.data(), pp.data(), steps.data(), stop);
        });
        return own(std::move(steps));
    }

    OwnedMatrix move(TracksIn tracks, Doubles best, Doubles cut) {
        expect_length(best.shape(0), tracks.shape(0), "best");
        expect_length(cut.shape(0), tracks.shape(0), "cut");
        std::vector<double> out(2 * tracks.shape(0));
        alone([&](const Stop& stop) { risks_.move(tracks_of(tracks), best.data(), cut.data(), out.data(), stop); });
        return own(std::move(out), tracks.shape(0), 2);
    }

    std::pair<OwnedMatrix, OwnedVector> cut(TracksIn tracks) {
        const std::size_t count = 2 * tracks.shape(0), width = static_cast<std::size_t>(n_cols());
        std::vector<double> h(count), g(numbers_of(static_cast<Index>(count), n_cols()));
        alone([&](const Stop& stop) { risks_.cut(tracks_of(tracks), g.data(), h.data(), stop); });
        return {own(std::move(g), count, width), own(std::move(h))};
    }

private:
    const double* checked(const Doubles& given, const char* what) const {
        rows_.check_length(given.shape(0), what);
        return given.data();
    }

    template <class Task>
    void alone(Task&& task) {
        without_gil([&](const Stop& stop) {
            const std::lock_guard<std::mutex> lock(mutex_);
            task(stop);
        });
    }

    RowsIn rows_;
    Doubles y_;
    std::optional<Doubles> weight_;
    ClassRisks risks_;
    std::mutex mutex_;
};

// `Masters`, one call at a time.
class MastersIn {
public:
    MastersIn(Index n_tracks, Index n_cols, bool share_cuts, Index idle)
        : masters_(n_tracks, n_cols, {share_cuts, idle}) {}

    Index n_cuts() {
        Index count = 0;
        alone([&](const Stop&) { count = masters_.n_cuts(); });
        return count;
    }

    void set_caps(Matrix caps) {
        expect_length(caps.size(), static_cast<std::size_t>(2 * masters_.n_tracks()), "caps");
        alone([&](const Stop&) {
            for (Index k = 0; k < masters_.n_tracks(); ++k)
                masters_.set_caps(k, caps.data()[2 * k], caps.data()[2 * k + 1]);
        });
    }

    std::pair<OwnedVector, OwnedMatrix> propose(TracksIn tracks, Doubles slack, int n_threads) {
        check(tracks);
        expect_length(slack.shape(0), tracks.shape(0), "slack");
        const auto width = static_cast<std::size_t>(masters_.n_cols());
        std::vector<double> values(tracks.shape(0)),
            W(numbers_of(static_cast<Index>(values.size()), masters_.n_cols()));
        alone([&](const Stop& stop) {
            masters_.propose(tracks_of(tracks), slack.data(), values.data(), W.data(), n_threads, stop);
        });
        return {own(std::move(values)), own(std::move(W), tracks.shape(0), width)};
    }

    void add(TracksIn tracks, Matrix g, Doubles h) {
        check(tracks);
        expect_length(g.shape(0), 2 * tracks.shape(0), "g");
        expect_length(g.shape(1), static_cast<std::size_t>(masters_.n_cols()), "a cut");
        expect_length(h.shape(0), 2 * tracks.shape(0), "h");
        alone([&](const Stop& stop) { masters_.add(tracks_of(tracks), g.data(), h.data(), stop); });
    }

private:
    void check(const TracksIn& tracks) const {
        for (std::size_t k = 0; k < tracks.shape(0); ++k)
            if (tracks(k) < 0 || tracks(k) >= masters_.n_tracks()) throw nb::index_error("there is no such track");
    }

    template <class Task>
    void alone(Task&& task) {
        without_gil([&](const Stop& stop) {
            const std::lock_guard<std::mutex> lock(mutex_);
            task(stop);
        });
    }

    Masters masters_;
    std::mutex mutex_;
};

std::tuple<OwnedVector, OwnedVector, double> solve_master(Matrix g, Doubles h, Ints side, double cap_positive,
                                                          double cap_negative, double slack, int max_pivots) {
    expect_length(h.shape(0), g.shape(0), "h");
    expect_length(side.shape(0), g.shape(0), "side");
    for (std::size_t j = 0; j < side.shape(0); ++j)
        if (side(j) != 0 && side(j) != 1) throw std::invalid_argument("side is 0 (negative) or 1 (positive class)");
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
    expect_length(cost.shape(0), m.shape(0), "cost");
    expect_length(s.shape(0), m.shape(0), "s");
    const auto cost_of = [&](Index i) { return cost.data()[i]; };
    const Ray<decltype(cost_of)> ray{static_cast<Index>(m.shape(0)), cost_of, m.data(), s.data(), wp, pp};
    std::vector<Kink> kinks;
    return visit_loss(loss_of(loss), [&](auto l) { return best_step<decltype(l)>(ray, kinks, nullptr); });
}

}  // namespace

void bind_bundle(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<ClassRisksIn>(m, "ClassRisks", "The class risks of rows in memory; see solvers/linear/bundle.py.")
        .def(nb::init<const RowsIn&, Doubles, std::optional<Doubles>, const std::string&, int>(), "rows"_a, "y"_a,
             "weight"_a.none(), "loss"_a, "n_threads"_a)
        .def_prop_ro("n_cols", &ClassRisksIn::n_cols)
        .def("begin", &ClassRisksIn::begin, "n_tracks"_a)
        .def("look", &ClassRisksIn::look, "tracks"_a, "W"_a)
        .def("risks", &ClassRisksIn::risks, "tracks"_a, "at"_a)
        .def("search", &ClassRisksIn::search, "tracks"_a, "caps"_a, "wp"_a, "pp"_a)
        .def("move", &ClassRisksIn::move, "tracks"_a, "best"_a, "cut"_a)
        .def("cut", &ClassRisksIn::cut, "tracks"_a);
    nb::class_<MastersIn>(m, "Masters", "The master problems of all tracks of a bundle, and their cuts.")
        .def(nb::init<Index, Index, bool, Index>(), "n_tracks"_a, "n_cols"_a, "share_cuts"_a, "idle"_a)
        .def_prop_ro("n_cuts", &MastersIn::n_cuts)
        .def("set_caps", &MastersIn::set_caps, "caps"_a, "(negative, positive) for every track.")
        .def("propose", &MastersIn::propose, "tracks"_a, "slack"_a, "n_threads"_a, "Dual values, and points.")
        .def("add", &MastersIn::add, "tracks"_a, "g"_a, "h"_a, "Two cuts a track, the negative class first.");
    m.def("solve_master", &solve_master, "g"_a, "h"_a, "side"_a, "cap_positive"_a, "cap_negative"_a, "slack"_a,
          "max_pivots"_a, "Weights of the cuts, w and the dual value of the bundle's master problem.");
    m.def("line_search", &line_search, "cost"_a, "m"_a, "s"_a, "wp"_a, "pp"_a, "loss"_a,
          "The step l >= 0 that minimises 1/2 |w + l p|^2 + sum cost loss(m + l s).");
}

}  // namespace steelyard
