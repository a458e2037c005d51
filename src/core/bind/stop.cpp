#include "bind/stop.hpp"

namespace steelyard {

void bind_stop(nb::module_& m) {
    nb::class_<Halt>(m, "Halt", "Ends the long calls of threads that heed it.")
        .def(nb::init<>())
        .def("set", &Halt::set, "End them, now and from now on.")
        .def("heed", &Halt::heed, "Calls of this thread end with KeyboardInterrupt when it is set.");
}

}  // namespace steelyard
