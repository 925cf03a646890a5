// The top level of a scenario: labels, cases, axes, seeds, comparisons, and the order in which settings
// override one another: defaults < the extended file < the file < the label's `set` < the case's `set` < the
// axes < --set.
#include "emu/runner/scenario.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/nearest.h"
#include "emu/runner/extends.h"
#include "emu/runner/identity.h"
#include "emu/runner/readers.h"
#include "emu/runner/text_file.h"
#include "ovs_patches/switch_model/mechanisms/rocc.h"
#include "ovs_patches/switch_model/mechanisms/telemetry.h"

namespace rocelab {
namespace {

// A value of `transport`: what it says about NICs and switches, and what else it changes.
struct LabelDefinition {
  std::string name;
  TransportMode mode = TransportMode::kRoce;
  bool pfc = false;
  std::vector<std::pair<std::string, ConfigNode>> changes;
};

// One label, or one point of the axes below it.
struct Variant {
  std::string label;
  LabelDefinition definition;
  ConfigNode tree;
};

using Change = std::pair<const char*, const char*>;

LabelDefinition label_of(const char* name, bool pfc, std::initializer_list<Change> changes) {
  LabelDefinition label{name, TransportMode::kIrn, pfc, {}};
  for (const auto& [key, value] : changes)
    label.changes.emplace_back(key, parse_value(value, kPreset + std::string(name)));
  return label;
}

// TCP with slow start and SACK, without BDP-FC and PFC: iWARP's transport in the IRN chapter (Mittal, 4.3.6);
// with RC3 beside it (chapter 2); and over a lossless network, with ECN.
std::vector<LabelDefinition> over_tcp() {
  const Change tcp{"irn.loss_recovery", "tcp"}, no_cap{"irn.bdp_cap", "0"};
  const Change aimd{"congestion_control.name", "aimd"}, preset{"congestion_control.aimd.preset", "tcp"};
  return {label_of("iwarp", false, {tcp, no_cap, aimd, preset}),
          label_of("rc3", false, {tcp, no_cap, aimd, preset, {"irn.rc3.enabled", "true"}}),
          label_of("tcp+pfc", true,
                   {tcp,
                    no_cap,
                    {"congestion_control.name", "aimd_ecn"},
                    {"congestion_control.aimd_ecn.preset", "tcp"}})};
}

// The IRN chapter compares these four (Mittal, 4.3), each alone and with a congestion control: "irn+dcqcn",
// "roce+pfc+timely".
std::vector<LabelDefinition> presets() {
  const std::vector<LabelDefinition> transports = {{"roce", TransportMode::kRoce, false, {}},
                                                   {"roce+pfc", TransportMode::kRoce, true, {}},
                                                   {"irn", TransportMode::kIrn, false, {}},
                                                   {"irn+pfc", TransportMode::kIrn, true, {}}};
  std::vector<LabelDefinition> labels = transports;
  for (const LabelDefinition& transport : transports)
    for (const CcAlgorithm& algorithm : cc_algorithms()) {
      LabelDefinition label = transport;
      label.name += "+" + std::string(algorithm.name);
      label.changes.emplace_back("congestion_control.name",
                                 parse_value(std::string(algorithm.name), kPreset + label.name));
      labels.push_back(std::move(label));
    }
  std::ranges::move(over_tcp(), std::back_inserter(labels));
  return labels;
}

void flatten(const ConfigNode& node, const std::string& path,
             std::vector<std::pair<std::string, ConfigNode>>& out) {
  if (node.kind != ConfigNode::Kind::kTable) {
    out.emplace_back(path, node);
    return;
  }
  for (const auto& [key, member] : node.members) flatten(member, path.empty() ? key : path + "." + key, out);
}

bool good_label(const std::string& name) {
  return !name.empty() && name.size() <= 40 && std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("+-_.,=").find(c) != std::string_view::npos;
  });
}

// Results go into out/NAME.
bool good_folder(const std::string& name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\0", 2)) == std::string::npos;
}

