// Forwarding: the rules of a plan (RunPlan::routes, which the live engine installs in Open vSwitch) compiled
// into one look-up per hop: switch, destination host, UDP source port -> output port. The longest prefix
// wins, and a bucket of the masked source port before the rule without one, as the rules' priorities say.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "emu/runner/plan.h"

namespace rocelab::des {

struct RuleSet;

class Forwarding {
 public:
  explicit Forwarding(const RunPlan& plan) : Forwarding(plan, plan.routes) {}
  Forwarding(const RunPlan& plan, const std::vector<Route>& routes);

  static constexpr std::uint32_t kNone = 0xffffffff;
  struct Entry {                        // of a switch and a block of addresses
    std::uint32_t first = kNone;        // in ports_, of the block's first host
    std::uint16_t stride = 0;           // to the ports of its next host; 0: all have the same
    std::uint16_t shift = 0, mask = 0;  // of the source port: the bucket
  };
  using Row = const Entry*;  // the rules of one switch
  Row row(std::uint32_t switch_index) const { return &entries_[switch_index * std::size_t{blocks_}]; }

  // Null: the switch has no rule for that host.
  const PortId* out(Row row, NodeId host, std::uint16_t udp_src_port) const {
    if (host.value >= hosts_) return nullptr;
    const Place place = places_[host.value];
    const Entry& entry = row[place.block];
    if (entry.first == kNone) return nullptr;
    return &ports_[entry.first + place.number * entry.stride + (udp_src_port >> entry.shift & entry.mask)];
  }
  // Of frames that are not RoCE: the rule without a bucket.
  const PortId* out_unbucketed(Row row, NodeId host) const {
    if (host.value >= hosts_) return nullptr;
    const Place place = places_[host.value];
    const Entry& entry = row[place.block];
    return entry.first == kNone ? nullptr : &ports_[entry.first + place.number * entry.stride - 1];
  }

 private:
  struct Place {  // of a host
    std::uint32_t block = 0, number = 0;
  };
  Entry add(std::span<const RuleSet* const> sets);

  std::uint32_t hosts_ = 0;
  std::vector<Place> places_;   // by host
  std::uint32_t blocks_ = 0;    // of 256 addresses, such as a switch's hosts have
  std::vector<Entry> entries_;  // switch by switch, block by block
  // For each distinct set of rules, and each host of a block in which a switch has rules for single hosts:
  // the port without a bucket, then that port again, or one per bucket.
  std::vector<PortId> ports_;
};

}  // namespace rocelab::des
