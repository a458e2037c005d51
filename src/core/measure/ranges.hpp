// Between which numbers a measure and its gradient stay while the two rates move in a box: interval arithmetic on a
// tape.
//
// Given a tape and ranges of tpr and tnr. Comes back an interval that holds every value, and two that hold every
// derivative. They are wider than need be where a rate occurs more than once, and shrink to the point with the box;
// where a quotient or a power has no bound they are infinite. Conventions as in measure/tape.hpp: 0/0 = 0, 0 times
// infinity = 0.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "measure/tape.hpp"

namespace steelyard {

struct Range {
    double low, high;

    bool holds(double x) const { return low <= x && x <= high; }
    bool is_zero() const { return low == 0.0 && high == 0.0; }
};

constexpr Range anywhere = {-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};

inline Range hull(const Range& x, const Range& y) { return {std::min(x.low, y.low), std::max(x.high, y.high)}; }
inline Range operator-(const Range& x) { return {-x.high, -x.low}; }

inline Range operator+(const Range& x, const Range& y) {
    const double low = x.low + y.low, high = x.high + y.high;  // infinity - infinity: nothing is known on that side
    return {std::isnan(low) ? anywhere.low : low, std::isnan(high) ? anywhere.high : high};
}
inline Range operator-(const Range& x, const Range& y) { return x + (-y); }

inline Range operator*(const Range& x, const Range& y) {
    const double corners[] = {product(x.low, y.low), product(x.low, y.high), product(x.high, y.low),
                              product(x.high, y.high)};
    return {*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4)};
}

inline Range operator/(const Range& x, const Range& y) {
    if (x.is_zero()) return x;
    if (y.holds(0.0)) return anywhere;
    return x * Range{1.0 / y.high, 1.0 / y.low};
}

inline Range power(const Range& x, double exponent) {
    if (exponent == 0.0) return {1.0, 1.0};
    const bool whole = exponent == std::floor(exponent), even = whole && std::fmod(exponent, 2.0) == 0.0;
    if (x.low < 0.0 && (!whole || (exponent < 0.0 && x.high >= 0.0))) return anywhere;
    if (x.low < 0.0 && even) {
        const double far = std::max(-x.low, std::fabs(x.high)), near = x.high > 0.0 ? 0.0 : -x.high;
        return power({near, far}, exponent);
    }
    const double at_low = std::pow(x.low, exponent), at_high = std::pow(x.high, exponent);
    return {std::min(at_low, at_high), std::max(at_low, at_high)};
}

struct Box {
    Range tpr, tnr;
    double prevalence, smoothing;
};

struct RangeAndSlopes {
    Range value, d_tpr, d_tnr;
};

class TapeRanges {
public:
    explicit TapeRanges(const Tape& tape) : steps_(tape.instructions()), slots_(steps_.size()) {}

    // Not const: the slots are scratch space.
    RangeAndSlopes over(const Box& box) {
        for (std::size_t k = 0; k < steps_.size(); ++k) slots_[k] = run(steps_[k], box);
        return slots_.back();
    }

private:
    std::vector<Instruction> steps_;
    std::vector<RangeAndSlopes> slots_;

    static RangeAndSlopes chain(const Range& value, const Range& dx, const RangeAndSlopes& x) {
        return {value, dx * x.d_tpr, dx * x.d_tnr};
    }
    static RangeAndSlopes chain(const Range& value, const Range& dx, const RangeAndSlopes& x, const Range& dy,
                                const RangeAndSlopes& y) {
        return {value, dx * x.d_tpr + dy * y.d_tpr, dx * x.d_tnr + dy * y.d_tnr};
    }
    static RangeAndSlopes either(const Range& value, const RangeAndSlopes& x, const RangeAndSlopes& y) {
        return {value, hull(x.d_tpr, y.d_tpr), hull(x.d_tnr, y.d_tnr)};
    }

    static RangeAndSlopes input(std::int32_t place, const Box& box) {
        const Range one = {1.0, 1.0}, zero = {0.0, 0.0};
        if (place == 0) return {box.tpr, one, zero};
        if (place == 1) return {box.tnr, zero, one};
        const double fixed = place == 2 ? box.prevalence : box.smoothing;
        return {{fixed, fixed}, zero, zero};
    }

    static RangeAndSlopes logarithm(const RangeAndSlopes& x) {
        if (x.value.low <= 0.0) {
            const double high = x.value.high > 0.0 ? std::log(x.value.high) : anywhere.high;
            return chain({anywhere.low, high}, anywhere, x);
        }
        return chain({std::log(x.value.low), std::log(x.value.high)}, {1.0 / x.value.high, 1.0 / x.value.low}, x);
    }

    static RangeAndSlopes absolute(const RangeAndSlopes& x) {
        if (x.value.low >= 0.0) return x;
        if (x.value.high <= 0.0) return chain(-x.value, {-1.0, -1.0}, x);
        return chain({0.0, std::max(-x.value.low, x.value.high)}, {-1.0, 1.0}, x);
    }

    RangeAndSlopes run(const Instruction& step, const Box& box) const {
        // Slopes of the inputs.
        constexpr Range zero = {0.0, 0.0}, one = {1.0, 1.0}, minus = {-1.0, -1.0};
        if (step.op == Op::input) return input(step.left, box);
        if (step.op == Op::constant) return {{step.number, step.number}, zero, zero};
        const RangeAndSlopes& x = slots_[static_cast<std::size_t>(step.left)];
        const RangeAndSlopes& y = slots_[static_cast<std::size_t>(step.right)];
        switch (step.op) {
            case Op::add: return chain(x.value + y.value, one, x, one, y);
            case Op::subtract: return chain(x.value - y.value, one, x, minus, y);
            case Op::multiply: return chain(x.value * y.value, y.value, x, x.value, y);
            case Op::divide: {
                const Range value = x.value / y.value;
                return chain(value, one / y.value, x, -(value / y.value), y);
            }
            case Op::negate: return chain(-x.value, minus, x);
            case Op::log: return logarithm(x);
            case Op::power: {
                const Range slope = Range{step.number, step.number} * power(x.value, step.number - 1.0);
                return chain(power(x.value, step.number), slope, x);
            }
            case Op::absolute: return absolute(x);
            case Op::minimum: {
                if (x.value.high < y.value.low) return x;
                if (y.value.high < x.value.low) return y;
                return either({std::min(x.value.low, y.value.low), std::min(x.value.high, y.value.high)}, x, y);
            }
            default: {
                if (x.value.low > y.value.high) return x;
                if (y.value.low > x.value.high) return y;
                return either({std::max(x.value.low, y.value.low), std::max(x.value.high, y.value.high)}, x, y);
            }
        }
    }
};

}  // namespace steelyard
