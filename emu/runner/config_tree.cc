#include "emu/runner/config_tree.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <sstream>
#include <tuple>

#define TOML_EXCEPTIONS 1
#include <toml++/toml.h>

#include "base/nearest.h"
#include "emu/runner/scenario.h"

namespace rocelab {
namespace {

std::string place_of(const toml::source_region& source, const std::string& name) {
  return name + ":" + std::to_string(source.begin.line) + ":" + std::to_string(source.begin.column);
}

ConfigNode convert(const toml::node& from, const std::string& name);

void convert_table(const toml::table& table, const std::string& name, ConfigNode& to) {
  using Entry = std::tuple<toml::source_position, std::string, const toml::node*>;
  std::vector<Entry> entries;
  for (const auto& [key, node] : table)
    entries.emplace_back(key.source().begin, std::string(key.str()), &node);
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return std::get<0>(a) < std::get<0>(b); });
  for (const auto& [position, key, node] : entries) {
    ConfigNode child = convert(*node, name);
    child.key_place = name + ":" + std::to_string(position.line) + ":" + std::to_string(position.column);
    if (child.kind == ConfigNode::Kind::kTable || node->is_array_of_tables()) child.place = child.key_place;
    to.members.emplace_back(key, std::move(child));
  }
}

ConfigNode convert(const toml::node& from, const std::string& name) {
  ConfigNode to;
  to.place = place_of(from.source(), name);
  if (const auto* table = from.as_table()) {
    convert_table(*table, name, to);
  } else if (const auto* array = from.as_array()) {
    to.kind = ConfigNode::Kind::kArray;
    for (const toml::node& item : *array) to.items.push_back(convert(item, name));
  } else if (const auto* text = from.as_string()) {
    to.kind = ConfigNode::Kind::kString;
    to.text = text->get();
  } else if (const auto* integer = from.as_integer()) {
    to.kind = ConfigNode::Kind::kInteger;
    to.integer = integer->get();
  } else if (const auto* real = from.as_floating_point()) {
    to.kind = ConfigNode::Kind::kReal;
    to.real = real->get();
  } else if (const auto* boolean = from.as_boolean()) {
    to.kind = ConfigNode::Kind::kBool;
    to.boolean = boolean->get();
  } else {
    throw ScenarioError(to.place + ": dates and times have no meaning here");
  }
  return to;
}

// What an entry that there is not might have been.
std::string entries(const std::string& component, const std::vector<std::string>& names) {
  const std::string near = nearest(component, names);
  if (!near.empty()) return "did you mean \"" + near + "\"?";
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "it has \"" : ", \"") + name + "\"";
  return text.empty() ? "use its index from 0" : text + "; an index from 0 will do, too";
}

// The part of `node` that `component` names; a table gets it when it lacks it.
ConfigNode& step(ConfigNode& node, std::string_view component, const std::string& place,
                 const std::string& whole) {
  if (node.kind == ConfigNode::Kind::kTable) {
    if (ConfigNode* next = node.find(component)) return *next;
    ConfigNode made;
    made.place = made.key_place = place;
    return node.members.emplace_back(component, std::move(made)).second;
  }
  if (node.kind == ConfigNode::Kind::kArray) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      if (component == std::to_string(i) || component == node.items[i].name()) return node.items[i];
      if (!node.items[i].name().empty()) names.emplace_back(node.items[i].name());
    }
    throw ScenarioError(place + ": " + whole + " names no entry \"" + std::string(component) + "\"; " +
                        entries(std::string(component), names));
  }
  throw ScenarioError(place + ": " + whole + " goes through a value that has no parts");
}

}  // namespace

const ConfigNode* ConfigNode::find(std::string_view key) const {
  for (const auto& [name, node] : members)
    if (name == key) return &node;
  return nullptr;
}

std::string ConfigNode::name() const {
  const ConfigNode* own = find("name");
  if (own == nullptr) own = find("kind");
  return own == nullptr ? "" : own->text;
}

ConfigNode* ConfigNode::find(std::string_view key) {
  return const_cast<ConfigNode*>(std::as_const(*this).find(key));
}

ConfigNode parse_toml(const std::string& text, const std::string& name) {
  try {
    return convert(toml::parse(text, name), name);
  } catch (const toml::parse_error& error) {
    throw ScenarioError(place_of(error.source(), name) + ": " + std::string(error.description()));
  }
}

ConfigNode parse_value(const std::string& text, const std::string& place) {
  ConfigNode node;
  try {
    node = convert(toml::parse("value = " + text, place), place).members.at(0).second;
  } catch (const toml::parse_error&) {
    node.kind = ConfigNode::Kind::kString;
    node.text = text;
  }
  node.place = node.key_place = place;
  for (ConfigNode& item : node.items) item.place = place;
  return node;
}

void set_path(ConfigNode& root, std::string_view path, const ConfigNode& value) {
  const std::string whole(path);
  ConfigNode* node = &root;
  while (true) {
    const std::size_t dot = path.find('.');
    node = &step(*node, path.substr(0, dot), value.place, whole);
    if (dot == std::string_view::npos) break;
    path.remove_prefix(dot + 1);
  }
  *node = value;
}

std::filesystem::path named_file(const ConfigNode& value, const std::filesystem::path& folder) {
  const std::size_t column = value.place.rfind(':'),
                    line = column == std::string::npos ? column : value.place.rfind(':', column - 1);
  const bool in_file = line != std::string::npos && value.place.rfind("--set ", 0) != 0;
  return (in_file ? std::filesystem::path(value.place.substr(0, line)).parent_path() : folder) / value.text;
}

std::string shortest(double number) {
  std::array<char, 32> text{};
  const std::to_chars_result end = std::to_chars(text.data(), text.data() + text.size(), number);
  return {text.data(), end.ptr};
}

std::string render(const ConfigNode& node) {
  std::ostringstream out;
  const char* separator = "";
  switch (node.kind) {
    case ConfigNode::Kind::kString:
      return "\"" + node.text + "\"";
    case ConfigNode::Kind::kInteger:
      return std::to_string(node.integer);
    case ConfigNode::Kind::kReal:
      return shortest(node.real);
    case ConfigNode::Kind::kBool:
      return node.boolean ? "true" : "false";
    case ConfigNode::Kind::kArray:
      out << "[";
      for (const ConfigNode& item : node.items) out << std::exchange(separator, ", ") << render(item);
      out << "]";
      return out.str();
    case ConfigNode::Kind::kTable:
      out << "{";
      for (const auto& [key, member] : node.members)
        out << std::exchange(separator, ", ") << key << " = " << render(member);
      out << "}";
      return out.str();
  }
  return {};
}

}  // namespace rocelab
