// A measure of several classes, from the rates of each class against the rest.
//
// Given K classes, each with (tpr, tnr, prevalence, smoothing), a measure is a formula of a few numbers that are each
// lifted from one tape f of two rates: the mean of f over the classes, its sum, least value or geometric mean, f of one
// class, or f of all decisions pooled. When a class changes, only its own values of f are computed again (`changed`);
// the lifts go over K numbers, which is exact, and little beside a tape.
//
// A table of costs is no function of these rates: it takes the mass of the rows of class i that are called j (`Cells`).
// It is lifted, too: the f of class j is minus what the calls of j cost, a column of the table times one of the cells.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "measure/tape.hpp"

namespace steelyard {

// In the order of LIFTS in measures/tape.py.
enum class LiftKind : std::int32_t { macro, total, worst, geometric, of, micro, costs };

struct Lift {
    LiftKind kind;
    std::int32_t place;  // of the class, where it is about one; of the table, where it has one
    Tape tape;
};

// How much mass of class i is called j, at j * K + i; nothing unless a measure `has_tables`.
struct Cells {
    const double* mass = nullptr;
    double total = 1.0;
};

using CostTable = std::vector<double>;  // of class i called j, at i * K + j

class ClassMeasure {
public:
    // The formula has the lifts as its inputs, and the smoothing after them.
    ClassMeasure(std::vector<Lift> lifts, Tape formula, std::vector<CostTable> tables = {})
        : lifts_(std::move(lifts)), formula_(std::move(formula)), tables_(std::move(tables)) {
        inputs_.resize(lifts_.size() + 1);
        formula_.with_inputs(inputs_.size());
        for (const Lift& lift : lifts_) {
            lift.tape.with_inputs(Tape::n_rates);
            if (lift.kind == LiftKind::costs && (lift.place < 0 || place_of(lift) >= tables_.size()))
                throw std::invalid_argument("a measure of costs names a table that there is not");
        }
    }

    bool has_tables() const { return !tables_.empty(); }

    void begin(const std::vector<Point>& at, const Cells& cells) {
        n_classes_ = at.size();
        values_.assign(lifts_.size() * n_classes_, 0.0);
        for (const Lift& lift : lifts_)
            if (lift.kind == LiftKind::of && (lift.place < 0 || place_of(lift) >= n_classes_))
                throw std::invalid_argument("a measure of one class names a class that there is not");
        for (const CostTable& table : tables_)
            if (table.size() != n_classes_ * n_classes_)
                throw std::invalid_argument("a table of costs has a row and a column for every class");
        for (std::size_t c = 0; c < n_classes_; ++c) changed(c, at[c], cells);
    }

    void changed(std::size_t c, const Point& at, const Cells& cells) {
        const double inputs[4] = {at.tpr, at.tnr, at.prevalence, at.smoothing};
        for (std::size_t l = 0; l < lifts_.size(); ++l) {
            Lift& lift = lifts_[l];
            if (lift.kind == LiftKind::micro) continue;
            if (lift.kind == LiftKind::of && place_of(lift) != c) continue;
            values_[l * n_classes_ + c] =
                lift.kind == LiftKind::costs ? -spent(tables_[place_of(lift)], c, cells) : lift.tape.value(inputs);
        }
    }

    double value(const std::vector<Point>& at) {
        for (std::size_t l = 0; l < lifts_.size(); ++l) inputs_[l] = lifted(l, at);
        inputs_.back() = at[0].smoothing;
        return formula_.value(inputs_.data());
    }

private:
    std::vector<Lift> lifts_;
    Tape formula_;
    std::vector<CostTable> tables_;
    std::size_t n_classes_ = 0;
    std::vector<double> values_, inputs_;

    static std::size_t place_of(const Lift& lift) { return static_cast<std::size_t>(lift.place); }

    // What the calls of class j cost.
    double spent(const CostTable& table, std::size_t j, const Cells& cells) const {
        double sum = 0.0;
        for (std::size_t i = 0; i < n_classes_; ++i) sum += table[i * n_classes_ + j] * cells.mass[j * n_classes_ + i];
        return sum / cells.total;
    }

    double lifted(std::size_t l, const std::vector<Point>& at) {
        const double* const of_class = values_.data() + l * n_classes_;
        const auto k = static_cast<double>(n_classes_);
        double sum = 0.0;
        switch (lifts_[l].kind) {
            case LiftKind::of: return of_class[lifts_[l].place];
            case LiftKind::micro: return pooled(lifts_[l].tape, at);
            case LiftKind::worst: {
                double least = of_class[0];
                for (std::size_t c = 1; c < n_classes_; ++c)
                    least = of_class[c] < least || std::isnan(of_class[c]) ? of_class[c] : least;
                return least;
            }
            case LiftKind::geometric:
                for (std::size_t c = 0; c < n_classes_; ++c) sum += std::log(of_class[c]);
                return std::exp(sum / k);
            default:
                for (std::size_t c = 0; c < n_classes_; ++c) sum += of_class[c];
                return lifts_[l].kind == LiftKind::macro ? sum / k : sum;
        }
    }

    static double pooled(Tape& tape, const std::vector<Point>& at) {
        double yes = 0.0, no = 0.0, hits = 0.0, passes = 0.0;
        for (const Point& one : at) {
            yes += one.prevalence;
            no += 1.0 - one.prevalence;
            hits += one.prevalence * one.tpr;
            passes += (1.0 - one.prevalence) * one.tnr;
        }
        const double inputs[4] = {hits / yes, passes / no, yes / static_cast<double>(at.size()), at[0].smoothing};
        return tape.value(inputs);
    }
};

}  // namespace steelyard
