// Tapes, built plain and under the sanitizers.
#include <limits>

#include "measure/tape.hpp"

#include "check.hpp"

using namespace steelyard;

static void test_ratio() {
    // tpr / (tpr + (1 - tnr))
    Tape tape({{Op::input, 0, 0, 0.0},
               {Op::constant, 0, 0, 1.0},
               {Op::input, 1, 0, 0.0},
               {Op::subtract, 1, 2, 0.0},
               {Op::add, 0, 3, 0.0},
               {Op::divide, 0, 4, 0.0}});
    const auto inside = tape.evaluate({0.5, 0.75, 0.1, 0.0});
    expect(close(inside.value, 0.5 / 0.75), "value of a ratio");
    expect(close(inside.d_tpr, 0.25 / (0.75 * 0.75)), "gradient of a ratio in tpr");
    expect(close(inside.d_tnr, 0.5 / (0.75 * 0.75)), "gradient of a ratio in tnr");
    expect(tape.evaluate({0.0, 1.0, 0.1, 0.0}).value == 0.0, "0/0 is 0");
}

static void test_zero_times_infinity() {
    // prevalence * log(tpr)
    Tape tape({{Op::input, 2, 0, 0.0}, {Op::input, 0, 0, 0.0}, {Op::log, 1, 0, 0.0}, {Op::multiply, 0, 2, 0.0}});
    expect(tape.evaluate({0.0, 1.0, 0.0, 0.0}).value == 0.0, "0 times minus infinity is 0");
    expect(tape.evaluate({0.0, 1.0, 0.5, 0.0}).value == -std::numeric_limits<double>::infinity(),
           "log 0 is minus infinity");
}

static void test_bad_tapes() {
    const std::vector<std::vector<Instruction>> bad = {{},
                                                       {{Op::log, 0, 0, 0.0}},
                                                       {{Op::input, 4, 0, 0.0}},
                                                       {{Op::input, 0, 0, 0.0}, {Op::add, 0, 1, 0.0}},
                                                       {{static_cast<Op>(99), 0, 0, 0.0}}};
    for (const auto& steps : bad) {
        bool refused = false;
        try {
            Tape tape(steps);
        } catch (const std::invalid_argument&) {
            refused = true;
        }
        expect(refused, "a malformed tape is refused");
    }
}

int main() {
    test_ratio();
    test_zero_times_infinity();
    test_bad_tapes();
    return verdict();
}
