// All cost pairs of a grid in lockstep: Newton on few rows, and one pass over all of them for every pair at once.
//
//   for each pair, C after C:   min over w  1/2 |w|^2 + C sum_i c_i loss(m_i)
//
// A pair is a track. A round: Newton on chosen rows (newton.hpp) moves each track's w, on as many threads as there are;
// then one pass over all rows (evaluation.hpp) gives every track its objective, a dual point and the certificate, and
// chooses the rows for the next round. A track whose gap is small enough goes on to its next C at once, from the same
// pass: what is summed has no C in it. So a problem costs about one pass, and a pass serves all pairs.
//
// The rows chosen are, for the hinge, the part nearest to the margin, a larger part after every round that did not
// suffice; for the smooth losses a sample of both classes that stands for all. As the sum of forces of all rows is
// known, the others enter by their tangent, and a round is exact to first order whatever was chosen. Where the rounds
// do not come to an end Newton takes all rows where they lie (whole.hpp), and after that coordinate descent
// (rescue.hpp).
#pragma once

#include <mutex>
#include <utility>

#include "linear/rescue.hpp"
#include "linear/sample.hpp"
#include "linear/track.hpp"
#include "linear/whole.hpp"

namespace steelyard {

template <class L, class R>
class Lockstep {
public:
    Lockstep(const R& rows, const double* y, const double* weight, const Stopping& stopping, int n_threads, bool rescue)
        : rows_(rows), y_(y), weight_(weight), stopping_(stopping), n_threads_(n_threads), all_(rows, y, weight) {
        if (rescue) rescue_ = std::make_unique<Rescue<L, R>>(rows, y, weight, all_, stopping, n_threads);
        for (Index i = 0; i < rows.n_rows; ++i) total_[y[i] > 0] += weight ? weight[i] : 1.0;
        const Index of_a_row = R::is_dense ? rows.n_cols : rows.n_entries() / std::max<Index>(rows.n_rows, 1);
        most_rows_ = std::max<Index>(block_rows, how_.most_numbers / std::max<Index>(of_a_row, 1));
        const bool smooth = L::kind != LossKind::hinge;
        sample_rows_ = std::max(how_.sample, (smooth ? how_.smooth_rows : how_.hinge_rows) * rows.n_cols);
        if (smooth) sample_rows_ = std::max(sample_rows_, rows.n_rows / how_.smooth_part);
        sample_rows_ = std::min(sample_rows_, most_rows_);
        sample_.draw(rows, y, weight, sample_rows_, stopping.seed, stopping.stop);
    }

    // found: for each pair its Cs, ascending. start: for each pair a w that is near its solution for the first C; null:
    // there is none.
    void solve(const std::vector<CostPair>& pairs, const std::vector<double>& C, const double* start, Solution* found) {
        C_ = C;
        max_passes_ = stopping_.max_passes;
        std::vector<Track> tracks(pairs.size());
        for (std::size_t k = 0; k < pairs.size(); ++k) begin(tracks[k], pairs[k], found + k * C.size());
        if (!start) first_idea(tracks);
        for (std::size_t k = 0; start && k < pairs.size(); ++k) {
            const double* const w = start + static_cast<Index>(k) * rows_.n_cols;
            begin_from(tracks[k], {{w, w + rows_.n_cols}, Rounding{}.cold, true});
        }
        run(tracks);
    }

    // One problem, from a start if there is one; with its shares.
    Solution solve(const CostPair& pair, double C, const Solution* start, double max_passes) {
        C_ = {C};
        max_passes_ = max_passes;
        Solution found;
        std::vector<Track> tracks(1);
        begin(tracks[0], pair, &found);
        shares_.resize(static_cast<std::size_t>(rows_.n_rows));
        tracks[0].model.share = shares_.data();
        if (start && !start->w.empty()) {
            tracks[0].point = {start->w, start->rounding, true};
            std::vector<double> m(sample_.chosen.weight.size());
            NewtonLoops<L, Chosen<R>>::margins(sample_.chosen, start->w.data(), m.data());
            tracks[0].half = first_width(m);
        } else {
            first_idea(tracks);
        }
        run(tracks);
        return found;
    }

private:
    struct Workspace {
        Newton<L, Chosen<R>> newton;
        Chosen<R> chosen;
        std::vector<Index> which;
        std::vector<double> cost, v;
        std::unique_ptr<WholeRows<R>> whole;
        Newton<L, WholeRows<R>> on_whole;
    };

