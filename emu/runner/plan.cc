#include "emu/runner/plan.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <set>
#include <tuple>

#include "base/quantity.h"
#include "base/wire/rocc_cnp.h"
#include "base/wire/shim_bfc.h"
#include "base/wire/shim_escape.h"
#include "base/wire/shim_rcp.h"
#include "emu/runner/formula.h"
#include "emu/runner/link_events.h"
#include "emu/runner/mechanism_checks.h"
#include "emu/runner/plan_checks.h"
#include "emu/runner/rocc_loop.h"
#include "emu/runner/routing.h"
#include "emu/runner/workload.h"
#include "emu/world/host_identity.h"
#include "irn_provider/cc/cc_algorithm.h"
#include "irn_provider/cc/rocc_rp.h"
#include "ovs_patches/switch_model/headroom.h"
#include "ovs_patches/switch_model/mechanisms/rcp.h"
#include "ovs_patches/switch_model/mechanisms/rocc.h"

namespace rocelab {
namespace {

constexpr std::size_t kMaxInterfaceName = 15;  // IFNAMSIZ - 1

template <std::size_t N>
void put_text(char (&to)[N], const std::string& text) {
  std::memcpy(to, text.data(), std::min(text.size(), N - 1));
}

std::string interface_name(const Topology& topology, std::uint32_t switch_node, std::uint32_t port) {
  return topology.nodes()[switch_node].name + "-eth" + std::to_string(port + 1);
}

struct Extremes {
  Duration base_rtt;
  std::uint32_t bdp_cap = 0;
  std::size_t links = 0;  // of the path with most
};

// RoCC's congestion points are those of RoCE's class.
void set_class_map(SwitchConfig& config, const ClassMap& map) {
  config.class_map = map;
  config.mechanisms.of<RoccMechanism>().classes =
      static_cast<std::uint8_t>(1u << map.of(NicConfig{}.roce_dscp).value);
}

// That the NIC puts into all that it sends.
Bytes shim_of(const NicConfig& nic) {
  return Bytes::from_count(nic.slack.shim_bytes() + (nic.cc.needs().path_rate ? kRcpShimBytes : 0) +
                           (nic.cc.needs().queue_pauses ? kBfcShimBytes : 0));
}

std::size_t most_links(const Routing& routing) {
  std::size_t most = 0;
  for (const auto& [src, dst] : routing.distinct_pairs())
    most = std::max({most, routing.longest_path(src, dst).size(), routing.longest_path(dst, src).size()});
  return most;
}

Extremes longest_paths(const Routing& routing, const NicConfig& nic) {
  Extremes most;
  const Bytes shim = shim_of(nic);
  for (const auto& [src, dst] : routing.distinct_pairs()) {
    const Path there = routing.longest_path(src, dst), back = routing.longest_path(dst, src);
    most.links = std::max({most.links, there.size(), back.size()});
    most.base_rtt = std::max(most.base_rtt, round_trip(nic.mode, nic.active_mtu, there, back, shim));
    most.bdp_cap = std::max(most.bdp_cap, bdp_packets(nic.mode, nic.active_mtu, there, back, shim));
  }
  return most;
}

class Planner {
 public:
  Planner(const Scenario& scenario, const Settings& settings, std::uint64_t seed)
      : settings_(settings), topology_(settings.topology), routing_(settings.topology), rng_(seed) {
    plan_.scenario = scenario.name;
    plan_.label = settings.label;
    plan_.seed = plan_.world.seed = seed;
    plan_.settings = settings;
    std::uint32_t first = 0;
    for (std::uint32_t s = 0; s < topology_.switches(); ++s) {
      first_port_.push_back(first);
      first += static_cast<std::uint32_t>(topology_.nodes()[topology_.hosts() + s].links.size());
    }
  }

