#include "ovs_patches/netdev/fabric.h"

#include <algorithm>
#include <fstream>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>

#include "base/check.h"
#include "base/wire/bytes.h"
#include "emu/world/host_identity.h"
#include "emu/world/switch_policies.h"

namespace rocelab {

namespace {

std::vector<PortConfig> checked_ports(const lockstep::Segment& segment, const SwitchEntry& entry) {
  std::vector<PortConfig> configs = port_configs(segment.ports(), entry);
  const std::string problem = problem_of(entry.config, configs);
  if (!problem.empty()) throw std::runtime_error(std::string(entry.name) + ": " + problem);
  return configs;
}

}  // namespace

Fabric::Node::Node(const lockstep::Segment& segment, const SwitchEntry& e, PacketPool& pool, FrameBank& bank)
    : entry(e),
      trace(segment.header().trace_dir, e.name),
      node(e.config, checked_ports(segment, e), Rng(segment.header().seed).fork(e.name), pool, trace, &bank),
      samples(Duration::from_ps(segment.header().sample_interval_ps)) {
  if (segment.policies().empty()) return;
  const auto index = static_cast<std::uint32_t>(&entry - segment.switches().data());
  const std::vector<PortConfig> ports = port_configs(segment.ports(), entry);
  node.set_policies(policy_changes(unpacked(segment.policies()), index, entry.config, ports));
}

Fabric::Fabric(lockstep::Segment& segment, lockstep::Coordinator& coordinator)
    : segment_(segment),
      coordinator_(coordinator),
      bank_(segment),
      captures_(segment.ports()),
      arrivals_(segment.ports().size()) {
  for (const SwitchEntry& entry : segment.switches())
    nodes_.push_back(std::make_unique<Node>(segment, entry, pool_, bank_));
  if (segment.header().pcap_dir[0] != 0) capture_all(segment.header().pcap_dir);
  for (std::uint32_t i = 0; i < segment.ports().size(); ++i) add_port(i);
  for (const HostEntry& host : segment.hosts()) {
    nodes_by_ipv4_.emplace(host.ipv4, NodeId{host.node});
    for (const int index : {kLinkLocalGid, kIpv6Gid}) {
      if (index >= gids_of(host)) continue;
      const Gid gid = gid_of(host, index);
      nodes_by_interface_.emplace(wire::load64(std::as_bytes(std::span(gid)), 8), NodeId{host.node});
    }
  }
}

Fabric::~Fabric() = default;

// A file of each switch.
void Fabric::capture_all(const std::string& folder) {
  for (const SwitchEntry& entry : segment_.switches()) {
    std::vector<std::uint32_t> ports(entry.ports);
    std::iota(ports.begin(), ports.end(), entry.first_port);
    captures_.start(folder + "/" + entry.name + ".pcapng", ports, SwitchCapture::Owner::kRun);
  }
}

void Fabric::add_port(std::uint32_t index) {
  const PortEntry& e = segment_.ports()[index];
  PortResult& result = segment_.port_results()[index];
  if (e.switch_index >= nodes_.size() || segment_.switches()[e.switch_index].first_port + e.port_id != index)
    throw std::runtime_error(std::string("port ") + e.interface + " is not where its switch has it");
  ports_.push_back({.entry = e,
                    .result = result,
                    .node = *nodes_[e.switch_index],
                    .id = PortId{static_cast<std::uint16_t>(e.port_id)},
                    .host = nullptr,
                    .peer = e.peer_port,
                    .link = PortLink(world(), e, result.link_in, result.link_out),
                    .inbox = {},
                    .waiting = {}});
  if (e.peer_port != kNoPeer &&
      (e.peer_port >= segment_.ports().size() || segment_.ports()[e.peer_port].peer_port != index))
    throw std::runtime_error(std::string("port ") + e.interface + " and its peer do not agree");
  if (e.peer_host == kNoPeer) return;
  if (e.peer_host >= segment_.hosts().size() || segment_.hosts()[e.peer_host].port != index)
    throw std::runtime_error(std::string("port ") + e.interface + " and its host do not agree");
  ports_.back().host =
      std::make_unique<HostLink>(segment_, e.peer_host, bank_, coordinator_, result.link_in, result.link_out);
}

void Fabric::set_ready_byte(std::uint32_t port, std::uint8_t* byte) {
  ports_[port].ready = byte;
  if (byte != nullptr && !ports_[port].waiting.empty()) *byte |= kReadyBit;
}

void Fabric::refresh(std::uint32_t index) {
  const Port& port = ports_[index];
  const Time inbox = port.inbox.empty() ? Time::never() : port.inbox.front()->due;
  arrivals_.set(index, port.host ? port.host->next_due() : inbox);
}

void Fabric::collect() {
  const auto take_over = [this](std::uint32_t vf) {
    const std::uint32_t port = segment_.hosts()[segment_.vfs()[vf].host].port;
    ports_[port].host->collect(vf);
    refresh(port);
  };
  std::ranges::for_each(coordinator_.participants(), take_over);
  for (const std::uint32_t vf : coordinator_.take_ended()) {
    take_over(vf);
    bank_.abandon(vf);
    ended_.push_back(vf);
  }
  std::erase_if(ended_, [this](std::uint32_t vf) {
    if (bank_.away(vf) != 0) return false;
    coordinator_.release(vf);
    bank_.reopen(vf);
    ports_[segment_.hosts()[segment_.vfs()[vf].host].port].host->reopen(vf);
    return true;
  });
}

Time Fabric::next_event() const {
  Time next = arrivals_.min_time();
  for (const auto& node : nodes_) next = std::min(next, node->node.next_event());
  return next;
}

void Fabric::run(Node& node) {
  const auto out = [&](PortId port, PacketRef packet, Time departure, Time due) {
    depart(ports_[node.entry.first_port + port.value], std::move(packet), departure, due);
  };
  node.samples.take_before(end_, node.node, &node.trace,
                           [&](Time until) { node.node.run_until(until, out); });
  node.node.run_until(end_, out);
  node.trace.settle(end_);
}

bool Fabric::finish_pass(bool last_try) {
  RL_CHECK(pending_ == 0);
  if (wait_again(last_try)) return false;
  for (Passing& passing : pass_) deliver(passing);
  pass_.clear();
  for (const auto& node : nodes_) run(*node);
  captures_.commit();
  return true;
}

void Fabric::publish_counters() {
  for (Port& port : ports_) port.result.counters = port.node.node.model().counters(port.id, end_);
}

void Fabric::flush_events() {
  for (const auto& node : nodes_) node->trace.flush();
}

// A file of each switch that has some, beside its event file.
void Fabric::save_policies() {
  const std::string folder = segment_.header().trace_dir;
  if (folder.empty()) return;
  for (const auto& node : nodes_)
    if (const SwitchPolicy* policy = node->node.model().policy()) {
      std::ofstream file(folder + "/" + node->entry.name + ".policy");
      file << policy_json(*policy) << '\n';
      file.close();
      if (!file) throw RunError(std::string("the policies of ") + node->entry.name + " could not be written");
    }
}

void Fabric::save() {
  publish_counters();
  for (const auto& node : nodes_) {
    node->trace.save();
    if (node->trace.failed())
      throw RunError(std::string("the event file of ") + node->entry.name + " could not be written");
  }
  save_policies();
  captures_.flush();
  if (const SwitchCapture* failed = captures_.failed())
    throw RunError("the capture " + failed->path() + " could not be written");
}

}  // namespace rocelab
