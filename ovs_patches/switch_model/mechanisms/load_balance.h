// Adaptive load balancing: each frame takes, of the equal-cost ports of its route, one with a short queue.
// Source: S. N. Avci, Z. Li, F. Liu, "Congestion Aware Priority Flow Control in Data Center Networks", IFIP
// Networking 2016, II-H and table II, where it is DeTail's: two thresholds part the ports into bands, and one
// of the best band is drawn. Frames of a flow overtake one another: transports must bear that.
// The route's port comes from Open vSwitch or the route table; PortConfig::equal_cost says which others are
// as good.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/rng.h"
#include "base/schema.h"
#include "base/tc_mask.h"
#include "ovs_patches/switch_model/actions.h"

namespace rocelab {

struct LoadBalanceParams {
  bool enabled = false;
  Bytes low = 16_KB, high = 32_KB;  // table II
};

class LoadBalanceMechanism {
 public:
  using Params = LoadBalanceParams;
  struct Counters {  // of an egress port
    static constexpr std::array kNames = {"load_balance_moved"};
    std::uint64_t moved = 0;  // frames that left by this port in place of another
  };
  static constexpr std::string_view kName = "load_balance";
  static Schema<Params> schema();
  static bool is_on(const Params& params) { return params.enabled; }
  static std::optional<SchemaProblem> problem_of(const Params& params);
  static std::string problem_in(const Params& params, const SwitchConfig& config,
                                std::span<const PortConfig> ports);
  static std::optional<SchemaProblem> problem_of_network(const Params& params, const SwitchConfig& config,
                                                         const NetworkFacts& network);

  LoadBalanceMechanism(const Params& params, SwitchActions actions, Rng rng);
  PortId choose(PortId in, PortId out, const Packet& packet);
  bool has_room(PortId out, Tc tc, Bytes frame) const;  // of the ports that choose() may take for it
  const Counters& counters(PortId port) const { return counters_[port.value]; }

 private:
  int band(PortId port, Tc tc) const;
  const std::vector<PortId>& set_of(PortId out) const { return sets_[set_of_[out.value]]; }

  Params params_;
  SwitchActions actions_;
  Rng rng_;
  std::vector<std::vector<PortId>> sets_;        // [0]: of ports without others
  std::vector<std::size_t> set_of_;              // by port
  std::array<TcMask, kTrafficClasses> ahead_{};  // by class: itself, and those that are served before it
  std::vector<Counters> counters_;
};

}  // namespace rocelab