  RunPlan make() {
    NicConfig& nic = plan_.settings.nic.config;
    if (nic.slack.hop_times) nic.slack.switches = room_for_hop_times();
    plan_.wire_mtu = largest_data_frame(nic.mode, nic.active_mtu) + shim_of(nic);
    const bool stamps = nic.cc.needs().telemetry;
    const Bytes max_frame = plan_.wire_mtu + Bytes::from_count(stamps ? Telemetry::kMaxShimBytes : 0);
    plan_.settings.switches.max_frame = max_frame;
    nic.slack.beyond =
        wire_time(plan_.wire_mtu, std::ranges::min_element(topology_.links(), {}, &Link::rate)->rate);
    for (SwitchGroup& group : plan_.settings.switch_groups) group.config.max_frame = max_frame;
    const Extremes most = longest_paths(routing_, nic);
    plan_.base_rtt = most.base_rtt;
    most_links_ = most.links;
    if (!topology_.pinned.empty())  // some are there for failures
      for (const LinkState& state : link_states(settings_))
        most_links_ = std::max(most_links_, most_links(Routing(topology_, state.dead)));
    if (stamps && most_links_ > Telemetry::kMaxHops + 1)
      refuse(settings_, "topology",
             "HPCC's telemetry has room for " + std::to_string(Telemetry::kMaxHops) +
                 " switches, and the longest path has " + std::to_string(most_links_ - 1));
    if (nic.mode == TransportMode::kIrn && settings_.nic.compute_bdp_cap) nic.irn.bdp_cap = cap(most.bdp_cap);
    plan_.bdp_cap = nic.mode == TransportMode::kIrn ? nic.irn.bdp_cap : 0;
    for (const Link& link : topology_.links())
      fastest_link_ = std::max(fastest_link_, link.rate);  // no congestion point names a higher rate
    add_hosts();
    add_switches();
    fit_mechanisms(plan_, routing_, most_links_);
    policy_room_ = check_policies(plan_);
    plan_.routes = routing_.all_rules(rng_);
    plan_.world.link_changes = link_changes(settings_, plan_.world);
    plan_.route_changes = route_changes(settings_, plan_.routes, rng_);
    plan_.lookahead = lookahead_of(plan_.world.view());
    add_flows();
    if (const std::string problem = problem_of_loops(plan_); !problem.empty())
      refuse(settings_, "congestion_control.rocc", problem);
    add_live_settings();
    plan_.measure_from = Time::zero() + settings_.engine.warmup;
    plan_.measure_until = plan_.measure_from + settings_.engine.measure;
    return std::move(plan_);
  }

 private:
  std::uint8_t room_for_hop_times() const {
    const std::size_t switches = most_links(routing_) - 1;
    if (switches > HopTimes::kMost)
      refuse(settings_, "slack.hop_times",
             "frames have room for the times of " + std::to_string(HopTimes::kMost) +
                 " switches, and the longest path has " + std::to_string(switches));
    return static_cast<std::uint8_t>(switches);
  }

  std::uint32_t cap(std::uint32_t packets) const {
    if (packets > kMostBdpCap)
      refuse(settings_, "topology",
             "a path holds " + std::to_string(packets) + " packets, and IRN's bitmaps at most " +
                 std::to_string(kMostBdpCap) + ": give its links shorter delays or lower rates");
    return packets;
  }

  // Menikkumbura, 3.3.6, (2): the hosts know the sets of the network's links.
  RoccRegistry rocc_registry() const {
    RoccRegistry registry;
    const RoccSwitchParams& rocc = settings_.switches.mechanisms.of<RoccMechanism>();
    if (!rocc.enabled || rocc.form != RoccForm::kQueue) return registry;
    std::set<Rate> rates;
    for (const Link& link : topology_.links()) rates.insert(link.rate);
    if (rates.size() > RoccRegistry::kMost)
      refuse(settings_, "congestion_control.rocc.rate_computation",
             "congestion_control.rocc.rate_computation = \"host-registry\" knows links of " +
                 std::to_string(RoccRegistry::kMost) + " rates, here are " + std::to_string(rates.size()) +
                 ": use \"host\"");
    for (const Rate rate : rates) registry.sets[registry.used++] = rocc_values(rocc.points.params(rate));
    return registry;
  }

