// BM-ls-CS (003, Algorithm 1 with the line search of section 3.3) for many cost pairs at once.
//
//   for each pair k:   min over w  J_k(w) = 1/2 |w|^2 + cap+_k R+(w) + cap-_k R-(w),   R_c = sum over class c of s_i
//   loss(m_i)
//
// A round, all pairs in lockstep: each master gives w_t; one product X W gives all margins; each pair searches the ray
// from its best point through w_t exactly (eq. 11); the cut is taken at (1 - mu) w_best + mu w_t (eq. 12); one product
// back gives both class pieces of all cuts. The cuts of every pair go into one pool that all masters see. A pair is
// done when J(w_best) - J_t <= tol J (eq. 13). Without line search the cut is at w_t and the best w_t seen is kept
// (BM-nls-CS).
#pragma once

#include "base/parallel.hpp"
#include "linear/line_search.hpp"
#include "linear/master.hpp"
#include "linear/risk.hpp"

namespace steelyard {

struct BundleOptions {
    double mu = 0.1;
    bool line_search = true;
    bool share_cuts = true;
    int n_threads = 1;
};

struct CostPair {
    double negative, positive;
};

// One pair on its way.
struct Track {
    explicit Track(CutPool& pool) : pool(&pool), master(pool) {}

    CutPool* pool;
    Master master;
    std::vector<double> cost;      // C_i
    std::vector<double> w, m;      // the best point and its margins
    std::vector<double> w_t, m_t;  // the master's point; its margins, then those of the cut
    std::vector<Kink> kinks;
    double primal = 0, dual = 0;
    bool done = false, stuck = false;
    double progress = 0;  // the gap when it last shrank by a tenth
    int rounds_since = 0;
    std::vector<double> history;  // J after each round: at w_best, or at w_t without line search
};

template <class L, class R>
class Bundle {
public:
    Bundle(const R& rows, const double* y, const double* weight, const BundleOptions& options, const Stopping& stopping)
        : rows_(rows),
          y_(y),
          weight_(weight),
          options_(options),
          stopping_(stopping),
          n_(rows.n_rows),
          d_(rows.n_cols) {}

    // The track's best point so far, its cuts and its master's weights stay: only the caps are new.
    void restart(Track& t, const CostPair& caps) const {
        if (t.w.empty()) {
            t.w.assign(static_cast<std::size_t>(d_), 0.0);
            t.m.assign(static_cast<std::size_t>(n_), 0.0);
            t.cost.resize(t.m.size());
            t.m_t.resize(t.m.size());
            t.w_t.resize(t.w.size());
        }
        for (Index i = 0; i < n_; ++i) t.cost[i] = weight_[i] * (y_[i] > 0 ? caps.positive : caps.negative);
        t.master.set_caps(caps.negative, caps.positive);
        t.primal = squared_norm(t.w) / 2 + empirical<L>(t.cost.data(), n_, t.m.data());
        t.dual = 0;
        t.done = t.stuck = false;
        t.progress = HUGE_VAL;
        t.history.clear();
    }

    // Advances all tracks to the tolerance.
    void run(std::vector<Track>& tracks) {
        for (double passes = 0; passes < stopping_.max_passes; passes += 2) {
            busy_.clear();
            for (auto& track : tracks)
                if (!track.done && !track.stuck) busy_.push_back(&track);
            if (busy_.empty()) return;
            each_track([&](Track& t) { propose(t); });
            each_block([&](Index, Index begin, Index end) { forward(begin, end); });
            each_track([&](Track& t) { search(t); });
            busy_.erase(std::remove_if(busy_.begin(), busy_.end(), [](const Track* t) { return t->done || t->stuck; }),
                        busy_.end());
            if (!busy_.empty()) cut();
        }
    }

private:
    static constexpr int patience = 100;  // rounds without progress: cuts too steep for the arithmetic

    template <class Task>
    void each_track(Task&& task) {
        parallel_for(options_.n_threads, static_cast<Index>(busy_.size()), [&](Index k) { task(*busy_[k]); });
    }
    template <class Task>
    void each_block(Task&& task) {
        const Blocks blocks{n_};
        parallel_for(options_.n_threads, blocks.count(), [&](Index b) { task(b, blocks.begin(b), blocks.end(b)); });
    }

