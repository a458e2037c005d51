// A traced path as arrays: what a pickle holds of it, checked when it comes back.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>

#include <stdexcept>
#include <tuple>
#include <utility>

#include "bind/arrays.hpp"
#include "bind/path.hpp"

namespace steelyard {

namespace {

template <class T>
nb::object array_of(std::vector<T>&& data) {
    return nb::cast(own(std::move(data)));
}

template <class T>
std::vector<T> vector_of(const nb::handle& item) {
    const auto array = nb::cast<nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>>(item);
    return std::vector<T>(array.data(), array.data() + array.shape(0));
}

void expect(bool good) {
    if (!good)
        throw std::invalid_argument(
            "this is not the state of a cost path: it was written by another version, or "
            "has been changed");
}

// The numbers of a checkpoint: p and q, and of a kernel what rounding has left out of them.
std::vector<std::vector<double>*> parts_of(Checkpoint& c, bool compensated) {
    PathForces& f = c.forces;
    if (compensated) return {&f.p.v, &f.p.low, &f.q.v, &f.q.low};
    return {&f.p.v, &f.q.v};
}

// The checkpoints side by side.
struct Packed {
    std::vector<std::int64_t> event, count, members;
    std::vector<std::int8_t> forced;
    std::vector<double> tau, forces, a;
};

// Events that move a row from where it is, one of the two places the margin; checkpoints in order, with the members
// that the events before them have left.
void check_events(const PathLog& log) {
    const std::size_t n = log.tau.size();
    expect(log.row.size() == n && log.from.size() == n && log.to.size() == n);
    expect(!log.checkpoints.empty() && log.checkpoints.front().event == 0 && log.stride > 0);
    expect(log.start >= 0 && log.start <= log.end && log.end <= 1);
    std::vector<std::int8_t> side = log.side;
    for (const std::int8_t at : side) expect(at >= 0 && at < static_cast<std::int8_t>(Side::idle));
    constexpr auto member = static_cast<std::int8_t>(Side::member);  // as the log stores it
    auto size = static_cast<std::size_t>(std::count(side.begin(), side.end(), member));
    auto next = log.checkpoints.begin();
    for (std::size_t k = 0; k <= n; ++k) {
        for (; next != log.checkpoints.end() && next->event == static_cast<Index>(k); ++next) {
            expect(next->members.size() == size);
            std::vector<Index> sorted = next->members;
            std::sort(sorted.begin(), sorted.end());
            expect(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end());
            for (const Index i : sorted) expect(i >= 0 && i < static_cast<Index>(side.size()) && side[i] == member);
        }
        if (k == n) break;
        const std::int32_t i = log.row[k];
        expect(log.tau[k] >= (k ? log.tau[k - 1] : log.start) && log.tau[k] <= log.end);
        expect(i >= 0 && i < static_cast<std::int32_t>(side.size()) && side[i] == log.from[k]);
        expect(log.to[k] >= 0 && log.to[k] < static_cast<std::int8_t>(Side::idle));
        expect((log.from[k] == member) != (log.to[k] == member));
        side[i] = log.to[k];
        size += log.to[k] == member ? 1 : std::size_t(-1);
    }
    expect(next == log.checkpoints.end());
}

}  // namespace

nb::tuple log_to_state(const PathLog& log) {
    Packed c;
    const bool compensated = !log.checkpoints.empty() && !log.checkpoints.front().forces.p.low.empty();
    for (Checkpoint at : log.checkpoints) {
        c.event.push_back(at.event);
        c.tau.push_back(at.tau);
        c.forced.push_back(at.forced);
        c.count.push_back(static_cast<std::int64_t>(at.members.size()));
        c.members.insert(c.members.end(), at.members.begin(), at.members.end());
        c.a.insert(c.a.end(), at.a.begin(), at.a.end());
        for (const auto* part : parts_of(at, compensated)) c.forces.insert(c.forces.end(), part->begin(), part->end());
    }
    const auto numbers = std::make_tuple(log.stride, log.start, log.end, log.drift, log.refactored, log.start_events);
    return nb::make_tuple(nb::cast(numbers), array_of(std::vector<double>(log.tau)),
                          array_of(std::vector<std::int32_t>(log.row)), array_of(std::vector<std::int8_t>(log.from)),
                          array_of(std::vector<std::int8_t>(log.to)), array_of(std::vector<std::int8_t>(log.side)),
                          compensated, array_of(std::move(c.event)), array_of(std::move(c.tau)),
                          array_of(std::move(c.forced)), array_of(std::move(c.count)), array_of(std::move(c.members)),
                          array_of(std::move(c.forces)), array_of(std::move(c.a)));
}

PathLog log_from_state(const nb::tuple& state) {
    expect(state.size() == 14);
    PathLog log;
    std::tie(log.stride, log.start, log.end, log.drift, log.refactored, log.start_events) =
        nb::cast<std::tuple<Index, double, double, double, Index, Index>>(state[0]);
    log.tau = vector_of<double>(state[1]);
    log.row = vector_of<std::int32_t>(state[2]);
    log.from = vector_of<std::int8_t>(state[3]);
    log.to = vector_of<std::int8_t>(state[4]);
    log.side = vector_of<std::int8_t>(state[5]);
    const auto compensated = nb::cast<bool>(state[6]);
    const Packed c{vector_of<std::int64_t>(state[7]),  vector_of<std::int64_t>(state[10]),
                   vector_of<std::int64_t>(state[11]), vector_of<std::int8_t>(state[9]),
                   vector_of<double>(state[8]),        vector_of<double>(state[12]),
                   vector_of<double>(state[13])};
    const std::size_t n = c.event.size(), parts = n * (compensated ? 4 : 2);
    expect(n > 0 && c.tau.size() == n && c.forced.size() == n && c.count.size() == n && c.forces.size() % parts == 0 &&
           c.a.size() == c.members.size());
    const auto width = static_cast<std::ptrdiff_t>(c.forces.size() / parts);
    auto force = c.forces.begin();
    auto member = c.members.begin();
    auto a = c.a.begin();
    for (std::size_t k = 0; k < n; ++k) {
        expect(c.count[k] >= 0 && c.count[k] <= c.members.end() - member);
        Checkpoint at{c.event[k], c.tau[k], c.forced[k] != 0, {}, {member, member + c.count[k]}, {a, a + c.count[k]}};
        member += c.count[k];
        a += c.count[k];
        for (auto* part : parts_of(at, compensated)) {
            part->assign(force, force + width);
            force += width;
        }
        log.checkpoints.push_back(std::move(at));
    }
    expect(member == c.members.end());
    check_events(log);
    return log;
}

}  // namespace steelyard
