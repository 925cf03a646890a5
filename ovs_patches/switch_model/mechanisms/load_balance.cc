#include "ovs_patches/switch_model/mechanisms/load_balance.h"

#include <algorithm>
#include <map>

#include "ovs_patches/switch_model/network_facts.h"
#include "ovs_patches/switch_model/switch_config.h"

namespace rocelab {
namespace {

constexpr auto kFields =
    fields(field<&LoadBalanceParams::enabled>("enabled",
                                              "each frame takes an equal-cost port with a short queue; needs "
                                              "transports that bear frames out of order"),
           field<&LoadBalanceParams::low>("low", "below it a queue is short").positive(),
           field<&LoadBalanceParams::high>("high", "from it on a queue is long").positive());

}  // namespace

Schema<LoadBalanceParams> LoadBalanceMechanism::schema() { return kFields; }

std::optional<SchemaProblem> LoadBalanceMechanism::problem_of(const LoadBalanceParams& p) {
  if (p.high < p.low) return SchemaProblem{"high", "is less than low"};
  return std::nullopt;
}

std::string LoadBalanceMechanism::problem_in(const LoadBalanceParams&, const SwitchConfig& config,
                                             std::span<const PortConfig>) {
  if (config.mechanisms.is_on("escape"))
    return "load balancing by frames excludes Escape, whose flows have one path";
  return {};
}

// Go-back-N takes a frame that has been overtaken for a lost one.
std::optional<SchemaProblem> LoadBalanceMechanism::problem_of_network(const Params&, const SwitchConfig&,
                                                                      const NetworkFacts& network) {
  const std::string what = "switch.load_balance lets frames of a flow overtake one another, which ";
  if (network.path_sets_overlap)
    return SchemaProblem{"enabled",
                         "switch.load_balance: a port of \"" + std::string(network.name) +
                             "\" is of two sets of equal-cost paths; it needs a topology whose sets do not "
                             "overlap, as leaf-spine and fat-tree"};
  if (network.roce_hosts)
    return SchemaProblem{"enabled", what + "RoCE's go-back-N takes for loss: use mode \"irn\""};
  if (network.irn_go_back_n) return SchemaProblem{"enabled", what + "irn.go_back_n takes for loss"};
  if (network.link_events)
    return SchemaProblem{"enabled",
                         "switch.load_balance keeps the sets of paths of the healthy network: use it without "
                         "link events"};
  return std::nullopt;
}

LoadBalanceMechanism::LoadBalanceMechanism(const LoadBalanceParams& params, SwitchActions actions, Rng rng)
    : params_(params),
      actions_(actions),
      rng_(std::move(rng)),
      sets_(1),
      set_of_(actions.ports()),
      counters_(actions.ports()) {
  std::map<std::uint16_t, std::size_t> places;
  for (std::uint16_t p = 0; p < actions_.ports(); ++p) {
    const std::uint16_t number = actions_.port(PortId{p}).equal_cost;
    if (number == 0) continue;
    const auto [place, fresh] = places.try_emplace(number, sets_.size());
    if (fresh) sets_.emplace_back();
    sets_[place->second].push_back(PortId{p});
    set_of_[p] = place->second;
  }
  const auto& classes = actions_.config().classes;
  for (std::uint8_t tc = 0; tc < kTrafficClasses; ++tc)
    for (std::uint8_t other = 0; other < kTrafficClasses; ++other) {
      const bool strict = classes[other].selection == Selection::kStrict;
      const bool before = strict && (other > tc || classes[tc].selection != Selection::kStrict);
      if (other == tc || before) ahead_[tc] |= bit_of(Tc{other});
    }
  actions_.watch_arrivals();
}

// 0: short, 1, 2: long. What waits ahead of a frame of the class is what the port has to send first.
int LoadBalanceMechanism::band(PortId port, Tc tc) const {
  Bytes waits;
  for (std::uint8_t other = 0; other < kTrafficClasses; ++other)
    if ((ahead_[tc.value] & bit_of(Tc{other})) != 0) waits += actions_.queued(port, Tc{other});
  return waits < params_.low ? 0 : waits < params_.high ? 1 : 2;
}

PortId LoadBalanceMechanism::choose(PortId /*in*/, PortId out, const Packet& packet) {
  constexpr int kNoRoom = 3;
  const std::vector<PortId>& set = set_of(out);
  if (set.size() < 2) return out;
  const auto rank = [&](PortId port) {
    return actions_.has_own_room(port, packet.tc, packet.frame()) ? band(port, packet.tc) : kNoRoom;
  };
  int best = kNoRoom;
  std::uint64_t equal = 0;
  for (const PortId port : set) {
    const int found = rank(port);
    equal = found < best ? 1 : equal + (found == best);
    best = std::min(best, found);
  }
  std::uint64_t turn = rng_.below(equal);
  for (const PortId port : set) {
    if (rank(port) != best || turn-- > 0) continue;
    counters_[port.value].moved += port != out;
    return port;
  }
  return out;
}

bool LoadBalanceMechanism::has_room(PortId out, Tc tc, Bytes frame) const {
  return std::ranges::any_of(set_of(out),
                             [&](PortId port) { return actions_.has_own_room(port, tc, frame); });
}

}  // namespace rocelab
