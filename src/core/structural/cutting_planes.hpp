// A structural SVM for a loss of the confusion matrix (Joachims 2005; one slack variable, Joachims, Finley & Yu 2009).
//
//   min over w  J(w) = 1/2 |w|^2 + C R(w),
//   R(w) = max over label vectors y' of  L(y') - kappa sum of y_i x_i.w over the rows where y' differs from y
//
// with kappa = 100 / n and L in percent, as SVMperf scales them (its -c). The true labels are among the y', so R >= 0.
// Every y' is a cut: R(w') >= g.w' + h with g = -kappa sum of y_i x_i over the flipped rows and h = L(y'). A step asks
// the master problem (linear/master.hpp, one side with the cap C) for the best w_t of the cuts so far, goes to
// w_best + mu (w_t - w_best), finds the most violated y' there (structural/confusion_search.hpp,
// structural/branch_and_bound.hpp), and adds its cut. The master's value bounds the optimum from below, the best J seen
// from above. The intercept is a column of ones whose weight is regularised with the others, as SVMperf's is.
//
// mu is 1 in SVMperf, where w_t jumps about; 003 takes a small one after an exact line search (eq. 12). Here a point of
// a ray costs a sort, so there is no line search: mu doubles after a step that improved J and halves after one that did
// not. A step that did not lies uphill from w_best, so its cut lifts the model at w_t: no step is lost.
#pragma once

#include <optional>
#include <stdexcept>

#include "base/parallel.hpp"
#include "linear/master.hpp"
#include "structural/branch_and_bound.hpp"

namespace steelyard {

enum class Search { counts, pruned, divide, table };

// How a loss is searched, and what it is: counts for CountLoss, a tape for MeasureLoss.
struct ConfusionLoss {
    Search search = Search::counts;
    std::vector<double> counts;
    std::optional<Tape> tape;
    double smoothing = 0, scale = 100, top = 0;
    int mixed = 0;  // the sign of the mixed difference: 1, -1, or 0 for none that is known
    Calls calls{0, 0};
    Index patience = 1000;  // blocks beyond P + N that bounds may look at where divide and conquer is right
};

inline Cell most_violated(ConfusionLoss& loss, const SortedScores& s) {
    if (!loss.counts.empty()) {
        const CountLoss counts{loss.counts.data()};
        return loss.search == Search::table ? search_table(s, counts, loss.calls) : search_counts(s, counts);
    }
    const double P = static_cast<double>(s.P()), N = static_cast<double>(s.N());
    const MeasureLoss measure{&*loss.tape, P, N, P / (P + N), loss.smoothing, loss.scale, loss.top};
    if (loss.search == Search::table) return search_table(s, measure, loss.calls);
    if (loss.search == Search::divide) return search_divided(s, measure, loss.mixed > 0);
    // Bounds that do not prune cost the whole table; where divide and conquer is right, it takes over before that.
    const Index patience = loss.mixed ? loss.patience + s.P() + s.N() : std::numeric_limits<Index>::max();
    bool found = false;
    const Cell cell = PrunedSearch(measure, loss.calls).search(s, patience, found);
    return found ? cell : search_divided(s, measure, loss.mixed > 0);
}

struct StructuralOptions {
    double C = 1;
    bool intercept = true;
    int n_threads = 1;
};

struct Progress {
    double primal, dual;
    Cell cell;  // the confusion matrix of the last cut
};

class StructuralSvm {
public:
    StructuralSvm(const Rows& rows, const bool* positive, ConfusionLoss loss, const StructuralOptions& options)
        : rows_(rows),
          positive_(positive),
          loss_(std::move(loss)),
          options_(options),
          n_(visit(rows, [](const auto& x) { return x.n_rows; })),
          d_(visit(rows, [](const auto& x) { return x.n_cols; }) + (options.intercept ? 1 : 0)),
          pool_(d_),
          master_(pool_) {
        sorted_.kappa = 100.0 / static_cast<double>(n_);
        scores_.resize(static_cast<std::size_t>(n_));
        flipped_.resize(scores_.size());
        w_.assign(static_cast<std::size_t>(d_), 0.0);
        best_ = w_;
        master_.set_caps(0, options_.C);
    }
    StructuralSvm(const StructuralSvm&) = delete;
    StructuralSvm& operator=(const StructuralSvm&) = delete;

