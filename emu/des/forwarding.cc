#include "emu/des/forwarding.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>

#include "base/check.h"

namespace rocelab::des {

struct RuleSet {
  std::optional<PortId> plain;
  std::vector<PortId> buckets;  // by the source port's masked bits; empty: none
  std::uint16_t shift = 0;      // of those bits
};

namespace {

constexpr std::uint32_t kBlockLength = 24;
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

Forwarding::Forwarding(const RunPlan& plan, const std::vector<Route>& routes) {
  std::map<std::uint32_t, std::vector<std::uint32_t>> hosts_of;  // by block: addresses
  for (const HostEntry& host : plan.world.hosts) hosts_of[masked(host.ipv4, kBlockLength)];
  std::map<std::uint32_t, std::uint32_t> number_of;  // of blocks
  for (const auto& [block, addresses] : hosts_of) number_of.emplace(block, blocks_++);
  for (const HostEntry& host : plan.world.hosts) {
    const std::uint32_t block = masked(host.ipv4, kBlockLength);
    std::vector<std::uint32_t>& addresses = hosts_of.at(block);
    places_.push_back({number_of.at(block), static_cast<std::uint32_t>(addresses.size())});
    addresses.push_back(host.ipv4);
  }
  hosts_ = static_cast<std::uint32_t>(places_.size());
  for (const SwitchRules& rules : gather(plan, routes)) {
    std::map<const RuleSet*, Entry> made;
    const auto best = [&](std::uint32_t address, std::uint32_t longest) -> const RuleSet* {
      for (const auto& [length, by_prefix] : rules) {
        if (length > longest) continue;
        const auto found = by_prefix.find(masked(address, length));
        if (found != by_prefix.end()) return &found->second;
      }
      return nullptr;
    };
    for (const auto& [block, addresses] : hosts_of) {
      const bool by_host = std::ranges::any_of(rules, [&](const auto& of_length) {
        const auto rule = of_length.second.lower_bound(block);
        return of_length.first > kBlockLength && rule != of_length.second.end() &&
               masked(rule->first, kBlockLength) == block;
      });
      if (by_host) {
        std::vector<const RuleSet*> sets;
        for (const std::uint32_t address : addresses) sets.push_back(best(address, 32));
        entries_.push_back(add(sets));
        continue;
      }
      const RuleSet* set = best(block, kBlockLength);
      const auto [entry, fresh] = made.try_emplace(set);
      if (fresh && set != nullptr) entry->second = add({&set, 1});
      entries_.push_back(entry->second);
    }
  }
}

// Hosts of one block differ in single ports, or take the buckets of the rule for all of them.
Forwarding::Entry Forwarding::add(std::span<const RuleSet* const> sets) {
  Entry entry;
  std::size_t buckets = 1;
  for (const RuleSet* set : sets) {
    if (set == nullptr)
      throw std::runtime_error(
          "a switch has rules for some hosts of a block of addresses and none for others");
    if (set->buckets.empty()) continue;
    RL_CHECK(buckets == 1 || (buckets == set->buckets.size() && entry.shift == set->shift));
    buckets = set->buckets.size();
    entry.shift = set->shift;
  }
  entry.first = static_cast<std::uint32_t>(ports_.size()) + 1;
  entry.mask = static_cast<std::uint16_t>(buckets - 1);
  entry.stride = static_cast<std::uint16_t>(sets.size() > 1 ? buckets + 1 : 0);
  for (const RuleSet* set : sets) {
    ports_.push_back(set->plain.value());
    if (set->buckets.empty())
      ports_.insert(ports_.end(), buckets, set->plain.value());
    else
      ports_.insert(ports_.end(), set->buckets.begin(), set->buckets.end());
  }
  return entry;
}

}  // namespace rocelab::des
