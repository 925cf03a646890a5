// The text of a scenario as a tree of Python's own values: for scenarios that are changed and written
// by Python.
#include <filesystem>
#include <utility>

#include "emu/pybind/bindings.h"
#include "emu/runner/extends.h"
#include "emu/runner/identity.h"
#include "emu/runner/scenario.h"

namespace py = pybind11;
using namespace py::literals;

namespace rocelab::python {
namespace {

using Kind = ConfigNode::Kind;

py::object plain(const ConfigNode& node, const std::string& key, const std::filesystem::path& folder);

// The name of a file holds wherever the text is written.
py::object text_of(const ConfigNode& node, const std::string& key, const std::filesystem::path& folder) {
  ConfigNode table;
  table.members.emplace_back(key, node);
  const std::vector<std::filesystem::path> files = files_of(table, folder);
  return py::str(files.empty() ? node.text : std::filesystem::absolute(files[0]).lexically_normal().string());
}

py::dict table_of(const ConfigNode& node, const std::filesystem::path& folder) {
  py::dict table;
  for (const auto& [key, member] : node.members) table[py::str(key)] = plain(member, key, folder);
  return table;
}

py::object plain(const ConfigNode& node, const std::string& key, const std::filesystem::path& folder) {
  switch (node.kind) {
    case Kind::kTable:
      return table_of(node, folder);
    case Kind::kArray: {
      py::list list;
      for (const ConfigNode& item : node.items) list.append(plain(item, key, folder));
      return list;
    }
    case Kind::kString:
      return text_of(node, key, folder);
    case Kind::kInteger:
      return py::int_(node.integer);
    case Kind::kReal:
      return py::float_(node.real);
    case Kind::kBool:
      return py::bool_(node.boolean);
  }
  return py::none();
}

py::dict document(const std::string& text, const std::string& name, const std::vector<Override>& overrides) {
  ConfigNode tree = parse_toml(text, name);
  apply_extends(tree, name);
  for (const auto& [key, value] : overrides)
    set_path(tree, key, parse_value(value, "--set " + key + "=" + value));
  return table_of(tree, std::filesystem::path(name).parent_path());
}

}  // namespace

void bind_document(py::module_& m) {
  m.def(
      "document", document, "text"_a, "name"_a, "overrides"_a = std::vector<Override>{},
      "A scenario's tables with what it extends and the overrides, unchecked; names of files are absolute.");
}

}  // namespace rocelab::python
