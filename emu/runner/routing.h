// Routing: shortest paths by hops, equal-cost sets, addresses, and the rules that make them. Every driver
// takes its paths from here.
//
// Addresses: the n-th host of the s-th switch that has hosts is 10.0.s.n with MAC 02:00:0a:00:ss:nn, so that
// all hosts of a switch share a prefix and one rule serves them. Equal-cost next hops: buckets of the low
// bits of the UDP source port, dealt out over the next hops in an order drawn per switch from the seed.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/rng.h"
#include "emu/runner/plan.h"
#include "emu/runner/topology.h"

namespace rocelab {

struct HostAddress {
  std::uint32_t ipv4 = 0;  // host order
  std::array<std::uint8_t, 6> mac{};
};

struct Hop {  // one link of a path, in its direction
  Rate rate;
  Duration delay;
};
using Path = std::vector<Hop>;

class Routing {
 public:
  // Throws std::invalid_argument when a switch has more hosts than a prefix can hold.
  explicit Routing(const Topology& topology);

  const HostAddress& address(std::uint32_t host) const { return addresses_[host]; }
  // Ports of `switch_node` on shortest paths to `host`, in port order.
  std::vector<std::uint32_t> next_ports(std::uint32_t switch_node, std::uint32_t host) const;
  // From host to host; of equal-cost paths the one through the first ports.
  Path path(std::uint32_t src, std::uint32_t dst) const;
  // All rules of all switches, most specific first within a switch.
  std::vector<Route> rules(Rng seed) const;

 private:
  std::uint32_t edge_switch(std::uint32_t host) const { return topology_.neighbour(host, 0); }
  std::vector<std::uint32_t> towards(std::uint32_t switch_node, std::uint32_t target) const;
  void add_rules(std::uint32_t switch_node, Rng rng, std::vector<Route>& rules) const;
  const Topology& topology_;
  std::vector<HostAddress> addresses_;
  std::vector<std::uint32_t> edges_;  // switches that have hosts, in the order of their prefixes
  std::vector<std::vector<std::uint32_t>> distance_;  // [edge][node]: hops from the node to that edge switch
};

// One rule as ovs-ofctl writes it. Matches the destination MAC's prefix, so that IPv4, IPv6 and ARP replies
// take the same way; rules without a bucket also carry ARP requests for the prefix.
std::vector<std::string> openflow(const Route& route);

std::string ipv4_text(std::uint32_t address);
std::string mac_text(const std::array<std::uint8_t, 6>& mac);

}  // namespace rocelab
