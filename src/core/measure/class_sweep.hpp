// The best offset of one class, with those of the others fixed: one sort, one pass over the rows.
//
// Given scores s_ik of n rows for K classes, offsets o, and the mass of every row in every class, the rule is "the
// class with the largest s_ik + o_k". As o_k rises, row i moves to class k where o_k passes
//
//     g_i = max over j != k of (s_ij + o_j) - s_ik,
//
// from the class j that the maximum is taken at. The rows move in the order of g, and each move changes the rates of
// two classes. Comes back: the offset, in the middle between two moves, at which the constraints are missed by least
// and, among those, the measure is largest; among equals the one of largest mean recall.
//
// A measure that rises in every rate (`monotone`) is not largest just after k has taken a row of j from j, nor just
// before it takes one of its own: these cuts are passed over.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "base/sort.hpp"
#include "base/stop.hpp"
#include "measure/class_measure.hpp"

namespace steelyard {

// `cleared` is not negative where the constraint holds, unless `below` is 0: then `whole` decides.
struct ClassConstraint {
    ClassMeasure cleared;
    std::optional<ClassMeasure> below, whole;
};

struct ClassGoal {
    ClassMeasure measure;
    std::vector<ClassConstraint> constraints;
    double smoothing;
    bool monotone;
    double tolerance, tie, apart;  // of a constraint, of equal values, of moves that are one: see statistics/offsets.py
};

struct ClassRows {
    const double *scores, *labels;  // n x K, row by row
    std::size_t size, n_classes;
};

struct ClassCut {
    double offset, value, missed, recall;
};

class ClassSweep {
public:
    ClassSweep(const ClassRows& rows, const double* offsets, std::size_t k, ClassGoal& goal, const Stop* stop)
        : rows_(rows), k_(k), goal_(goal), hits_(rows.n_classes), calls_(rows.n_classes), mass_(rows.n_classes) {
        bool has_tables = false;
        each_measure([&](ClassMeasure& one) { has_tables = has_tables || one.has_tables(); });
        if (has_tables) cells_.resize(rows.n_classes * rows.n_classes);
        rank(offsets, stop);
    }

    ClassCut best(const Stop* stop) {
        begin();
        const std::size_t n = rows_.size;
        ClassCut found{0.0, -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity(), -1.0};
        StopEvery ask(stop, 1 << 14);  // some ten milliseconds of long tapes
        bool apart = true;             // whether the last row moved before this one does, not with it
        Kind last = Kind::either;
        for (std::size_t t = 0; t <= n; ++t) {
            ask();
            const bool next_apart = t + 1 >= n || is_apart(t + 1);
            const Kind next = t < n && apart && next_apart ? kind_of(t) : Kind::either;
            const bool hopeless = goal_.monotone && (last == Kind::worse || next == Kind::better);
            if (apart && !hopeless) take(t, found);
            if (t == n) break;
            move(t);
            last = next;
            apart = next_apart;
        }
        return found;
    }

private:
    enum class Kind { better, worse, either };  // for every measure that rises

    ClassRows rows_;
    std::size_t k_;
    ClassGoal& goal_;
    ScoreSort sorted_;
    std::vector<std::int32_t> runner_;
    std::vector<double> row_mass_;
    std::vector<double> hits_, calls_, mass_;
    std::vector<double> cells_;  // empty where no measure has a table
    double total_ = 0.0;
    std::vector<Point> at_;
    std::vector<std::size_t> stale_;
    std::vector<std::uint8_t> is_stale_;

    std::size_t row_of(std::size_t t) const { return static_cast<std::size_t>(sorted_.rows[t].mass); }
    double move_of(std::size_t t) const { return to_score(sorted_.rows[t].key); }
    bool is_apart(std::size_t t) const {
        const double now = move_of(t);
        return now - move_of(t - 1) > goal_.apart * (1.0 + std::fabs(now));
    }

