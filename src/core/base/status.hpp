// How a solver ended, and where it met trouble if it did.
//
// `solved` means that what was asked for is certified. A certificate is never made from inf or NaN: a solver that meets
// one ends with `trouble` and the words for where.
#pragma once

namespace steelyard {

enum class Ended { solved = 0, limit = 1, stopped = 2, trouble = 3, infeasible = 4 };  // the order of solvers/status.py

struct Status {
    Ended ended = Ended::limit;
    const char* where = "";

    bool solved() const { return ended == Ended::solved; }
    static Status trouble(const char* where) { return {Ended::trouble, where}; }
};

}  // namespace steelyard
