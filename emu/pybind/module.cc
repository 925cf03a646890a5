// _rocelab: what Python needs of the C++ runner.
#include <cstddef>

#include "base/trace.h"
#include "emu/pybind/bindings.h"
#include "emu/runner/scenario.h"

namespace py = pybind11;

PYBIND11_MODULE(_rocelab, m) {
  using rocelab::TraceRecord;
  m.doc() = "Scenarios, plans, shared segments and metrics of rocelab.";
  py::register_exception<rocelab::ScenarioError>(m, "ScenarioError", PyExc_ValueError);
  // The layout of an event file's records, so that Python's dtype can be checked against it.
  m.attr("TRACE_RECORD_SIZE") = sizeof(TraceRecord);
  m.attr("TRACE_RECORD_OFFSETS") = py::dict(
      py::arg("time_ps") = offsetof(TraceRecord, time), py::arg("kind") = offsetof(TraceRecord, kind),
      py::arg("mark") = offsetof(TraceRecord, mark), py::arg("port") = offsetof(TraceRecord, port),
      py::arg("flow") = offsetof(TraceRecord, flow), py::arg("bytes") = offsetof(TraceRecord, bytes),
      py::arg("psn") = offsetof(TraceRecord, psn), py::arg("peer") = offsetof(TraceRecord, peer));
  py::list kinds;
  for (const rocelab::TraceKindInfo& kind : rocelab::kTraceKinds)
    kinds.append(py::make_tuple(kind.name, kind.text));
  m.attr("TRACE_KINDS") = kinds;
  rocelab::python::bind_scenario(m);
  rocelab::python::bind_document(m);
  rocelab::python::bind_metrics(m);
  rocelab::python::bind_des(m);  // whose ScheduleFile bind_segment() has as a default
  rocelab::python::bind_segment(m);
  rocelab::python::bind_policy(m);
  rocelab::python::bind_cost(m);
}