    void begin(Track& track, const CostPair& pair, Solution* found) const {
        track.pair = pair;
        track.found = found;
        track.point = {std::vector<double>(static_cast<std::size_t>(rows_.n_cols), 0.0), Rounding{}.cold, false};
        track.model.cost[0] = pair.negative;
        track.model.cost[1] = pair.positive;
    }

    // From a w that the sample alone would not better, unless it is all rows: it only says how the hinge is rounded.
    void begin_from(Track& track, const NewtonPoint& point) const {
        Workspace space;
        track.point = point;
        Target target{stopping_.tol, 0};
        target.stop = stopping_.stop;
        if (sample_.is_all)
            newton(track, sample_.chosen, target, space);
        else
            space.newton.solve(sample_.chosen, costs_of(track, sample_.chosen, space), target, track.point);
        track.half = first_width(space.newton.margins());
    }

    // How far from the margin rows are near at first, by the margins of the sample: a part of them that can be held.
    double first_width(const std::vector<double>& m) const {
        const double held = static_cast<double>(most_rows_) / static_cast<double>(rows_.n_rows);
        return sample_.half_width(m, std::min(how_.part, held));
    }

    // From the sample alone, one pair after the other, each from its neighbour.
    void first_idea(std::vector<Track>& tracks) {
        Workspace space;
        Target target{sample_.is_all ? stopping_.tol : std::max(stopping_.tol, how_.first_tol), 0};
        target.stop = stopping_.stop;
        for (std::size_t k = 0; k < tracks.size(); ++k) {
            if (k > 0) tracks[k].point = tracks[k - 1].point;
            newton(tracks[k], sample_.chosen, target, space);
            tracks[k].half = first_width(space.newton.margins());
        }
    }

    void run(std::vector<Track>& tracks) {
        while (true) {
            std::vector<Track*> busy = unfinished(tracks);
            if (busy.empty()) return;
            std::vector<Model*> models;
            models.reserve(busy.size());
            for (Track* track : busy) models.push_back(ask(*track));
            all_.pass(models, n_threads_, stopping_.stop);
            bool larger = false;
            for (Track* track : busy) larger |= !judge(*track);
            busy = unfinished(tracks);
            if (larger && !busy.empty()) enlarge();
            rescue(busy);
            parallel_for(
                at_once(busy), static_cast<Index>(busy.size()),
                [&](Index k) {
                    std::unique_ptr<Workspace> space = borrow();
                    advance(*busy[static_cast<std::size_t>(k)], *space);
                    give_back(std::move(space));
                },
                stopping_.stop);
        }
    }

    // As many threads as may pack their rows side by side.
    int at_once(const std::vector<Track*>& busy) {
        std::size_t listed = 0;
        for (const Track* track : busy) listed = std::max(listed, track->model.near.size());
        const double numbers = static_cast<double>(rows_.n_entries());
        const double each =
            static_cast<double>(listed) / static_cast<double>(rows_.n_rows) * numbers * Chosen<R>::bytes;
        const double room = std::max(how_.room, how_.room_of_all * numbers * sizeof(typename R::Number));
        if (each * n_threads_ <= room) return n_threads_;
        const int threads = std::max(1, static_cast<int>(room / each));
        while (spare_.size() > static_cast<std::size_t>(threads)) spare_.pop_back();
        return threads;
    }

    void rescue(const std::vector<Track*>& busy) {
        if (!rescue_ || std::none_of(busy.begin(), busy.end(), [](const Track* track) { return track->stuck; })) return;
        if (!rescue_->may_keep()) spare_.clear();
        (*rescue_)(busy, C_, max_passes_);
    }

    std::vector<Track*> unfinished(std::vector<Track>& tracks) const {
        std::vector<Track*> busy;
        for (Track& track : tracks)
            if (track.at < C_.size()) busy.push_back(&track);
        return busy;
    }

    Model* ask(Track& track) const {
        Model& model = track.model;
        model.w = track.point.w.data();
        model.mu = track.point.mu;
        if (L::kind != LossKind::hinge || sample_.is_all)
            model.half = 0;
        else
            model.half = std::max(track.half * (is_correction(track) ? how_.correction : 1.0), how_.mus * model.mu);
        return &model;
    }

