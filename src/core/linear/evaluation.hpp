// One pass over all rows for many models at once: objective, certificate, forces, and who is near the margin.
//
//   for each model (w, c-, c+, mu):   risk = sum_i c_i loss(m_i),   dual = sum_i c_i dual_term(b_i),
//                                     v = sum_i c_i b_i y_i x_i,    near = the rows with |1 - m_i| < half
//
// with b_i the share of m_i, rounded by mu for the hinge, and c_i = s_i c_{y_i}, without C: what a pass finds serves
// every C. Rows are loaded once for all models (columns.hpp). Blocks of rows may be taken by any number of threads with
// the same bits.
#pragma once

#include <cstdint>
#include <limits>

#include "base/parallel.hpp"
#include "linear/columns.hpp"
#include "linear/newton.hpp"

namespace steelyard {

using RowNumber = std::uint32_t;  // lists of rows are held for every model of a grid

// A model that is asked about, and the answer.
struct Model {
    const double* w = nullptr;
    double cost[2] = {1, 1};  // negative, positive
    double mu = 1;
    double half = 0;          // rows nearer to the margin than this are listed; 0: none
    double* share = nullptr;  // where to put b, if it is wanted

    double risk = 0, dual = 0;
    std::vector<double> v;
    std::vector<RowNumber> near;
};

template <class L, class R>
class Evaluation {
public:
    Evaluation(const R& rows, const double* y, const double* weight) : rows_(rows), y_(y), weight_(weight) {
        if (rows.n_rows > std::numeric_limits<RowNumber>::max())
            throw std::length_error("more than four thousand million rows: train on a part of them");
    }

    void pass(const std::vector<Model*>& models, int n_threads, const Stop* stop) const {
        const Blocks blocks{rows_.n_rows};
        const Index K = static_cast<Index>(models.size()), width = K * size_of_one();
        std::vector<double> sums(static_cast<std::size_t>(width), 0.0);
        std::vector<std::vector<RowNumber>> near(static_cast<std::size_t>(K * blocks.count()));
        add_in_stripes(
            n_threads, blocks.count(), width, sums.data(),
            [&](Index b, double* into) {
                std::vector<double> x(static_cast<std::size_t>(rows_.n_cols * block_step));
                std::vector<RowNumber> listed(static_cast<std::size_t>(K * Blocks::size));
                std::vector<Index> counts(static_cast<std::size_t>(K), 0);
                const Scratch scratch{x.data(), into, listed.data(), counts.data()};
                in_pieces(blocks.end(b) - blocks.begin(b), rows_a_piece, stop, [&](Index begin, Index end) {
                    look(models, blocks.begin(b) + begin, blocks.begin(b) + end, scratch);
                });
                for (Index k = 0; k < K; ++k) {
                    const RowNumber* first = listed.data() + k * Blocks::size;
                    near[static_cast<std::size_t>(b * K + k)].assign(first, first + counts[k]);
                }
            },
            stop);
        for (Index k = 0; k < K; ++k) finish(*models[k], sums.data() + k * size_of_one());
        for (Index b = 0; b < blocks.count(); ++b)
            for (Index k = 0; k < K; ++k) {
                const auto& some = near[static_cast<std::size_t>(b * K + k)];
                models[k]->near.insert(models[k]->near.end(), some.begin(), some.end());
            }
    }

private:
    struct Scratch {
        double* x;     // a block of rows
        double* sums;  // of all models
        RowNumber* near;
        Index* counts;
    };
    // Of one model: four sums a column, four of the risk, four of the dual terms.
    Index size_of_one() const { return 4 * rows_.n_cols + 8; }

    void finish(Model& model, const double* sums) const {
        const auto d = static_cast<std::size_t>(rows_.n_cols);
        model.v.resize(d);
        for (std::size_t j = 0; j < d; ++j) model.v[j] = R::is_dense ? sum_of(lanes_at(sums + 4 * j)) : sums[j];
        model.risk = sum_of(lanes_at(sums + 4 * d));
        model.dual = sum_of(lanes_at(sums + 4 * d + 4));
        model.near.clear();
    }

