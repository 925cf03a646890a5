// Load balancing: which of the equal-cost ports of its route a frame takes.
// `bands` is the adaptive form of S. N. Avci, Z. Li, F. Liu, "Congestion Aware Priority Flow Control in Data
// Center Networks", IFIP Networking 2016, II-H and table II, where it is DeTail's: two thresholds part the
// ports into bands, and one of the best band is drawn. `random` and `round-robin` spray without a look at the
// queues (A. Dixit et al., "On the Impact of Packet Spraying in Data Center Networks", INFOCOM 2013),
// `least-queue` takes the shortest. `flowlet` draws a port anew only behind a gap of a flow (E. Vanini et
// al., "Let it Flow", NSDI 2017), so that frames rarely overtake one another; all others let them. The
// route's port comes from Open vSwitch or the route table; PortConfig::equal_cost says which others are as
// good.
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

enum class LoadBalancePolicy : std::uint8_t { kBands, kRandom, kRoundRobin, kLeastQueue, kFlowlet };

struct LoadBalanceParams {
  bool enabled = false;
  LoadBalancePolicy policy = LoadBalancePolicy::kBands;
  Bytes low = 16_KB, high = 32_KB;  // table II
  Duration flowlet_gap = 50_us;
  bool accept_go_back_n = false;
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
  struct Flowlet {
    Time last = Time::never();
    PortId port;
  };
  Bytes ahead(PortId port, Tc tc) const;
  int band(PortId port, Tc tc) const;
  std::uint64_t cost(PortId port, const Packet& packet) const;
  PortId draw(PortId out, const Packet& packet);
  Flowlet& flowlet_of(const Packet& packet);
  const std::vector<PortId>& set_of(PortId out) const { return sets_[set_of_[out.value]]; }

  Params params_;
  SwitchActions actions_;
  Rng rng_;
  std::vector<std::vector<PortId>> sets_;        // [0]: of ports without others
  std::vector<std::size_t> set_of_;              // by port
  std::array<TcMask, kTrafficClasses> ahead_{};  // by class: itself, and those that are served before it
  std::vector<Counters> counters_;
  std::vector<std::size_t> turns_;  // by set: round robin
  std::vector<Flowlet> flowlets_;   // by a hash of the flow
};

}  // namespace rocelab
