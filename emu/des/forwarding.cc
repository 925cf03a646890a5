#include "emu/des/forwarding.h"

#include <bit>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "base/check.h"

namespace rocelab::des {
namespace {

struct RuleSet {
  std::optional<PortId> plain;
  std::vector<PortId> buckets;  // by the source port's masked bits; empty: none
  std::uint16_t shift = 0;      // of those bits
};
// By prefix length, longest first, then by prefix.
using SwitchRules = std::map<std::uint32_t, std::map<std::uint32_t, RuleSet>, std::greater<>>;

std::uint32_t masked(std::uint32_t address, std::uint32_t length) {
  return length == 0 ? 0 : address & ~0u << (32 - length);
}

std::vector<SwitchRules> gather(const RunPlan& plan, const std::vector<Route>& routes) {
  std::vector<SwitchRules> rules(plan.world.switches.size());
  for (const Route& route : routes) {
    if (!route.group_ports.empty()) continue;  // no program of this engine sends to groups
    RuleSet& set =
        rules.at(route.switch_index)[route.prefix_length][masked(route.prefix, route.prefix_length)];
    const PortId port{static_cast<std::uint16_t>(route.port_id)};
    if (route.src_port_mask == 0) {
      set.plain = port;
      continue;
    }
    set.shift = static_cast<std::uint16_t>(std::countr_zero(route.src_port_mask));
    set.buckets.resize((std::size_t{route.src_port_mask} >> set.shift) + 1, port);
    set.buckets.at(route.src_port >> set.shift) = port;
  }
  return rules;
}

}  // namespace

Forwarding::Forwarding(const RunPlan& plan, const std::vector<Route>& routes)
    : hosts_(static_cast<std::uint32_t>(plan.world.hosts.size())) {
  entries_.resize(plan.world.switches.size() * hosts_);
  std::size_t at = 0;
  for (const SwitchRules& rules : gather(plan, routes)) {
    std::map<const RuleSet*, Entry> made;
    for (const HostEntry& host : plan.world.hosts) {
      Entry& entry = entries_[at++];
      for (const auto& [length, by_prefix] : rules) {
        const auto found = by_prefix.find(masked(host.ipv4, length));
        if (found == by_prefix.end()) continue;
        const RuleSet& set = found->second;
        auto [place, fresh] = made.try_emplace(&set);
        if (fresh) {
          ports_.push_back(set.plain.value());
          place->second.first = static_cast<std::uint32_t>(ports_.size());
          if (set.buckets.empty()) {
            ports_.push_back(set.plain.value());
          } else {
            ports_.insert(ports_.end(), set.buckets.begin(), set.buckets.end());
            place->second.shift = set.shift;
            place->second.mask = static_cast<std::uint16_t>(set.buckets.size() - 1);
          }
        }
        entry = place->second;
        break;
      }
    }
  }
}

}  // namespace rocelab::des
