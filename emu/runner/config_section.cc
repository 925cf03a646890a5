#include "emu/runner/config_section.h"

#include <algorithm>

#include "base/nearest.h"
#include "base/quantity.h"
#include "emu/runner/text_file.h"

namespace rocelab {
namespace {

using Kind = ConfigNode::Kind;

std::string quote(const std::string& text) { return "\"" + text + "\""; }

std::string join(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  return all;
}

}  // namespace

ConfigSection::ConfigSection(const ConfigNode* node, std::string path, std::vector<Parameter>* parameters,
                             std::string above)
    : node_(node),
      path_(std::move(path)),
      place_(node != nullptr ? node->place : std::move(above)),
      parameters_(parameters) {
  if (node_ != nullptr && node_->kind != Kind::kTable)
    throw ScenarioError(node_->place + ": " + path_ + " is a table; write it as [" + path_ + "]");
}

std::string ConfigSection::path_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
}

void ConfigSection::note(std::string_view key, const std::string& value) {
  if (parameters_ != nullptr) parameters_->push_back({path_of(key), value});
}

const ConfigNode* ConfigSection::node(std::string_view key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.emplace_back(key);
  return node_ == nullptr ? nullptr : node_->find(key);
}

bool ConfigSection::has(std::string_view key) { return node(key) != nullptr; }

void ConfigSection::fail(const std::string& why) const { throw ScenarioError(place() + ": " + why); }

void ConfigSection::fail_at(std::string_view key, const std::string& why) {
  const ConfigNode* value = node(key);
  throw ScenarioError((value != nullptr ? value->place : place()) + ": " + path_of(key) + " " + why);
}

void ConfigSection::fail_type(const ConfigNode& value, std::string_view key, const char* wanted) const {
  throw ScenarioError(value.place + ": " + path_of(key) + " must be " + wanted + ", not " + render(value));
}

void ConfigSection::resolve(std::string_view key, const std::string& value) {
  if (parameters_ == nullptr) return;
  for (Parameter& p : *parameters_)
    if (p.key == path_of(key)) p.value = value;
}

void ConfigSection::require(std::string_view key) {
  if (has(key)) return;
  if (node_ != nullptr)
    for (const auto& [other, value] : node_->members)
      if (std::find(known_.begin(), known_.end(), other) == known_.end() && is_slip(other, key))
        fail_unknown(other, value, std::string(key));
  fail((path_.empty() ? "the scenario" : "[" + path_ + "]") + std::string(" needs the key ") +
       quote(std::string(key)));
}

template <class Q>
Q ConfigSection::quantity(std::string_view key, Q otherwise, Q (*parse)(std::string_view),
                          const char* example) {
  const ConfigNode* value = node(key);
  Q result = otherwise;
  if (value != nullptr) {
    if (value->kind == Kind::kInteger || value->kind == Kind::kReal)
      fail_at(key, "has no unit: write for example " + std::string(key) + " = " + quote(example));
    if (value->kind != Kind::kString) fail_type(*value, key, "a quantity with a unit");
    try {
      result = parse(value->text);
    } catch (const QuantityError& error) {
      fail_at(key, std::string("= ") + error.what());
    }
  }
  note(key, quote(to_string(result)));
  return result;
}

Rate ConfigSection::rate(std::string_view key, Rate otherwise) {
  const Rate result = quantity<Rate>(key, otherwise, parse_rate, "40Gb/s");
  if (result.bps() <= 0) fail_at(key, "must be more than 0");
  return result;
}

Duration ConfigSection::duration(std::string_view key, Duration otherwise) {
  return quantity<Duration>(key, otherwise, parse_duration, "2us");
}

Bytes ConfigSection::bytes(std::string_view key, Bytes otherwise) {
  return quantity<Bytes>(key, otherwise, parse_bytes, "240KB");
}

std::int64_t ConfigSection::integer(std::string_view key, std::int64_t otherwise, std::int64_t least,
                                    std::int64_t most) {
  const ConfigNode* value = node(key);
  if (value != nullptr) {
    if (value->kind != Kind::kInteger) fail_type(*value, key, "a whole number");
    if (value->integer < least || value->integer > most)
      fail_at(key, "= " + std::to_string(value->integer) + " is outside " + std::to_string(least) + ".." +
                       std::to_string(most));
    otherwise = value->integer;
  }
  note(key, std::to_string(otherwise));
  return otherwise;
}

double ConfigSection::real(std::string_view key, double otherwise, double least, double most) {
  const ConfigNode* value = node(key);
  if (value != nullptr) {
    if (value->kind != Kind::kReal && value->kind != Kind::kInteger) fail_type(*value, key, "a number");
    const double number = value->kind == Kind::kReal ? value->real : static_cast<double>(value->integer);
    if (!(number >= least && number <= most))
      fail_at(key, "= " + shortest(number) + " is outside " + shortest(least) + ".." + shortest(most));
    otherwise = number;
  }
  note(key, shortest(otherwise));
  return otherwise;
}

