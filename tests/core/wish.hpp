// A stop token for tests: it wants an end when it is told to, and counts how often it was asked to look.
#pragma once

#include <atomic>

#include "base/stop.hpp"

namespace steelyard {

class Wish : public Stop {
public:
    std::atomic<bool> wanted{false};
    mutable std::atomic<int> looks{0};

protected:
    bool look() const override {
        ++looks;
        return wanted;
    }
};

}  // namespace steelyard