std::vector<LabelDefinition> read_labels(ConfigSection& root) {
  std::vector<LabelDefinition> labels = presets();
  for (ConfigSection& section : root.tables("label")) {
    LabelDefinition label;
    for (const char* key : {"name", "mode", "pfc"}) section.require(key);
    label.name = section.text("name", "");
    if (!good_label(label.name))
      section.fail_at("name", "may have letters, digits and +-_.,= only, at most 40");
    for (const LabelDefinition& other : labels)
      if (other.name == label.name) section.fail_at("name", "= \"" + label.name + "\" exists already");
    label.mode = section.choice("mode", {"roce", "irn"}, 0) == 0 ? TransportMode::kRoce : TransportMode::kIrn;
    label.pfc = section.boolean("pfc", false);
    if (const ConfigNode* changes = section.node("set")) flatten(*changes, "", label.changes);
    section.finish();
    labels.push_back(std::move(label));
  }
  return labels;
}

std::vector<std::string> names_of(const std::vector<LabelDefinition>& labels) {
  std::vector<std::string> names;
  for (const LabelDefinition& l : labels) names.push_back(l.name);
  return names;
}

[[noreturn]] void unknown_label(const std::string& place, const std::string& key, const std::string& name,
                                const std::vector<LabelDefinition>& known) {
  const std::string near = nearest(name, names_of(known));
  throw ScenarioError(place + ": " + key + " names the unknown label \"" + name + "\"" +
                      (near.empty() ? "; define it by [[label]]" : "; did you mean \"" + near + "\"?"));
}

// What a preset changes stands where the file names it.
ConfigNode placed(ConfigNode value, const std::string& place) {
  if (is_of_preset(value.place)) value.place = value.key_place = place + ": " + value.place;
  return value;
}

std::vector<Variant> choose_labels(ConfigSection& root, const ConfigNode& tree,
                                   const std::vector<LabelDefinition>& known) {
  root.require("transport");
  std::vector<Variant> chosen;
  const ConfigNode& list = *root.node("transport");
  for (const std::string& name : root.texts("transport", {})) {
    const std::string& place = list.items.empty() ? list.place : list.items[chosen.size()].place;
    const auto found =
        std::find_if(known.begin(), known.end(), [&](const LabelDefinition& l) { return l.name == name; });
    if (found == known.end()) unknown_label(place, "transport", name, known);
    for (const Variant& other : chosen)
      if (other.label == name) throw ScenarioError(place + ": transport names \"" + name + "\" twice");
    Variant variant{name, *found, tree};
    for (const auto& [path, value] : found->changes) set_path(variant.tree, path, placed(value, place));
    chosen.push_back(std::move(variant));
  }
  if (chosen.empty()) root.fail_at("transport", "is empty: name at least one label");
  return chosen;
}

// "lossy_buffer=120KB": the last word of the key with its value, in characters that may stand in a file name.
std::string axis_label(const std::string& path, const ConfigNode& value) {
  std::string text = path.substr(path.rfind('.') + 1) + "=" +
                     (value.kind == ConfigNode::Kind::kString ? value.text : render(value));
  std::replace_if(
      text.begin(), text.end(), [](char c) { return !good_label(std::string(1, c)); }, '_');
  return text;
}

// Two runs under one name could not be told apart.
void check_axis(const std::string& path, const ConfigNode& values) {
  std::set<std::string> labels;
  for (const ConfigNode& value : values.items)
    if (const std::string label = axis_label(path, value); !labels.insert(label).second)
      throw ScenarioError(value.place + ": axes." + path + " has two values that are called \"" + label +
                          "\"");
}

// [axes]: dotted key = list of values. Every label with every combination.
std::vector<Variant> apply_axes(ConfigSection& root, std::vector<Variant> variants) {
  std::vector<std::pair<std::string, ConfigNode>> axes;
  if (const ConfigNode* node = root.node("axes")) flatten(*node, "", axes);
  for (const auto& [path, values] : axes) {
    if (values.kind != ConfigNode::Kind::kArray || values.items.empty())
      throw ScenarioError(values.place + ": axes." + path + " must be a list of values");
    check_axis(path, values);
    std::vector<Variant> product;
    for (const Variant& base : variants)
      for (const ConfigNode& value : values.items) {
        Variant variant = base;
        variant.label += "," + axis_label(path, value);
        set_path(variant.tree, path, value);
        product.push_back(std::move(variant));
      }
    variants = std::move(product);
  }
  return variants;
}

