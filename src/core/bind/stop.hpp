// Long calls without the GIL that a signal can end.
//
// `without_gil(task)` releases the GIL, hands the task a stop token, and raises again what a signal handler has raised:
// KeyboardInterrupt, or whatever else it was, as it was. Locks are taken in one order everywhere: a mutex is never
// waited for while the GIL is held, so it belongs inside the task.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <utility>

#include "base/stop.hpp"

namespace steelyard {

namespace nb = nanobind;

class SignalStop : public Stop {
public:
    // With the GIL: raises what the handler has raised.
    [[noreturn]] void raise() const { throw nb::python_error(*raised_); }

protected:
    bool look() const override {
        const nb::gil_scoped_acquire gil;
        if (PyErr_CheckSignals() == 0) return false;
        raised_.emplace();  // takes the exception that is set
        return true;
    }

private:
    mutable std::optional<nb::python_error> raised_;
};

template <class Task>
auto without_gil(Task&& task) {
    const SignalStop stop;
    try {
        const nb::gil_scoped_release release;
        return std::forward<Task>(task)(static_cast<const Stop&>(stop));
    } catch (const Stopped&) {
        stop.raise();
    }
}

}  // namespace steelyard
