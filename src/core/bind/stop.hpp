// Long calls without the GIL that a signal can end.
//
// `without_gil(task)` releases the GIL, hands the task a stop token, and raises again what a signal handler has raised:
// KeyboardInterrupt, or whatever else it was, as it was. Locks are taken in one order everywhere: a mutex is never
// waited for while the GIL is held, so it belongs inside the task.
//
// Python's signals reach the main thread only. A `Halt` carries the end to threads that work for it: whoever heeds one
// ends his calls with KeyboardInterrupt once it is set.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "base/stop.hpp"

namespace steelyard {

namespace nb = nanobind;

class Halt {
public:
    void set() const { *set_ = true; }
    void heed() const { heeded() = set_; }  // by this thread, for the rest of its life

    static bool reached_this_thread() { return heeded() && *heeded(); }

private:
    using Flag = std::shared_ptr<std::atomic<bool>>;
    static Flag& heeded() {
        thread_local Flag flag;
        return flag;
    }
    Flag set_ = std::make_shared<std::atomic<bool>>(false);
};

class SignalStop : public Stop {
public:
    // With the GIL: raises what the handler has raised.
    [[noreturn]] void raise() const { throw nb::python_error(*raised_); }

protected:
    bool look() const override {
        const nb::gil_scoped_acquire gil;
        if (Halt::reached_this_thread()) PyErr_SetNone(PyExc_KeyboardInterrupt);
        if (!PyErr_Occurred() && PyErr_CheckSignals() == 0) return false;
        raised_.emplace();  // takes the exception that is set
        return true;
    }

private:
    mutable std::optional<nb::python_error> raised_;
};

template <class Task>
auto without_gil(Task&& task) {
    const SignalStop stop;
    if (Halt::reached_this_thread()) {  // many short calls, none of which would look
        PyErr_SetNone(PyExc_KeyboardInterrupt);
        throw nb::python_error();
    }
    try {
        const nb::gil_scoped_release release;
        return std::forward<Task>(task)(static_cast<const Stop&>(stop));
    } catch (const Stopped&) {
        stop.raise();
    }
}

void bind_stop(nb::module_& m);

}  // namespace steelyard
