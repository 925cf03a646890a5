#include "emu/des/network.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "emu/des/network_path.h"
#include "emu/runner/link_events.h"
#include "emu/world/switch_policies.h"

namespace rocelab::des {
namespace {

std::vector<app::Flow> program_flows(const RunPlan& plan) {
  std::vector<app::Flow> flows;
  for (const Flow& f : plan.flows) {
    app::Flow flow;
    flow.id = f.id;
    flow.op = f.op == FlowOp::kSend    ? app::Op::kSend
              : f.op == FlowOp::kWrite ? app::Op::kWrite
                                       : app::Op::kRead;
    flow.size = static_cast<std::uint64_t>(f.size.count());
    flow.message_size = static_cast<std::uint64_t>(f.message_size.count());
    flow.start_ps = f.start.ps();
    flow.qps = f.qps;
    flow.connection = f.connection;
    if (f.queue_pairs == QueuePairs::kPerFlow) flow.connect_ps = f.connect.ps();
    for (const FlowEnd& end : f.after) flow.after.push_back({end.flow, (end.delay.ps() + 999) / 1'000});
    flow.after_count = f.after_count;
    flow.dscp = f.dscp;
    flow.rate_bps = static_cast<std::uint64_t>(f.stream.rate.bps());
    flow.on_ps = f.stream.off.ps() == 0 ? 0 : f.stream.on.ps();
    flow.off_ps = f.stream.off.ps();
    flow.service = static_cast<app::Service>(f.service);
    if (f.service == FlowService::kUd) flow.datagram = plan.settings.nic.config.active_mtu;
    if (!f.stop.is_never()) flow.stop_ps = f.stop.ps();
    flow.settle_ns = f.settle.ps() / 1'000;
    flows.push_back(flow);
  }
  return flows;
}

}  // namespace

Network::SwitchSlot::SwitchSlot(const RunPlan& plan, std::uint32_t index, PacketPool& pool, SwitchTrace* sink,
                                TraceSink& none)
    : entry(plan.world.switches[index]),
      trace(sink),
      node(entry.config, port_configs(plan.world.ports, entry), Rng(plan.seed).fork(entry.name), pool,
           sink != nullptr ? static_cast<TraceSink&>(*sink) : none),
      samples(sink != nullptr ? plan.settings.engine.sample_interval : Duration()) {
  if (plan.world.policies.empty()) return;
  const std::vector<PortConfig> ports = port_configs(plan.world.ports, entry);
  node.set_policies(policy_changes(plan.settings.policies.policies, index, entry.config, ports));
}

// Places of a part begin at a cache line of their own, or its neighbours' threads would wait for each other.
void Network::lay_out(const Partition& partition) {
  constexpr std::size_t kPadding = 16;
  const std::size_t nodes = plan_.world.hosts.size() + plan_.world.switches.size();
  place_of_.resize(nodes);
  part_of_.resize(nodes);
  for (std::size_t node = 0; node < nodes; ++node) part_of_[node] = partition.part_of(node);
  for (std::uint32_t p = 0; p < partition.parts; ++p) {
    if (p > 0) node_at_.resize(node_at_.size() + kPadding);
    Part& part = parts_[p];
    part.first = static_cast<std::uint32_t>(node_at_.size());
    for (std::uint32_t node = 0; node < nodes; ++node) {
      if (part_of_[node] != p) continue;
      place_of_[node] = static_cast<std::uint32_t>(node_at_.size());
      node_at_.push_back(node);
    }
    part.last = static_cast<std::uint32_t>(node_at_.size());
    for (auto& out : part.out) out.resize(partition.parts);
  }
  expected_.resize(partition.parts, Time::never());
  next_.resize(node_at_.size(), Time::never());
}

Network::Network(const RunPlan& plan, const Sinks& sinks, const Partition& partition)
    : plan_(plan),
      sinks_(sinks),
      parts_(partition.parts),
      forwarding_(plan),
      flows_(program_flows(plan)),
      lookahead_(std::min(plan.lookahead, kLinger)),
      first_part_(partition.first_here),
      last_part_(partition.last_here) {
  lay_out(partition);
  find_latencies();
  endpoints_.resize(flows_.size());
  const World& world = plan.world;
  std::vector<std::vector<std::uint32_t>> flows_of(world.hosts.size());
  for (std::uint32_t f = 0; f < plan.flows.size(); ++f) {
    flows_of[plan.flows[f].src].push_back(f);
    if (plan.flows[f].dst != plan.flows[f].src) flows_of[plan.flows[f].dst].push_back(f);
    if (is_here(plan.flows[f].src) != is_here(plan.flows[f].dst)) untold_.push_back(f);
  }
  for (std::uint32_t h = 0; h < world.hosts.size(); ++h)
    hosts_.push_back(flows_of[h].empty() || !is_here(h)
                         ? nullptr
                         : std::make_unique<HostNode>(plan, h, flows_, flows_of[h], endpoints_,
                                                      part_of(h).pool, memory_,
                                                      sinks.hosts.empty() ? no_trace_ : *sinks.hosts[h]));
  for (std::uint32_t h = 0; h < sinks.replay.size(); ++h)
    if (hosts_[h]) hosts_[h]->use_replay(*sinks.replay[h]);
  for (std::uint32_t s = 0; s < world.switches.size(); ++s) {
    const std::size_t node = world.hosts.size() + s;
    switches_.push_back(
        !is_here(node)
            ? nullptr
            : std::make_unique<SwitchSlot>(plan, s, part_of(node).pool,
                                           sinks.switches.empty() ? nullptr : sinks.switches[s], no_trace_));
  }
  links_.resize(world.ports.size());
  for (const PortEntry& port : world.ports) {
    const bool fails = std::ranges::count(world.link_changes, port_edges_.size(), &LinkChangeEntry::port) > 0;
    const bool faults_in = fails || rocelab::faults_in(world.view(), port).any(),
               faults_out = fails || port.to_peer.any();
    const std::size_t node = hosts_.size() + port.switch_index;
    const bool away = port.peer_port != kNoPeer &&
                      part_of_[hosts_.size() + world.ports[port.peer_port].switch_index] != part_of_[node];
    port_edges_.push_back({is_here(node) ? &switches_[port.switch_index]->node : nullptr,
                           port.peer_host == kNoPeer ? nullptr : hosts_[port.peer_host].get(),
                           away ? kNoPeer : port.peer_port,
                           port.peer_host == kNoPeer ? kNoPeer : place_of_[port.peer_host], port.switch_index,
                           place_of_[node], PortId{static_cast<std::uint16_t>(port.port_id)}, faults_in,
                           faults_out, away ? port.peer_port : kNoPeer, forwarding_.row(port.switch_index)});
  }
  for (std::size_t i = 1; i <= plan.route_changes.size(); ++i)
    rerouted_.emplace_back(plan, routes_after(plan, i));
  plain_ = rerouted_.empty() && sinks.tap == nullptr &&
           std::ranges::none_of(port_edges_, [](const PortEdge& e) { return e.faults_in || e.faults_out; });
  for (const HostEntry& host : world.hosts) host_edges_.push_back({host.port, NodeId{host.node}});
  for (std::size_t s = 0; s < switches_.size(); ++s)
    if (switches_[s]) next_[place_of_[hosts_.size() + s]] = switches_[s]->node.next_event();
  connect_programs();
  for (Part& part : parts_) part.next = earliest(part);
  end_round();
}

// Of each part, the smallest latency of the links inside it, and of those to other parts.
void Network::find_latencies() {
  const std::size_t hosts = plan_.world.hosts.size();
  for (Part& part : parts_) part.lookahead = kLinger;
  for (const PortEntry& port : plan_.world.ports) {
    Part& part = parts_[part_of_[hosts + port.switch_index]];
    const bool leaves = port.peer_port != kNoPeer &&
                        &parts_[part_of_[hosts + plan_.world.ports[port.peer_port].switch_index]] != &part;
    Duration& smallest = leaves ? part.reach : part.lookahead;
    smallest = std::min(smallest, latency_of(plan_.world, port));
  }
  // Programs look up their peer's queue pairs without a frame, at the flow's start. A program that waits may
  // have created them up to a nanosecond late.
  for (std::size_t f = 0; f < flows_.size(); ++f) {
    const std::uint32_t src = part_of_[plan_.flows[f].src], dst = part_of_[plan_.flows[f].dst];
    if (src == dst || !flows_[f].connects_late()) continue;
    const std::int64_t ahead_ns = flows_[f].start_ns() - flows_[f].connect_ns() - 1;
    const Duration ahead = std::max(Duration::from_ps(ahead_ns * 1'000), Duration::from_ps(1));
    for (Part* either : {&parts_[src], &parts_[dst]}) either->reach = std::min(either->reach, ahead);
  }
}

Network::Link& Network::link(std::uint32_t port) {
  if (!links_[port]) links_[port] = std::make_unique<Link>(plan_.world, plan_.world.ports[port]);
  return *links_[port];
}

void Network::connect_programs() {
  for (const auto& host : hosts_)
    if (host) host->program().create();
  if (sinks_.peers != nullptr) share_endpoints();
  for (const auto& host : hosts_)
    if (host) host->program().connect();
  for (std::size_t h = 0; h < hosts_.size(); ++h) {
    if (!hosts_[h]) continue;
    hosts_[h]->program().begin();
    next_[place_of_[h]] = hosts_[h]->next_event();
    part_of(h).programs_running += hosts_[h]->program().over() ? 0 : 1;
    if (hosts_[h]->program().any_failed()) part_of(h).any_failed = true;
  }
}

Time Network::earliest(const Part& part) const {
  const auto first = next_.begin() + part.first, last = next_.begin() + part.last;
  return first == last ? Time::never() : *std::min_element(first, last);
}

Time Network::next_event() const { return *std::min_element(next_.begin(), next_.end()); }

Time Network::next_round() const { return *std::ranges::min_element(expected_); }

Time Network::begin_round(Time stop) {
  side_ ^= 1;
  const Duration longest = parts_.size() > 1 ? kLinger : lookahead_;
  horizon_ = std::min(next_round() + longest, stop);
  for (std::size_t p = 0; p < parts_.size(); ++p)
    horizon_ = std::min(horizon_, expected_[p] + parts_[p].reach);
  return horizon_;
}

void Network::end_round() {
  expect();
  if (sinks_.peers != nullptr) meet_peers();
}

// As far as this process knows: from what its parts have to do, and have sent.
void Network::expect() {
  std::ranges::fill(expected_, Time::never());
  for (std::uint32_t from = first_part_; from < last_part_; ++from) {
    expected_[from] = std::min(expected_[from], parts_[from].next);
    for (std::size_t to = 0; to < parts_.size(); ++to)
      expected_[to] = std::min(expected_[to], parts_[from].out[side_][to].first_due);
  }
}

// --- running

void Network::run_part(std::uint32_t index) {
  Part& part = parts_[index];
  if (parts_.size() > 1) take_crossings(index);
  while (part.next < horizon_) {
    const Time end = std::min(part.next + part.lookahead, horizon_);
    for (std::uint32_t place = part.first; place < part.last; ++place)
      if (next_[place] < end) run(node_at_[place], end);
    part.next = earliest(part);
  }
}

void Network::take_crossings(std::uint32_t index) {
  Part& part = parts_[index];
  for (Crossings& sent : part.out[side_]) sent.clear();  // they have been taken in the last round
  for (const Part& from : parts_) {
    const Crossings& sent = from.out[side_ ^ 1][index];
    for (const Crossing& crossing : sent.frames)
      arrive_at_switch(crossing.port, part.pool.clone(*crossing.packet), crossing.due);
    part.next = std::min(part.next, sent.first_due);
  }
}

void Network::send_away(const PortEdge& edge, PacketRef&& packet, Time due) {
  Part& part = parts_[part_of_[hosts_.size() + edge.switch_index]];
  const std::uint32_t to = part_of_[hosts_.size() + port_edges_[edge.away_port].switch_index];
  part.out[side_][to].add(std::move(packet), edge.away_port, due);
}

void Network::run_host(std::uint32_t index, Time end) {
  HostNode& host = *hosts_[index];
  const bool was_over = host.program().over();
  host.run_until(end, [this, index](PacketRef&& packet, const PathAddress& path, Time due) {
    send_from_host(index, std::move(packet), path, due);
  });
  next_[place_of_[index]] = host.next_event();
  Part& part = part_of(index);
  if (!was_over && host.program().over()) --part.programs_running;
  if (host.program().any_failed()) part.any_failed = true;
}

void Network::run_switch(std::uint32_t index, Time end) {
  SwitchSlot& slot = *switches_[index];
  slot.samples.take_before(end, slot.node, slot.trace, [&](Time until) { run_until(slot, until); });
  run_until(slot, end);
  next_[place_of_[hosts_.size() + index]] = slot.node.next_event();
}

void Network::run_until(SwitchSlot& slot, Time end) {
  const std::uint32_t first_port = slot.entry.first_port;
  slot.node.run_until(end, [this, first_port](PortId port, PacketRef&& packet, Time departure, Time due) {
    send_from_switch(first_port + port.value, std::move(packet), departure, due);
  });
}

void Network::settle(Time end) {
  for (std::uint32_t s = 0; s < switches_.size(); ++s) {
    if (!switches_[s]) continue;
    run_switch(s, end);
    if (switches_[s]->trace != nullptr) switches_[s]->trace->settle(end);
  }
  if (sinks_.tap != nullptr) sinks_.tap->commit(end);
}

// PFC and tokens end at the switch; feedback takes the rule without a bucket, as what is not RoCE does in the
// live engine.
void Network::arrive_from_switches(const PortEdge& edge, PacketRef&& packet, Time due) {
  if (is_link_local(packet->kind)) return edge.node->deliver(edge.id, {}, std::move(packet), due);
  const Forwarding& rules = rerouted_.empty() ? forwarding_ : forwarding_at(due);
  const Forwarding::Row row = rules.row(edge.switch_index);
  const PortId* out = is_feedback(packet->kind) ? rules.out_unbucketed(row, packet->dst)
                                                : rules.out(row, packet->dst, udp_src_port_of(*packet));
  edge.node->deliver(edge.id, {out, out != nullptr ? 1u : 0u}, std::move(packet), due);
}

const Forwarding& Network::forwarding_at(Time due) const {
  const Forwarding* now = &forwarding_;
  for (std::size_t i = 0; i < rerouted_.size() && plan_.route_changes[i].at <= due; ++i) now = &rerouted_[i];
  return *now;
}

void Network::lose(std::uint32_t port, const Packet& packet, Time when, std::uint8_t why) {
  const PortEdge& edge = port_edges_[port];
  if (SwitchTrace* trace = switches_[edge.switch_index]->trace) trace->lost_at(when, edge.id, packet, why);
}

// --- results

bool Network::any_failed() const { return std::ranges::any_of(parts_, &Part::any_failed); }

std::size_t Network::programs_running() const {
  std::size_t running = 0;
  for (const Part& part : parts_) running += part.programs_running;
  return running;
}

std::size_t Network::peak_packets() const {
  std::size_t peak = 0;
  for (const Part& part : parts_) peak += part.pool.capacity();
  return peak;
}

Time Network::programs_over_since() const {
  Time since = local_over_since();
  for (const Part& part : parts_) since = std::max(since, part.over_since);
  return since;
}

Time Network::local_over_since() const {
  Time since = Time::zero();
  for (const auto& host : hosts_)
    if (host) since = std::max(since, host->program().over_since());
  return since;
}

SwitchPortCounters Network::port_counters(std::uint32_t port, Time now) const {
  const PortEntry& entry = plan_.world.ports[port];
  if (!switches_[entry.switch_index]) return {};
  return switches_[entry.switch_index]->node.model().counters(
      PortId{static_cast<std::uint16_t>(entry.port_id)}, now);
}

std::uint64_t Network::late_arrivals() const {
  std::uint64_t late = 0;
  for (const auto& slot : switches_)
    if (slot) late += slot->node.late_arrivals();
  return late;
}

}  // namespace rocelab::des
