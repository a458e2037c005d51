// What the core's own tests share: each test program says what failed, and returns 1 if anything did.
#pragma once

#include <cmath>
#include <cstdio>

inline int failures = 0;

inline void expect(bool condition, const char* what) {
    if (!condition) {
        std::printf("FAILED: %s\n", what);
        ++failures;
    }
}

inline bool close(double a, double b) { return std::fabs(a - b) <= 1e-12 * (1 + std::fabs(b)); }

inline int verdict() {
    std::printf("%s\n", failures ? "FAILED" : "ok");
    return failures ? 1 : 0;
}
