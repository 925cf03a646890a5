// [classes]: which traffic class a DSCP is of, for the whole network and for single nodes; and warnings about
// classes that other tables name.
#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "emu/runner/identity.h"
#include "emu/runner/readers.h"

namespace rocelab {
namespace {

constexpr std::int64_t kMostWeight = 1000;

// As it is written: "7" is one, "07" and "AF31" are none.
std::optional<std::uint8_t> dscp_of(const std::string& key) {
  std::uint8_t dscp = 0;
  const char* const end = key.data() + key.size();
  const auto [behind, error] = std::from_chars(key.data(), end, dscp);
  if (error != std::errc() || behind != end || dscp >= kDscps || std::to_string(dscp) != key)
    return std::nullopt;
  return dscp;
}

// That a workload names, each once.
std::set<std::uint8_t> dscps_of(const WorkloadSettings& w) {
  std::set<std::uint8_t> dscps;
  if (w.dscp) dscps.insert(*w.dscp);
  for (const ListedFlow& flow : w.flows)
    if (flow.dscp) dscps.insert(*flow.dscp);
  return dscps;
}

// `dscp` and `others` of one table. `map`: that of DSCPs which `dscp` does not name, unless they are left
// out.
ClassMap read_map(ConfigSection& section, ClassMap map, const char* others) {
  if (section.choice("others", {others, "unknown"}, 0) == 1) map.classes.fill(ClassMap::kUnknown);
  const ConfigNode* node = section.node("dscp");
  ConfigSection dscps = section.table("dscp");
  if (node != nullptr)
    for (const auto& [key, value] : node->members) {
      const auto dscp = dscp_of(key);
      if (!dscp) dscps.fail_at(key, "is no DSCP: write for example classes.dscp = { 34 = 3 }, of 0 to 63");
      map.classes[*dscp] = static_cast<std::uint8_t>(dscps.integer(key, 0, 0, kTrafficClasses - 1));
    }
  dscps.finish();
  return map;
}

}  // namespace

ClassMap read_class_map(ConfigSection section, const Topology& topology, std::vector<NodeClassMap>& at) {
  const ClassMap map = read_map(section, {}, "selector");
  for (ConfigSection& entry : section.tables("at")) {
    entry.require("nodes");
    const ClassMap own = read_map(entry, map, "network");
    for (const std::string& name : entry.texts("nodes", {})) {
      std::vector<std::uint32_t> nodes = topology.find_nics(name);
      if (nodes.empty()) nodes = {find_node(entry, "nodes", topology, name)};
      for (const std::uint32_t node : nodes) {
        if (std::ranges::any_of(at, [&](const NodeClassMap& other) { return other.node == node; }))
          entry.fail_at("nodes", "names \"" + name + "\" again: a node has one map");
        at.push_back({node, own});
      }
    }
    entry.finish();
  }
  section.finish();
  return map;
}

std::optional<std::uint8_t> read_dscp(ConfigSection& section, const std::string& prefix,
                                      const ClassMap& map) {
  const std::string dscp_key = prefix + "dscp", class_key = prefix + "class";
  const bool has_dscp = section.has(dscp_key), has_class = section.has(class_key);
  if (has_dscp && has_class)
    section.fail_at(class_key, "excludes " + dscp_key + ": the class follows from the DSCP");
  if (has_dscp)
    return static_cast<std::uint8_t>(section.integer(dscp_key, 0, 0, static_cast<std::int64_t>(kDscps) - 1));
  if (!has_class) return std::nullopt;
  const Tc tc{static_cast<std::uint8_t>(section.integer(class_key, 0, 0, kTrafficClasses - 1))};
  const auto dscp = map.dscp_of(tc);
  if (!dscp)
    section.fail_at(class_key, "= " + std::to_string(tc.value) +
                                   " is reached by no DSCP: give it one in classes.dscp, for example "
                                   "classes.dscp = { " +
                                   std::to_string(tc.value * 8) + " = " + std::to_string(tc.value) + " }");
  return dscp;
}

namespace {

void read_weight(ConfigSection& weights, const std::string& key, NicConfig& config, bool strict_given) {
  if (key.size() != 1 || key[0] < '0' || key[0] > '7')
    weights.fail_at(key, "is no class: write for example nic.ets_weights = { 3 = 3, 4 = 1 }, of 0 to 7");
  const auto tc = static_cast<std::size_t>(key[0] - '0');
  config.ets_weights[tc] = static_cast<std::uint16_t>(weights.integer(key, 1, 1, kMostWeight));
  if (strict_given && (config.strict_classes >> tc & 1) != 0)
    weights.fail_at(key, "is in strict_classes, whose classes have no weight");
  config.strict_classes = static_cast<std::uint8_t>(config.strict_classes & ~(1u << tc));
}

// A table of classes, or a list of all eight.
void read_weights(ConfigSection& section, NicConfig& config) {
  const bool strict_given = section.has("strict_classes");
  const ConfigNode* node = section.node("ets_weights");
  if (node == nullptr) return;
  if (node->kind == ConfigNode::Kind::kTable) {
    ConfigSection weights = section.table("ets_weights");
    for (const auto& [key, value] : node->members) read_weight(weights, key, config, strict_given);
    return weights.finish();
  }
  const std::vector<std::int64_t> weights = section.integers("ets_weights", {}, 1, kMostWeight);
  if (weights.size() != kTrafficClasses)
    section.fail_at("ets_weights",
                    "must have one weight for each of the 8 classes, or be a table such as { 3 = 3, "
                    "4 = 1 }");
  std::ranges::transform(weights, config.ets_weights.begin(),
                         [](std::int64_t weight) { return static_cast<std::uint16_t>(weight); });
  if (!strict_given) config.strict_classes = 0;
}

}  // namespace

void read_nic_classes(ConfigSection& section, const ClassMap& map, NicConfig& config) {
  config.class_map = map;
  config.ack_dscp = read_dscp(section, "ack_", map).value_or(NicConfig::kOfQueuePair);
  config.read_dscp = read_dscp(section, "read_", map).value_or(NicConfig::kOfQueuePair);
  if (section.has("strict_classes")) {
    config.strict_classes = 0;
    for (const std::int64_t tc : section.integers("strict_classes", {}, 0, kTrafficClasses - 1))
      config.strict_classes = static_cast<std::uint8_t>(config.strict_classes | 1u << tc);
  }
  read_weights(section, config);
}

namespace {

// DSCPs of the frames of a run; of one without workloads, whose programs may set any, all.
std::set<std::uint8_t> dscps_in_use(const Settings& s) {
  const NicConfig& nic = s.nic.config;
  std::set<std::uint8_t> dscps = {nic.roce_dscp};
  for (const std::uint8_t answer : {nic.ack_dscp, nic.read_dscp})
    if (answer != NicConfig::kOfQueuePair) dscps.insert(answer);
  if (nic.cc.needs().cnps) dscps.insert(nic.cnp_dscp);
  for (const WorkloadSettings& w : s.workloads) dscps.merge(dscps_of(w));
  for (std::uint8_t dscp = 0; s.workloads.empty() && dscp < kDscps; ++dscp) dscps.insert(dscp);
  return dscps;
}

// A pause names a class of the node that asks for it, and holds that class of the other one. One line for the
// first link of each DSCP.
void add_link_warnings(const Settings& s, std::vector<std::string>& warnings) {
  if (s.class_maps.empty()) return;
  const auto map_of = [&](std::uint32_t node) -> const ClassMap& {
    const auto own = std::ranges::find(s.class_maps, node, &NodeClassMap::node);
    return own != s.class_maps.end() ? own->map : s.nic.config.class_map;
  };
  const auto& nodes = s.topology.nodes();
  for (const std::uint8_t dscp : dscps_in_use(s)) {
    const auto differs = [&](const Link& l) { return map_of(l.a).of(dscp) != map_of(l.b).of(dscp); };
    const auto& links = s.topology.links();
    const auto first = std::ranges::find_if(links, differs);
    if (first == links.end()) continue;
    const auto others = std::count_if(first + 1, links.end(), differs);
    warnings.push_back(
        place_of(s, "classes.at") + ": DSCP " + std::to_string(dscp) + " is of class " +
        std::to_string(map_of(first->a).of(dscp).value) + " at \"" + nodes[first->a].name +
        "\" and of class " + std::to_string(map_of(first->b).of(dscp).value) + " at \"" +
        nodes[first->b].name + "\", the other end of the link" +
        (others > 0 ? " (so it is on " + std::to_string(others) + " other links)" : "") +
        ": a pause for one of them does not stop these frames; give both nodes one class for it");
  }
}

}  // namespace

std::vector<std::string> class_warnings(const Settings& s) {
  std::vector<std::string> warnings;
  const SwitchConfig& config = s.switches;
  const NicConfig& nic = s.nic.config;
  const std::string programs = "class " + std::to_string(nic.roce_tc().value) + " (DSCP " +
                               std::to_string(nic.roce_dscp) +
                               "), of programs that set no traffic class, is not in switch.";
  if (!config.class_map.knows(nic.roce_dscp))
    warnings.push_back(
        place_of(s, "classes.others") + ": DSCP " + std::to_string(nic.roce_dscp) +
        ", of programs that set no traffic class, is unknown: give it a class in classes.dscp");
  if (nic.cc.needs().marks && !config.class_map.knows(nic.cnp_dscp))
    warnings.push_back(place_of(s, "classes.others") + ": DSCP " + std::to_string(nic.cnp_dscp) +
                       ", of CNPs, is unknown: give it a class in classes.dscp");
  for (const WorkloadSettings& w : s.workloads)
    for (const std::uint8_t dscp : dscps_of(w))
      if (!config.class_map.knows(dscp))
        warnings.push_back(
            place_of(s, "workload") + ": DSCP " + std::to_string(dscp) + ", of workload \"" + w.name +
            "\", is unknown: its frames are of class 0 and counted; give it a class in classes.dscp");
  for (std::uint8_t tc = 0; tc < kTrafficClasses; ++tc)
    if (config.classes[tc].lossless && config.pfc.enabled && !config.class_map.reaches(Tc{tc}))
      warnings.push_back(place_of(s, "switch.lossless_classes") + ": no DSCP reaches the lossless class " +
                         std::to_string(tc) + ": give it one in classes.dscp");
  if (config.pfc.enabled && !config.classes[nic.roce_tc().value].lossless)
    warnings.push_back(place_of(s, "switch.lossless_classes") + ": " + programs +
                       "lossless_classes: its frames may be dropped although PFC is on");
  if (nic.cc.needs().marks && !nic.cc.needs().own_marks && !config.classes[nic.roce_tc().value].ecn.enabled)
    warnings.push_back(place_of(s, "switch.ecn.classes") + ": " + programs +
                       "ecn.classes: its congestion control gets no marks");
  for (std::size_t level = 0; level < nic.rc3.levels; ++level) {
    const Tc tc = config.class_map.of(nic.rc3.dscp[level]);
    if (config.classes[tc.value].selection == Selection::kStrict) continue;
    warnings.push_back(
        place_of(s, "switch.strict_classes") + ": class " + std::to_string(tc.value) +
        ", a level of RC3's (irn.rc3), is not among them: switches serve it beside the others in "
        "place of before or behind them");
    break;
  }
  add_link_warnings(s, warnings);
  return warnings;
}

}  // namespace rocelab
