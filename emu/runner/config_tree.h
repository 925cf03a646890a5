// ConfigNode: a parsed TOML document as a plain tree whose nodes know where they stand. The only place that
// knows the TOML library is config_tree.cc; everything behind it reads this tree, so that labels, axes and
// --set are edits of a tree and not special cases of the schema.
#pragma once

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rocelab {

struct ConfigNode {
  enum class Kind : std::uint8_t { kTable, kArray, kString, kInteger, kReal, kBool };
  Kind kind = Kind::kTable;
  std::string text;  // kString
  std::int64_t integer = 0;
  double real = 0;
  bool boolean = false;
  std::vector<std::pair<std::string, ConfigNode>> members;  // kTable, in the order of the text
  std::vector<ConfigNode> items;                            // kArray
  std::string place, key_place;  // of value and key: "incast.toml:12:8", or "--set nic.vfs=3"

  const ConfigNode* find(std::string_view key) const;
  ConfigNode* find(std::string_view key);
  std::string name() const;  // of an element of an array of tables: its `name`, else its `kind`, else ""
};

// Throws ScenarioError with place and complaint when `text` is not TOML.
ConfigNode parse_toml(const std::string& text, const std::string& name);
// A value as it may stand on the command line: TOML, or else a bare word taken as a string.
ConfigNode parse_value(const std::string& text, const std::string& place);

// Puts `value` at a dotted path, making tables on the way. A component names a member of a table, or in an
// array of tables the element with that name() or index from 0. Throws ScenarioError when the path leads
// through a value.
void set_path(ConfigNode& root, std::string_view path, const ConfigNode& value);

// A file named by `value`, relative to the scenario in which it stands: a scenario that extends another may
// lie elsewhere. On the command line (--set) it is relative to `folder`.
std::filesystem::path named_file(const ConfigNode& value, const std::filesystem::path& folder);

// As few digits as tell it from every other number: equal texts mean equal values.
std::string shortest(double number);

// As it would stand in a file, on one line.
std::string render(const ConfigNode& node);

}  // namespace rocelab
