// Topology: hosts, switches and full-duplex links between them. Nodes are numbered hosts first, then
// switches, in the order in which they were added, so that everything that depends on an index (addresses,
// ports, hashes) follows from the scenario alone. Each family below is one way to fill this one object
// (topology_line.cc, topology_clos.cc, topology_rails.cc); a scenario may also list its nodes and links or
// name a file.
//
// A host node is an end of the network: one NIC with its link. Where hosts have several NICs each of them is
// a node, "h3.1" is the second one of h3, and the NICs of a host stand side by side: everything that names a
// host by its index (flows, addresses, programs in virtual time) means a NIC.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "emu/link/fault_config.h"

namespace rocelab {

struct Link {
  std::uint32_t a = 0, b = 0;  // nodes; a host is always `a`
  Rate rate = 40_Gbps;
  Duration delay = 2_us;  // propagation, one way
  FaultConfig a_to_b, b_to_a;
  bool one_way = false;  // routes take it from a to b only; pauses and tokens go both ways
  std::uint32_t a_port = 0,
                b_port = 0;  // port within the node, by the order in which its links were added; 0 for hosts
};

inline constexpr std::uint32_t kNoPod = 0xffffffff;

struct Node {
  std::string name;
  bool is_host = false;
  std::uint32_t number = 0;    // in other simulators' files: its own there, else the index
  std::uint32_t pod = kNoPod;  // of a switch: hosts below the switches of one pod share an address prefix
  std::vector<std::uint32_t> links;  // in port order
};

// Frames for `host` that come to one of these switches leave by the port named with it, which leads to the
// next; the last one's leads to the host's own switch.
struct PinnedPath {
  struct Hop {
    std::uint32_t node = 0, port = 0;
  };
  std::uint32_t host = 0;
  std::vector<Hop> hops;
};

enum class PathChoice : std::uint8_t {  // of equal-cost paths
  kAll,                                 // ECMP
  kSpread,                              // one for each host
  kFirst,                               // the one by the first ports
};

class Topology {
 public:
  std::string kind = "custom";
  std::uint32_t nics_per_host = 1;
  FaultConfig everywhere;  // of directions of links that have no fault of their own
  PathChoice paths = PathChoice::kAll;
  std::vector<PinnedPath> pinned;  // of one host the first whose links are all up comes first
  // Hosts before switches, names unique and at most 9 characters; throws std::invalid_argument.
  std::uint32_t add_host(const std::string& name);
  // The nics_per_host nodes of one host; the first of them.
  std::uint32_t add_nics(const std::string& host);
  std::uint32_t add_switch(const std::string& name, std::uint32_t pod = kNoPod);
  // A host has one link, and it leads to a switch; throws std::invalid_argument otherwise. Two switches may
  // have several.
  std::uint32_t add_link(std::uint32_t node, std::uint32_t other, Rate rate, Duration delay);
  // Every host has its link and reaches every other; of hosts with several NICs, those of one number.
  struct Problem {
    std::uint32_t node = 0;  // that has it
    std::string what;
  };
  std::optional<Problem> problem() const;
  void check() const;  // throws std::invalid_argument with problem()

  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<Link>& links() const { return links_; }
  Link& link(std::uint32_t index) { return links_[index]; }
  std::uint32_t hosts() const { return hosts_; }
  std::uint32_t switches() const { return static_cast<std::uint32_t>(nodes_.size()) - hosts_; }
  bool is_host(std::uint32_t node) const { return node < hosts_; }
  std::uint32_t find(std::string_view name) const;  // kNoNode: unknown
  // Of a host node: which host, from 0, and which of its NICs.
  std::uint32_t machine_of(std::uint32_t host) const { return host / nics_per_host; }
  std::uint32_t nic_number_of(std::uint32_t host) const { return host % nics_per_host; }
  std::string machine_name(std::uint32_t machine) const;
  // The host nodes that a name means: the NIC, or all NICs of the host. Empty: none.
  std::vector<std::uint32_t> find_nics(std::string_view name) const;
  // Equal for nodes between which there is a way. Only hosts with several NICs may be in several planes.
  std::uint32_t plane_of(std::uint32_t node) const { return planes_[node]; }
  bool reaches(std::uint32_t node, std::uint32_t other) const { return planes_[node] == planes_[other]; }
  // Side by side, in port order; the first of them, or kNoNode.
  std::vector<std::uint32_t> links_between(std::uint32_t a, std::uint32_t b) const;
  std::uint32_t find_link(std::uint32_t a, std::uint32_t b) const;
  std::uint32_t neighbour(std::uint32_t node, std::uint32_t port) const;
  std::uint32_t number_of(std::uint32_t node) const { return nodes_[node].number; }
  void set_number(std::uint32_t node, std::uint32_t number) { nodes_[node].number = number; }
  static constexpr std::uint32_t kNoNode = 0xffffffff;

