// A path in legs: where a class ties, from the middle both ways, and where rounding wins on one of them.
#include "path/trace.hpp"

#include <algorithm>
#include <thread>

#include "check.hpp"
#include "path/audit.hpp"
#include "path/replay.hpp"
#include "path_data.hpp"

using namespace steelyard;

// A rare class that the columns say little of.
static Data rare(Index n = 500) {
    Data data = make(n, 8, Ties::integers, 7);
    for (Index i = 0; i < data.n; ++i) {
        data.sign[i] = i % 8 == 0 ? 1.0 : -1.0;
        data.box[i] = data.sign[i] > 0 ? CostBox{0, 0, 0.02, -0.02} : CostBox{0, 0, 0, 0.02};
    }
    return data;
}

// The other class ties, and the path is two legs, both optimal.
static void test_legs() {
    const Data data = rare();
    const auto space = data.space();
    const std::vector<PathLog> legs = PathTrace<Linear>(space, {data.given(), 0, 1}).trace();
    expect(legs.size() == 2 && legs[0].end <= legs[1].start, "two legs, in order");
    expect(legs.front().start == 0 && legs.back().end == 1, "from end to end");
    for (const PathLog& leg : legs) {
        PathAudit<Linear> audit(space, {data.given(), data.original.data(), 1.0}, leg);
        expect(audit.worst(1) < 1e-8, "each leg is optimal at every kink");
    }
}

// Both ways from the middle: the same legs by one thread and by two, and the models of a path from its start.
static void test_two_halves() {
    const Data data = make(300, 6, Ties::none, 11);
    const auto space = data.space();
    PathProblem problem{data.given(), 0, 1};
    problem.middle = 0.4;
    const std::vector<PathLog> one = PathTrace<Linear>(space, problem).trace();
    problem.n_threads = 2;
    const std::vector<PathLog> two = PathTrace<Linear>(space, problem).trace();
    expect(one.size() >= 2 && one.size() == two.size(), "halves, whatever the threads");
    int ends = 0;
    for (std::size_t k = 0; k < std::min(one.size(), two.size()); ++k) {
        expect(one[k].tau == two[k].tau && one[k].row == two[k].row, "the bits do not depend on the threads");
        if (one[k].end == problem.middle) {
            ++ends;
            expect(k + 1 < one.size() && one[k + 1].start == problem.middle, "the other half goes on from there");
        }
        PathAudit<Linear> audit(space, {data.given(), data.original.data(), 1.0}, one[k]);
        expect(audit.worst(1) < 1e-8, "each leg is optimal at every kink");
    }
    expect(ends == 1 && one.front().start == 0 && one.back().end == 1, "joined in the middle, from end to end");
    const PathLog whole = trace(data);
    std::vector<double> w(6), v(6);
    for (const double tau : {0.1, 0.39, 0.4, 0.41, 0.9}) {
        const auto leg = std::find_if(one.begin(), one.end(), [=](const PathLog& l) { return tau <= l.end; });
        if (tau < leg->start) continue;  // a straight line
        PathReplay<Linear>(space, data.given(), *leg).recover(tau, w.data());
        PathReplay<Linear>(space, data.given(), whole).recover(tau, v.data());
        expect(largest_difference(w, v) < 1e-7, "the models of a path from its start");
    }
}

static bool is_same(const PathLog& a, const PathLog& b) {
    bool same = a.tau == b.tau && a.row == b.row && a.from == b.from && a.to == b.to && a.side == b.side &&
                a.start == b.start && a.end == b.end && a.checkpoints.size() == b.checkpoints.size();
    for (std::size_t k = 0; same && k < a.checkpoints.size(); ++k) {
        const Checkpoint &one = a.checkpoints[k], &two = b.checkpoints[k];
        same = one.event == two.event && one.tau == two.tau && one.members == two.members && one.a == two.a &&
               one.forces.p.v == two.forces.p.v && one.forces.q.v == two.forces.q.v;
    }
    return same;
}

