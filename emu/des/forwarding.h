// Forwarding: the rules of a plan (RunPlan::routes, which the live engine installs in Open vSwitch) compiled
// into one look-up per hop: switch, destination host, UDP source port -> output port. The longest prefix
// wins, and a bucket of the masked source port before the rule without one, as the rules' priorities say.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "emu/runner/plan.h"

namespace rocelab::des {

class Forwarding {
 public:
  explicit Forwarding(const RunPlan& plan) : Forwarding(plan, plan.routes) {}
  Forwarding(const RunPlan& plan, const std::vector<Route>& routes);

  // Null: the switch has no rule for that host.
  const PortId* out(std::uint32_t switch_index, NodeId host, std::uint16_t udp_src_port) const {
    if (host.value >= hosts_) return nullptr;
    const Entry& entry = entries_[switch_index * std::size_t{hosts_} + host.value];
    return entry.first == kNone ? nullptr : &ports_[entry.first + (udp_src_port >> entry.shift & entry.mask)];
  }
  // Of frames that are not RoCE: the rule without a bucket.
  const PortId* out_unbucketed(std::uint32_t switch_index, NodeId host) const {
    if (host.value >= hosts_) return nullptr;
    const Entry& entry = entries_[switch_index * std::size_t{hosts_} + host.value];
    return entry.first == kNone ? nullptr : &ports_[entry.first - 1];
  }

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;
  struct Entry {
    std::uint32_t first = kNone;        // in ports_
    std::uint16_t shift = 0, mask = 0;  // of the source port: the bucket
  };
  std::uint32_t hosts_;
  std::vector<Entry> entries_;  // switch by switch, host by host
  // Of each distinct set of rules: the port without a bucket, then that port again, or one per bucket.
  std::vector<PortId> ports_;
};

}  // namespace rocelab::des