    // One cut. `slack` is how far from its optimum the master's answer may be.
    Progress step(double slack) {
        dual_ = std::max(dual_, master_.solve(slack, 1000));
        master_.primal(w_.data());
        for (Index j = 0; j < d_; ++j) w_[j] = best_[j] + mu_ * (w_[j] - best_[j]);
        score();
        sorted_.sort(scores_.data(), positive_, n_);
        const Cell cell = most_violated(loss_, sorted_);
        if (!std::isfinite(cell.value)) throw std::domain_error("the loss of some confusion matrix is not finite");
        mu_ = offer(cell.value) ? std::min(1.0, 2 * mu_) : std::max(smallest_mu, mu_ / 2);
        add_cut(cell);
        return {primal_, dual_, cell};
    }

    const std::vector<double>& best() const { return best_; }

private:
    static constexpr double smallest_mu = 0.05;

    void score() {
        const Blocks blocks{n_};
        parallel_for(options_.n_threads, blocks.count(), [&](Index k) {
            visit(rows_, [&](const auto& x) { score_rows(x, blocks.begin(k), blocks.end(k)); });
        });
    }

    template <class R>
    STEELYARD_CLONES void score_rows(const R& rows, Index begin, Index end) {
        const double offset = options_.intercept ? w_[d_ - 1] : 0.0;
        for (Index i = begin; i < end; ++i) scores_[i] = rows.row(i).dot(w_.data()) + offset;
    }

    // Whether w_ is the best so far.
    bool offer(double risk) {
        double square = 0;
        for (double x : w_) square += x * x;
        const double here = square / 2 + options_.C * std::max(0.0, risk);
        if (!(here < primal_)) return false;
        primal_ = here;
        best_ = w_;
        return true;
    }

    // The P - a lowest positives and the b highest negatives; of rows that tie at the edge, the last ones by number.
    void mark(const Cell& cell) {
        const Index P = sorted_.P(), N = sorted_.N();
        const double low = cell.a < P ? sorted_.positive[cell.a] : anywhere.low;
        const double high = cell.b > 0 ? sorted_.negative[cell.b - 1] : anywhere.high;
        const auto above = [](const std::vector<double>& scores, double edge) {
            return std::lower_bound(scores.begin(), scores.end(), edge, std::greater<>()) - scores.begin();
        };
        Index keep = cell.a - above(sorted_.positive, low);   // positives at the edge that stay
        Index flip = cell.b - above(sorted_.negative, high);  // negatives at the edge that go
        if (N == 0 || P == 0) throw std::invalid_argument("rows of both classes are needed");
        for (Index i = 0; i < n_; ++i) {
            const double s = scores_[i];
            if (positive_[i])
                flipped_[i] = s < low || (s == low && keep-- <= 0);
            else
                flipped_[i] = s > high || (s == high && flip-- > 0);
        }
    }

    // Each block adds up its own part; the parts are added in block order, so the threads do not show.
    void add_cut(const Cell& cell) {
        mark(cell);
        const Blocks blocks{n_};
        std::vector<double> parts(static_cast<std::size_t>(blocks.count() * d_), 0.0);
        parallel_for(options_.n_threads, blocks.count(), [&](Index k) {
            visit(rows_, [&](const auto& x) { add_rows(x, blocks.begin(k), blocks.end(k), parts.data() + k * d_); });
        });
        for (Index k = 1; k < blocks.count(); ++k)
            for (Index j = 0; j < d_; ++j) parts[j] += parts[k * d_ + j];
        for (Index j = 0; j < d_; ++j) parts[j] *= sorted_.kappa;
        double drop = 0, square = 0;
        for (Index j = 0; j < d_; ++j) {
            drop += parts[j] * w_[j];
            square += parts[j] * parts[j];
        }
        if (!std::isfinite(square))
            throw std::invalid_argument("the squares of X overflow: scale the features (StandardScaler)");
        // The master divides by entries of the Gram matrix: a cut without slope gets one that is too small to matter.
        if (square == 0) parts[0] = 1e-100;
        pool_.add(1, parts.data(), cell.value - drop);
    }

    template <class R>
    STEELYARD_CLONES void add_rows(const R& rows, Index begin, Index end, double* g) const {
        double surplus = 0;
        for (Index i = begin; i < end; ++i) {
            if (!flipped_[i]) continue;
            const double sign = positive_[i] ? -1.0 : 1.0;
            rows.row(i).add_to(g, sign);
            surplus += sign;
        }
        if (options_.intercept) g[d_ - 1] = surplus;
    }

    Rows rows_;
    const bool* positive_;
    ConfusionLoss loss_;
    StructuralOptions options_;
    Index n_, d_;
    CutPool pool_;
    Master master_;
    SortedScores sorted_;
    std::vector<double> w_, best_, scores_;
    std::vector<char> flipped_;
    double mu_ = 1;
    double primal_ = std::numeric_limits<double>::infinity(), dual_ = 0;
};

}  // namespace steelyard
