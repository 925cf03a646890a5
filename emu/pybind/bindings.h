// The parts of the module _rocelab. No logic here: what can be computed is computed in emu/runner, and Python
// sees numbers whose names end in their unit.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <map>
#include <string>

#include "base/units.h"
#include "emu/world/results.h"

namespace rocelab::python {

using Counts = std::map<std::string, std::uint64_t>;

void bind_scenario(pybind11::module_& m);
void bind_document(pybind11::module_& m);
void bind_segment(pybind11::module_& m);
void bind_metrics(pybind11::module_& m);
void bind_des(pybind11::module_& m);
void bind_policy(pybind11::module_& m);
void bind_cost(pybind11::module_& m);

// Counters by name.
Counts counts(const NicCounters& counters);
Counts counts(const cm::CmCounters& counters);
Counts counts(const SwitchPortCounters& counters);
void add_link(Counts& result, const std::string& prefix, const LinkCounters& counters);

// Python says None where a Time says never().
inline pybind11::object to_python(Time t) {
  return t.is_never() ? pybind11::object(pybind11::none()) : pybind11::int_(t.ps());
}
inline Time time_of(const pybind11::object& ps) {
  return ps.is_none() ? Time::never() : Time::from_ps(ps.cast<std::int64_t>());
}

}  // namespace rocelab::python
