// Routing: shortest paths by hops, equal-cost sets, addresses, and the rules that make them. Every driver
// takes its paths from here.
//
// Addresses: the n-th host of the s-th switch that has hosts is 10.0.s.n with MAC 02:00:0a:00:ss:nn, so that
// all hosts of a switch share a prefix and one rule serves them; in a fat-tree s begins at a multiple of a
// power of two in each pod, so that one rule serves a pod. A switch has the fewest prefixes that say where to
// (prefix_table.h). Equal-cost next hops: buckets of bits of the UDP source port, dealt out over the next
// hops in an order drawn per switch from the seed. With PathChoice::kSpread each destination has one next
// hop: host h (from 0) takes number h mod k of the k ports at a switch with hosts, h / k mod k in the tier
// above, and so on, so that neighbouring hosts take different ways at each tier.
//
// A path that the topology pins counts while all its links are up: a switch of several to one host goes by
// the first that counts. As each leads to the host, no frame circles: with every hop it is on the same path
// or on an earlier one.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
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
  // `dead_links[i]`: link i of the topology is down (empty: none). Throws std::invalid_argument when a switch
  // has more hosts than its block of addresses. Keeps a reference to the topology.
  explicit Routing(const Topology& topology, const std::vector<bool>& dead_links = {});

  const HostAddress& address(std::uint32_t host) const { return addresses_[host]; }
  // Ports of `switch_node` on shortest paths to `host`, in port order; with single_path(), and on a pinned
  // path, the one that is taken.
  std::vector<std::uint32_t> next_ports(std::uint32_t switch_node, std::uint32_t host) const;
  bool single_path() const { return topology_.paths != PathChoice::kAll; }
  bool pinned(std::uint32_t host) const {
    return pinned_.contains(host);
  }  // somewhere, by a path that counts
  // From host to host of one plane; of equal-cost paths the one through the first ports.
  Path path(std::uint32_t src, std::uint32_t dst) const;
  // Of the paths that frames may take the one of most links: those to a pinned host differ.
  Path longest_path(std::uint32_t src, std::uint32_t dst) const;
  // Hosts between which all paths with other rates or delays are, from any of them to any of them: large
  // networks have few such pairs among millions.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> distinct_pairs() const;
  // All rules of all switches, switch by switch, most specific first. The same seed deals the same buckets
  // to the same equal-cost set, also after links died elsewhere.
  std::vector<Route> rules(Rng seed) const;
  // Those for multicast groups: along one tree over the switches that hosts need, to every host; the NICs
  // know who is a member.
  std::vector<Route> group_rules() const;
  // Both, switch by switch.
  std::vector<Route> all_rules(Rng seed) const;

 private:
  static constexpr std::uint16_t kFar = 0xffff;  // hops: no way
  static constexpr std::uint32_t kNoEdge = 0xffffffff;
  struct Edge {
    std::uint32_t node = 0;   // a switch that has hosts
    std::uint32_t block = 0;  // its addresses are 10.(block / 256).(block % 256).*
  };
  std::uint32_t edge_switch(std::uint32_t host) const { return topology_.neighbour(host, 0); }
  std::uint16_t distance(const std::vector<std::uint16_t>& table, std::size_t edge, std::size_t node) const {
    return table[edge * topology_.switches() + (node - topology_.hosts())];
  }
  void number_edges();
  void pin();
  template <class Next>
  Path follow(std::uint32_t src, std::uint32_t dst, Next&& next_port) const;
  std::optional<std::uint32_t> pinned_port(std::uint32_t switch_node, std::uint32_t host) const;
  std::vector<std::uint16_t> distances(const std::vector<bool>& dead) const;
  std::vector<std::uint32_t> kinds_of_paths() const;
  // Calls `use` with each port of `node` on a shortest path to an edge switch until it answers false.
  template <class Use>
  void for_next_ports(std::uint32_t node, std::uint32_t edge, Use&& use) const;
  std::optional<std::uint32_t> first_port(std::uint32_t switch_node, std::uint32_t edge) const;
  std::vector<std::uint32_t> towards(std::uint32_t switch_node, std::uint32_t edge) const;
  std::uint32_t chosen(const std::vector<std::uint32_t>& ports, std::uint32_t switch_node,
                       std::uint32_t host) const;
  void add_host_rules(std::uint32_t switch_node, std::vector<Route>& rules) const;
  void add_rules(std::uint32_t switch_node, const Rng& seed, std::vector<Route>& rules) const;
  void add_tree_ports(std::uint32_t root_edge, std::vector<std::vector<std::uint32_t>>& ports) const;
  std::vector<std::vector<std::uint32_t>> tree_ports() const;

  const Topology& topology_;
  std::vector<HostAddress> addresses_;
  std::vector<Edge> edges_;
  std::vector<std::uint32_t> edge_of_;            // [node]: index into edges_
  std::vector<std::uint16_t> tier_;               // [node]: hops to the nearest switch with hosts
  std::vector<std::uint16_t> healthy_, current_;  // [edge][switch]: hops, with all links and those alive
  std::vector<bool> dead_;
  std::map<std::uint32_t, std::map<std::uint32_t, std::uint32_t>> pinned_;  // by host, by switch: the port
};

// One rule as ovs-ofctl writes it. Matches the destination MAC's prefix, so that IPv4, IPv6 and ARP replies
// take the same way; rules without a bucket also carry ARP requests for the prefix. `back`: also to the port
// that a frame came from, which OpenFlow drops otherwise: where routes change, frames on their way may turn.
// A route to a host always does, as a host may send to itself.
std::vector<std::string> openflow(const Route& route, bool back = false);

std::vector<std::string> openflow_of_groups(const Route& route);  // the same; needs group_ports

std::string ipv4_text(std::uint32_t address);
std::string mac_text(const std::array<std::uint8_t, 6>& mac);

}  // namespace rocelab
