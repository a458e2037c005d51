// One cost pair of a grid on its way from the smallest C to the largest (lockstep.hpp), and what steers that way.
#pragma once

#include "linear/evaluation.hpp"

namespace steelyard {

struct CostPair {
    double negative, positive;
};

// What steers the rounds.
struct Rounds {
    Index most = 6;                // for one problem; who needs more is handed to coordinate descent
    double steps = 60;             // of Newton in a round
    Index most_numbers = 1 << 22;  // of chosen rows, held twice: 64 MB; half of it doubles the time on covertype
    // Bytes that all threads together may take for them: as many as one thread takes, or this part of all rows, which
    // benchmarks/memory.py allows a fit. Beyond it tracks wait for each other.
    double room = 1 << 26, room_of_all = 0.3;
    // The sample: rows at least, and for each column (for the hinge, with 128 or fewer its solution says little about
    // all rows of covertype), and, where it stands for all rows to the end, this part of them.
    Index sample = 2048, hinge_rows = 256, smooth_rows = 256, smooth_part = 16;
    // As many times as many after a round that failed. Twice as many fails again (covertype, where some columns are of
    // few rows), and a round that fails costs as much as four that do not.
    Index larger = 4;
    double first_tol = 1e-2;          // of the first idea of w, which the sample alone gives
    double part = 0.2, least = 0.05;  // of all rows, those that count as near at first, and later at least
    // Later it is those within so many of the margins' changes from one C to the next; more after a round that failed.
    double reach = 0.7, wider = 1.5;
    double correction = 0.25;  // of the first round's width, where a second one only corrects
    // Of the sample's rows that are not near, one in so many is enough when the last C is left; not at first
    // (covertype: the objective goes up by a factor).
    Index of_the_far = 4;
    double good = 0.05;   // of |w - v|^2, what a round that did not fail leaves
    double mus = 8;       // and rows within so many mu in any case
    double widest = 1e6;  // all margins of scaled data are nearer
    // Where more than this part of all rows is near, as when a class is given up and all of the other is at the margin,
    // coordinate descent is better.
    double crowd = 0.4;
    // Unless columns are so few that a Hessian of all rows costs no more than a few sweeps: shuttle, with 10, is five
    // times faster on all rows, letter and ijcnn1, with 17 and 23, take half as long again, and kddcup99 twice as long.
    // (The smooth losses, whose sweeps are slow, take all rows with any number of columns.) And so often for one
    // problem all rows are tried before they are given to coordinate descent.
    Index whole_columns = 12;
    Index wholes = 2;
};

struct Track {
    CostPair pair;
    Solution* found;
    std::size_t at = 0;  // which C
    NewtonPoint point;
    Model model;
    double half = 1;        // the next list of near rows goes so far
    std::vector<double> m;  // margins of the sample where the C of number `m_at` began
    std::size_t m_at = 0;
    Index rounds = 0;
    std::vector<double> from;             // where the last step began,
    double primal = HUGE_VAL, slope = 0;  // the objective there, and its slope along the step,
    double residual = HUGE_VAL;           // and |w - v|^2
    std::vector<double> share, pull;      // after coordinate descent, v without C
    bool crowded = false;                 // too many rows are near the margin,
    bool whole = false;                   // so that, or as rounds do not end, Newton takes all rows,
    Index wholes = 0;                     // as often as this already for this C;
    bool stuck = false;                   // or, or for another reason, coordinate descent has to go on
    bool back = false;                    // the last step went too far, and w is on the way back

    void next() {
        ++at;
        rounds = 0;
        wholes = 0;
    }

    // All that follows at this C.
    double objective(double C) const { return squared_norm(point.w) / 2 + C * model.risk; }
    double distance(double C) const {
        double sum = 0;
        for (std::size_t j = 0; j < point.w.size(); ++j) {
            const double r = point.w[j] - C * model.v[j];
            sum += r * r;
        }
        return sum;
    }
    // The slope of the objective, at w, along w - from.
    double slope_of_step(double C) const {
        double sum = 0;
        for (std::size_t j = 0; j < point.w.size(); ++j) sum += (point.w[j] - C * model.v[j]) * (point.w[j] - from[j]);
        return sum;
    }

    // Whether the last step went up.
    bool rose(double C) const { return !from.empty() && objective(C) > primal; }

    // A step that went up ends where the slopes of its two ends would meet zero, within bounds.
    void come_back(double C) {
        double part = -slope / (slope_of_step(C) - slope);
        part = part > nearest ? std::min(part, farthest) : nearest;
        for (std::size_t j = 0; j < from.size(); ++j) point.w[j] = from[j] + part * (point.w[j] - from[j]);
        slope *= part;
    }

private:
    static constexpr double nearest = 0.1, farthest = 0.7;  // of a step: on its way back it shrinks, but not at once
};

}  // namespace steelyard
