// A small net for tests: switches, and hosts that send as fast as their link and PFC let them. It advances in
// windows of the smallest link delay, as the drivers do: what is sent inside a window is due behind it.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>

#include "base/wire/controls.h"
#include "base/wire/shim_parts.h"
#include "ovs_patches/switch_model/test_support.h"

namespace rocelab::switch_test {

// Sends `frames` frames of one class to host `to`, back to back, from `start` on; counts what it receives.
struct TestHost {
  int node = 0, port_id = 0;  // where it hangs
  PortConfig link;
  int to = -1;
  int traffic_class = 3;
  Bytes frame = 1098_B;
  std::uint32_t frames = 0;
  Time start;
  std::uint32_t sent = 0, received = 0;
  std::map<std::uint16_t, std::uint32_t> next_from;  // per sending host: its frames so far
  std::uint32_t out_of_order = 0, with_shim = 0;     // the latter: of Escape
  std::uint32_t stamps = 0;                          // records of INT
  std::map<std::uint16_t, std::uint32_t> highest_from;
  std::uint32_t tokens = 0;     // and messages that ended here
  std::uint32_t overtaken = 0;  // came behind a later one of their flow; losses do not count
  Time last_received;
  PauseState pauses{40_Gbps};
  std::deque<std::pair<Time, PfcFrame>> control;
  Time free_at, now;
};

class TestNet {
 public:
  struct Peer {
    int node = -1, port_id = -1, host = -1;
  };
  TestNet() = default;

  int add_switch(const SwitchConfig& config, const std::vector<PortConfig>& ports) {
    nodes.push_back(std::make_unique<SwitchNode>(config, ports, Rng(nodes.size() + 1), pool, trace));
    peers.emplace_back(ports.size());
    routes.emplace_back();
    links.push_back(ports);
    return static_cast<int>(nodes.size()) - 1;
  }
  int add_host(int node, int port_id) {
    TestHost host;
    host.node = node;
    host.port_id = port_id;
    host.link = links[static_cast<std::size_t>(node)][static_cast<std::size_t>(port_id)];
    host.pauses = PauseState(host.link.rate);
    hosts.push_back(std::move(host));
    const int index = static_cast<int>(hosts.size()) - 1;
    peers[static_cast<std::size_t>(node)][static_cast<std::size_t>(port_id)].host = index;
    return index;
  }
  void connect(int a, int port_a, int b, int port_b) {
    peers[static_cast<std::size_t>(a)][static_cast<std::size_t>(port_a)] = {b, port_b, -1};
    peers[static_cast<std::size_t>(b)][static_cast<std::size_t>(port_b)] = {a, port_a, -1};
  }
  void route(int node, int host, int port_id) { routes[static_cast<std::size_t>(node)][host] = port_id; }

  // What becomes of a token, an announcement or Loop Breaker's message between switches: copies, and how much
  // later than due each arrives. Null: nothing.
  std::function<std::vector<Duration>(const Packet&)> fault;
  // A switch forgets everything that it has: queues, pauses, tokens, frames on their way to it. How many it
  // had.
  std::uint64_t restart(int node, const SwitchConfig& config) {
    const auto at = static_cast<std::size_t>(node);
    const auto before = pool.in_use();
    nodes[at] = std::make_unique<SwitchNode>(config, links[at], Rng(at + 1), pool, trace);
    return before - pool.in_use();
  }

  // Until nothing happens any more, or the next event is not before `end`.
  void run(Duration window, Time end = Time::never()) {
    for (;;) {
      Time next = Time::never();
      for (const auto& node : nodes) next = std::min(next, node->next_event());
      for (const TestHost& host : hosts) next = std::min(next, next_event(host));
      if (next.is_never() || next >= end) return;
      const Time limit = next + window;
      for (std::size_t i = 0; i < hosts.size(); ++i) run_host(static_cast<int>(i), limit);
      for (std::size_t i = 0; i < nodes.size(); ++i) run_node(i, limit);
    }
  }
  SwitchPortCounters counters(int node, int port_id) const {
    return nodes[static_cast<std::size_t>(node)]->model().counters(port(port_id), Time::zero());
  }

