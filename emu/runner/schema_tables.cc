#include "emu/runner/schema_tables.h"

#include <algorithm>
#include <span>

#include "emu/runner/config_tree.h"
#include "emu/runner/readers.h"
#include "emu/runner/schema_reader.h"
#include "emu/runner/workload_type.h"
#include "ovs_patches/switch_model/mechanism_table.h"

namespace rocelab {
namespace {

bool has(const FieldValue& value) { return !std::holds_alternative<std::monostate>(value); }

std::string range_of(const Field& field) {
  std::string range;
  const auto add = [&](const std::string& text) { range += (range.empty() ? "" : ", ") + text; };
  for (const std::string_view name : field.names) add("`" + std::string(name) + "`");
  if (!field.word.empty()) add("`" + std::string(field.word) + "`");
  const auto bound = [&](const FieldValue& value) {
    std::string text = scenario_text(field, value);
    std::erase(text, '"');
    return text;
  };
  static constexpr const char* kOr[] = {"",       "a number", "a number", "a time",        "a rate",
                                        "a size", "",         "",         "a list of 0..7"};
  const bool bounded = has(field.least) || has(field.most);
  if (!field.word.empty() && !bounded) add(kOr[static_cast<std::size_t>(field.kind)]);
  if (is_positive(field))
    add("> 0");
  else if (has(field.least) && has(field.most))
    add(bound(field.least) + ".." + bound(field.most));
  else if (has(field.least))
    add(">= " + bound(field.least));
  else if (has(field.most))
    add("<= " + bound(field.most));
  return range;
}

// One column of values: those of `params`, the struct of the fields.
void add_column(std::vector<SchemaRow>& rows, std::size_t first, std::span<const Field> fields,
                const void* params) {
  rows.resize(std::max(rows.size(), first + fields.size()));
  for (std::size_t i = 0; i < fields.size(); ++i) {
    SchemaRow& row = rows[first + i];
    if (row.key.empty())
      row = {std::string(fields[i].key), {}, range_of(fields[i]), std::string(fields[i].text)};
    row.values.push_back(scenario_text(fields[i], fields[i].get(params)));
  }
}

template <class P>
void add_column(std::vector<SchemaRow>& rows, std::size_t first, const Schema<P>& schema, const P& params) {
  add_column(rows, first, schema.fields, &params);
}

void add_marking(SchemaTable& table, const std::vector<CcPreset>& presets) {
  SchemaRow row{"[switch.ecn]", {}, "", "marking: `kmin`, `kmax`, `pmax`, and `average` where it is not 1"};
  for (const CcPreset& preset : presets)
    row.values.push_back("\"" + to_string(preset.marking.k_min) + "\", \"" + to_string(preset.marking.k_max) +
                         "\", " + shortest(preset.marking.p_max) +
                         (preset.marking.average < 1 ? ", " + shortest(preset.marking.average) : ""));
  table.rows.push_back(std::move(row));
}

SchemaTable table_of(const CcAlgorithm& algorithm) {
  SchemaTable table{"congestion_control." + std::string(algorithm.name), {}, {}};
  std::vector<CcPreset> presets = algorithm.presets();
  for (CcPreset& preset : presets) {
    table.columns.emplace_back(preset.name, preset.source);
    add_column(table.rows, 0, algorithm.fields(), algorithm.params(preset.config));
    if (preset.config.get<RoccRp>() == nullptr) continue;
    const std::size_t first = algorithm.fields().size();
    add_column(table.rows, first, RoccMechanism::point_schema(), rocc_preset(preset.name));
    add_column(table.rows, first + RoccMechanism::point_schema().fields.size(), RoccMechanism::table_schema(),
               {});
  }
  if (algorithm.needs.marks && !algorithm.needs.own_marks) add_marking(table, presets);
  return table;
}

// A section without presets: its defaults.
template <class P>
SchemaTable table_of(const char* section, const Schema<P>& schema) {
  SchemaTable table{section, {{"default", ""}}, {}};
  add_column(table.rows, 0, schema, P{});
  return table;
}

// More keys of the same section, of another struct.
template <class P>
void append(SchemaTable& table, const Schema<P>& schema) {
  add_column(table.rows, table.rows.size(), schema, P{});
}

void mark_required(SchemaTable& table, std::span<const std::string_view> keys) {
  for (SchemaRow& row : table.rows)
    if (std::ranges::count(keys, row.key) > 0) row.values = {"required"};
}

// The switches' part of a congestion control follows its presets.
SchemaTable table_of(const MechanismType& type) {
  SchemaTable table{section_of(type), {}, {}};
  const auto add = [&](std::string_view preset, std::string_view source) {
    MechanismParams all;
    follow_label(all, type.name, preset);
    table.columns.emplace_back(preset, source);
    add_column(table.rows, 0, type.fields(), all.of(type));
  };
  for (const CcAlgorithm& algorithm : cc_algorithms())
    if (type.follow != nullptr && algorithm.name == type.name)
      for (const CcPreset& preset : algorithm.presets()) add(preset.name, preset.source);
  if (table.columns.empty()) add("default", "");
  return table;
}

// Values of RoCC's congestion points that are "by-link".
SchemaTable rocc_links() {
  SchemaTable table{"congestion_control.rocc, by-link", {}, {}};
  for (const Rate link : {10_Gbps, 40_Gbps, 100_Gbps}) {
    const RoccParams p = rocc_params_for(link);
    const RoccSettings set{p.period, p.q_ref,   p.q_mid, p.q_max, p.delta_q,
                           p.f_min,  p.delta_f, {},      p.alpha, p.beta};
    table.columns.emplace_back(to_string(link), "");
    add_column(table.rows, 0, RoccMechanism::point_schema(), set);
  }
  std::erase_if(table.rows,
                [](const SchemaRow& row) { return row.range.find("by-link") == std::string::npos; });
  return table;
}

SchemaRow row_of(const KeyText& text) {
  return {
      std::string(text.key), {std::string(text.otherwise)}, std::string(text.range), std::string(text.text)};
}

SchemaTable shared_workload_table() {
  SchemaTable table{"workload", {{"default", ""}}, {{"kind", {"required"}, "", ""}}};
  for (const WorkloadType& type : workload_types())
    table.rows[0].range += (table.rows[0].range.empty() ? "`" : ", `") + std::string(type.name) + "`";
  for (const KeyText& text : shared_workload_keys()) table.rows.push_back(row_of(text));
  return table;
}

// The keys that only this kind has.
SchemaTable table_of(const WorkloadType& type) {
  SchemaTable table{"workload." + std::string(type.name), {{"default", ""}}, {}};
  for (const KeyText& text : type.own_keys) table.rows.push_back(row_of(text));
  const std::unique_ptr<Workload> workload = type.make();
  add_column(table.rows, table.rows.size(), type.fields(), type.params(*workload));
  mark_required(table, type.required);
  return table;
}

}  // namespace

std::vector<SchemaTable> schema_tables() {
  std::vector<SchemaTable> tables;
  for (const CcAlgorithm& algorithm : cc_algorithms()) tables.push_back(table_of(algorithm));
  tables.push_back(rocc_links());
  tables.push_back(table_of("topology", path_schema()));
  append(tables.back(), fault_schema());
  tables.push_back(table_of("link_event", link_event_schema()));
  mark_required(tables.back(), kLinkEventRequires);
  tables.push_back(table_of("policy_event", policy_event_schema()));
  mark_required(tables.back(), kPolicyEventRequires);
  tables.push_back(table_of("engine", engine_schema()));
  append(tables.back(), wall_clock_schema());
  tables.push_back(table_of("nic", nic_settings_schema()));
  append(tables.back(), nic_schema());
  tables.push_back(table_of("slack", slack_schema()));
  tables.push_back(table_of("slack.edge", edge_schema()));
  tables.push_back(table_of("irn", irn_schema()));
  tables.push_back(table_of("timers", timer_schema()));
  tables.push_back(table_of("switch", switch_schema()));
  append(tables.back(), class_schema());
  tables.push_back(table_of("switch.ecn", ecn_schema()));
  append(tables.back(), marked_schema());
  tables.push_back(table_of("switch.pfc", pfc_schema()));
  for (const MechanismType& type : mechanism_types())
    if (!type.fields().empty()) tables.push_back(table_of(type));
  tables.push_back(shared_workload_table());
  for (const WorkloadType& type : workload_types())
    if (SchemaTable table = table_of(type); !table.rows.empty()) tables.push_back(std::move(table));
  return tables;
}

}  // namespace rocelab