  void add_hosts() {
    const RoccRegistry registry = rocc_registry();
    plan_.world.hosts.reserve(topology_.hosts());
    for (std::uint32_t h = 0; h < topology_.hosts(); ++h) {
      const Link& link = topology_.links()[topology_.nodes()[h].links[0]];
      HostEntry entry;
      put_text(entry.name, topology_.nodes()[h].name);
      entry.ipv4 = routing_.address(h).ipv4;
      entry.ipv6 = ipv6_of(entry.ipv4);
      entry.mac = routing_.address(h).mac;
      entry.node = static_cast<std::uint16_t>(h);
      entry.plane = static_cast<std::uint16_t>(topology_.plane_of(h));
      entry.nics = static_cast<std::uint8_t>(topology_.nics_per_host);
      entry.nic_number = static_cast<std::uint8_t>(topology_.nic_number_of(h));
      entry.port = port_index(link.b, link.b_port);
      entry.nic = plan_.settings.nic.config;
      for (const auto& [name, mode] : settings_.nic.modes)
        if (name == topology_.nodes()[h].name) entry.nic.mode = mode;
      for (const auto& [host, rate] : settings_.slack_rates)
        if (host == h) entry.nic.slack.rate = rate;
      if (const CcAlgorithm* algorithm = algorithm_of(entry.nic.cc))
        algorithm->complete(entry.nic.cc, {plan_.base_rtt, fastest_link_});
      if (RoccRpParams* rocc = entry.nic.cc.get<RoccRp>()) rocc->registry = registry;
      for (const NodeClassMap& own : settings_.class_maps)
        if (own.node == h) entry.nic.class_map = own.map;
      entry.nic.link_rate = link.rate;
      entry.nic.link_delay = link.delay;
      entry.to_switch = link.a_to_b;
      plan_.world.hosts.push_back(entry);
    }
  }

  void add_switches() {
    std::size_t ports = 0;
    for (std::uint32_t s = 0; s < topology_.switches(); ++s)
      ports += topology_.nodes()[topology_.hosts() + s].links.size();
    plan_.world.ports.reserve(ports);  // its entries are large
    plan_.limits.reserve(ports);
    for (std::uint32_t s = 0; s < topology_.switches(); ++s) {
      const std::uint32_t node = topology_.hosts() + s;
      SwitchEntry entry;
      put_text(entry.name, topology_.nodes()[node].name);
      entry.node = static_cast<std::uint16_t>(node);
      entry.first_port = static_cast<std::uint32_t>(plan_.world.ports.size());
      entry.ports = static_cast<std::uint32_t>(topology_.nodes()[node].links.size());
      const SwitchGroup* group = group_of(plan_.settings, node);
      entry.config = group != nullptr ? group->config : plan_.settings.switches;
      for (const NodeClassMap& own : settings_.class_maps)
        if (own.node == node) set_class_map(entry.config, own.map);
      if (RcpParams& rcp = entry.config.mechanisms.of<RcpMechanism>(); rcp.enabled && rcp.rtt == Duration{})
        rcp.rtt = plan_.base_rtt;
      plan_.world.switches.push_back(entry);
      for (std::uint32_t p = 0; p < entry.ports; ++p) add_port(s, p);
    }
    check_buffers(plan_);
    for (const SwitchEntry& entry : plan_.world.switches) {
      const std::uint32_t node = entry.node;
      const std::vector<PortConfig> configs = port_configs(plan_.world.ports, entry);
      const std::string who = "switch \"" + topology_.nodes()[node].name + "\": ";
      for (const MechanismType& type : mechanism_types())
        if (const std::string problem = problem_of(type, entry.config, configs); !problem.empty())
          refuse(settings_, section_of(type), who + problem);
      if (const std::string problem = problem_of(entry.config, configs); !problem.empty())
        refuse(settings_, "switch", who + problem);
    }
  }

