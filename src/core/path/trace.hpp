// The whole path, in legs.
//
// It begins in the middle, where both classes cost the same and neither ties, and is followed both ways at once, on two
// threads if there are two; one that is done goes ahead for the other. Each half (path/half.hpp) goes by itself, so
// that the bits do not depend on the threads. A half that cannot be followed to the start of the range, since rounding
// has won, leaves it all to one that begins there.
#pragma once

#include "base/parallel.hpp"
#include "path/half.hpp"

namespace steelyard {

template <class S>
class PathTrace {
public:
    PathTrace(const S& space, const PathProblem& problem, const Stop* stop = nullptr)
        : space_(space), problem_(problem), stop_(stop), norm_(norms(space, stop)) {
        double force = 0;
        for (Index i = 0; i < space.n_rows(); ++i)
            for (const double tau : {problem.start, problem.end}) {
                const CostBox& box = problem.data.box[i];
                force += std::max(std::fabs(box.low_at(tau)), std::fabs(box.high_at(tau))) * norm_[i];
            }
        check_force(force);
    }

    // In order of tau; between one and the next a straight line. Where rounding has won, they end before the range
    // does; the one leg has no checkpoint if it has won at the start.
    std::vector<PathLog> trace() {
        if (S::written_out && problem_.start < problem_.middle && problem_.middle < problem_.end) {
            std::vector<PathLog> legs = from_the_middle();
            if (!legs.empty()) return legs;
        }
        PathProgress progress(problem_.watch, problem_.start);
        return Half(space_, problem_, norm_.data(), problem_.start, Way::up, progress, stop_).trace();
    }

private:
    using Half = PathHalf<S>;
    using Way = typename Half::Way;

    static std::vector<double> norms(const S& space, const Stop* stop) {
        StopEvery asked(stop, space.pace());
        std::vector<double> norm(static_cast<std::size_t>(space.n_rows()));
        for (Index i = 0; i < space.n_rows(); ++i) {
            asked();
            norm[i] = std::sqrt(space.square(i));
        }
        return norm;
    }

    // None if rounding has won on the way down.
    std::vector<PathLog> from_the_middle() {
        PathProgress progress(problem_.watch, problem_.start);
        Half down(space_, problem_, norm_.data(), problem_.middle, Way::down, progress, stop_);
        Half up(space_, problem_, norm_.data(), problem_.middle, Way::up, progress, stop_);
        std::vector<PathLog> legs, above;
        const auto task = [&](Index k) {
            switch (k) {
                case 0: legs = down.trace(); break;
                case 1: above = up.trace(); break;
                case 2: up.go_ahead(); break;
                default: down.go_ahead();
            }
        };
        parallel_for(problem_.n_threads, 4, task, stop_);
        if (!down.has_come()) return {};
        for (PathLog& leg : above)
            if (!leg.checkpoints.empty()) legs.push_back(std::move(leg));
        return legs;
    }

    const S& space_;
    PathProblem problem_;
    const Stop* stop_;
    std::vector<double> norm_;
};

}  // namespace steelyard
