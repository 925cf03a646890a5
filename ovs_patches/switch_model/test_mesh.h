// Random networks of switches, for tests: a host on each, a random tree of links and some more, and between
// any two hosts one path, which is a shortest one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <set>
#include <utility>
#include <vector>

#include "ovs_patches/switch_model/test_net.h"

namespace rocelab::switch_test {

// Port 0 of a switch is its host; every host sends `frames` to another.
struct MeshNet {
  MeshNet(const SwitchConfig& config, int size, int more_links, std::uint32_t frames, Rng rng) {
    const auto below = [&](int n) { return static_cast<int>(rng.below(static_cast<std::uint64_t>(n))); };
    std::set<std::pair<int, int>> links;
    for (int i = 1; i < size; ++i) links.emplace(below(i), i);
    for (int i = 0; i < more_links; ++i) {
      const int a = below(size), b = below(size);
      if (a != b) links.emplace(std::min(a, b), std::max(a, b));
    }
    neighbours.resize(static_cast<std::size_t>(size));
    for (const auto& [a, b] : links) {
      of(a).push_back(b);
      of(b).push_back(a);
    }
    for (int i = 0; i < size; ++i) {
      std::vector<PortConfig> ports(of(i).size() + 1);
      for (std::size_t p = 1; p < ports.size(); ++p) ports[p].peer = PeerKind::kSwitch;
      net.add_switch(config, ports);
    }
    for (const auto& [a, b] : links) net.connect(a, port_to(a, b), b, port_to(b, a));
    for (int i = 0; i < size; ++i) {
      add_routes(i, net.add_host(i, 0));
      TestHost& sender = net.hosts.back();
      sender.to = (i + 1 + below(size - 1)) % size;
      sender.frames = frames;
      sender.start = Time::from_ps(static_cast<std::int64_t>(rng.below(1'000'000)));
    }
  }
  int ports(std::size_t node) const { return static_cast<int>(neighbours[node].size()) + 1; }
  std::uint64_t total(std::uint64_t SwitchPortCounters::*counter) const {
    std::uint64_t sum = 0;
    for (std::size_t node = 0; node < net.nodes.size(); ++node)
      for (int p = 0; p < ports(node); ++p) sum += net.counters(static_cast<int>(node), p).*counter;
    return sum;
  }
  std::uint64_t received() const {
    std::uint64_t sum = 0;
    for (const TestHost& host : net.hosts) sum += host.received;
    return sum;
  }
  TestNet net;

 private:
  std::vector<int>& of(int node) { return neighbours[static_cast<std::size_t>(node)]; }
  int port_to(int node, int peer) {
    return static_cast<int>(std::ranges::find(of(node), peer) - of(node).begin()) + 1;
  }
  // Breadth first from the host's switch: whoever is found goes back to who found it.
  void add_routes(int node, int host) {
    std::set<int> found{node};
    net.route(node, host, 0);
    for (std::deque<int> next{node}; !next.empty(); next.pop_front())
      for (const int peer : of(next.front())) {
        if (!found.insert(peer).second) continue;
        net.route(peer, host, port_to(peer, next.front()));
        next.push_back(peer);
      }
  }
  std::vector<std::vector<int>> neighbours;
};

}  // namespace rocelab::switch_test
