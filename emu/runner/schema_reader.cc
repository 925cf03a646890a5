#include "emu/runner/schema_reader.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "base/ids.h"

namespace rocelab {
namespace {

std::string quote(std::string_view text) { return "\"" + std::string(text) + "\""; }

const char* noun_of(FieldKind kind) {
  static constexpr const char* kNouns[] = {"true or false",
                                           "a whole number",
                                           "a number",
                                           "a duration such as \"2us\"",
                                           "a rate such as \"40Gb/s\"",
                                           "a size such as \"240KB\"",
                                           "a name",
                                           "a list of names",
                                           "a list of classes such as [3]"};
  return kNouns[static_cast<std::size_t>(kind)];
}

bool is_quantity(FieldKind kind) {
  return kind == FieldKind::kDuration || kind == FieldKind::kRate || kind == FieldKind::kBytes;
}

void check_bounds(ConfigSection& section, const Field& field, const FieldValue& value) {
  const bool has_least = !std::holds_alternative<std::monostate>(field.least);
  const bool has_most = !std::holds_alternative<std::monostate>(field.most);
  if (in_bounds(field, value)) return;
  const std::string or_word = field.word.empty() ? "" : ", or " + quote(field.word);
  if (is_positive(field)) section.fail_at(field.key, "must be more than 0" + or_word);
  const std::string least = scenario_text(field, field.least), most = scenario_text(field, field.most);
  const std::string text = "= " + scenario_text(field, value) + " is ";
  if (has_least && has_most) section.fail_at(field.key, text + "outside " + least + ".." + most + or_word);
  section.fail_at(field.key, text + (has_least ? "less than " + least : "more than " + most) + or_word);
}

// A string that is neither the word nor begins as a quantity does: most likely the word, misspelt.
void check_word(ConfigSection& section, const Field& field) {
  if (field.word.empty()) return;
  const ConfigNode* node = section.node(field.key);
  if (node == nullptr || node->kind != ConfigNode::Kind::kString) return;
  const bool number = !node->text.empty() && node->text[0] >= '0' && node->text[0] <= '9';
  if (number && is_quantity(field.kind)) return;
  section.fail_at(field.key, "= " + quote(node->text) + " is neither " + quote(field.word) + " nor " +
                                 noun_of(field.kind));
}

template <class T>
T or_zero(const FieldValue& value) {
  return std::holds_alternative<T>(value) ? std::get<T>(value) : T{};
}

std::int64_t bound(const FieldValue& value, std::int64_t otherwise) {
  return std::holds_alternative<std::int64_t>(value) ? std::get<std::int64_t>(value) : otherwise;
}
double bound(const FieldValue& value, double otherwise) {
  return std::holds_alternative<double>(value) ? std::get<double>(value) : otherwise;
}

FieldValue read_value(ConfigSection& section, const Field& field, const FieldValue& otherwise) {
  switch (field.kind) {
    case FieldKind::kFlag:
      return section.boolean(field.key, or_zero<bool>(otherwise));
    case FieldKind::kInteger:
      return section.integer(field.key, or_zero<std::int64_t>(otherwise), bound(field.least, std::int64_t{0}),
                             bound(field.most, std::numeric_limits<std::int64_t>::max()));
    case FieldKind::kReal:
      return section.real(field.key, or_zero<double>(otherwise),
                          bound(field.least, std::numeric_limits<double>::lowest()),
                          bound(field.most, std::numeric_limits<double>::max()));
    case FieldKind::kDuration:
      return section.duration(field.key, or_zero<Duration>(otherwise));
    case FieldKind::kRate:
      return section.rate(field.key, otherwise == FieldValue() ? 1_bps : or_zero<Rate>(otherwise));
    case FieldKind::kBytes:
      return section.bytes(field.key, or_zero<Bytes>(otherwise));
    case FieldKind::kChoice:
      return static_cast<std::int64_t>(
          section.choice(field.key, field.names, static_cast<std::size_t>(or_zero<std::int64_t>(otherwise))));
    case FieldKind::kClasses: {
      std::vector<std::int64_t> list;
      for (std::int64_t tc = 0; tc < kTrafficClasses; ++tc)
        if ((or_zero<std::int64_t>(otherwise) >> tc & 1) != 0) list.push_back(tc);
      std::int64_t bits = 0;
      for (const std::int64_t tc : section.integers(field.key, list, 0, kTrafficClasses - 1)) bits |= 1 << tc;
      return bits;
    }
    case FieldKind::kSet:
      return read_set(section, field.key, field.names, or_zero<std::int64_t>(otherwise));
  }
  RL_CHECK(false);
}

void read_field(ConfigSection& section, const Field& field, void* params) {
  const FieldValue present = field.get(params);
  if (!field.word.empty() &&
      section.is_word(field.key, field.word, !section.has(field.key) && present == field.word_value)) {
    field.set(params, field.word_value);
    return;
  }
  check_word(section, field);
  const FieldValue value = read_value(section, field, present);
  check_bounds(section, field, value);
  field.set(params, value);
}

}  // namespace

std::int64_t read_set(ConfigSection& section, std::string_view key, std::span<const std::string_view> names,
                      std::int64_t otherwise) {
  if (!section.has(key)) return otherwise;
  std::int64_t set = 0;
  for (const std::string& name : section.texts(key, {})) {
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) {
      std::string all;
      for (const std::string_view known : names) all += (all.empty() ? "" : ", ") + quote(known);
      section.fail_at(key, "names " + quote(name) + "; there are " + all);
    }
    set |= std::int64_t{1} << (found - names.begin());
  }
  return set;
}

void read_fields(ConfigSection& section, std::span<const Field> fields, void* params) {
  for (const Field& field : fields) read_field(section, field, params);
}

bool is_positive(const Field& field) {
  return is_quantity(field.kind) && std::holds_alternative<std::monostate>(field.most) &&
         (field.least == FieldValue(1_ps) || field.least == FieldValue(1_bps) ||
          field.least == FieldValue(1_B));
}

void refuse_problem(ConfigSection& section, const std::optional<SchemaProblem>& problem) {
  if (problem) section.fail_at(problem->key, problem->why);
}

std::string scenario_text(const Field& field, const FieldValue& value) {
  if (!field.word.empty() && value == field.word_value) return quote(field.word);
  if (field.kind == FieldKind::kChoice)
    return quote(field.names[static_cast<std::size_t>(std::get<std::int64_t>(value))]);
  if (field.kind == FieldKind::kSet || field.kind == FieldKind::kClasses) {
    std::string text;
    for (std::size_t bit = 0; bit < 64; ++bit)
      if ((std::get<std::int64_t>(value) >> bit & 1) != 0)
        text += (text.empty() ? "" : ", ") +
                (field.kind == FieldKind::kSet ? quote(field.names[bit]) : std::to_string(bit));
    return "[" + text + "]";
  }
  struct Text {
    std::string operator()(std::monostate) const { return ""; }
    std::string operator()(bool flag) const { return flag ? "true" : "false"; }
    std::string operator()(std::int64_t number) const { return std::to_string(number); }
    std::string operator()(double number) const { return shortest(number); }
    std::string operator()(Duration d) const { return quote(to_string(d)); }
    std::string operator()(Rate r) const { return quote(to_string(r)); }
    std::string operator()(Bytes b) const { return quote(to_string(b)); }
  };
  return std::visit(Text{}, value);
}

}  // namespace rocelab
