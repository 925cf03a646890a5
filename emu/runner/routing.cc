#include "emu/runner/routing.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace rocelab {
namespace {

constexpr std::uint32_t kNetwork = 10u << 24;
constexpr std::size_t kMaxPrefixes = 256, kMaxHostsPerSwitch = 254;
constexpr std::uint32_t kFar = std::numeric_limits<std::uint32_t>::max();

HostAddress make_address(std::uint32_t prefix, std::uint32_t number) {
  HostAddress a;
  a.ipv4 = kNetwork | prefix << 8 | number;
  a.mac = {2, 0, 10, 0, static_cast<std::uint8_t>(prefix), static_cast<std::uint8_t>(number)};
  return a;
}

std::vector<std::uint32_t> distances_from(const Topology& topology, std::uint32_t start) {
  std::vector<std::uint32_t> distance(topology.nodes().size(), kFar), queue{start};
  distance[start] = 0;
  for (std::size_t i = 0; i < queue.size(); ++i)
    for (std::uint32_t port = 0; port < topology.nodes()[queue[i]].links.size(); ++port) {
      const std::uint32_t next = topology.neighbour(queue[i], port);
      if (topology.is_host(next) || distance[next] != kFar) continue;
      distance[next] = distance[queue[i]] + 1;
      queue.push_back(next);
    }
  return distance;
}

// Which of `hops` ports each bucket takes: as even as can be, in an order drawn from the switch's stream.
std::vector<std::uint32_t> deal_buckets(const std::vector<std::uint32_t>& hops, Rng& rng) {
  std::vector<std::uint32_t> bucket(std::min<std::size_t>(std::bit_ceil(8 * hops.size()), 256));
  for (std::size_t b = 0; b < bucket.size(); ++b) bucket[b] = hops[b % hops.size()];
  for (std::size_t b = bucket.size(); b > 1; --b) std::swap(bucket[b - 1], bucket[rng.below(b)]);
  return bucket;
}

void add_rule_set(std::uint32_t switch_index, std::uint32_t prefix, std::uint32_t length,
                  const std::vector<std::uint32_t>& ports, Rng& rng, std::vector<Route>& rules) {
  Route route{switch_index, prefix, length, 0, 0, ports.front()};
  if (ports.size() > 1) {
    const std::vector<std::uint32_t> buckets = deal_buckets(ports, rng);
    for (std::size_t b = 0; b < buckets.size(); ++b)
      rules.push_back({switch_index, prefix, length, static_cast<std::uint16_t>(b),
                       static_cast<std::uint16_t>(buckets.size() - 1), buckets[b]});
  }
  rules.push_back(route);
}

std::string hex_bytes(const std::array<std::uint8_t, 6>& bytes) {
  char text[18];
  std::snprintf(text, sizeof text, "%02x:%02x:%02x:%02x:%02x:%02x", bytes[0], bytes[1], bytes[2], bytes[3],
                bytes[4], bytes[5]);
  return text;
}

}  // namespace

Routing::Routing(const Topology& topology) : topology_(topology), addresses_(topology.hosts()) {
  for (std::uint32_t node = topology.hosts(); node < topology.nodes().size(); ++node) {
    std::uint32_t number = 0;
    for (std::uint32_t port = 0; port < topology.nodes()[node].links.size(); ++port) {
      const std::uint32_t host = topology.neighbour(node, port);
      if (!topology.is_host(host)) continue;
      addresses_[host] = make_address(static_cast<std::uint32_t>(edges_.size()), ++number);
    }
    if (number > kMaxHostsPerSwitch)
      throw std::invalid_argument("switch \"" + topology.nodes()[node].name + "\" has more than 254 hosts");
    if (number != 0) edges_.push_back(node);
  }
  if (edges_.size() > kMaxPrefixes) throw std::invalid_argument("more than 256 switches have hosts");
  for (const std::uint32_t edge : edges_) distance_.push_back(distances_from(topology, edge));
}

std::vector<std::uint32_t> Routing::towards(std::uint32_t switch_node, std::uint32_t target) const {
  std::vector<std::uint32_t> ports;
  for (std::uint32_t port = 0; port < topology_.nodes()[switch_node].links.size(); ++port) {
    const std::uint32_t next = topology_.neighbour(switch_node, port);
    if (!topology_.is_host(next) && distance_[target][next] + 1 == distance_[target][switch_node])
      ports.push_back(port);
  }
  return ports;
}

