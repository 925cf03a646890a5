#include "emu/world/world.h"

#include <algorithm>

#include "base/check.h"

namespace rocelab {

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