    // What this pass lists is for a correction, since no other C will start from it.
    bool is_correction(const Track& track) const { return track.at + 1 == C_.size() && track.rounds > 0; }

    // What the pass says about this C, and about the next ones. False if the sample seems too small.
    bool judge(Track& track) {
        ++track.rounds;
        while (track.at < C_.size()) {
            Solution& best = track.found[track.at];
            best.passes += 1;
            best.rounding = track.point.mu;
            offer(track, C_[track.at], best);
            const bool solved = best.reaches(stopping_.tol), over = best.passes >= max_passes_;
            const bool hopeless = best.status.ended == Ended::trouble || (!rescue_ && track.rounds >= 2 * how_.most);
            if (!solved && !over && !hopeless) break;
            if (!solved && over) best.status = {Ended::limit, out_of_passes};
            track.next();
            track.share.clear();
        }
        if (track.at == C_.size()) return true;
        // A step that went up on a sample says that the sample is too small, and the next one is as good from here.
        const bool rose = track.rounds > 0 && track.rose(C_[track.at]);
        track.back = rose && !can_grow();
        if (track.back) track.come_back(C_[track.at]);
        const bool slow =
            track.rounds > 0 && !track.back && (rose || !(track.distance(C_[track.at]) < how_.good * track.residual));
        if (!track.back) choose_width(track, slow);
        const bool late = track.rounds >= how_.most;
        const bool serves = L::kind != LossKind::hinge || rows_.n_cols <= how_.whole_columns || !rescue_;
        track.whole = !sample_.is_all && track.wholes < how_.wholes && serves && (track.crowded || late);
        track.stuck = rescue_ && !track.whole && (track.crowded || late);
        return !slow;
    }

    // How far the next list of near rows goes, and whether there are too many of them.
    void choose_width(Track& track, bool slow) {
        if (L::kind != LossKind::hinge || sample_.is_all) return;
        const bool moved_on = track.m_at != track.at;
        std::vector<double> m(sample_.chosen.weight.size());
        NewtonLoops<L, Chosen<R>>::margins(sample_.chosen, track.point.w.data(), m.data());
        if (moved_on && !track.m.empty())
            track.half = how_.reach * sample_.movement(track.m, m);
        else if (slow)
            track.half *= how_.wider;
        const double least = how_.mus * track.point.mu;
        const double most = std::min(how_.crowd, static_cast<double>(most_rows_) / static_cast<double>(rows_.n_rows));
        track.crowded = sample_.part_within(m, least) > most;
        track.half = std::max(track.half, least);
        while (sample_.part_within(m, track.half) < how_.least && track.half < how_.widest) track.half *= how_.wider;
        while (track.half > least && sample_.part_within(m, track.half) > most) track.half /= how_.wider;
        if (moved_on || track.m.empty()) track.m.swap(m);
        track.m_at = track.at;
    }

    void offer(Track& track, double C, Solution& best) {
        const Model& model = track.model;
        const double at_zero = C * (model.cost[0] * total_[0] + model.cost[1] * total_[1]) * L::value(0);
        best.status = {Ended::limit, "the rounds of Newton are used up"};
        if (best.w.empty()) best.w.assign(track.point.w.size(), 0.0);
        if (!std::isfinite(at_zero)) {
            best.status = Status::trouble(objective_overflows);
            return;
        }
        best.offer_primal(at_zero, std::vector<double>(track.point.w.size(), 0.0));
        best.offer_primal(track.objective(C), track.point.w);
        best.offer_dual(C * model.dual - C * C * squared_norm(model.v) / 2, shares_);
    }

    bool can_grow() const { return L::kind != LossKind::hinge && !sample_.is_all && sample_rows_ < most_rows_; }

    void enlarge() {
        if (!can_grow()) return;
        sample_rows_ = std::min(most_rows_, how_.larger * sample_rows_);
        sample_.draw(rows_, y_, weight_, sample_rows_, stopping_.seed, stopping_.stop);
    }

