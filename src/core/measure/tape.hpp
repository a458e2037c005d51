// A measure and its gradient at a point, from a tape.
//
// Given: instructions in an order in which arguments come before their use, and a point (tpr, tnr, prevalence,
// smoothing). Comes back: the value of the last instruction and its derivatives with respect to tpr and tnr, by
// forward differentiation with two tangents; or the value alone, of any number of inputs. Conventions, as in the Python
// tree: 0/0 = 0 and 0 times infinity = 0.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

namespace steelyard {

// In the order of OPS in measures/tape.py.
enum class Op : std::int32_t {
    input,
    constant,
    add,
    subtract,
    multiply,
    divide,
    negate,
    log,
    power,
    absolute,
    minimum,
    maximum
};

struct Instruction {
    Op op;
    std::int32_t left,
        right;      // earlier instructions, right for two arguments; for an input left is its place in the point
    double number;  // a constant, or the exponent of a power
};

struct Point {
    double tpr, tnr, prevalence, smoothing;
};

struct ValueAndGradient {
    double value, d_tpr, d_tnr;
};

inline double product(double a, double b) { return a == 0.0 || b == 0.0 ? 0.0 : a * b; }
inline double quotient(double a, double b) { return a == 0.0 && b == 0.0 ? 0.0 : a / b; }

class Tape {
public:
    static constexpr std::int32_t n_rates = 4;  // the numbers of a Point

    // Throws std::invalid_argument if an instruction refers to itself, to a later one, or to nothing.
    explicit Tape(std::vector<Instruction> instructions, std::int32_t n_inputs = n_rates)
        : instructions_(std::move(instructions)),
          slots_(instructions_.size()),
          values_(instructions_.size()),
          n_inputs_(n_inputs) {
        if (instructions_.empty()) throw std::invalid_argument("a tape needs at least one instruction");
        for (std::size_t k = 0; k < instructions_.size(); ++k)
            check(instructions_[k], static_cast<std::int32_t>(k), n_inputs);
    }

    // Not const: the slots are scratch space, so two threads need two tapes.
    ValueAndGradient evaluate(const Point& at) {
        for (std::size_t k = 0; k < instructions_.size(); ++k) slots_[k] = run(instructions_[k], at);
        return slots_.back();
    }

    // The value alone, at inputs in their order.
    double value(const double* inputs) {
        for (std::size_t k = 0; k < instructions_.size(); ++k) {
            const Instruction& step = instructions_[k];
            const auto left = static_cast<std::size_t>(step.left), right = static_cast<std::size_t>(step.right);
            if (step.op == Op::input)
                values_[k] = inputs[left];
            else if (step.op == Op::constant)
                values_[k] = step.number;
            else
                values_[k] = result(step, values_[left], values_[right]);
        }
        return values_.back();
    }

    const std::vector<Instruction>& instructions() const { return instructions_; }

    // For whoever has so many inputs to give, and no more.
    const Tape& with_inputs(std::size_t given) const {
        if (n_inputs_ > 0 && static_cast<std::size_t>(n_inputs_) > given)
            throw std::invalid_argument("a tape asks for more inputs than there are");
        return *this;
    }

private:
    std::vector<Instruction> instructions_;
    std::vector<ValueAndGradient> slots_;
    std::vector<double> values_;
    std::int32_t n_inputs_;

    // An argument that an operation does not have becomes the one that it has, so that whoever looks finds something.
    static void check(Instruction& step, std::int32_t place, std::int32_t n_inputs) {
        if (step.op < Op::input || step.op > Op::maximum) throw std::invalid_argument("unknown operation on the tape");
        const bool binary = (step.op >= Op::add && step.op <= Op::divide) || step.op >= Op::minimum;
        if (step.op == Op::constant) step.left = 0;
        if (!binary) step.right = step.left;
        if (step.op == Op::constant) return;
        const std::int32_t end = step.op == Op::input ? n_inputs : place;
        if (step.left < 0 || step.left >= end || step.right < 0 || step.right >= end)
            throw std::invalid_argument("an instruction refers to none before it");
    }

    static double result(const Instruction& step, double x, double y) {
        switch (step.op) {
            case Op::add: return x + y;
            case Op::subtract: return x - y;
            case Op::multiply: return product(x, y);
            case Op::divide: return quotient(x, y);
            case Op::negate: return -x;
            case Op::log: return std::log(x);
            case Op::power: return std::pow(x, step.number);
            case Op::absolute: return std::fabs(x);
            case Op::minimum: return x < y || std::isnan(x) ? x : y;
            default: return x > y || std::isnan(x) ? x : y;
        }
    }

    // f(x, y) with partial derivatives dx, dy.
    static ValueAndGradient chain(double value, double dx, const ValueAndGradient& x) {
        return {value, product(dx, x.d_tpr), product(dx, x.d_tnr)};
    }
    static ValueAndGradient chain(double value, double dx, const ValueAndGradient& x, double dy,
                                  const ValueAndGradient& y) {
        return {value, product(dx, x.d_tpr) + product(dy, y.d_tpr), product(dx, x.d_tnr) + product(dy, y.d_tnr)};
    }
    // The mean of both gradients at a tie: one of the sub- or supergradients. A NaN is not lost.
    static ValueAndGradient extreme(const ValueAndGradient& x, const ValueAndGradient& y, bool first) {
        if (x.value == y.value) return chain(x.value, 0.5, x, 0.5, y);
        return first || std::isnan(x.value) ? x : y;
    }

    ValueAndGradient run(const Instruction& step, const Point& at) const {
        if (step.op == Op::input) {
            const std::array<double, 4> inputs = {at.tpr, at.tnr, at.prevalence, at.smoothing};
            const auto place = static_cast<std::size_t>(step.left);
            return {inputs[place], step.left == 0 ? 1.0 : 0.0, step.left == 1 ? 1.0 : 0.0};
        }
        if (step.op == Op::constant) return {step.number, 0.0, 0.0};
        const ValueAndGradient& x = slots_[static_cast<std::size_t>(step.left)];
        const ValueAndGradient& y = slots_[static_cast<std::size_t>(step.right)];
        const double value = result(step, x.value, y.value);
        switch (step.op) {
            case Op::add: return chain(value, 1.0, x, 1.0, y);
            case Op::subtract: return chain(value, 1.0, x, -1.0, y);
            case Op::multiply: return chain(value, y.value, x, x.value, y);
            case Op::divide: return chain(value, quotient(1.0, y.value), x, -quotient(value, y.value), y);
            case Op::negate: return chain(value, -1.0, x);
            case Op::log: return chain(value, 1.0 / x.value, x);
            case Op::power: return chain(value, step.number * std::pow(x.value, step.number - 1.0), x);
            case Op::absolute: return chain(value, x.value > 0.0 ? 1.0 : x.value < 0.0 ? -1.0 : 0.0, x);
            case Op::minimum: return extreme(x, y, x.value < y.value);
            default: return extreme(x, y, x.value > y.value);
        }
    }
};

}  // namespace steelyard
