// Blocks of near rows that wait for their turn, against looking at every row: the first to reach its target is the
// same.
//
// Rows lie in the first four of six columns. The model goes in turns along the last two, where all of them stand still,
// and a thousandth as far among the first four, as it does where a class ties; or in any direction. Rows that reach
// their target are dropped and are watched again some turns later, on the other side.
#include <vector>

#include "base/random.hpp"
#include "check.hpp"
#include "path/near_blocks.hpp"

using namespace steelyard;

namespace {

using Linear = LinearSpace<DenseRows<double>>;
constexpr Index n = 403, d = 6, inside = 4;

double uniform(Shuffler& random) { return static_cast<double>(random.below(1 << 20)) / (1 << 19) - 1; }

struct Walk {
    std::vector<double> X = std::vector<double>(n * d, 0.0), target = std::vector<double>(n), norm = target;
    std::vector<char> below = std::vector<char>(n, 1), watched = below;
    PathVector w, dw;

    explicit Walk(Shuffler& random, double scale) {
        for (Index i = 0; i < n; ++i) {
            for (Index j = 0; j < inside; ++j) X[i * d + j] = uniform(random);
            norm[i] = std::sqrt(DenseRow<double>{&X[i * d], d}.dot(&X[i * d]));
            target[i] = scale * (uniform(random) + 1.01);
        }
        w.v.assign(d, 0.0);
        dw.v.assign(d, 0.0);
    }
    double times(Index i, const PathVector& v) const { return DenseRow<double>{&X[i * d], d}.dot(v.v.data()); }
    double toward(Index i) const { return below[i] ? 1 : -1; }
    double gap(Index i) const { return toward(i) * (target[i] - times(i, w)); }
    double way() const { return std::sqrt(DenseRow<double>{dw.v.data(), d}.dot(dw.v.data())); }

    // By looking at every row.
    double first() const {
        double length = 1;
        for (Index i = 0; i < n; ++i) {
            const double rate = toward(i) * times(i, dw);
            if (watched[i] && rate > 0 && gap(i) < length * rate) length = std::max(gap(i) / rate, 0.0);
        }
        return length;
    }
};

// How many rows were looked at in `turns` of a walk, if all that was found was right.
double walked(bool in_turns, int turns) {
    Shuffler random{static_cast<std::uint64_t>(in_turns) + 1};
    Walk walk(random, in_turns ? 1e-3 : 1);
    const Linear space(DenseRows<double>{walk.X.data(), n, d});
    const std::vector<double> sign(n, 1.0);
    const std::vector<Index> members;
    const Linear::Members rows(space, members, sign.data());
    NearBlocks<Linear> near(space, rows, nullptr);
    for (Index i = 0; i < n; ++i) near.note(i, 1, walk.target[i], walk.gap(i), walk.norm[i]);
    near.pack();
    std::vector<Index> out;
    for (int turn = 0; turn < turns; ++turn) {
        const bool is_still = in_turns && turn % 2 == 0;
        for (Index j = 0; j < d; ++j) walk.dw.v[j] = j < inside && is_still ? 0 : 0.1 * uniform(random);
        if (in_turns) walk.dw.v[4] = 1, walk.dw.v[5] = -2;
        near.turn(walk.dw, walk.way());
        const double right = walk.first();
        double length = 1;
        const std::size_t k = near.first(walk.w, 0, length);
        expect(std::fabs(length - right) <= 1e-12 * (1 + right), "the first row to reach its target");
        near.go(length);
        for (Index j = 0; j < d; ++j) walk.w.v[j] += length * walk.dw.v[j];
        if (k < near.size()) {
            near.drop(k);
            walk.watched[k] = 0;
            out.push_back(static_cast<Index>(k));
        }
        if (out.size() < 5 && k < near.size()) continue;
        if (out.empty()) continue;
        const Index i = out.front();
        out.erase(out.begin());
        walk.watched[i] = 1;
        walk.below[i] = walk.gap(i) > 0 ? walk.below[i] : !walk.below[i];
        const double goal = walk.toward(i) * walk.target[i];
        near.watch_now(static_cast<std::size_t>(i), walk.toward(i), goal, walk.gap(i));
    }
    return near.looked_at();
}

}  // namespace

int main() {
    const int turns = 2000;
    expect(walked(false, turns) < 0.9 * n * turns, "most steps are too short for most blocks");
    expect(walked(true, turns) < 0.6 * n * turns, "where rows stand still they are not looked at");
    return verdict();
}
