// Cutting planes of the two class risks, in one pool that serves every cost pair and every regularisation.
//
//   R_c(w) = sum over class c of s_i loss(y_i x_i.w)  >=  g_j.w + h_j     for every cut j of side c
//
// The costs do not appear: they multiply the two risks later. The Gram matrix of the cuts grows by a row per cut.
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

private:
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
