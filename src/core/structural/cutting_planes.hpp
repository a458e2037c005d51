// A structural SVM for a loss of the confusion matrix (Joachims 2005; one slack variable, Joachims, Finley & Yu 2009).
//
//   min over w  J(w) = 1/2 |w|^2 + C R(w),
//   R(w) = max over label vectors y' of  L(y') - kappa sum of y_i x_i.w over the rows where y' differs from y
//
// with kappa = 100 / n and L in percent, as SVMperf scales them (its -c). The true labels are among the y', so R >= 0.
// Every y' is a cut: R(w') >= g.w' + h with g = -kappa sum of y_i x_i over the flipped rows and h = L(y'). A step asks
// the master problem (linear/masters.hpp, one side with the cap C) for the best w_t of the cuts so far, goes to
// w_best + mu (w_t - w_best), finds the most violated y' there (structural/confusion_search.hpp,
// structural/branch_and_bound.hpp), and adds its cut. The master's value bounds the optimum from below, the best J seen
// from above. An intercept is a constant column of the rows, regularised with the others, as SVMperf's is.
//
// Of the rows a step asks their scores under w and a sum of them by coefficient (base/products.hpp), nothing else. The
// first step has w = 0 and asks for no scores. Those of the next are looked at: where a value of X is no number, the
// score is none (0 * inf is NaN), so that no pass over X is needed to find that out.
//
// mu is 1 in SVMperf, where w_t jumps about; 003 takes a small one after an exact line search (eq. 12). Here a point of
// a ray costs a sort, so there is no line search: mu doubles after a step that improved J and halves after one that did
// not. A step that did not lies uphill from w_best, so its cut lifts the model at w_t: no step is lost.
#pragma once

#include <cmath>
#include <optional>
#include <stdexcept>

#include "base/products.hpp"
#include "base/status.hpp"
#include "linear/masters.hpp"
#include "structural/branch_and_bound.hpp"

namespace steelyard {

enum class Search { counts, bounds, divide, table };

// How a loss is searched, and what it is: counts for CountLoss, a tape for MeasureLoss.
struct ConfusionLoss {
    Search search = Search::counts;
    std::vector<double> counts;
    std::optional<Tape> tape;
    double smoothing = 0, scale = 100, top = 0;
    int mixed = 0;  // the sign of the mixed difference: 1, -1, or 0 for none that is known
    Calls calls{0, 0};
    // Blocks that bounds may look at where divide and conquer is right, beyond P + N. So many take about as long as
    // divide and conquer does (69 and 75 ms for F1 of 20,000 rows), so that giving up at most doubles the time; the
    // 1,000 are for small samples, where both take less than the sort. Searches that end by themselves need about 50.
    Index patience = 1000;
};

inline Cell most_violated(ConfusionLoss& loss, const SortedScores& s, const Stop* stop = nullptr) {
    if (!loss.counts.empty()) {
        const CountLoss counts{loss.counts.data()};
        return loss.search == Search::table ? search_table(s, counts, loss.calls, stop) : search_counts(s, counts);
    }
    const double P = static_cast<double>(s.P()), N = static_cast<double>(s.N());
    const MeasureLoss measure{&*loss.tape, P, N, P / (P + N), loss.smoothing, loss.scale, loss.top};
    if (loss.search == Search::table) return search_table(s, measure, loss.calls, stop);
    if (loss.search == Search::divide) return search_divided(s, measure, loss.mixed > 0, stop);
    // Bounds that do not prune cost the whole table; where divide and conquer is right, it takes over before that.
    const Index patience = loss.mixed ? loss.patience + s.P() + s.N() : std::numeric_limits<Index>::max();
    bool found = false;
    const Cell cell = BranchAndBound(measure, loss.calls).search(s, patience, found, stop);
    return found ? cell : search_divided(s, measure, loss.mixed > 0, stop);
}

// What the numbers are and why is said in StructuralOptions of solvers/structural/cutting_planes.py.
struct StructuralOptions {
    double C = 1;
    double smallest_mu = 0.05;
    MasterOptions master;
    int n_threads = 1;
};

// Where the cuts stand: `solved` is for the caller to say, who knows how small a gap is wanted.
struct Progress {
    double primal, dual;
    Cell cell;  // the confusion matrix of the last cut
    Status status;
};

class StructuralSvm {
public:
    StructuralSvm(const Rows& rows, const bool* positive, ConfusionLoss loss, const StructuralOptions& options)
        : rows_(rows),
          positive_(positive),
          loss_(std::move(loss)),
          options_(options),
          n_(visit(rows, [](const auto& x) { return x.n_rows; })),
          d_(visit(rows, [](const auto& x) { return x.n_cols; })),
          master_(1, d_, options.master) {
        const Index positives = std::count(positive, positive + n_, true);
        if (positives == 0 || positives == n_) throw std::invalid_argument("rows of both classes are needed");
        sorted_.kappa = 100.0 / static_cast<double>(n_);
        by_row_.resize(static_cast<std::size_t>(n_));
        w_.assign(static_cast<std::size_t>(d_), 0.0);
        best_ = g_ = w_;
        master_.set_caps(0, 0, options_.C);
    }
    StructuralSvm(const StructuralSvm&) = delete;
    StructuralSvm& operator=(const StructuralSvm&) = delete;

