// What a stream of rows has shown so far, and the weights of the two classes that follow from it.
//
// Given a measure M(P, N), a row of class + pulls the model with weight (dM/dP) / p and a row of class - with
// (dM/dN) / n, at the running rates (P, N) and the running share p of positives. Three ways to get there:
//   letter    paper 001, Algorithm 1: the duals of `stream/nested_duals.hpp`, from zero, exact gradients. SCAN's
//   valuation
//             V = numerator - level * denominator has two nests.
//   guarded   the gradient of M at the running rates, normalised, and no less than a quarter of the class's share, so
//             that no class is ever ignored. Where M falls in a rate its gradient would reward mistakes; there the
//             weights are p^(3/4) and n^(3/4): such a measure wants FP = FN, a point that costs near one a row favour,
//             and the offset sees to it. At level = numerator / denominator, V has the direction of M's own gradient:
//             SCAN needs no epochs here.
//   constraint  a P + b N + c >= 0 with multiplier lam: the weights of M + lam (a P + b N + c). The multiplier moves
//             by factors (paper 002, eq. 12), against the slack of one row: the indicator of the row, and the running
//             rate of the other class.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <stdexcept>

#include "stream/nested_duals.hpp"
#include "stream/rewards.hpp"

namespace steelyard {

struct Tally {
    double rows[2] = {0, 0};    // weight of the rows of class -, +
    double seen[2] = {0, 0};    // of those that were scored
    double credit[2] = {0, 0};  // their rewards, 0/1 or surrogate; rates for SPADE
    double block[2] = {0, 0};   // credit / class share since the last look (letter)
    double block_mass = 0;

    double total() const { return rows[0] + rows[1]; }
    double scored() const { return seen[0] + seen[1]; }
};

struct Multiplier {
    double lam = 1.0;
    double a = 0.0, b = 0.0, c = 0.0;
    double last[2] = {0.0, 0.0};  // value of the latest row of each class (letter)
};

struct DualSettings {
    bool guard = true;
    bool counts = true;   // 0/1 rates (the NS form), or surrogate rewards
    bool forget = false;  // SPADE: steps 1/sqrt(k) in place of 1/k
    bool scan = false;    // two nests
    bool constrained = false;
    bool balanced = false;  // letter: classes weigh the same, a_i = 1 and lam
    // The figures are those of benchmarks/online_settings.py: means over ten sets.
    double gain = 1.0;  // of the multiplier; `NeymanPearson.gain_for` in solvers/stream/problem.py says why
    // Least pull of a class, in units of its share. From 0 to 0.5 G-mean moves by 0.0007 and F1 by 0.002: this is for a
    // measure that would forget a class.
    double floor = 0.25;
    // Rates are kept in [clip, 1 - clip], where logarithms and roots have finite slopes; from 1e-6 to 1e-2 nothing
    // moves.
    double clip = 1e-4;
    // Where a measure falls in a rate, classes are pulled by their shares to this power: 0 is balanced, 1 is one row,
    // one vote. Balanced accuracy under NegKLD: 0.770 at 0, 0.776 at 3/4, 0.774 at 1.
    double share_power = 0.75;
};

// Rails for the multiplier of a constraint under the guard, round numbers all: one row moves it by a factor of two at
// most, and it stays within a thousand of the measure's own weights, beyond which a class has no say at all. A
// constraint that even a perfect classifier meets with hardly any slack is scaled as if that were `least_slack`.
struct MultiplierLimits {
    static constexpr double down = 0.5, up = 2.0, low = 1e-3, high = 1e3, least_slack = 1e-6;  // see above
};

constexpr double steepest = 1e6;  // a slope that is infinite counts as this: it outweighs any other

inline double finite_or(double x, double otherwise) { return std::isfinite(x) ? x : otherwise; }

class Duals {
public:
    DualSettings is;
    std::optional<Tape> measure, constraint;  // of the whole, for the guarded form; of the slack
    std::optional<Nest> objective, denominator;
    Tally tally;
    Multiplier multiplier;
    Pair pull;      // the weights, cached between refreshes
    Pair gradient;  // guarded: of the measure, when it was last looked at
    double looked_at = 0.0;
    double level = 0;   // SCAN
    double sample = 0;  // rows seen, each counted once, however many the passes and whatever its weight

    STEELYARD_INLINE void observe(int side, double weight, double z, Reward reward, double width) {
        Tally& t = tally;
        t.rows[side] += weight;
        t.seen[side] += weight;
        const double credit = is.counts ? (z > 0.0 ? 1.0 : 0.0) : reward_value(reward, z, width);
        if (is.forget)
            t.credit[side] += (credit - t.credit[side]) / std::sqrt(t.seen[side]);
        else
            t.credit[side] += weight * credit;
        if (!is.guard) {
            t.block[side] += weight * credit * t.total() / t.rows[side];
            t.block_mass += weight;
        }
        if (is.constrained) move_multiplier(side, weight, is.guard ? credit : reward_value(reward, z, width));
    }

    // The weight of a row of this class.
    STEELYARD_INLINE double weight(int side) const {
        const double w = side ? pull.pos : pull.neg;
        if (is.guard) return w;
        return is.balanced ? w : w * tally.total() / tally.rows[side];
    }

    double prevalence() const { return (tally.rows[1] + 0.5) / (tally.total() + 1.0); }
    double rate(int side) const {
        if (is.forget) return tally.credit[side];
        return is.guard               ? (tally.credit[side] + 0.5) / (tally.seen[side] + 1.0)
               : tally.seen[side] > 0 ? tally.credit[side] / tally.seen[side]
                                      : 0.0;
    }
    Pair clipped_rates() const {
        const auto inside = [this](double r) { return std::min(std::max(r, is.clip), 1.0 - is.clip); };
        return {inside(rate(1)), inside(rate(0))};
    }
    double smoothing() const { return 0.5 / std::max(sample, 1.0); }