    void advance(Track& track, Workspace& space) {
        if (track.stuck || (track.back && !track.whole)) return;
        const double C = C_[track.at];
        space.v = track.model.v;
        for (double& v : space.v) v *= C;
        Target target{stopping_.tol, 0};
        target.stop = stopping_.stop;
        if (!sample_.is_all) {
            target.v = space.v.data();
            target.primal = track.objective(C);
        }
        if (track.whole) return on_whole(track, space);
        track.point.warm = true;
        track.from = track.point.w;
        track.primal = track.objective(C);
        track.residual = track.distance(C);
        if (L::kind != LossKind::hinge || sample_.is_all) {
            newton(track, sample_.chosen, target, space);
        } else {
            target.widest_mu = track.model.half / how_.mus;
            pack_near(track, space);
            newton(track, space.chosen, target, space);
        }
        track.slope = 0;
        for (std::size_t j = 0; j < track.from.size(); ++j)
            track.slope += (track.from[j] - space.v[j]) * (track.point.w[j] - track.from[j]);
    }

    // All rows, without a tangent for others; a step from here has no slope to come back along.
    void on_whole(Track& track, Workspace& space) const {
        if (!space.whole) space.whole = std::make_unique<WholeRows<R>>(rows_, y_, weight_);
        Target target{stopping_.tol, 0};
        target.stop = stopping_.stop;
        ++track.wholes;
        track.back = false;
        track.from.clear();
        track.residual = HUGE_VAL;
        newton(track, *space.whole, space.on_whole, target, space);
    }

    void newton(Track& track, const Chosen<R>& chosen, Target& target, Workspace& space) const {
        newton(track, chosen, space.newton, target, space);
    }

    template <class Rows>
    void newton(Track& track, const Rows& chosen, Newton<L, Rows>& method, Target& target, Workspace& space) const {
        Solution& best = track.found[track.at];
        const double a_step = 2 * static_cast<double>(chosen.n) / static_cast<double>(rows_.n_rows);
        target.most_steps = std::min(how_.steps, std::floor((max_passes_ - best.passes - 1) / std::max(a_step, 1e-9)));
        const int steps = method.solve(chosen, costs_of(track, chosen, space), target, track.point);
        best.passes += a_step * std::max(0, steps);
    }

    const std::vector<double>& costs_of(const Track& track, const ChosenRows& chosen, Workspace& space) const {
        const double C = C_[track.at];
        space.cost.resize(chosen.weight.size());
        for (std::size_t i = 0; i < space.cost.size(); ++i)
            space.cost[i] = C * chosen.weight[i] * (chosen.positive[i] ? track.pair.positive : track.pair.negative);
        return space.cost;
    }

    // The rows near the margin, and of the sample those that are not, so that a row that comes there is not quite
    // unexpected.
    void pack_near(const Track& track, Workspace& space) const {
        space.which.assign(track.model.near.begin(), track.model.near.end());
        space.cost.clear();
        for (Index i : space.which) space.cost.push_back(weight_ ? weight_[i] : 1.0);
        std::vector<double> m(sample_.chosen.weight.size());
        NewtonLoops<L, Chosen<R>>::margins(sample_.chosen, track.point.w.data(), m.data());
        const Index stride = track.at > 0 && track.rounds == 0 ? how_.of_the_far : 1;
        Index far = 0;
        for (Index k = 0; k < sample_.chosen.n; ++k) {
            if (std::fabs(1 - m[k]) < track.model.half || far++ % stride != 0) continue;
            space.which.push_back(sample_.which[k]);
            space.cost.push_back(sample_.chosen.weight[k] * static_cast<double>(stride));
        }
        space.chosen.take(rows_, y_, space.which, stopping_.stop);
        std::copy(space.cost.begin(), space.cost.end(), space.chosen.weight.begin());
    }

    std::unique_ptr<Workspace> borrow() {
        const std::lock_guard<std::mutex> lock(guard_);
        if (spare_.empty()) return std::make_unique<Workspace>();
        std::unique_ptr<Workspace> one = std::move(spare_.back());
        spare_.pop_back();
        return one;
    }
    void give_back(std::unique_ptr<Workspace>&& one) {
        const std::lock_guard<std::mutex> lock(guard_);
        spare_.push_back(std::move(one));
    }

    const R& rows_;
    const double *y_, *weight_;
    Stopping stopping_;
    int n_threads_;
    Evaluation<L, R> all_;
    std::unique_ptr<Rescue<L, R>> rescue_;
    Rounds how_;
    double total_[2] = {0, 0};
    Index most_rows_ = 0;  // that may be chosen
    Index sample_rows_ = 0;
    Sample<Chosen<R>> sample_;
    std::vector<double> C_, shares_;
    double max_passes_ = 0;
    std::mutex guard_;
    std::vector<std::unique_ptr<Workspace>> spare_;
};

}  // namespace steelyard
