// [[switch_group]]: switches that differ from the others.
#include <algorithm>

#include "emu/runner/extends.h"
#include "emu/runner/readers.h"

namespace rocelab {
namespace {

constexpr const char* kOwnKeys[] = {"switches", "name"};  // the others are those of [switch]

std::vector<std::uint32_t> read_switches(ConfigSection& section, const Topology& topology,
                                         const std::vector<SwitchGroup>& others) {
  section.require("switches");
  std::vector<std::uint32_t> nodes;
  for (const std::string& name : section.texts("switches", {})) {
    const std::uint32_t node = find_node(section, "switches", topology, name);
    if (topology.is_host(node)) section.fail_at("switches", "names \"" + name + "\", which is a host");
    const auto has = [&](const std::vector<std::uint32_t>& list) {
      return std::ranges::count(list, node) > 0;
    };
    if (has(nodes) || std::ranges::any_of(others, [&](const SwitchGroup& g) { return has(g.nodes); }))
      section.fail_at("switches", "names \"" + name + "\" again: a switch is in one group at most");
    nodes.push_back(node);
  }
  if (nodes.empty()) section.fail_at("switches", "names none");
  return nodes;
}

}  // namespace

std::vector<SwitchGroup> read_switch_groups(std::vector<ConfigSection> sections, const ConfigNode* base,
                                            const Topology& topology, bool pfc, const CcPreset& cc,
                                            bool slack, std::vector<Parameter>& parameters) {
  std::vector<SwitchGroup> groups;
  for (ConfigSection& section : sections) {
    SwitchGroup group;
    group.nodes = read_switches(section, topology, groups);
    section.text("name", "");
    ConfigNode own = *section.whole();
    std::erase_if(own.members, [](const auto& member) {
      return std::ranges::find(kOwnKeys, member.first) != std::end(kOwnKeys);
    });
    for (const auto& [key, value] : own.members) parameters.push_back({section.path_of(key), render(value)});
    const ConfigNode all = base != nullptr ? merged(*base, std::move(own)) : std::move(own);
    group.config =
        read_switch(ConfigSection(&all, section.path(), nullptr), pfc, cc, slack, group.ecn_by_rate);
    groups.push_back(std::move(group));
  }
  return groups;
}

const SwitchGroup* group_of(const Settings& settings, std::uint32_t node) {
  for (const SwitchGroup& group : settings.switch_groups)
    if (std::ranges::count(group.nodes, node) > 0) return &group;
  return nullptr;
}

std::vector<const SwitchConfig*> switch_configs(const Settings& settings) {
  std::vector<const SwitchConfig*> configs = {&settings.switches};
  for (const SwitchGroup& group : settings.switch_groups) configs.push_back(&group.config);
  return configs;
}

}  // namespace rocelab
