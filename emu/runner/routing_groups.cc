// Routing: rules for multicast groups.
#include <algorithm>
#include <functional>
#include <set>

#include "emu/runner/routing.h"

namespace rocelab {

// [node]: ports to the neighbours in a tree of shortest paths to the first switch with hosts of its plane.
// Switches below which there are no hosts are not in it, nor are links of one direction.
std::vector<std::vector<std::uint32_t>> Routing::tree_ports() const {
  std::vector<std::vector<std::uint32_t>> ports(topology_.nodes().size());
  std::set<std::uint32_t> planes;
  for (std::uint32_t edge = 0; edge < edges_.size(); ++edge)
    if (planes.insert(topology_.plane_of(edges_[edge].node)).second) add_tree_ports(edge, ports);
  return ports;
}

void Routing::add_tree_ports(std::uint32_t root_edge, std::vector<std::vector<std::uint32_t>>& ports) const {
  const std::uint32_t first = topology_.hosts(), root = edges_[root_edge].node;
  std::vector<std::uint32_t> order;
  for (std::uint32_t node = first; node < topology_.nodes().size(); ++node)
    if (node != root && distance(current_, root_edge, node) != kFar) order.push_back(node);
  std::ranges::stable_sort(order, std::greater{},
                           [&](auto node) { return distance(current_, root_edge, node); });
  for (const std::uint32_t node : order) {  // those further away first
    if (edge_of_[node] == kNoEdge && ports[node].empty()) continue;
    const std::vector<std::uint32_t> up = towards(node, root_edge);
    const auto two_way = std::ranges::find_if(
        up, [&](auto port) { return !topology_.links()[topology_.nodes()[node].links[port]].one_way; });
    if (two_way == up.end()) continue;
    const Link& link = topology_.links()[topology_.nodes()[node].links[*two_way]];
    ports[node].push_back(*two_way);
    ports[link.a == node ? link.b : link.a].push_back(link.a == node ? link.b_port : link.a_port);
  }
}

std::vector<Route> Routing::group_rules() const {
  std::vector<std::vector<std::uint32_t>> tree = tree_ports();
  std::vector<Route> rules;
  for (std::uint32_t node = topology_.hosts(); node < topology_.nodes().size(); ++node) {
    Route route;
    route.switch_index = node - topology_.hosts();
    route.prefix_length = 0;
    std::vector<std::uint32_t> hosts;
    for (std::uint32_t port = 0; port < topology_.nodes()[node].links.size(); ++port)
      if (topology_.is_host(topology_.neighbour(node, port))) hosts.push_back(port);
    route.group_ports = std::move(tree[node]);
    route.group_ports.insert(route.group_ports.end(), hosts.begin(), hosts.end());
    std::ranges::sort(route.group_ports);
    if (route.group_ports.empty()) continue;
    for (const std::uint32_t port : hosts) {
      route.port_id = port;
      rules.push_back(route);
    }
    route.port_id = Route::kAnyPort;
    rules.push_back(route);
  }
  return rules;
}

// UDP to RoCE's port and to any group's MAC address (its lowest bit of the first byte).
std::vector<std::string> openflow_of_groups(const Route& route) {
  const bool from_host = route.port_id != Route::kAnyPort;
  std::string match = ",dl_dst=01:00:00:00:00:00/01:00:00:00:00:00,tp_dst=4791";
  if (from_host) match += ",in_port=" + std::to_string(route.port_id + 1);
  std::string actions;
  for (const std::uint32_t port : route.group_ports)
    actions += (actions.empty() ? "" : ",") +
               (from_host && port == route.port_id ? "in_port" : "output:" + std::to_string(port + 1));
  const std::string priority = from_host ? "priority=905," : "priority=900,";
  return {priority + "udp" + match + ",actions=" + actions,
          priority + "udp6" + match + ",actions=" + actions};
}

}  // namespace rocelab