    STEELYARD_CLONES void look(const std::vector<Model*>& models, Index begin, Index end,
                               const Scratch& scratch) const {
        const R rows = rows_;
        const Index K = static_cast<Index>(models.size()), one = 4 * rows.n_cols + 8;
        for (Index at = begin; at < end; at += block_rows) {
            const Index count = std::min(block_rows, end - at);
            double y[block_rows] = {}, s[block_rows] = {};
            for (Index r = 0; r < count; ++r) {
                look_ahead(rows, at + r, end);
                y[r] = y_[at + r];
                s[r] = weight_ ? weight_[at + r] : 1.0;
            }
            if constexpr (R::is_dense) load_block(rows, at, count, scratch.x);
            for (Index k = 0; k < K; ++k) {
                double m[block_rows] = {}, f[block_rows];
                if constexpr (R::is_dense) {
                    Columns::margins(scratch.x, rows.n_cols, models[k]->w, m);
                } else {
                    for (Index r = 0; r < count; ++r) m[r] = rows.row(at + r).dot(models[k]->w);
                }
                double* sums = scratch.sums + k * one;
                const bool pulls = weigh(*models[k], y, s, m, f, sums + one - 8);
                if (models[k]->half > 0)
                    list(*models[k], m, at, count, scratch.near + k * Blocks::size, scratch.counts[k]);
                if (models[k]->share) keep_shares(*models[k], m, at, count);
                if (!pulls) continue;
                if constexpr (R::is_dense) {
                    Columns::pull(scratch.x, rows.n_cols, f, sums);
                } else {
                    for (Index r = 0; r < count; ++r)
                        if (f[r] != 0) rows.row(at + r).add_to(sums, f[r]);
                }
            }
        }
    }

    // Scores m become margins; f: the forces; adds to the sums. False if there is no force.
    static STEELYARD_INLINE bool weigh(const Model& model, const double* y, const double* s, double* m, double* f,
                                       double* sums) {
        const Rounded<L> loss(model.mu);
        const double negative = model.cost[0], positive = model.cost[1];
        double value[block_rows], term[block_rows], size[8] = {};
        for (Index r = 0; r < block_rows; ++r) {
            const double c = s[r] * (y[r] > 0 ? positive : negative);
            m[r] *= y[r];
            const double share = loss.share(m[r]), lost = L::value(m[r]);
            value[r] = c * lost;
            term[r] = c * loss.dual_term(m[r], lost, share);
            f[r] = c * share * y[r];
        }
        Lanes risk = lanes_at(sums), dual = lanes_at(sums + 4);
        for (Index r = 0; r < block_rows; r += 4) {
            risk += lanes_at(value + r);
            dual += lanes_at(term + r);
        }
        put(sums, risk);
        put(sums + 4, dual);
        for (Index r = 0; r < block_rows; r += 8)
            for (Index k = 0; k < 8; ++k) size[k] += std::fabs(f[r + k]);
        return size[0] + size[1] + size[2] + size[3] + size[4] + size[5] + size[6] + size[7] != 0;
    }

    static STEELYARD_INLINE void list(const Model& model, const double* m, Index at, Index n, RowNumber* out,
                                      Index& count) {
        for (Index r = 0; r < n; ++r) {
            out[count] = static_cast<RowNumber>(at + r);
            count += std::fabs(1 - m[r]) < model.half;
        }
    }

    static STEELYARD_INLINE void keep_shares(const Model& model, const double* m, Index at, Index n) {
        const Rounded<L> loss(model.mu);
        for (Index r = 0; r < n; ++r) model.share[at + r] = loss.share(m[r]);
    }

    const R& rows_;
    const double *y_, *weight_;
};

}  // namespace steelyard