    void propose(Track& t) const {
        t.dual = std::max(t.dual, t.master.solve(0.05 * stopping_.tol * t.primal, 100));
        t.master.primal(t.w_t.data());
    }

    STEELYARD_CLONES void forward(Index begin, Index end) const {
        for (Index i = begin; i < end; ++i) {
            const auto x = rows_.row(i);
            for (Track* t : busy_) t->m_t[i] = y_[i] * x.dot(t->w_t.data());
        }
    }

    void search(Track& t) const {
        if (options_.line_search)
            search_ray(t);
        else
            keep_better(t);
        const double gap = t.primal - t.dual;
        t.done = gap <= stopping_.tol * t.primal;
        t.rounds_since = gap < 0.9 * t.progress ? 0 : t.rounds_since + 1;
        if (t.rounds_since == 0) t.progress = gap;
        t.stuck = !t.done && t.rounds_since > patience;
    }

    STEELYARD_CLONES void keep_better(Track& t) const {
        const double here = squared_norm(t.w_t) / 2 + empirical<L>(t.cost.data(), n_, t.m_t.data());
        t.history.push_back(here);
        if (!(here < t.primal)) return;
        t.primal = here;
        t.w = t.w_t;
        t.m = t.m_t;
    }

    // Moves w to the best point of the ray and leaves in m_t the margins where the cut will be taken.
    STEELYARD_CLONES void search_ray(Track& t) const {
        double wp = 0, pp = 0;
        for (Index j = 0; j < d_; ++j) {
            const double p = t.w_t[j] - t.w[j];
            wp += t.w[j] * p;
            pp += p * p;
        }
        for (Index i = 0; i < n_; ++i) t.m_t[i] -= t.m[i];
        const double l = best_step<L>({n_, t.cost.data(), t.m.data(), t.m_t.data(), wp, pp}, t.kinks);
        const double cut = l + options_.mu * (1 - l);  // (1 - mu) w_best + mu w_t, seen from the old point
        for (Index j = 0; j < d_; ++j) t.w[j] += l * (t.w_t[j] - t.w[j]);
        for (Index i = 0; i < n_; ++i) {
            const double m = t.m[i], s = t.m_t[i];
            t.m[i] = m + l * s;
            t.m_t[i] = m + cut * s;
        }
        t.primal = squared_norm(t.w) / 2 + empirical<L>(t.cost.data(), n_, t.m.data());
        t.history.push_back(t.primal);
    }

    // One cut per class and busy track. Each block adds up its own part; the parts are added in block order.
    void cut() {
        const Blocks blocks{n_};
        const Index width = 2 * static_cast<Index>(busy_.size()) * (d_ + 1);
        std::vector<double> parts(static_cast<std::size_t>(std::max<Index>(blocks.count(), 1) * width), 0.0);
        each_block([&](Index b, Index begin, Index end) { back(begin, end, parts.data() + b * width); });
        for (Index b = 1; b < blocks.count(); ++b)
            for (Index j = 0; j < width; ++j) parts[j] += parts[b * width + j];
        const double* piece = parts.data();
        for (Track* t : busy_)
            for (int side = 0; side < 2; ++side, piece += d_ + 1) t->pool->add(side, piece, piece[d_]);
    }

    // g = -sum s_i b_i y_i x_i and h = sum s_i (loss(m_i) + b_i m_i), since loss(m') >= loss(m) - b (m' - m).
    STEELYARD_CLONES void back(Index begin, Index end, double* out) const {
        for (Index i = begin; i < end; ++i) {
            if (weight_[i] == 0) continue;
            const auto x = rows_.row(i);
            double* piece = out + (y_[i] > 0 ? d_ + 1 : 0);
            for (const Track* t : busy_) {
                const double m = t->m_t[i], b = L::share(m);
                if (b != 0) {
                    x.add_to(piece, -weight_[i] * b * y_[i]);
                    piece[d_] += weight_[i] * (L::value(m) + b * m);
                }
                piece += 2 * (d_ + 1);
            }
        }
    }

    const R& rows_;
    const double* y_;
    const double* weight_;
    BundleOptions options_;
    Stopping stopping_;
    Index n_, d_;
    std::vector<Track*> busy_;
};

}  // namespace steelyard
