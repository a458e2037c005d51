// The dual variables of a nested concave measure, of any depth (paper 001, Algorithm 1, lines 7, 10, 13 and 15 to 17).
//
// A measure is a list of stages. Each is a function of two arguments, which are rates or the values of earlier stages:
// Psi(zeta1(P, N), zeta2(P, N)) has three. The dual step argmin_a {a.r - zeta*(a)} is the gradient of zeta at r, and
// zeta*(a) = a.r - zeta(r), so stage k keeps the running mean q_k of
//     l_k = zeta_k(x) + zeta_k'(x).(l - x),
// where x are the means of its arguments and l their latest values: no conjugate is needed. The gradients, multiplied
// along the tree, are the weights of the two classes.
#pragma once

#include <algorithm>
#include <array>
#include <stdexcept>
#include <vector>

#include "measure/tape.hpp"

namespace steelyard {

struct Pair {
    double pos = 0.0, neg = 0.0;
};

struct Stage {
    Tape tape;
    std::array<int, 2> argument;  // -1: the TPR, -2: the TNR, otherwise an earlier stage
    double low, high;             // means of this stage are clipped to this range before the next one sees them
};

class Nest {
public:
    // Throws std::invalid_argument if there is no stage, or one refers to itself or a later one.
    explicit Nest(std::vector<Stage> stages)
        : stages_(std::move(stages)), total(stages_.size()), frames_(stages_.size()), scratch_(stages_.size()) {
        if (stages_.empty()) throw std::invalid_argument("a nested measure needs at least one stage");
        for (std::size_t k = 0; k < stages_.size(); ++k)
            for (const int argument : stages_[k].argument)
                if (argument < -2 || argument >= static_cast<int>(k))
                    throw std::invalid_argument("a stage refers to none before it");
    }

    // `block` holds the sums of the rewards (1/p) r+ and (1/n) r- over rows of weight `mass`, seen since the last
    // `look`.
    void add(const Pair& block, double mass) {
        std::vector<double>& sums = scratch_;
        for (std::size_t k = 0; k < stages_.size(); ++k) {
            sums[k] = mass * frames_[k].value;
            for (std::size_t c = 0; c < 2; ++c)
                sums[k] +=
                    frames_[k].slope[c] * (value_of(stages_[k].argument[c], block, sums) - mass * frames_[k].x[c]);
            total[k] += sums[k];
        }
    }

    // Values and gradients at the rates r, with means over `mass` rows; returns dM/dP and dM/dN. The first look
    // starts the means.
    Pair look(const Pair& r, double mass, double prevalence, double smoothing) {
        std::vector<double>& means = scratch_;
        for (std::size_t k = 0; k < stages_.size(); ++k) {
            Frame& frame = frames_[k];
            for (std::size_t c = 0; c < 2; ++c) frame.x[c] = value_of(stages_[k].argument[c], r, means);
            const auto found = stages_[k].tape.evaluate({frame.x[0], frame.x[1], prevalence, smoothing});
            frame.value = found.value;
            frame.slope = {found.d_tpr, found.d_tnr};
            if (!started) total[k] = mass * found.value;
            means[k] = std::min(std::max(total[k] / mass, stages_[k].low), stages_[k].high);
        }
        started = true;
        return chain();
    }

    double value() const { return frames_.back().value; }

    void restart() { started = false; }

    bool started = false;

private:
    struct Frame {
        double value = 0.0;
        std::array<double, 2> x = {0.0, 0.0}, slope = {0.0, 0.0};
    };
    std::vector<Stage> stages_;

public:
    std::vector<double> total;  // mass times q_k: the state, with the frames that `look` leaves

    std::vector<double> frames() const {
        std::vector<double> flat;
        for (const Frame& f : frames_) flat.insert(flat.end(), {f.value, f.x[0], f.x[1], f.slope[0], f.slope[1]});
        return flat;
    }
    void set_frames(const std::vector<double>& flat) {
        for (std::size_t k = 0; k < frames_.size(); ++k)
            frames_[k] = {flat[5 * k], {flat[5 * k + 1], flat[5 * k + 2]}, {flat[5 * k + 3], flat[5 * k + 4]}};
    }

private:
    std::vector<Frame> frames_;
    std::vector<double> scratch_;  // one number a stage, so that a stream asks for no memory between rows

    static double value_of(int argument, const Pair& rates, const std::vector<double>& stages) {
        return argument == -1 ? rates.pos : argument == -2 ? rates.neg : stages[static_cast<std::size_t>(argument)];
    }

    Pair chain() {
        std::vector<double>& weight = scratch_;
        std::fill(weight.begin(), weight.end(), 0.0);
        Pair out;
        weight.back() = 1.0;
        for (std::size_t k = stages_.size(); k-- > 0;)
            for (std::size_t c = 0; c < 2; ++c) {
                const int argument = stages_[k].argument[c];
                const double pull = product(weight[k], frames_[k].slope[c]);
                (argument == -1   ? out.pos
                 : argument == -2 ? out.neg
                                  : weight[static_cast<std::size_t>(argument)]) += pull;
            }
        return out;
    }
};

}  // namespace steelyard
