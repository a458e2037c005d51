// Cutting planes of the two class risks, in one pool that serves every cost pair and every regularisation.
//
//   R_c(w) = sum over class c of s_i loss(y_i x_i.w)  >=  g_j.w + h_j     for every cut j of side c
//
// The costs do not appear: they multiply the two risks later. The Gram matrix of the cuts grows by a row per cut. A cut
// that no master has used for a while may be dropped: a bound that was proved with it stays proved.
#pragma once

#include <algorithm>
#include <vector>

#include "base/rows.hpp"

namespace steelyard {

class CutPool {
public:
    explicit CutPool(Index columns) : columns_(columns) {}

    Index size() const { return static_cast<Index>(h_.size()); }
    Index columns() const { return columns_; }
    const double* g(Index j) const { return g_.data() + j * columns_; }
    double h(Index j) const { return h_[j]; }
    int side(Index j) const { return side_[j]; }  // 1 positive class, 0 negative class
    double gram(Index i, Index j) const { return i >= j ? gram_[i][j] : gram_[j][i]; }
    double largest() const { return largest_; }

    void add(int side, const double* g, double h) {
        g_.insert(g_.end(), g, g + columns_);
        h_.push_back(h);
        side_.push_back(side);
        const Index last = size() - 1;
        std::vector<double> row(static_cast<std::size_t>(last) + 1);
        products(last, row.data());
        largest_ = std::max(largest_, row.back());
        gram_.push_back(std::move(row));
    }

    // Only the cuts for which keep[j] is not zero stay. Comes back: the new number of each cut, or -1.
    std::vector<Index> drop(const std::vector<char>& keep) {
        std::vector<Index> number(static_cast<std::size_t>(size()), -1);
        Index kept = 0;
        for (Index j = 0; j < size(); ++j) {
            if (!keep[j]) continue;
            number[j] = kept;
            if (kept != j) {
                std::copy(g(j), g(j) + columns_, g_.begin() + kept * columns_);
                h_[kept] = h_[j];
                side_[kept] = side_[j];
                gram_[kept] = std::move(gram_[j]);
            }
            squeeze(gram_[kept], number);
            ++kept;
        }
        g_.resize(static_cast<std::size_t>(kept * columns_));
        h_.resize(static_cast<std::size_t>(kept));
        side_.resize(static_cast<std::size_t>(kept));
        gram_.resize(static_cast<std::size_t>(kept));
        return number;
    }

private:
    static void squeeze(std::vector<double>& row, const std::vector<Index>& number) {
        std::size_t kept = 0;
        for (std::size_t j = 0; j < row.size(); ++j)
            if (number[j] >= 0) row[kept++] = row[j];
        row.resize(kept);
    }

    STEELYARD_CLONES void products(Index last, double* row) const {
        const DenseRow<double> cut{g(last), columns_};
        for (Index j = 0; j <= last; ++j) row[j] = cut.dot(g(j));
    }

    Index columns_;
    std::vector<double> g_, h_;
    std::vector<int> side_;
    std::vector<std::vector<double>> gram_;  // row j holds the products with cuts 0 .. j
    double largest_ = 0;
};

}  // namespace steelyard
