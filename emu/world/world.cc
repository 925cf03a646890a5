#include "emu/world/world.h"

#include <algorithm>

#include "base/check.h"

namespace rocelab {

std::string_view machine_name(const HostEntry& nic) {
  const std::string_view name = nic.name;
  return nic.nics == 1 ? name : name.substr(0, name.rfind('.'));
}

const HostEntry* find_machine(std::span<const HostEntry> nics, std::string_view name) {
  for (const HostEntry& nic : nics)
    if (name == nic.name || name == machine_name(nic)) return &nic - nic.nic_number;
  return nullptr;
}

std::vector<PortConfig> port_configs(std::span<const PortEntry> all, const SwitchEntry& of) {
  std::vector<PortConfig> configs;
  for (const PortEntry& port : all.subspan(of.first_port, of.ports)) configs.push_back(port.config);
  return configs;
}

Duration lookahead_of(const WorldView& world) {
  Duration smallest = Duration::infinite();
  for (const PortEntry& p : world.ports) {
    const auto& classes = world.switches[p.switch_index].config.classes;
    const bool preempts = std::ranges::any_of(classes, &ClassConfig::preempt);
    const Duration sent = preempts ? Duration{} : wire_time(kMinFrameBytes, p.config.rate);
    smallest = std::min(smallest, sent + p.config.delay);
  }
  return smallest;
}

std::vector<LinkChange> link_changes_at(std::span<const LinkChangeEntry> changes, std::uint32_t port) {
  std::vector<LinkChange> found;
  for (const LinkChangeEntry& c : changes)
    if (c.port == port) found.push_back({Time::from_ps(c.at_ps), c.up != 0});
  return found;
}

}  // namespace rocelab