// [[case]]: a name and several keys that change together. Every variant with every case.
std::vector<Variant> apply_cases(ConfigSection& root, std::vector<Variant> variants) {
  std::vector<std::pair<std::string, std::vector<std::pair<std::string, ConfigNode>>>> cases;
  for (ConfigSection& section : root.tables("case")) {
    section.require("name");
    const std::string name = section.text("name", "");
    if (!good_label(name)) section.fail_at("name", "may have letters, digits and +-_.,= only, at most 40");
    for (const auto& other : cases)
      if (other.first == name) section.fail_at("name", "= \"" + name + "\" exists already");
    cases.emplace_back(name, std::vector<std::pair<std::string, ConfigNode>>{});
    if (const ConfigNode* changes = section.node("set")) flatten(*changes, "", cases.back().second);
    section.finish();
  }
  if (cases.empty()) return variants;
  std::vector<Variant> product;
  for (const Variant& base : variants)
    for (const auto& [name, changes] : cases) {
      Variant variant = base;
      variant.label += "," + name;
      for (const auto& [path, value] : changes) set_path(variant.tree, path, value);
      product.push_back(std::move(variant));
    }
  return product;
}

// Top-level keys that are not settings of a run; asked for so that they count as known.
void know_top_level(ConfigSection& root) {
  for (const char* key : {"name",       "title",   "seeds",   "transport",          "label",
                          "axes",       "case",    "compare", "topology",           "fault",
                          "link_event", "classes", "switch",  "switch_group",       "policy_event",
                          "nic",        "slack",   "irn",     "congestion_control", "timers",
                          "workload",   "engine"})
    root.node(key);
}

Settings read_settings(const Variant& variant, const std::filesystem::path& folder) {
  Settings s;
  s.label = variant.label;
  s.lists = lists_of(variant.tree);
  s.places = places_of(variant.tree);
  s.files = files_of(variant.tree, folder);
  ConfigSection root(&variant.tree, "", &s.parameters);
  know_top_level(root);
  root.finish();
  s.parameters.push_back({"mode", variant.definition.mode == TransportMode::kIrn ? "\"irn\"" : "\"roce\""});
  s.parameters.push_back({"pfc", variant.definition.pfc ? "true" : "false"});
  root.require("topology");
  s.topology = read_topology(root.table("topology"), folder);
  read_faults(root.tables("fault"), s.topology);
  s.link_events = read_link_events(root.tables("link_event"), s.topology);
  const LabelDefinition& label = variant.definition;
  RoccSwitchParams rocc;
  const CcPreset cc =
      read_congestion_control(root.table("congestion_control"), label.mode, &s.parameters, rocc);
  const ClassMap class_map = read_class_map(root.table("classes"), s.topology, s.class_maps);
  const SlackConfig slack = read_slack(root.table("slack"), s.topology, s.replay_of, s.slack_rates);
  s.switches = read_switch(root.table("switch"), label.pfc, cc, slack.on(), s.ecn_by_rate);
  s.switch_groups = read_switch_groups(root.tables("switch_group"), root.node("switch"), s.topology,
                                       label.pfc, cc, slack.on(), s.parameters);
  s.policies = read_policies(root.table("switch"), root.tables("policy_event"), s.topology, folder);
  s.nic =
      read_nic(root.table("nic"), root.table("irn"), label.mode, label.pfc, cc.config, s.topology, class_map);
  s.nic.config.slack = slack;
  rocc.classes = static_cast<std::uint8_t>(1u << s.nic.config.roce_tc().value);
  const auto complete = [&](SwitchConfig& config) {
    config.class_map = class_map;
    config.mechanisms.of<RoccMechanism>() = rocc;
    config.mechanisms.of<TelemetryMechanism>().enabled = cc.config.needs().telemetry;
  };
  complete(s.switches);
  for (SwitchGroup& group : s.switch_groups) complete(group.config);
  // Timers depend on the classes of the workloads, and are listed before them.
  const auto nic_end = static_cast<std::ptrdiff_t>(s.parameters.size());
  s.workloads = read_workloads(root.tables("workload"), s.topology, s.nic.config, folder);
  const auto workloads_end = static_cast<std::ptrdiff_t>(s.parameters.size());
  s.timers = read_timers(root.table("timers"), may_lose_frames(s));
  std::rotate(s.parameters.begin() + nic_end, s.parameters.begin() + workloads_end, s.parameters.end());
  s.nic.config.recovery_timers = s.timers.recovery;
  s.nic.config.roce_rto = s.timers.rto_high;
  s.nic.config.irn.rto_high = s.timers.rto_high;
  s.nic.config.irn.rto_low = s.timers.rto_low;
  s.nic.config.irn.rto_low_packets = s.timers.rto_low_packets;
  s.nic.config.irn.restart_on_any_ack = s.nic.config.roce_restart_on_any_ack = s.timers.restart_on_any_ack;
  s.engine = read_engine(root.table("engine"));
  if (slack.on() && s.engine.clock == ClockKind::kWall)
    root.table("slack").fail_at("law",
                                "puts a part of our own into every frame, which foreign devices of "
                                "engine.clock = \"wall\" do not know: leave it out");
  s.warnings = class_warnings(s);
  s.warnings.insert(s.warnings.end(), s.policies.warnings.begin(), s.policies.warnings.end());
  return s;
}