  void add_port(std::uint32_t switch_index, std::uint32_t port) {
    const std::uint32_t node = topology_.hosts() + switch_index, peer = topology_.neighbour(node, port);
    const Link& link = topology_.links()[topology_.nodes()[node].links[port]];
    PortEntry entry;
    const std::string name = interface_name(topology_, node, port);
    if (name.size() > kMaxInterfaceName)
      refuse(settings_, "topology",
             "interface name " + name + " is longer than 15 characters: shorten the switch's name");
    put_text(entry.interface, name);
    entry.switch_index = switch_index;
    entry.port_id = port;
    entry.config = {link.rate, link.delay, topology_.is_host(peer) ? PeerKind::kHost : PeerKind::kSwitch};
    const SwitchGroup* group = group_of(plan_.settings, node);
    for (const EcnOfRate& of : group != nullptr ? group->ecn_by_rate : settings_.ecn_by_rate)
      if (of.rate == link.rate) entry.config.ecn = of.ecn;
    entry.config.cp_address = kCpNetwork + static_cast<std::uint32_t>(plan_.world.ports.size()) + 1;
    entry.to_peer = link.a == node ? link.a_to_b : link.b_to_a;
    PortLimits limits{topology_.nodes()[node].name,
                      name,
                      topology_.nodes()[peer].name,
                      link.rate,
                      link.delay,
                      {},
                      {},
                      {},
                      {}};
    if (topology_.is_host(peer)) {
      entry.peer_host = peer;
    } else {
      const std::uint32_t peer_port = link.a == node ? link.b_port : link.a_port;
      entry.peer_port = port_index(peer, peer_port);
      limits.peer = interface_name(topology_, peer, peer_port);
    }
    const SwitchConfig& config = group != nullptr ? group->config : plan_.settings.switches;
    if (config.pfc.enabled) {
      const PfcThresholds thresholds = thresholds_for(config, entry.config);
      limits.buffer = config.ingress_buffer;
      limits.headroom = thresholds.headroom;
      limits.xoff = thresholds.xoff;
      limits.xon = thresholds.xon;
    }
    plan_.limits.push_back(limits);
    plan_.world.ports.push_back(entry);
  }

  // Ports are numbered switch by switch.
  std::uint32_t port_index(std::uint32_t switch_node, std::uint32_t port) const {
    return first_port_[switch_node - topology_.hosts()] + port;
  }

  void add_flows() {
    check_stops(plan_);
    plan_.flows = draw_flows(plan_.settings, rng_);
    for (Flow& flow : plan_.flows) {
      const FlowShape shape{settings_.nic.config.mode,
                            flow.op,
                            flow.size,
                            flow.message_size,
                            flow.qps,
                            settings_.nic.config.active_mtu,
                            flow.service == FlowService::kRc ? plan_.bdp_cap : 0,
                            flow.numbered(),
                            flow.service,
                            shim_of(settings_.nic.config)};
      flow.packets = data_packets(shape);
      check_flow(plan_, routing_, flow, wire_bytes_of(shape));
      if (flow.queue_pairs == QueuePairs::kPerFlow && flow.start - Time::zero() > connect_ahead())
        flow.connect = flow.start - connect_ahead();
      if (!flow.is_stream())
        flow.alone = fct_alone(shape, routing_.path(flow.src, flow.dst), routing_.path(flow.dst, flow.src));
    }
  }

  // A host learns of its peer's queue pairs a lookahead later, and programs act at whole nanoseconds.
  Duration connect_ahead() const { return plan_.lookahead + 1_ns; }