    // One cut. `slack` is how far from its optimum the master's answer may be. A step that is stopped on the way leaves
    // the best model and both bounds as valid as they were.
    Progress step(double slack, const Stop& stop) {
        double bound = 0;
        const Index only = 0;
        master_.propose({&only, 1}, &slack, &bound, w_.data(), 1, stop);
        dual_ = std::max(dual_, bound);
        for (Index j = 0; j < d_; ++j) w_[j] = best_[j] + mu_ * (w_[j] - best_[j]);
        if (!std::isfinite(bound) || !std::isfinite(square(w_)))
            return {primal_, 0, {}, Status::trouble("the problem over the cuts overflows; C or X is too large")};
        score(stop);
        sorted_.sort(by_row_.data(), positive_, n_, &stop);
        const Cell cell = most_violated(loss_, sorted_, &stop);
        if (!std::isfinite(cell.value)) throw std::domain_error("the loss of some confusion matrix is not finite");
        add_cut(cell, stop);
        mu_ = offer(cell.value) ? std::min(1.0, 2 * mu_) : std::max(options_.smallest_mu, mu_ / 2);
        if (!std::isfinite(primal_))
            return {primal_, 0, cell, Status::trouble("the objective overflows; C or X is too large")};
        return {primal_, dual_, cell, {}};
    }

    const std::vector<double>& best() const { return best_; }

    // Whether scores of all rows have been seen that were numbers.
    bool looked() const { return looked_; }

private:
    static double square(const std::vector<double>& v) {
        double sum = 0;
        for (double x : v) sum += x * x;
        return sum;
    }

    void score(const Stop& stop) {
        if (std::count(w_.begin(), w_.end(), 0.0) == d_) return std::fill(by_row_.begin(), by_row_.end(), 0.0);
        visit(rows_, [&](const auto& x) { multiply(x, {w_.data(), 1}, by_row_.data(), options_.n_threads, stop); });
        if (looked_) return;
        Index bad = 0;
        for (double s : by_row_) bad += !std::isfinite(s);
        if (bad) throw std::domain_error("the scores overflow: scale the features (StandardScaler)");
        looked_ = true;
    }

    // Whether w_ is the best so far.
    bool offer(double risk) {
        const double here = square(w_) / 2 + options_.C * std::max(0.0, risk);
        if (!(here < primal_)) return false;
        primal_ = here;
        best_ = w_;
        return true;
    }

    void add_cut(const Cell& cell, const Stop& stop) {
        flip(cell, stop);
        std::fill(g_.begin(), g_.end(), 0.0);
        visit(rows_, [&](const auto& x) { add_up(x, {by_row_.data(), 1}, g_.data(), options_.n_threads, stop); });
        double drop = 0;
        for (Index j = 0; j < d_; ++j) {
            g_[j] *= sorted_.kappa;
            drop += g_[j] * w_[j];
        }
        const double slope = square(g_);
        if (!std::isfinite(slope))
            throw std::invalid_argument("the squares of X overflow: scale the features (StandardScaler)");
        // The master divides by entries of the Gram matrix, so a cut without slope gets one: its square is still a
        // number that doubles hold to all digits, and far below the rounding of anything that is added to it.
        if (slope == 0) g_[0] = 1e-100;
        master_.add(0, 1, g_.data(), cell.value - drop);
    }

    // From the scores to the coefficients of the cut, in place: -y_i for the P - a lowest positives and the b highest
    // negatives, 0 for the rest; of rows that tie at the edge, the last ones by number.
    void flip(const Cell& cell, const Stop& stop) {
        const double low = cell.a < sorted_.P() ? sorted_.positive[cell.a] : anywhere.low;
        const double high = cell.b > 0 ? sorted_.negative[cell.b - 1] : anywhere.high;
        const auto above = [](const std::vector<double>& scores, double edge) {
            return std::lower_bound(scores.begin(), scores.end(), edge, std::greater<>()) - scores.begin();
        };
        Index keep = cell.a - above(sorted_.positive, low);   // positives at the edge that stay
        Index flip = cell.b - above(sorted_.negative, high);  // negatives at the edge that go
        const Blocks blocks{n_};
        for (Index k = 0; k < blocks.count(); ++k) {
            stop.check();
            for (Index i = blocks.begin(k); i < blocks.end(k); ++i) {
                const bool is_positive = positive_[i];
                const double s = by_row_[i], edge = is_positive ? low : high;
                bool goes = is_positive ? s < edge : s > edge;  // without a branch, since classes come as they like
                if (s == edge) goes = is_positive ? keep-- <= 0 : flip-- > 0;
                by_row_[i] = goes ? (is_positive ? -1.0 : 1.0) : 0.0;
            }
        }
    }

    Rows rows_;
    const bool* positive_;
    ConfusionLoss loss_;
    StructuralOptions options_;
    Index n_, d_;
    Masters master_;
    SortedScores sorted_;
    std::vector<double> w_, best_, g_;
    std::vector<double> by_row_;  // scores under w_, and then the coefficients of its cut
    double mu_ = 1;
    bool looked_ = false;
    double primal_ = std::numeric_limits<double>::infinity(), dual_ = 0;
};

}  // namespace steelyard
