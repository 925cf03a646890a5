// Queueing policies: what the compiler says about a program.
#include <algorithm>

#include "emu/pybind/bindings.h"
#include "emu/runner/plan.h"
#include "emu/world/switch_policies.h"
#include "ovs_patches/openqueue/builtin.h"
#include "ovs_patches/openqueue/explain.h"

namespace py = pybind11;
using namespace py::literals;

namespace rocelab::python {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

// A program may be any bytes, and so may the line that a message shows.
py::object text(const std::string& bytes) {
  return py::reinterpret_steal<py::object>(
      PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace"));
}

py::dict to_python(const PolicyDiagnostic& d) {
  return py::dict("file"_a = text(d.file), "line"_a = d.line, "column"_a = d.column, "warning"_a = d.warning,
                  "text"_a = text(d.text), "rendered"_a = text(to_text(d)));
}

// For the named switch of a plan, or without one for eight ports of a switch as scenarios have it by default.
py::dict compile(const Pairs& files, const Pairs& constants, const RunPlan* plan, const std::string& name) {
  SwitchConfig config;
  std::vector<PortConfig> ports(8);
  if (plan != nullptr) {
    const auto& all = plan->world.switches;
    const auto found = std::ranges::find_if(all, [&](const SwitchEntry& s) { return name == s.name; });
    if (found == all.end()) throw py::value_error("no switch " + name);
    config = found->config;
    ports = port_configs(plan->world.ports, *found);
  }
  const CompiledPolicy compiled = compile_policy(source_for({files, constants}, config), config, ports);
  py::list diagnostics;
  for (const PolicyDiagnostic& d : compiled.diagnostics) diagnostics.append(to_python(d));
  py::object explained = py::none(), code = py::none();
  if (compiled.program != nullptr) {
    explained = py::str(explain(*compiled.program));
    code = py::str(explain(*compiled.program, {.code = true}));
  }
  return py::dict("diagnostics"_a = diagnostics, "explained"_a = explained, "code"_a = code);
}

}  // namespace

void bind_policy(py::module_& m) {
  m.def("compile_policy", &compile, "files"_a, "constants"_a = Pairs(), "plan"_a = nullptr,
        "switch"_a = std::string(),
        "Compiles an OpenQueue program: `files` are pairs of name and text, the program first.\n"
        "Returns {diagnostics: [{file, line, column, warning, text, rendered}], explained, code}; the last "
        "two are None where there are errors.");
  m.def("policy_files", &used_files, "text"_a, "Names of the files that a program uses.");
}

}  // namespace rocelab::python
