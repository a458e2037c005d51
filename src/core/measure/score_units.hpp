// Where the scores of each of many models lie: quantiles by weight, mean and spread, by selection rather than sorting.
//
// For every column of scores (rows x models) and every share q: the least score at or below which there is a share q of
// the weight. Column after column is copied out and halved, the half that has the quantile again, O(n) a quantile.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/rows.hpp"
#include "base/stop.hpp"

namespace steelyard {

struct WeightedScore {
    double score, weight;
    bool operator<(const WeightedScore& other) const { return score < other.score; }
};

// Of one column: quantiles, then the mean, the standard deviation and the largest size.
class ScoreUnits {
public:
    ScoreUnits(const double* weight, Index n, const double* at, Index n_at)
        : weight_(weight), n_(n), at_(at, at + n_at), order_(at_.size()) {
        rows_.reserve(static_cast<std::size_t>(n));
        for (Index i = 0; i < n; ++i) total_ += weight_of(i);
        for (std::size_t k = 0; k < order_.size(); ++k) order_[k] = k;
        std::sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) { return at_[a] < at_[b]; });
    }
    Index size() const { return static_cast<Index>(at_.size()) + 3; }

    void of(const double* scores, Index step, double* out) {
        double mean = 0, square = 0, largest = 0;
        rows_.clear();
        for (Index i = 0; i < n_; ++i) {
            const double score = scores[i * step], weight = weight_of(i);
            if (weight > 0) rows_.push_back({score, weight});  // a row without weight is none
            mean += weight * score;
            largest = std::max(largest, std::fabs(score));
        }
        mean /= total_;
        for (const WeightedScore& row : rows_) square += row.weight * (row.score - mean) * (row.score - mean);
        double below = 0;
        auto first = rows_.begin();
        for (std::size_t k : order_) out[k] = select(at_[k] * total_, first, below);
        out += at_.size();
        out[0] = mean;
        out[1] = std::sqrt(square / total_);
        out[2] = largest;
    }

private:
    using At = std::vector<WeightedScore>::iterator;
    static constexpr Index few = 32;  // so many are sorted

    double weight_of(Index i) const { return weight_ ? weight_[i] : 1.0; }

    // The first score, in order, with `mass` at or below it. All before `first`, of weight `below`, are smaller and lie
    // before it; both move on, for larger masses are asked for later.
    double select(double mass, At& first, double& below) {
        At last = rows_.end();
        while (last - first > few) {
            const At middle = first + (last - first) / 2;
            std::nth_element(first, middle, last);
            double left = below;
            for (At at = first; at != middle; ++at) left += at->weight;
            if (left >= mass) {
                last = middle;
            } else {
                first = middle;
                below = left;
            }
        }
        if (rows_.empty()) return std::numeric_limits<double>::quiet_NaN();
        std::sort(first, last);
        double sum = below;
        for (At at = first; at != last; ++at) {
            sum += at->weight;
            if (sum >= mass) return at->score;
        }
        return last == rows_.end() ? (last - 1)->score : std::min_element(last, rows_.end())->score;
    }

    const double* weight_;
    Index n_;
    std::vector<double> at_;
    std::vector<std::size_t> order_;
    std::vector<WeightedScore> rows_;
    double total_ = 0;
};

// models x (quantiles + 3)
inline std::vector<double> units_of_scores(const double* scores, Index n, Index models, const double* weight,
                                           const double* at, Index n_at, const Stop* stop) {
    ScoreUnits units(weight, n, at, n_at);
    std::vector<double> found(static_cast<std::size_t>(models * units.size()));
    for (Index k = 0; k < models; ++k) {
        check(stop);
        units.of(scores + k, models, found.data() + k * units.size());
    }
    return found;
}

}  // namespace steelyard
