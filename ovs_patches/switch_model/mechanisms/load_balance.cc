#include "ovs_patches/switch_model/mechanisms/load_balance.h"

#include <algorithm>
#include <map>

#include "ovs_patches/switch_model/network_facts.h"
#include "ovs_patches/switch_model/switch_config.h"

namespace rocelab {
namespace {

constexpr std::string_view kPolicies[] = {"bands", "random", "round-robin", "least-queue", "flowlet"};
constexpr auto kFields = fields(
    field<&LoadBalanceParams::enabled>(
        "enabled",
        "frames share the equal-cost ports of their route, frame by frame; needs "
        "transports that bear frames out of order"),
    choice<&LoadBalanceParams::policy>("policy", kPolicies,
                                       "one of those with a short queue, drawn; any, drawn; in turn; the one "
                                       "with the shortest queue; or one "
                                       "that is drawn anew where a flow has paused for `flowlet_gap`"),
    field<&LoadBalanceParams::low>("low", "bands: below it a queue is short").positive(),
    field<&LoadBalanceParams::high>("high", "bands: from it on a queue is long").positive(),
    field<&LoadBalanceParams::flowlet_gap>("flowlet_gap", "flowlet: time without a frame of the flow")
        .positive(),
    field<&LoadBalanceParams::accept_go_back_n>("accept_go_back_n",
                                                "do not refuse RoCE, whose go-back-N takes a frame that has "
                                                "been overtaken for a lost one: to show that"));

// As many as LetFlow's switch has room for, about; flows of one entry share their flowlets.
constexpr std::size_t kFlowletEntries = 1 << 12;

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
std::optional<SchemaProblem> LoadBalanceMechanism::problem_of_network(const Params& params,
                                                                      const SwitchConfig&,
                                                                      const NetworkFacts& network) {
  const std::string what = "switch.load_balance lets frames of a flow overtake one another, which ";
  if (network.path_sets_overlap)
    return SchemaProblem{"enabled",
                         "switch.load_balance: a port of \"" + std::string(network.name) +
                             "\" is of two sets of equal-cost paths; it needs a topology whose sets do not "
                             "overlap, as leaf-spine and fat-tree, without [[topology.path]]"};
  const bool refuses = !params.accept_go_back_n && params.policy != LoadBalancePolicy::kFlowlet;
  if (network.roce_hosts && refuses)
    return SchemaProblem{"enabled", what +
                                        "RoCE's go-back-N takes for loss: use mode \"irn\", or policy = "
                                        "\"flowlet\"; accept_go_back_n = true shows what becomes of it"};
  if (network.irn_go_back_n && refuses)
    return SchemaProblem{"enabled", what + "irn.go_back_n takes for loss"};
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
      counters_(actions.ports()),
      flowlets_(params.policy == LoadBalancePolicy::kFlowlet ? kFlowletEntries : 0) {
  std::map<std::uint16_t, std::size_t> places;
  for (std::uint16_t p = 0; p < actions_.ports(); ++p) {
    const std::uint16_t number = actions_.port(PortId{p}).equal_cost;
    if (number == 0) continue;
    const auto [place, fresh] = places.try_emplace(number, sets_.size());
    if (fresh) sets_.emplace_back();
    sets_[place->second].push_back(PortId{p});
    set_of_[p] = place->second;
  }
  turns_.resize(sets_.size());
  const auto& classes = actions_.config().classes;
  for (std::uint8_t tc = 0; tc < kTrafficClasses; ++tc)
    for (std::uint8_t other = 0; other < kTrafficClasses; ++other) {
      const bool strict = classes[other].selection == Selection::kStrict;
      const bool before = strict && (other > tc || classes[tc].selection != Selection::kStrict);
      if (other == tc || before) ahead_[tc] |= bit_of(Tc{other});
    }
  actions_.watch_arrivals();
}

// What waits ahead of a frame of the class is what the port has to send first.
Bytes LoadBalanceMechanism::ahead(PortId port, Tc tc) const {
  Bytes waits;
  for (std::uint8_t other = 0; other < kTrafficClasses; ++other)
    if ((ahead_[tc.value] & bit_of(Tc{other})) != 0) waits += actions_.queued(port, Tc{other});
  return waits;
}

// 0: short, 1, 2: long.
int LoadBalanceMechanism::band(PortId port, Tc tc) const {
  const Bytes waits = ahead(port, tc);
  return waits < params_.low ? 0 : waits < params_.high ? 1 : 2;
}

// Of the ports with the least one is drawn. A port without room for the frame is the last choice.
std::uint64_t LoadBalanceMechanism::cost(PortId port, const Packet& packet) const {
  constexpr std::uint64_t kNoRoom = ~std::uint64_t{0};
  if (!actions_.has_own_room(port, packet.tc, packet.frame())) return kNoRoom;
  switch (params_.policy) {
    case LoadBalancePolicy::kBands:
      return static_cast<std::uint64_t>(band(port, packet.tc));
    case LoadBalancePolicy::kLeastQueue:
      return static_cast<std::uint64_t>(ahead(port, packet.tc).count());
    case LoadBalancePolicy::kRandom:
    case LoadBalancePolicy::kRoundRobin:
    case LoadBalancePolicy::kFlowlet:
      return 0;
  }
  return 0;
}

PortId LoadBalanceMechanism::draw(PortId out, const Packet& packet) {
  const std::vector<PortId>& set = set_of(out);
  std::uint64_t best = ~std::uint64_t{0}, equal = 0;
  for (const PortId port : set) {
    const std::uint64_t found = cost(port, packet);
    equal = found < best ? 1 : equal + (found == best);
    best = std::min(best, found);
  }
  std::uint64_t turn = params_.policy == LoadBalancePolicy::kRoundRobin ? turns_[set_of_[out.value]]++ % equal
                                                                        : rng_.below(equal);
  for (const PortId port : set)
    if (cost(port, packet) == best && turn-- == 0) return port;
  return out;
}

LoadBalanceMechanism::Flowlet& LoadBalanceMechanism::flowlet_of(const Packet& packet) {
  constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio: Knuth's multiplier
  return flowlets_[flow_of(packet, PortId{}).key() * kGolden >> 52];
}

// `packet.due` is its arrival.
PortId LoadBalanceMechanism::choose(PortId /*in*/, PortId out, const Packet& packet) {
  if (set_of(out).size() < 2) return out;
  PortId chosen = out;
  if (params_.policy == LoadBalancePolicy::kFlowlet) {
    Flowlet& flowlet = flowlet_of(packet);
    const bool goes_on = !flowlet.last.is_never() && packet.due - flowlet.last <= params_.flowlet_gap &&
                         set_of_[flowlet.port.value] == set_of_[out.value];
    chosen = goes_on ? flowlet.port : draw(out, packet);
    flowlet = {packet.due, chosen};
  } else {
    chosen = draw(out, packet);
  }
  counters_[chosen.value].moved += chosen != out;
  return chosen;
}

bool LoadBalanceMechanism::has_room(PortId out, Tc tc, Bytes frame) const {
  return std::ranges::any_of(set_of(out),
                             [&](PortId port) { return actions_.has_own_room(port, tc, frame); });
}

}  // namespace rocelab