    // Throws unless there is a tape for everything that the settings ask for.
    void check() const {
        const bool nested = !is.guard && !is.constrained;
        if (!measure && !nested) throw std::invalid_argument("the class weights need the tape of a measure");
        if (!constraint && is.constrained)
            throw std::invalid_argument("the class weights need the tape of a constraint");
        if (!objective && nested) throw std::invalid_argument("to the letter, the class weights need stages");
        if (!denominator && nested && is.scan)
            throw std::invalid_argument("a ratio needs the stages of its denominator");
    }

    void refresh() { is.guard ? guarded() : to_the_letter(); }

    // Guarded and without a constraint, the weights are looked at anew when one percent of rows has been added: means
    // over all rows so far cannot have moved by more than one part in a hundred before.
    STEELYARD_INLINE static bool is_stale(const Tally& tally, double looked_at) {
        return tally.scored() >= 1.01 * looked_at;
    }

    // Before the first row: equal weights, or zeros as printed; Neyman-Pearson starts from its multiplier.
    void start() {
        if (is.guard) pull = {1.0, 1.0};
        if (is.constrained) look_at_constraint(0.5);
        if (!is.guard && is.constrained) weigh_constraint(0.5);
    }

    // SCAN: the value of the ratio at the rates of the epoch.
    void take_level() {
        const Pair r = clipped_rates();
        const double p = tally.rows[1] / tally.total();
        objective->restart();
        denominator->restart();
        objective->look(r, 1.0, p, smoothing());
        denominator->look(r, 1.0, p, smoothing());
        level = objective->value() / denominator->value();
    }

    void restart() {
        tally.seen[0] = tally.seen[1] = tally.credit[0] = tally.credit[1] = 0.0;
        tally.block[0] = tally.block[1] = tally.block_mass = 0.0;
        pull = {};
        if (objective) objective->restart();
        if (denominator) denominator->restart();
    }

private:
    void guarded() {
        const double p = prevalence(), n = 1.0 - p;
        if (is_stale(tally, looked_at)) {
            looked_at = tally.scored();
            const Pair r = clipped_rates();
            const auto at = measure->evaluate({r.pos, r.neg, p, smoothing()});
            gradient = {at.d_tpr, at.d_tnr};
        } else if (!is.constrained) {
            return;
        }
        double pos = gradient.pos, neg = gradient.neg;
        if (is.constrained) {
            look_at_constraint(p);
            pos += multiplier.lam * multiplier.a;
            neg += multiplier.lam * multiplier.b;
        }
        if (pos < 0.0 || neg < 0.0) pos = std::pow(p, is.share_power), neg = std::pow(n, is.share_power);
        pos = finite_or(pos, steepest);
        neg = finite_or(neg, steepest);
        const double sum = pos + neg;
        pos = std::max(sum > 0 ? pos / sum : p, is.floor * p);
        neg = std::max(sum > 0 ? neg / sum : n, is.floor * n);
        pull = {pos / (pos + neg) / p, neg / (pos + neg) / n};
    }

    void to_the_letter() {
        Tally& t = tally;
        const double p = t.rows[1] / t.total();
        if (is.constrained) return weigh_constraint(p);
        const Pair r = clipped_rates(), block = {t.block[1], t.block[0]};
        pull = look(*objective, r, block, p);
        if (is.scan) {
            const Pair below = look(*denominator, r, block, p);
            pull.pos -= level * below.pos;
            pull.neg -= level * below.neg;
        }
        t.block[0] = t.block[1] = t.block_mass = 0.0;
    }

    void weigh_constraint(double p) {
        look_at_constraint(p);
        const auto at = measure->evaluate({0.5, 0.5, p, smoothing()});
        pull = {at.d_tpr + multiplier.lam * multiplier.a, at.d_tnr + multiplier.lam * multiplier.b};
    }

    Pair look(Nest& nest, const Pair& r, const Pair& block, double p) {
        if (nest.started) nest.add(block, tally.block_mass);
        return nest.look(r, tally.scored(), p, smoothing());
    }

    void look_at_constraint(double p) {
        const auto at = constraint->evaluate({0.0, 0.0, p, smoothing()});
        multiplier.a = at.d_tpr, multiplier.b = at.d_tnr, multiplier.c = at.value;
    }

    // lam *= 1 - gain slack / (slack of a perfect classifier), on rows of the negative class, or of the positive one
    // if only it counts.
    void move_multiplier(int side, double weight, double value) {
        Multiplier& m = multiplier;
        m.last[side] = value;
        if (side != (m.b != 0.0 || m.a == 0.0 ? 0 : 1) || (m.a == 0.0 && m.b == 0.0)) return;
        const double pos = side == 1  ? value
                           : is.guard ? rate(1)
                                      : m.last[1],
                     neg = side == 0  ? value
                           : is.guard ? rate(0)
                                      : m.last[0];
        const double slack = m.a * pos + m.b * neg + m.c;
        if (!is.guard) {
            m.lam *= std::max(1.0 - weight * is.gain * slack, 0.0);
            return;
        }
        using Limits = MultiplierLimits;
        const double best = std::max(m.a + m.b + m.c, Limits::least_slack),
                     gain = is.gain / std::sqrt(tally.rows[side]);
        m.lam *= std::min(std::max(1.0 - weight * gain * slack / best, Limits::down), Limits::up);
        m.lam = std::min(std::max(m.lam, Limits::low), Limits::high);
    }
};

}  // namespace steelyard
