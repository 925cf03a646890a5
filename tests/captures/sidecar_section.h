// For sidecar.cc: reading what TOML has no type for, and keeping the books of what is said to be unknown.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/nearest.h"
#include "base/wire/frame.h"
#include "emu/runner/config_section.h"
#include "tests/captures/sidecar.h"

namespace rocelab::captures {

// --- keys that must stand there
std::int64_t need_integer(ConfigSection& section, std::string_view key, std::int64_t least,
                          std::int64_t most);
std::string need_text(ConfigSection& section, std::string_view key);
Gid need_ip(ConfigSection& section, std::string_view key);
MacAddress need_mac(ConfigSection& section, std::string_view key);
std::vector<int> need_frames(ConfigSection& section, std::string_view key);  // numbers, from 1
// 64 bits: TOML's numbers have a sign, so that large ones are strings: "0xaaaabbbbccccdddd".
std::uint64_t need_64_bits(ConfigSection& section, std::string_view key);
// `length`, or `at_least`: what is known of it.
std::uint64_t need_length(ConfigSection& section, std::uint64_t most);

// One of a few words, by what it stands for.
template <class Value>
using Named = std::pair<std::string_view, Value>;
template <class Value, std::size_t n>
Value value_of(ConfigSection& section, std::string_view key, const std::string& text,
               const std::array<Named<Value>, n>& words) {
  std::vector<std::string> known;
  for (const auto& [word, value] : words) {
    if (word == text) return value;
    known.emplace_back(word);
  }
  std::string all;
  for (const std::string& word : known) all += (all.empty() ? "" : ", ") + word;
  const std::string near = nearest(text, known);
  section.fail_at(
      key, "= \"" + text + "\" is none of " + all + (near.empty() ? "" : "; did you mean \"" + near + "\"?"));
}
template <class Value, std::size_t n>
Value need_one_of(ConfigSection& section, std::string_view key, const std::array<Named<Value>, n>& words) {
  return value_of(section, key, need_text(section, key), words);
}

// --- and that may
Content content(ConfigSection& section, std::string_view key);
std::uint32_t access(ConfigSection& section, std::string_view key);

// What the list `unknown` of an end says. Each attribute is either given or listed.
class Unknown {
 public:
  explicit Unknown(ConfigSection& end);
  // Whether `key` of `section` is given; `name` is how the list calls it.
  bool given(ConfigSection& section, std::string_view key, const std::string& name);
  bool lists(const std::string& name) { return asked_.insert(name), listed_.contains(name); }
  void finish(ConfigSection& end) const;  // complains of what is listed and is nobody's attribute

 private:
  std::set<std::string> listed_, asked_;
};

}  // namespace rocelab::captures
