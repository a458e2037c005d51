// The most violated confusion matrix for any measure, without looking at most of the table.
//
//   max over (a, b)  L(a, b) + U[a] + F[b]      (structural/confusion_search.hpp)
//
// Best-first branch and bound over blocks of cells. With ranges of L and of its slopes over a block
// (measure/ranges.hpp),
//
//   L(a, b) <= max L                                                                 (zeroth order)
//   L(a, b) <= L(a0, b0) + (a - a0) max dL/da + (b - b0) max dL/db                   (first order, from the corner)
//
// and under either bound the two sums separate: U and F are concave, so U[a] + g a has its maximum where the sorted
// scores pass -g / kappa, found by bisection. The first-order bound is off by the square of the block's width, so that
// near the maximum only a few blocks of each size survive. A block whose bound does not beat the best cell seen is
// dropped; the rest are halved, down to a few cells that are looked at one by one. Exact up to rounding.
#pragma once

#include <queue>

#include "measure/ranges.hpp"
#include "structural/confusion_search.hpp"

namespace steelyard {

class BranchAndBound {
public:
    BranchAndBound(const MeasureLoss& loss, const Calls& calls) : loss_(loss), calls_(calls), ranges_(*loss.tape) {}

    // Ends with found = false after max_blocks blocks: a caller who has another way may then take it.
    Cell search(const SortedScores& s, Index max_blocks, bool& found, const Stop* stop = nullptr) {
        StopEvery heard(stop, blocks_at_once);
        s_ = &s;
        best_ = {};
        open_ = {};
        push({0, s.P(), 0, s.N(), 0});
        found = true;
        for (n_blocks = 0; !open_.empty(); ++n_blocks) {
            heard();
            const Block block = open_.top();
            if (!(block.bound > threshold())) break;
            if (n_blocks == max_blocks) {
                found = false;
                break;
            }
            open_.pop();
            if (block.cells() <= few_cells)
                look(block);
            else
                split(block);
        }
        return best_;
    }

    Index n_blocks = 0;

private:
    // Looked at one by one: 1 to 8 take as many instructions for F1 of 20,000 rows, 32 takes 2 % more and 128 12 %.
    static constexpr Index few_cells = 8;
    static constexpr int blocks_at_once = 1 << 12;  // between two looks at the stop: a block takes one or two us

    struct Block {
        Index a0, a1, b0, b1;
        double bound;

        Index cells() const { return (a1 - a0 + 1) * (b1 - b0 + 1); }
        bool operator<(const Block& other) const { return bound < other.bound; }
    };

    // A gain within rounding is none: blocks of ties would otherwise be halved to the end. 1e-13 is some hundred units
    // in the last place, what a tape of ten operations and the sums U and F of nearly sorted terms leave.
    double threshold() const {
        return std::isfinite(best_.value) ? best_.value + 1e-13 * (1.0 + std::fabs(best_.value)) : best_.value;
    }

    double worth(Index a, Index b) const { return loss_(a, b) + s_->U[a] + s_->F[b]; }

    bool is_counted(Index a, Index b) const { return a + b >= calls_.least && a + b <= calls_.most; }

    void look(const Block& block) {
        for (Index a = block.a0; a <= block.a1; ++a)
            for (Index b = block.b0; b <= block.b1; ++b)
                if (is_counted(a, b)) best_.offer(a, b, worth(a, b));
    }

    // Halves the side along which the rates move more.
    void split(const Block& block) {
        const double tall = static_cast<double>(block.a1 - block.a0) / loss_.P;
        const double wide = static_cast<double>(block.b1 - block.b0) / loss_.N;
        const bool rows = block.b1 == block.b0 || (block.a1 > block.a0 && tall >= wide);
        const Index a = block.a0 + (block.a1 - block.a0) / 2, b = block.b0 + (block.b1 - block.b0) / 2;
        push({block.a0, rows ? a : block.a1, block.b0, rows ? block.b1 : b, 0});
        push({rows ? a + 1 : block.a0, block.a1, rows ? block.b0 : b + 1, block.b1, 0});
    }

    // Trims the block to the cells that count, bounds it, and keeps it if it may hold the best.
    void push(Block block) {
        block.a1 = std::min(block.a1, calls_.most - block.b0);
        block.b1 = std::min(block.b1, calls_.most - block.a0);
        block.a0 = std::max(block.a0, calls_.least - block.b1);
        block.b0 = std::max(block.b0, calls_.least - block.a1);
        if (block.a0 > block.a1 || block.b0 > block.b1) return;
        block.bound = bound(block);
        if (block.bound > threshold()) open_.push(block);
    }

    // The place in first .. last where sum[k] + slope k is largest, when the sum's steps are kappa times the scores.
    Index peak(const std::vector<double>& scores, double slope, Index first, Index last) const {
        const double level = -slope / s_->kappa;
        const auto from = scores.begin() + first, to = scores.begin() + last;
        return first + (std::partition_point(from, to, [level](double score) { return score > level; }) - from);
    }

    double bound(const Block& block) {
        const auto share = [](Index k, double of) { return static_cast<double>(k) / of; };
        const Range tpr = {share(block.a0, loss_.P), share(block.a1, loss_.P)};
        const Range tnr = {1.0 - share(block.b1, loss_.N), 1.0 - share(block.b0, loss_.N)};
        const RangeAndSlopes range = ranges_.over({tpr, tnr, loss_.prevalence, loss_.smoothing});
        double bound = loss_.scale * (loss_.top - range.value.low) + s_->U[peak(s_->positive, 0, block.a0, block.a1)] +
                       s_->F[peak(s_->negative, 0, block.b0, block.b1)];
        const double da = -loss_.scale * range.d_tpr.low / loss_.P, db = loss_.scale * range.d_tnr.high / loss_.N;
        if (std::isfinite(da) && std::isfinite(db)) {
            const Index a = peak(s_->positive, da, block.a0, block.a1), b = peak(s_->negative, db, block.b0, block.b1);
            const double rise = da * static_cast<double>(a - block.a0) + db * static_cast<double>(b - block.b0);
            bound = std::min(bound, loss_(block.a0, block.b0) + rise + s_->U[a] + s_->F[b]);
            if (is_counted(a, b)) best_.offer(a, b, worth(a, b));
        }
        return std::isnan(bound) ? anywhere.high : bound;
    }

    MeasureLoss loss_;
    Calls calls_;
    TapeRanges ranges_;
    const SortedScores* s_ = nullptr;
    Cell best_;
    std::priority_queue<Block> open_;
};

}  // namespace steelyard
