// ConfigSection: typed reading of one table of a scenario. Every key asked for becomes known; finish()
// refuses the others and names the nearest known one. Each complaint is a ScenarioError with the place of the
// value. What was read, defaults included, can be listed as Parameters.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "emu/runner/config_tree.h"
#include "emu/runner/scenario.h"

namespace rocelab {

class ConfigSection {
 public:
  // `path` is the dotted path of the table ("" for the whole file), `parameters` (may be null) collects what
  // is read. `node` null: an absent table, all defaults, which would stand in the one at `above`.
  ConfigSection(const ConfigNode* node, std::string path, std::vector<Parameter>* parameters,
                std::string above = "");

  bool has(std::string_view key);
  Rate rate(std::string_view key, Rate otherwise);  // > 0
  Duration duration(std::string_view key, Duration otherwise);
  Bytes bytes(std::string_view key, Bytes otherwise);
  std::int64_t integer(std::string_view key, std::int64_t otherwise, std::int64_t least, std::int64_t most);
  double real(std::string_view key, double otherwise, double least, double most);
  bool boolean(std::string_view key, bool otherwise);
  std::string text(std::string_view key, std::string_view otherwise);
  // named_file(); `folder` when the key is absent.
  std::filesystem::path file(std::string_view key, const std::filesystem::path& folder);
  std::string content(std::string_view key, const std::filesystem::path& file);  // complains at the key
  std::size_t choice(std::string_view key, std::span<const std::string_view> names, std::size_t otherwise);
  std::size_t choice(std::string_view key, std::initializer_list<std::string_view> names,
                     std::size_t otherwise) {
    return choice(key, std::span(names.begin(), names.size()), otherwise);
  }
  std::vector<std::int64_t> integers(std::string_view key, const std::vector<std::int64_t>& otherwise,
                                     std::int64_t least, std::int64_t most);
  std::vector<std::string> texts(std::string_view key,
                                 const std::vector<std::string>& otherwise);  // an array, or one string
  // A key whose value is a word of its own or a quantity: true when the word stands there (or nothing and
  // `otherwise`).
  bool is_word(std::string_view key, std::string_view word, bool otherwise);

  const ConfigNode* node(std::string_view key);  // null: absent
  ConfigSection table(std::string_view key);
  std::vector<ConfigSection> tables(std::string_view key);  // an array of tables
  ConfigSection entry(const ConfigNode& node, const std::string& path) const {
    return {&node, path, parameters_};
  }

  void resolve(std::string_view key,
               const std::string& value);  // lists this in place of what was read, for example of an "auto"
  void require(std::string_view key);      // complains when it is absent, of its misspelling if that is there
  void finish() const;                     // complains about keys that nobody asked for
  [[noreturn]] void fail(const std::string& why) const;  // at the table
  [[noreturn]] void fail_at(std::string_view key,
                            const std::string& why);  // at the value, or at the table when absent
  std::string path_of(std::string_view key) const;
  const std::string& path() const { return path_; }
  const ConfigNode* whole() const { return node_; }  // null: an absent table
  const std::string& place() const { return place_; }

 private:
  void note(std::string_view key, const std::string& value);
  [[noreturn]] void fail_unknown(const std::string& key, const ConfigNode& value,
                                 const std::string& near) const;
  [[noreturn]] void fail_type(const ConfigNode& value, std::string_view key, const char* wanted) const;
  template <class Q>
  Q quantity(std::string_view key, Q otherwise, Q (*parse)(std::string_view), const char* example);

  const ConfigNode* node_;
  std::string path_, place_;
  std::vector<Parameter>* parameters_;
  std::vector<std::string> known_;
};

}  // namespace rocelab