std::vector<std::uint32_t> Routing::next_ports(std::uint32_t switch_node, std::uint32_t host) const {
  const std::uint32_t edge = edge_switch(host);
  if (edge == switch_node) {
    const Link& link = topology_.links()[topology_.nodes()[host].links[0]];
    return {link.b_port};
  }
  const auto target = std::find(edges_.begin(), edges_.end(), edge) - edges_.begin();
  return towards(switch_node, static_cast<std::uint32_t>(target));
}

Path Routing::path(std::uint32_t src, std::uint32_t dst) const {
  Path path;
  std::uint32_t node = src, port = 0;
  while (node != dst) {
    const Link& link = topology_.links()[topology_.nodes()[node].links[port]];
    path.push_back({link.rate, link.delay});
    node = topology_.neighbour(node, port);
    if (node != dst) port = next_ports(node, dst).front();
  }
  return path;
}

void Routing::add_rules(std::uint32_t switch_node, Rng rng, std::vector<Route>& rules) const {
  const std::uint32_t index = switch_node - topology_.hosts();
  for (std::uint32_t port = 0; port < topology_.nodes()[switch_node].links.size(); ++port) {
    const std::uint32_t host = topology_.neighbour(switch_node, port);
    if (topology_.is_host(host)) rules.push_back({index, addresses_[host].ipv4, 32, 0, 0, port});
  }
  std::vector<std::vector<std::uint32_t>> sets;
  std::vector<std::uint32_t> targets;
  for (std::uint32_t t = 0; t < edges_.size(); ++t) {
    if (edges_[t] == switch_node) continue;
    targets.push_back(t);
    sets.push_back(towards(switch_node, t));
  }
  const bool one_way = !sets.empty() && std::all_of(sets.begin(), sets.end(),
                                                    [&](const auto& s) { return s == sets.front(); });
  if (one_way)
    return add_rule_set(index, kNetwork, 8, sets.front(), rng, rules);  // few rules mean few cached flows
  for (std::size_t i = 0; i < sets.size(); ++i)
    add_rule_set(index, kNetwork | targets[i] << 8, 24, sets[i], rng, rules);
}

std::vector<Route> Routing::rules(Rng seed) const {
  std::vector<Route> rules;
  for (std::uint32_t node = topology_.hosts(); node < topology_.nodes().size(); ++node)
    add_rules(node, seed.fork("ecmp/" + topology_.nodes()[node].name), rules);
  return rules;
}

std::vector<std::string> openflow(const Route& route) {
  // 10.0.s.n is in the last four bytes of 02:00:0a:00:ss:nn: a prefix of one is a mask of the other.
  std::array<std::uint8_t, 6> mac{2, 0}, mask{0xff, 0xff};
  const std::uint32_t bits = route.prefix_length == 0 ? 0 : ~0u << (32 - route.prefix_length);
  for (std::size_t i = 0; i < 4; ++i) {
    mac[2 + i] = static_cast<std::uint8_t>((route.prefix & bits) >> (24 - 8 * i));
    mask[2 + i] = static_cast<std::uint8_t>(bits >> (24 - 8 * i));
  }
  const std::string dst = "dl_dst=" + hex_bytes(mac) + "/" + hex_bytes(mask);
  const std::string out = ",actions=output:" + std::to_string(route.port_id + 1);
  const std::string priority =
      "priority=" + std::to_string(1000 + 10 * route.prefix_length + (route.src_port_mask != 0 ? 5 : 0)) +
      ",";
  if (route.src_port_mask == 0)
    return {priority + dst + out, priority + "arp,arp_tpa=" + ipv4_text(route.prefix) + "/" +
                                      std::to_string(route.prefix_length) + out};
  char bucket[32];
  std::snprintf(bucket, sizeof bucket, ",tp_src=0x%x/0x%x", route.src_port, route.src_port_mask);
  const std::string match = dst + ",tp_dst=4791" + bucket + out;
  return {priority + "udp," + match, priority + "udp6," + match};
}

std::string ipv4_text(std::uint32_t a) {
  return std::to_string(a >> 24) + "." + std::to_string(a >> 16 & 255) + "." + std::to_string(a >> 8 & 255) +
         "." + std::to_string(a & 255);
}

std::string mac_text(const std::array<std::uint8_t, 6>& mac) { return hex_bytes(mac); }

}  // namespace rocelab