 private:
  std::uint32_t add_node(const std::string& name, bool is_host);
  std::vector<Node> nodes_;
  std::vector<Link> links_;
  std::vector<std::uint32_t> planes_;  // [node]: the first node that it is linked to, however far
  std::uint32_t hosts_ = 0;
};

inline constexpr Duration kLongestDelay = 10_s;  // of a link

struct LinkSpeed {
  Rate rate = 40_Gbps;
  Duration delay = 2_us;
};

// Hosts h1..hN on one switch s1.
Topology make_star(std::uint32_t hosts, LinkSpeed link);
// Hosts h1..hL on s1, the next R on s2, one trunk between them.
Topology make_dumbbell(std::uint32_t left, std::uint32_t right, LinkSpeed link, LinkSpeed trunk);
// Switches s1..sS in a row, each linked to the next, with `hosts_per_switch` each: a flow along the row meets
// a new bottleneck at every switch.
Topology make_parking_lot(std::uint32_t switches, std::uint32_t hosts_per_switch, LinkSpeed link,
                          LinkSpeed trunk);
// The same with the last linked to the first; at least three switches, else std::invalid_argument.
// `clockwise`: all traffic goes s1, s2, ... sS, s1, so that buffers may wait for one another in a circle.
Topology make_ring(std::uint32_t switches, std::uint32_t hosts_per_switch, LinkSpeed link, LinkSpeed trunk,
                   bool clockwise = false);
// `hosts_per_leaf` on each of leaf1..leafL, every leaf linked to each of spine1..spineS by
// `trunk_links` links side by side. Ports of a leaf: hosts first, then spines.
Topology make_leaf_spine(std::uint32_t leaves, std::uint32_t spines, std::uint32_t hosts_per_leaf,
                         LinkSpeed link, LinkSpeed trunk, std::uint32_t trunk_links = 1);

// The three tiers of Al-Fares et al. (SIGCOMM 2008): `arity` pods of arity/2 edge and arity/2 aggregation
// switches, (arity/2)^2 core switches. Aggregation switch j of a pod has the cores j * arity/2 ... Hosts per
// edge switch: arity/2 for full bisection bandwidth, more for oversubscription.
struct FatTreeShape {
  std::uint32_t arity = 6;           // even, at least 2, else std::invalid_argument
  std::uint32_t hosts_per_edge = 3;  // h1.. in the order of their edge switches
  LinkSpeed link, trunk, core;       // host to edge, edge to aggregation, aggregation to core
};
Topology make_fat_tree(const FatTreeShape& shape);

// Hosts in groups; NIC i of each host of group g (from 1) at the rail switch "rail<g>_<i>", and every rail
// switch linked to each of spine1..spineS. Without spines there is one group, whose rails do not meet.
// Ports of a rail switch: hosts first, then spines.
struct RailShape {
  std::uint32_t groups = 1, hosts_per_group = 1, spines = 0, nics_per_host = 1;
  LinkSpeed link, trunk;
};
Topology make_rails(const RailShape& shape);
// `plane` as often as hosts have NICs: NIC i of every host at its switch in plane i, "p<i>leaf1".
Topology make_planes(const Topology& plane, std::uint32_t nics_per_host);
// The same network with several NICs for each host, all at the host's switch.
Topology with_nics(const Topology& one, std::uint32_t nics_per_host);

}  // namespace rocelab