// A comparison may name a label that this run leaves out (by --set transport=...), but not one that does not
// exist. Results skip the former.
std::vector<Comparison> read_comparisons(ConfigSection& root, const std::vector<Variant>& variants,
                                         const std::vector<LabelDefinition>& known) {
  std::vector<Comparison> comparisons;
  for (ConfigSection& section : root.tables("compare")) {
    const auto label = [&](const char* key) {
      section.require(key);
      const std::string name = section.text(key, "");
      const bool exists =
          std::any_of(variants.begin(), variants.end(), [&](const Variant& v) { return v.label == name; }) ||
          std::any_of(known.begin(), known.end(), [&](const LabelDefinition& l) { return l.name == name; });
      if (!exists) unknown_label(section.node(key)->place, section.path_of(key), name, known);
      return name;
    };
    Comparison c;
    c.of = label("of");
    c.over = label("over");
    c.metric = section.text("metric", "avg_fct_s");
    c.paper =
        section.has("paper") ? section.real("paper", 0, 0, 1e9) : std::numeric_limits<double>::quiet_NaN();
    section.finish();
    comparisons.push_back(std::move(c));
  }
  return comparisons;
}

std::vector<std::uint64_t> read_seeds(ConfigSection& root) {
  std::vector<std::uint64_t> seeds;
  for (const std::int64_t seed : root.integers("seeds", {1}, 0, std::numeric_limits<std::int64_t>::max())) {
    if (std::find(seeds.begin(), seeds.end(), static_cast<std::uint64_t>(seed)) != seeds.end())
      root.fail_at("seeds", "holds " + std::to_string(seed) + " twice");
    seeds.push_back(static_cast<std::uint64_t>(seed));
  }
  if (seeds.empty()) root.fail_at("seeds", "is empty");
  return seeds;
}

}  // namespace

const char* to_string(FlowService service) {
  return service == FlowService::kRc ? "rc" : service == FlowService::kUc ? "uc" : "ud";
}

const char* to_string(FlowOp op) {
  static constexpr const char* kNames[] = {"send", "write", "read"};
  return kNames[static_cast<std::size_t>(op)];
}

Scenario parse_scenario(const std::string& text, const std::string& name,
                        const std::vector<Override>& overrides) {
  ConfigNode tree = parse_toml(text, name);
  apply_extends(tree, name);
  std::vector<std::pair<std::string, ConfigNode>> last;
  for (const auto& [key, value] : overrides) {
    last.emplace_back(key, parse_value(value, "--set " + key + "=" + value));
    set_path(tree, last.back().first, last.back().second);
  }
  tree.place = name + ":1:1";
  ConfigSection root(&tree, "", nullptr);
  know_top_level(root);
  root.finish();

  Scenario scenario;
  scenario.file = name;
  scenario.name = root.text("name", std::filesystem::path(name).stem().string());
  if (!good_folder(scenario.name))
    root.fail_at("name", "names the folder of the results in out/: without /, and not . or ..");
  scenario.title = root.text("title", scenario.name);
  scenario.seeds = read_seeds(root);
  const std::vector<LabelDefinition> labels = read_labels(root);
  scenario.known_labels = names_of(labels);
  std::vector<Variant> variants = apply_axes(root, apply_cases(root, choose_labels(root, tree, labels)));
  for (Variant& variant : variants) {
    for (const auto& [path, value] : last)
      if (path.rfind("axes.", 0) != 0) set_path(variant.tree, path, value);
    scenario.settings.push_back(read_settings(variant, std::filesystem::path(name).parent_path()));
  }
  scenario.comparisons = read_comparisons(root, variants, labels);
  return scenario;
}

Scenario read_scenario(const std::filesystem::path& file, const std::vector<Override>& overrides) {
  return parse_scenario(read_text(file), file.string(), overrides);
}

}  // namespace rocelab
