// Reads the keys of a Schema (base/schema.h) from a table of a scenario. Complaints are ConfigSection's, with
// the place of the value, its unit, bounds and word.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "base/schema.h"
#include "emu/runner/config_section.h"

namespace rocelab {

// `params` points to the struct of `fields`; it holds the defaults and gets what the table says.
void read_fields(ConfigSection& section, std::span<const Field> fields, void* params);

template <class P>
void read_schema(ConfigSection& section, const Schema<P>& schema, P& params) {
  read_fields(section, schema.fields, &params);
}

// A key that lists some of `names`: a bit for each of them; without the key `otherwise`.
std::int64_t read_set(ConfigSection& section, std::string_view key, std::span<const std::string_view> names,
                      std::int64_t otherwise);

// Complains at the key that a contradiction names.
void refuse_problem(ConfigSection& section, const std::optional<SchemaProblem>& problem);

// The only bound is "more than 0".
bool is_positive(const Field& field);

// As a scenario writes it: "bdp", "55us", 0.5, true, "switch".
std::string scenario_text(const Field& field, const FieldValue& value);

}  // namespace rocelab