bool ConfigSection::boolean(std::string_view key, bool otherwise) {
  if (const ConfigNode* value = node(key)) {
    if (value->kind != Kind::kBool) fail_type(*value, key, "true or false");
    otherwise = value->boolean;
  }
  note(key, otherwise ? "true" : "false");
  return otherwise;
}

std::string ConfigSection::text(std::string_view key, std::string_view otherwise) {
  std::string result(otherwise);
  if (const ConfigNode* value = node(key)) {
    if (value->kind != Kind::kString) fail_type(*value, key, "a string");
    result = value->text;
  }
  if (!result.empty()) note(key, quote(result));
  return result;
}

std::filesystem::path ConfigSection::file(std::string_view key, const std::filesystem::path& folder) {
  text(key, "");
  const ConfigNode* value = node(key);
  return value == nullptr ? folder : named_file(*value, folder);
}

std::string ConfigSection::content(std::string_view key, const std::filesystem::path& file) {
  try {
    return read_text(file);
  } catch (const ScenarioError& error) {
    fail_at(key, std::string("names ") + error.what());
  }
}

std::size_t ConfigSection::choice(std::string_view key, std::span<const std::string_view> names,
                                  std::size_t otherwise) {
  const ConfigNode* value = node(key);
  const std::vector<std::string> all(names.begin(), names.end());
  if (value != nullptr) {
    if (value->kind != Kind::kString) fail_type(*value, key, ("one of " + join(all)).c_str());
    const auto found = std::find(all.begin(), all.end(), value->text);
    if (found == all.end()) {
      const std::string near = nearest(value->text, all);
      fail_at(key, "= " + quote(value->text) + " is none of " + join(all) +
                       (near.empty() ? "" : "; did you mean " + quote(near) + "?"));
    }
    otherwise = static_cast<std::size_t>(found - all.begin());
  }
  note(key, quote(all[otherwise]));
  return otherwise;
}

std::vector<std::int64_t> ConfigSection::integers(std::string_view key,
                                                  const std::vector<std::int64_t>& otherwise,
                                                  std::int64_t least, std::int64_t most) {
  std::vector<std::int64_t> result = otherwise;
  if (const ConfigNode* value = node(key)) {
    const std::vector<ConfigNode> one{*value};
    result.clear();
    for (const ConfigNode& item : value->kind == Kind::kArray ? value->items : one) {
      if (item.kind != Kind::kInteger || item.integer < least || item.integer > most)
        fail_type(item, key,
                  ("whole numbers in " + std::to_string(least) + ".." + std::to_string(most)).c_str());
      result.push_back(item.integer);
    }
  }
  std::string list;
  for (const std::int64_t n : result) list += (list.empty() ? "" : ", ") + std::to_string(n);
  note(key, "[" + list + "]");
  return result;
}

std::vector<std::string> ConfigSection::texts(std::string_view key,
                                              const std::vector<std::string>& otherwise) {
  std::vector<std::string> result = otherwise;
  if (const ConfigNode* value = node(key)) {
    const std::vector<ConfigNode> one{*value};
    result.clear();
    for (const ConfigNode& item : value->kind == Kind::kArray ? value->items : one) {
      if (item.kind != Kind::kString) fail_type(item, key, "a list of strings");
      result.push_back(item.text);
    }
  }
  std::string list;
  for (const std::string& t : result) list += (list.empty() ? "" : ", ") + quote(t);
  if (has(key) || !result.empty()) note(key, "[" + list + "]");
  return result;
}

bool ConfigSection::is_word(std::string_view key, std::string_view word, bool otherwise) {
  const ConfigNode* value = node(key);
  const bool result = value == nullptr ? otherwise : value->kind == Kind::kString && value->text == word;
  if (result) note(key, quote(std::string(word)));
  return result;
}

ConfigSection ConfigSection::table(std::string_view key) {
  return {node(key), path_of(key), parameters_, place_};
}

std::vector<ConfigSection> ConfigSection::tables(std::string_view key) {
  std::vector<ConfigSection> result;
  const ConfigNode* value = node(key);
  if (value == nullptr) return result;
  if (value->kind != Kind::kArray)
    throw ScenarioError(value->place + ": " + path_of(key) + " is a list of tables; write [[" + path_of(key) +
                        "]]");
  for (std::size_t i = 0; i < value->items.size(); ++i) {
    const std::string name = value->items[i].name();
    result.emplace_back(&value->items[i], path_of(key) + "." + (name.empty() ? std::to_string(i) : name),
                        parameters_);
  }
  return result;
}

void ConfigSection::finish() const {
  if (node_ == nullptr) return;
  for (const auto& [key, value] : node_->members) {
    if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    fail_unknown(key, value, nearest(key, known_));
  }
}

void ConfigSection::fail_unknown(const std::string& key, const ConfigNode& value,
                                 const std::string& near) const {
  throw ScenarioError(
      value.key_place + ": unknown key " + quote(path_of(key)) +
      (near.empty() ? "; known here: " + join(known_) : "; did you mean " + quote(near) + "?"));
}

}  // namespace rocelab
