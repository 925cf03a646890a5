#include <stdexcept>

#include "emu/cost/operations.h"
#include "emu/cost/state.h"
#include "emu/pybind/bindings.h"

namespace py = pybind11;

namespace rocelab::python {

void bind_cost(py::module_& m) {
  m.def("cost_state", [] {
    py::list items;
    for (const StateItem& s : cost_state())
      items.append(py::make_tuple(s.paper, s.per, s.what, s.bits,
                                  s.paper_bits == 0 ? py::object(py::none()) : py::int_(s.paper_bits),
                                  s.source));
    return items;
  });
  m.def("cost_operations", [] {
    py::list operations;
    for (const CostOperation& o : cost_operations())
      operations.append(py::make_tuple(o.name, o.paper, o.what, o.paper_mops, o.source));
    return operations;
  });
  py::class_<CostLoop>(m, "CostLoop")
      .def(py::init([](const std::string& name) {
             auto loop = make_cost_loop(name);
             if (!loop) throw std::invalid_argument("no operation " + name);
             return loop;
           }),
           py::arg("name"))
      .def("prepare", &CostLoop::prepare)
      .def("run", &CostLoop::run);
}

}  // namespace rocelab::python