    void rank(const double* offsets, const Stop* stop) {
        const std::size_t n = rows_.size, width = rows_.n_classes;
        sorted_.rows.resize(n);
        runner_.resize(n);
        row_mass_.resize(n);
        StopEvery ask(stop, 1 << 14);
        for (std::size_t i = 0; i < n; ++i) {
            ask();
            const double *const s = rows_.scores + i * width, *const y = rows_.labels + i * width;
            double top = -std::numeric_limits<double>::infinity(), mass = 0.0;
            std::size_t first = k_ == 0 ? 1 : 0;
            for (std::size_t j = 0; j < width; ++j) {
                mass += y[j];
                mass_[j] += y[j];
                const double score = s[j] + offsets[j];
                if (j != k_ && score > top) top = score, first = j;
            }
            hits_[first] += y[first];
            calls_[first] += mass;
            add_cells(first, y, 1.0);
            runner_[i] = static_cast<std::int32_t>(first);
            row_mass_[i] = mass;
            sorted_.rows[i] = {to_key(top - s[k_]), static_cast<double>(i)};
        }
        sorted_.sort(stop);
    }

    void begin() {
        const std::size_t width = rows_.n_classes;
        at_.resize(width);
        is_stale_.assign(width, 0);
        total_ = 0.0;
        for (const double mass : mass_) total_ += mass;
        for (std::size_t c = 0; c < width; ++c) refresh(c);
        each_measure([&](ClassMeasure& one) { one.begin(at_, cells()); });
    }

    Cells cells() const { return {cells_.data(), total_}; }

    // The mass of a row goes to the calls of class j, or leaves them.
    void add_cells(std::size_t j, const double* y, double sign) {
        if (cells_.empty()) return;
        double* const column = cells_.data() + j * rows_.n_classes;
        for (std::size_t i = 0; i < rows_.n_classes; ++i) column[i] += sign * y[i];
    }

    template <class F>
    void each_measure(F&& f) {
        f(goal_.measure);
        for (ClassConstraint& one : goal_.constraints) {
            f(one.cleared);
            if (one.below) f(*one.below), f(*one.whole);
        }
    }

    void refresh(std::size_t c) {
        const auto rate = [](double x) { return std::min(1.0, std::max(0.0, x)); };
        at_[c] = {rate(hits_[c] / mass_[c]), rate(1.0 - (calls_[c] - hits_[c]) / (total_ - mass_[c])),
                  mass_[c] / total_, goal_.smoothing};
    }

    Kind kind_of(std::size_t t) const {
        const std::size_t i = row_of(t);
        const double* const y = rows_.labels + i * rows_.n_classes;
        const bool own = y[k_] > 0.0, lost = y[static_cast<std::size_t>(runner_[i])] > 0.0;
        return own == lost ? Kind::either : own ? Kind::better : Kind::worse;
    }

    void move(std::size_t t) {
        const std::size_t i = row_of(t), from = static_cast<std::size_t>(runner_[i]);
        const double* const y = rows_.labels + i * rows_.n_classes;
        hits_[from] -= y[from];
        calls_[from] -= row_mass_[i];
        hits_[k_] += y[k_];
        calls_[k_] += row_mass_[i];
        add_cells(from, y, -1.0);
        add_cells(k_, y, 1.0);
        for (const std::size_t c : {from, k_})
            if (!is_stale_[c]) is_stale_[c] = 1, stale_.push_back(c);
    }

    double middle(std::size_t t) const {
        if (t == 0) return move_of(0) - 1.0;
        return t == rows_.size ? move_of(t - 1) + 1.0 : move_of(t - 1) + (move_of(t) - move_of(t - 1)) / 2.0;
    }

    void take(std::size_t t, ClassCut& best) {
        for (const std::size_t c : stale_) {
            refresh(c);
            each_measure([&](ClassMeasure& one) { one.changed(c, at_[c], cells()); });
            is_stale_[c] = 0;
        }
        stale_.clear();
        double missed = 0.0;
        for (ClassConstraint& one : goal_.constraints) {
            double slack = one.cleared.value(at_);
            if (one.below && one.below->value(at_) == 0.0) slack = one.whole->value(at_);
            missed += slack >= -goal_.tolerance ? 0.0 : std::isnan(slack) ? 1.0 : -slack;
        }
        if (missed > best.missed) return;
        const double value = goal_.measure.value(at_);
        if (std::isnan(value)) return;
        const bool nearer = missed < best.missed, same = std::isinf(value) || std::isinf(best.value);
        const double tie = same ? 0.0 : goal_.tie * (1.0 + std::fabs(best.value));
        if (!nearer && value < best.value - tie) return;
        double recall = 0.0;
        for (const Point& one : at_) recall += one.tpr;
        if (nearer || value > best.value + tie || recall > best.recall) best = {middle(t), value, missed, recall};
    }
};

}  // namespace steelyard