// A leg that was asked for its stands one by one, one that has gone ahead as far as it may, and one that is followed by
// two threads in whatever turns: they stand at the same places, and have the same log there.
static void test_a_leg_that_is_ahead() {
    const Data data = rare(1500);
    const Linear space = data.space();
    std::vector<double> norm(static_cast<std::size_t>(data.n));
    for (Index i = 0; i < data.n; ++i) norm[static_cast<std::size_t>(i)] = std::sqrt(space.square(i));
    const PathProblem problem{data.given(), 0, 1};
    Index longest = 0;
    for (const double from : {0.0, 1.0})
        for (const int moves : {0, 1, 5, 20, 31, 45}) {
            OncomingLeg<Linear> legs[3] = {{space, problem, norm.data(), from, 1 - from, 5e-9, nullptr},
                                           {space, problem, norm.data(), from, 1 - from, 5e-9, nullptr},
                                           {space, problem, norm.data(), from, 1 - from, 5e-9, nullptr}};
            legs[1].go_ahead();
            std::thread beside([&] { legs[2].go_ahead(); });
            for (auto& leg : legs) {
                bool there = leg.now() != nullptr;
                for (int k = 0; there && k < moves; ++k) {
                    there = leg.next() != nullptr;
                    if (there) leg.move_on();
                }
                expect(there && leg.next(), "it stands, and would go on");  // as where legs would pass each other
            }
            const PathLog log = legs[0].take();
            longest = std::max(longest, log.size());
            expect(is_same(log, legs[1].take()), "the same log, whoever was ahead");
            expect(is_same(log, legs[2].take()), "the same log, whoever followed the leg");
            beside.join();
        }
    expect(longest > 2048, "checkpoints were thinned");
}

// Any number of threads, some of which go ahead: the same legs.
static void test_threads() {
    const Data data = rare();
    const Linear space = data.space();
    PathProblem problem{data.given(), 0, 1};
    for (const double middle : {0.05, 0.3, 0.9}) {
        problem.middle = middle;
        problem.n_threads = 1;
        const std::vector<PathLog> one = PathTrace<Linear>(space, problem).trace();
        for (int repeat = 0; repeat < 5; ++repeat)
            for (const int threads : {2, 3, 4}) {
                problem.n_threads = threads;
                const std::vector<PathLog> many = PathTrace<Linear>(space, problem).trace();
                expect(one.size() >= 2 && one.size() == many.size(), "as many legs");
                for (std::size_t k = 0; k < std::min(one.size(), many.size()); ++k)
                    expect(is_same(one[k], many[k]), "the same legs");
            }
    }
}

// Where rounding has won in the middle, as it does on some of these, the path begins at the start after all.
static void test_a_half_that_is_lost() {
    PathProblem problem{{}, 0, 1};
    problem.middle = 0.5;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        Data data = make(60, 4, Ties::integers, seed);
        for (std::size_t k = 0; k < data.X.size(); ++k) data.X[k] *= k % 4 == 3 ? 1 : 1e6;
        std::fill(data.target.begin(), data.target.end(), 1.0);  // no perturbation
        problem.data = data.given();
        const Linear space = data.space();
        const std::vector<PathLog> legs = PathTrace<Linear>(space, problem).trace();
        expect(!legs.empty() && legs[0].start == 0, "a path begins at the start of its range");
    }
    Data data = make(60, 4, Ties::none, 12);
    data.target[7] = NAN;
    problem.data = data.given();
    const Linear space = data.space();
    const std::vector<PathLog> legs = PathTrace<Linear>(space, problem).trace();
    expect(legs.size() == 1 && legs[0].start == 0 && legs[0].end < 1, "one leg from the start, which does not arrive");
}

int main() {
    test_legs();
    test_two_halves();
    test_a_leg_that_is_ahead();
    test_threads();
    test_a_half_that_is_lost();
    return verdict();
}