  void add_live_settings() {
    LiveSettings& live = plan_.live;
    live.vfs_per_host = settings_.nic.vfs;
    live.max_frame_bytes = static_cast<std::uint32_t>(plan_.settings.switches.longest_frame().count());
    const auto configs = switch_configs(plan_.settings);
    if (std::ranges::any_of(configs,
                            [](const SwitchConfig* config) { return config->mechanisms.is_on("escape"); }))
      live.max_frame_bytes += kEscapeShimBytes;
    live.pace = settings_.engine.pace;
    live.dilation = settings_.engine.clock == ClockKind::kWall ? settings_.engine.dilation : 0;
    live.sample_interval = settings_.engine.sample_interval;
    live.poll_interval = settings_.engine.poll_interval;
    std::set<std::uint32_t> taking_part;
    for (const Flow& flow : plan_.flows)
      taking_part.insert({topology_.machine_of(flow.src), topology_.machine_of(flow.dst)});
    live.expected_participants = static_cast<std::uint32_t>(taking_part.size());
    live.frames_per_vf =
        settings_.engine.frames_per_vf != 0 ? settings_.engine.frames_per_vf : enough_frames();
  }

  // Frames that one VF can have outside at once: all buffers on its path full of its frames, links full in
  // both directions, and as much again for frames on their way home. Full frames, and of each message that it
  // sends one small one; or, where messages are many, frames as small as the smallest. Without a workload
  // anything may come.
  std::uint32_t enough_frames() const {
    Bytes smallest = kMinFrameBytes;
    if (!plan_.flows.empty()) {
      smallest = plan_.wire_mtu;
      for (const Flow& flow : plan_.flows)
        smallest = std::min(smallest, std::max(kMinFrameBytes, std::min(flow.size, flow.message_size)));
    }
    Bytes buffers;
    for (const SwitchConfig* config : switch_configs(plan_.settings)) {
      Bytes behind;  // a pipeline, in a memory of its own
      for (const ClassConfig& c : config->classes) behind = std::max(behind, c.egress_max);
      buffers =
          std::max(buffers, std::max({config->ingress_buffer, config->egress_limit, config->input_buffer}) +
                                config->shared_pool + behind);
    }
    buffers = std::max(buffers, policy_room_);
    Bytes links;
    for (const Link& link : topology_.links()) links = std::max(links, bytes_in(2 * link.delay, link.rate));
    const auto hops = static_cast<std::int64_t>(most_links_);
    const auto frames_of = [&](Bytes frame) { return 2 * hops * ((buffers + links) / frame) + 256; };
    const std::int64_t frames =
        plan_.flows.empty()
            ? frames_of(smallest)
            : std::min(frames_of(smallest), frames_of(plan_.wire_mtu) + most_messages_of_a_host());
    return static_cast<std::uint32_t>(
        std::bit_ceil(static_cast<std::uint64_t>(std::min<std::int64_t>(frames, 1 << 16))));
  }

  std::int64_t most_messages_of_a_host() const {
    std::vector<std::int64_t> messages(topology_.hosts());
    for (const Flow& flow : plan_.flows)
      messages[flow.src] += (flow.size.count() + flow.message_size.count() - 1) / flow.message_size.count();
    return *std::max_element(messages.begin(), messages.end());
  }

  const Settings& settings_;
  const Topology& topology_;
  Routing routing_;
  Rng rng_;
  RunPlan plan_;
  std::vector<std::uint32_t> first_port_;  // by switch: in world.ports
  std::size_t most_links_ = 0;
  Bytes policy_room_;
  Rate fastest_link_;
};

}  // namespace

RunPlan make_plan(const Scenario& scenario, const Settings& settings, std::uint64_t seed) {
  RunPlan plan = Planner(scenario, settings, seed).make();
  plan.exact_starts = takes_part_in_replay(scenario, settings);
  if (settings.nic.config.slack.replays()) {
    RunPlan original = Planner(scenario, original_of(scenario, settings), seed).make();
    original.exact_starts = true;
    plan.original = std::make_shared<const RunPlan>(std::move(original));
    check_replay(plan);
  }
  return plan;
}

std::vector<RunPlan> make_plans(const Scenario& scenario) {
  std::vector<RunPlan> plans;
  for (const Settings& settings : scenario.settings)
    for (const std::uint64_t seed : scenario.seeds) plans.push_back(make_plan(scenario, settings, seed));
  return plans;
}

}  // namespace rocelab
