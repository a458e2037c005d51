// Some rows of each class that stand for all of it.
//
// Of the smaller class up to half of the sample, of the other what is left; row i of class c counts for
// (rows of c) / (rows of c drawn) rows. Selection sampling (Knuth, TAOCP 2, 3.4.2 S): one look at the labels, rows in
// their order, each set of rows equally likely.
#pragma once

#include <cmath>

#include "base/random.hpp"
#include "linear/chosen.hpp"
#include "linear/line_search.hpp"

namespace steelyard {

template <class Chosen>
struct Sample {
    std::vector<Index> which;
    Chosen chosen;
    bool is_all = false;

    template <class R>
    void draw(const R& all, const double* y, const double* weight, Index size, std::uint64_t seed, const Stop* stop) {
        Index left[2] = {0, 0};
        for (Index i = 0; i < all.n_rows; ++i) ++left[y[i] > 0];
        is_all = all.n_rows <= size;
        const int rare = left[1] < left[0];
        Index wanted[2];
        wanted[rare] = is_all ? left[rare] : std::min(left[rare], size / 2);
        wanted[1 - rare] = is_all ? left[1 - rare] : size - wanted[rare];
        const double stands_for[2] = {per(left[0], wanted[0]), per(left[1], wanted[1])};
        which.clear();
        Shuffler random{seed};
        for (Index i = 0; i < all.n_rows; ++i) {
            const int c = y[i] > 0;
            if (left[c] > wanted[c] && random.below(left[c]) >= wanted[c]) {
                --left[c];
                continue;
            }
            --left[c];
            --wanted[c];
            which.push_back(i);
            if (wanted[0] + wanted[1] == 0) break;
        }
        chosen.take(all, y, which, stop);
        for (std::size_t k = 0; k < which.size(); ++k)
            chosen.weight[k] = (weight ? weight[which[k]] : 1.0) * stands_for[y[which[k]] > 0];
    }

    // Of all rows, by the sample, the part with |1 - m| below `half`.
    double part_within(const std::vector<double>& m, double half) const {
        double near = 0, all = 0;
        for (std::size_t i = 0; i < m.size(); ++i) {
            near += std::fabs(1 - m[i]) < half ? chosen.weight[i] : 0.0;
            all += chosen.weight[i];
        }
        return all > 0 ? near / all : 0;
    }

    // The root of the mean square by which margins differ.
    double movement(const std::vector<double>& before, const std::vector<double>& after) const {
        double sum = 0, all = 0;
        for (std::size_t i = 0; i < before.size(); ++i) {
            sum += chosen.weight[i] * (after[i] - before[i]) * (after[i] - before[i]);
            all += chosen.weight[i];
        }
        return all > 0 ? std::sqrt(sum / all) : 0;
    }

    // The |1 - m| below which this part of the sampled rows is: where a sum that rises by a row's weight at its
    // distance reaches that part of all.
    double half_width(const std::vector<double>& m, double part) const {
        std::vector<Kink> distance;
        distance.reserve(m.size());
        double all = 0;
        for (Index i = 0; i < chosen.n; ++i) {
            distance.push_back({std::fabs(1 - m[i]), chosen.weight[i]});
            all += chosen.weight[i];
        }
        return crossing(distance, -part * all, 0.0);
    }

private:
    static double per(Index rows, Index drawn) {
        return drawn > 0 ? static_cast<double>(rows) / static_cast<double>(drawn) : 0.0;
    }
};

}  // namespace steelyard