  PacketPool pool;
  TraceLog trace;
  std::vector<std::unique_ptr<SwitchNode>> nodes;
  std::vector<TestHost> hosts;

 private:
  static Time departure(const TestHost& host) {
    const bool may = host.sent < host.frames && (host.pauses.paused() & bit_of(tc(host.traffic_class))) == 0;
    return may ? std::max({host.free_at, host.now, host.start}) : Time::never();
  }
  static Time next_event(const TestHost& host) {
    const Time control = host.control.empty() ? Time::never() : host.control.front().first;
    return std::min({control, host.pauses.next_timeout(), departure(host)});
  }
  void run_host(int index, Time limit) {
    TestHost& host = hosts[static_cast<std::size_t>(index)];
    while (next_event(host) < limit) {
      host.now = next_event(host);
      if (!host.control.empty() && host.control.front().first == host.now) {
        host.pauses.on_frame(host.control.front().second, host.now);
        host.control.pop_front();
      } else if (host.pauses.next_timeout() <= host.now) {
        host.pauses.on_timeout(host.now);
      } else {
        PacketRef packet =
            make_packet(pool, host.frame, host.traffic_class, static_cast<std::uint32_t>(index), host.sent++);
        packet->src = NodeId{static_cast<std::uint16_t>(index)};
        packet->dst = NodeId{static_cast<std::uint16_t>(host.to)};
        host.free_at = host.now + wire_time(host.frame, host.link.rate);
        deliver(host.node, host.port_id, std::move(packet), host.free_at + host.link.delay);
      }
    }
  }
  void deliver(int node, int port_id, PacketRef packet, Time due) {
    if (is_link_local(packet->kind) && packet->kind != kind_of<PfcFrame> && fault) {
      for (const Duration later : fault(*packet))
        nodes[static_cast<std::size_t>(node)]->deliver(port(port_id), {}, pool.clone(*packet), due + later);
      return;
    }
    if (is_link_local(packet->kind)) {
      nodes[static_cast<std::size_t>(node)]->deliver(port(port_id), {}, std::move(packet), due);
      return;
    }
    const PortId outs[] = {port(routes[static_cast<std::size_t>(node)].at(packet->dst.value))};
    if (packet->kind == PacketKind::kEscapeAnnouncement && fault) {
      for (const Duration later : fault(*packet))
        nodes[static_cast<std::size_t>(node)]->deliver(port(port_id), outs, pool.clone(*packet), due + later);
      return;
    }
    nodes[static_cast<std::size_t>(node)]->deliver(port(port_id), outs, std::move(packet), due);
  }
  void run_node(std::size_t node, Time limit) {
    nodes[node]->run_until(limit, [&](PortId p, PacketRef packet, Time, Time due) {
      const Peer& peer = peers[node][p.value];
      if (peer.host < 0) return deliver(peer.node, peer.port_id, std::move(packet), due);
      TestHost& host = hosts[static_cast<std::size_t>(peer.host)];
      if (packet->kind == kind_of<PfcFrame>) {
        host.control.emplace_back(due, control_of<PfcFrame>(*packet));
      } else if (is_link_local(packet->kind)) {
        ++host.tokens;
      } else {
        ++host.received;
        host.out_of_order += packet->roce.psn.value() != host.next_from[packet->src.value]++;
        std::uint32_t& highest = host.highest_from[packet->src.value];
        host.overtaken += packet->roce.psn.value() < highest;
        highest = std::max(highest, packet->roce.psn.value());
        host.with_shim += packet->kind != PacketKind::kData ||
                          packet->frame_length != host.frame.count() + shim_bytes_of(*packet);
        host.stamps += packet->roce.telemetry_hops;
        host.last_received = due;
      }
    });
  }

  std::vector<std::vector<Peer>> peers;        // per switch and port
  std::vector<std::map<int, int>> routes;      // per switch: host -> port
  std::vector<std::vector<PortConfig>> links;  // per switch and port
};

}  // namespace rocelab::switch_test
