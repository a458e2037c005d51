// Where the scores of each of many models lie: quantiles by weight, mean and spread, by selection rather than sorting.
//
// For every column of scores (rows x models) and every share q: the least score at or below which there is a share q of
// the weight. Scores are counted in bins around their mean; only those of the bin that has the quantile are looked at
// again, by halves.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
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
        : at_(at, at + n_at),
          order_(at_.size()),
          score_(static_cast<std::size_t>(n)),
          weight_(score_.size(), 1.0),
          bin_(score_.size()),
          mass_(bins) {
        if (weight) std::copy(weight, weight + n, weight_.begin());
        for (double w : weight_) total_ += w;
        for (std::size_t k = 0; k < order_.size(); ++k) order_[k] = k;
        std::sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) { return at_[a] < at_[b]; });
    }
    Index size() const { return static_cast<Index>(at_.size()) + 3; }

    void of(const double* scores, Index step, double* out) {
        double mean = 0, square = 0, largest = 0;
        for (std::size_t i = 0; i < score_.size(); ++i) {
            score_[i] = scores[static_cast<Index>(i) * step];
            mean += weight_[i] * score_[i];
            largest = std::max(largest, std::fabs(score_[i]));
        }
        mean /= total_;
        for (std::size_t i = 0; i < score_.size(); ++i) square += weight_[i] * (score_[i] - mean) * (score_[i] - mean);
        const double spread = std::sqrt(square / total_);
        if (std::isnan(mean)) {  // a score that is NaN has no place in any order
            std::fill(out, out + at_.size(), mean);
        } else {
            count(mean, spread);
            Place place;
            for (std::size_t k : order_) out[k] = select(at_[k] * total_, place);
        }
        out += at_.size();
        out[0] = mean;
        out[1] = spread;
        out[2] = largest;
    }

private:
    using At = std::vector<WeightedScore>::iterator;
    static constexpr Index few = 32;           // so many are sorted
    static constexpr std::size_t bins = 1024;  // eight kilobytes; and from the mean, to both sides,
    static constexpr double reach = 4;         // so many standard deviations: further out all are in the last one

    // How far quantiles were looked for: they are asked for from the smallest up.
    struct Place {
        std::size_t bin = 0;
        bool opened = false;
        double before = 0, below = 0;  // mass before the bin, and before `first`
        At first;
    };

    void count(double mean, double spread) {
        const double low = mean - reach * spread, last = static_cast<double>(bins - 1);
        const double scale = spread > 0 ? static_cast<double>(bins) / (2 * reach * spread) : 0;
        std::fill(mass_.begin(), mass_.end(), 0.0);
        for (std::size_t i = 0; i < score_.size(); ++i) {
            const double at = std::max(0.0, std::min(last, (score_[i] - low) * scale));
            bin_[i] = static_cast<std::uint16_t>(at == at ? at : 0.0);
            mass_[bin_[i]] += weight_[i];
        }
    }

    // The first score, in order, with `mass` at or below it.
    double select(double mass, Place& place) {
        while (place.bin + 1 < bins && (mass_[place.bin] == 0 || place.before + mass_[place.bin] < mass)) {
            if (!rest(place.bin)) break;
            place.before += mass_[place.bin++];
            place.opened = false;
        }
        if (!place.opened) open(place);
        if (inside_.empty()) return std::numeric_limits<double>::quiet_NaN();
        return within(mass, place);
    }

    // Whether there is weight in a later bin.
    bool rest(std::size_t bin) const {
        return std::any_of(mass_.begin() + static_cast<std::ptrdiff_t>(bin) + 1, mass_.end(),
                           [](double m) { return m > 0; });
    }

    void open(Place& place) {
        inside_.clear();
        for (std::size_t i = 0; i < score_.size(); ++i)  // a row without weight is none
            if (bin_[i] == place.bin && weight_[i] > 0) inside_.push_back({score_[i], weight_[i]});
        place.opened = true;
        place.below = place.before;
        place.first = inside_.begin();
    }

    // All before `first` are smaller than what follows, and are done with.
    double within(double mass, Place& place) {
        At last = inside_.end();
        while (last - place.first > few) {
            const At middle = place.first + (last - place.first) / 2;
            std::nth_element(place.first, middle, last);
            double left = place.below;
            for (At at = place.first; at != middle; ++at) left += at->weight;
            if (left >= mass) {
                last = middle;
            } else {
                place.first = middle;
                place.below = left;
            }
        }
        std::sort(place.first, last);
        double sum = place.below;
        for (At at = place.first; at != last; ++at) {
            sum += at->weight;
            if (sum >= mass) return at->score;
        }
        return last == inside_.end() ? (last - 1)->score : std::min_element(last, inside_.end())->score;
    }

    std::vector<double> at_;
    std::vector<std::size_t> order_;
    std::vector<double> score_, weight_;
    std::vector<std::uint16_t> bin_;
    std::vector<double> mass_;
    std::vector<WeightedScore> inside_;
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
