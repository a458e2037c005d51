// Problems of the cost path for tests, and their paths.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/random.hpp"
#include "path/trace.hpp"

namespace steelyard {

using Linear = LinearSpace<DenseRows<double>>;

struct Data {
    std::vector<double> X, sign, target, original;
    std::vector<CostBox> box;
    Index n, d;
    DenseRows<double> rows() const { return {X.data(), n, d}; }
    Linear space() const { return Linear(rows()); }
    PathData given() const { return {sign.data(), target.data(), box.data()}; }
};

enum class Ties { none, integers, copies };

// n rows with a constant column, two classes, C = 1; the targets perturbed as the caller of the core does it.
inline Data make(Index n, Index d, Ties ties, std::uint64_t seed) {
    Data data{{}, {}, {}, std::vector<double>(static_cast<std::size_t>(n), 1.0), {}, n, d};
    Shuffler random{seed};
    const auto uniform = [&] { return static_cast<double>(random.below(1 << 20)) / (1 << 20); };
    for (Index i = 0; i < n; ++i) {
        for (Index j = 0; j + 1 < d; ++j)
            data.X.push_back(ties == Ties::copies && i >= n / 2 ? data.X[(i - n / 2) * d + j]
                             : ties == Ties::integers           ? static_cast<double>(random.below(3)) - 1
                                                                : 2 * uniform() - 1);
        data.X.push_back(1.0);
        data.sign.push_back(i < 2 ? (i ? 1.0 : -1.0) : random.below(2) ? 1.0 : -1.0);
        data.target.push_back(1 + 1e-9 * uniform());
        data.box.push_back(data.sign[i] > 0 ? CostBox{0, 0, 2, -2} : CostBox{0, 0, 0, 2});
    }
    return data;
}

// Every kink in one leg, whatever ties.
template <class S>
PathLog one_leg(const S& space, const PathProblem& problem) {
    std::vector<double> norm(static_cast<std::size_t>(space.n_rows()));
    for (Index i = 0; i < space.n_rows(); ++i) norm[i] = std::sqrt(space.square(i));
    PathLeg<S> leg(space, problem, norm.data(), problem.start, PathLeg<S>::Way::up, nullptr);
    if (leg.settle()) leg.follow(problem.end, nullptr, -1);
    return leg.take();
}

inline PathLog trace(const Data& data, double start = 0, double end = 1) {
    return one_leg(data.space(), {data.given(), start, end});
}

inline double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
    double worst = 0;
    for (std::size_t j = 0; j < a.size(); ++j) worst = std::max(worst, std::fabs(a[j] - b[j]));
    return worst;
}

}  // namespace steelyard
