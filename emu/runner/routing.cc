#include "emu/runner/routing.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <iterator>
#include <map>
#include <span>
#include <stdexcept>

#include "emu/runner/prefix_table.h"

namespace rocelab {
namespace {

constexpr std::uint32_t kNetwork = 10u << 24, kNetworkLength = 8, kBlockLength = 24;
constexpr std::size_t kMaxBlocks = 1 << (kBlockLength - kNetworkLength), kMaxHostsPerSwitch = 254;

HostAddress make_address(std::uint32_t block, std::uint32_t number) {
  HostAddress a;
  a.ipv4 = kNetwork | block << 8 | number;
  a.mac = {2,
           0,
           10,
           static_cast<std::uint8_t>(block >> 8),
           static_cast<std::uint8_t>(block),
           static_cast<std::uint8_t>(number)};
  return a;
}

// Which ports the buckets of an equal-cost set take.
struct Buckets {
  std::vector<std::uint32_t> port;
  unsigned shift = 0;  // of the bucket's number within the UDP source port
};

// As even as can be, in an order drawn from a stream of the switch and the set. Tiers take turns between the
// low and the high end of the source port's 14 random bits: if all looked at the same bits, the flows that a
// switch gets would share them, and it could not spread them (polarisation).
Buckets deal_buckets(const std::vector<std::uint32_t>& hops, std::uint32_t tier, const Rng& seed) {
  constexpr unsigned kRandomBits = 14;
  std::string name;
  for (const std::uint32_t hop : hops) name += "/" + std::to_string(hop);
  Rng rng = seed.fork(name);
  Buckets b;
  const std::size_t even = std::has_single_bit(hops.size()) ? hops.size() : 128;  // 128: within 4 % up to 16
  b.port.resize(hops.size() <= 16 ? even : 256);
  for (std::size_t i = 0; i < b.port.size(); ++i) b.port[i] = hops[i % hops.size()];
  for (std::size_t i = b.port.size(); i > 1; --i) std::swap(b.port[i - 1], b.port[rng.below(i)]);
  b.shift = tier % 2 == 0 ? 0 : kRandomBits - static_cast<unsigned>(std::countr_zero(b.port.size()));
  return b;
}

void add_rule_set(Route route, const std::vector<std::uint32_t>& ports, std::uint32_t tier, const Rng& seed,
                  std::vector<Route>& rules) {
  if (ports.size() > 1) {
    const Buckets buckets = deal_buckets(ports, tier, seed);
    route.src_port_mask = static_cast<std::uint16_t>((buckets.port.size() - 1) << buckets.shift);
    for (std::size_t b = 0; b < buckets.port.size(); ++b) {
      route.src_port = static_cast<std::uint16_t>(b << buckets.shift);
      route.port_id = buckets.port[b];
      rules.push_back(route);
    }
  }
  route.src_port = route.src_port_mask = 0;
  route.port_id = ports.front();
  rules.push_back(route);
}

std::string hex_bytes(const std::array<std::uint8_t, 6>& bytes) {
  char text[18];
  std::snprintf(text, sizeof text, "%02x:%02x:%02x:%02x:%02x:%02x", bytes[0], bytes[1], bytes[2], bytes[3],
                bytes[4], bytes[5]);
  return text;
}

}  // namespace

Routing::Routing(const Topology& topology, const std::vector<bool>& dead_links)
    : topology_(topology), addresses_(topology.hosts()), edge_of_(topology.nodes().size(), kNoEdge) {
  number_edges();
  healthy_ = distances({});
  current_ = dead_links.empty() ? healthy_ : distances(dead_links);
  dead_ = dead_links;
  tier_.assign(topology.nodes().size(), kFar);
  for (std::size_t e = 0; e < edges_.size(); ++e)
    for (std::size_t n = topology.hosts(); n < tier_.size(); ++n)
      tier_[n] = std::min(tier_[n], distance(healthy_, e, n));
  pin();
}

void Routing::pin() {
  for (const PinnedPath& path : topology_.pinned) {
    const auto is_dead = [&](const PinnedPath::Hop& hop) {
      return !dead_.empty() && dead_[topology_.nodes()[hop.node].links[hop.port]];
    };
    if (std::ranges::any_of(path.hops, is_dead)) continue;
    for (const auto& [node, port] : path.hops) pinned_[path.host].try_emplace(node, port);
  }
}

std::optional<std::uint32_t> Routing::pinned_port(std::uint32_t switch_node, std::uint32_t host) const {
  const auto of_host = pinned_.find(host);
  if (of_host == pinned_.end()) return std::nullopt;
  const auto hop = of_host->second.find(switch_node);
  return hop == of_host->second.end() ? std::nullopt : std::optional(hop->second);
}

// Switches with hosts get a block of 256 addresses each; those of a pod stand together in an aligned row.
void Routing::number_edges() {
  std::map<std::uint32_t, std::size_t> pod_size;
  std::vector<std::uint32_t> hosts_below(topology_.nodes().size());
  for (std::uint32_t h = 0; h < topology_.hosts(); ++h) ++hosts_below[edge_switch(h)];
  for (std::uint32_t node = topology_.hosts(); node < topology_.nodes().size(); ++node)
    if (hosts_below[node] != 0) ++pod_size[topology_.nodes()[node].pod];
  std::size_t block = 0;
  std::uint32_t last_pod = kNoPod;
  for (std::uint32_t node = topology_.hosts(); node < topology_.nodes().size(); ++node) {
    if (hosts_below[node] == 0) continue;
    if (hosts_below[node] > kMaxHostsPerSwitch)
      throw std::invalid_argument("switch \"" + topology_.nodes()[node].name + "\" has more than 254 " +
                                  (topology_.nics_per_host > 1 ? "NICs" : "hosts"));
    const std::uint32_t pod = topology_.nodes()[node].pod;
    const std::size_t row = std::bit_ceil(pod_size[pod]);
    if (pod != kNoPod && pod != last_pod) block = (block + row - 1) / row * row;
    last_pod = pod;
    if (block >= kMaxBlocks) throw std::invalid_argument("more switches have hosts than there are addresses");
    edge_of_[node] = static_cast<std::uint32_t>(edges_.size());
    edges_.push_back({node, static_cast<std::uint32_t>(block++)});
  }
  std::vector<std::uint32_t> number(topology_.nodes().size());
  for (const Edge& edge : edges_)
    for (std::uint32_t port = 0; port < topology_.nodes()[edge.node].links.size(); ++port) {
      const std::uint32_t host = topology_.neighbour(edge.node, port);
      if (topology_.is_host(host)) addresses_[host] = make_address(edge.block, ++number[edge.node]);
    }
}

// [edge][switch]: hops between switches.
std::vector<std::uint16_t> Routing::distances(const std::vector<bool>& dead) const {
  const std::size_t hosts = topology_.hosts(), switches = topology_.switches();
  std::vector<std::uint16_t> all(edges_.size() * switches, kFar);
  std::vector<std::uint32_t> queue;
  for (std::size_t e = 0; e < edges_.size(); ++e) {
    const std::span distance = std::span(all).subspan(e * switches, switches);
    queue.assign(1, edges_[e].node);
    distance[edges_[e].node - hosts] = 0;
    for (std::size_t i = 0; i < queue.size(); ++i)
      for (const std::uint32_t index : topology_.nodes()[queue[i]].links) {
        const Link& link = topology_.links()[index];
        const std::uint32_t next = link.a == queue[i] ? link.b : link.a;
        if (topology_.is_host(next) || distance[next - hosts] != kFar || (!dead.empty() && dead[index]))
          continue;
        if (link.one_way && link.a != next) continue;  // frames go from `next` towards the edge
        distance[next - hosts] = static_cast<std::uint16_t>(distance[queue[i] - hosts] + 1);
        queue.push_back(next);
      }
  }
  return all;
}

// Where no way is left, the healthy network's is taken: the frame is lost at the link that is down, and
// nothing circles.
template <class Use>
void Routing::for_next_ports(std::uint32_t node, std::uint32_t edge, Use&& use) const {
  const bool cut = distance(current_, edge, node) == kFar;
  const std::vector<std::uint16_t>& table = cut ? healthy_ : current_;
  const std::uint16_t mine = distance(table, edge, node);
  const std::vector<std::uint32_t>& links = topology_.nodes()[node].links;
  for (std::uint32_t port = 0; port < links.size(); ++port) {
    const std::uint32_t next = topology_.neighbour(node, port);
    if (topology_.is_host(next) || distance(table, edge, next) + 1 != mine) continue;
    const Link& link = topology_.links()[links[port]];
    if (link.one_way && link.a != node) continue;
    if (!cut && !dead_.empty() && dead_[links[port]]) continue;
    if (!use(port)) return;
  }
}

std::optional<std::uint32_t> Routing::first_port(std::uint32_t switch_node, std::uint32_t edge) const {
  std::optional<std::uint32_t> first;
  for_next_ports(switch_node, edge, [&](std::uint32_t port) {
    first = port;
    return false;
  });
  return first;
}

std::vector<std::uint32_t> Routing::towards(std::uint32_t switch_node, std::uint32_t edge) const {
  std::vector<std::uint32_t> ports;
  for_next_ports(switch_node, edge, [&](std::uint32_t port) {
    ports.push_back(port);
    return true;
  });
  return ports;
}

std::vector<std::uint32_t> Routing::next_ports(std::uint32_t switch_node, std::uint32_t host) const {
  if (edge_switch(host) == switch_node) return {topology_.links()[topology_.nodes()[host].links[0]].b_port};
  if (const auto port = pinned_port(switch_node, host)) return {*port};
  std::vector<std::uint32_t> ports = towards(switch_node, edge_of_[edge_switch(host)]);
  if (single_path() && ports.size() > 1) ports = {chosen(ports, switch_node, host)};
  return ports;
}

std::uint32_t Routing::chosen(const std::vector<std::uint32_t>& ports, std::uint32_t switch_node,
                              std::uint32_t host) const {
  if (topology_.paths == PathChoice::kFirst) return ports.front();
  std::size_t digit = host;
  for (std::uint16_t tier = 0; tier < tier_[switch_node] && digit > 0; ++tier) digit /= ports.size();
  return ports[digit % ports.size()];
}

template <class Next>
Path Routing::follow(std::uint32_t src, std::uint32_t dst, Next&& next_port) const {
  Path path;
  const auto cross = [&](std::uint32_t node, std::uint32_t port) {
    const Link& link = topology_.links()[topology_.nodes()[node].links[port]];
    path.push_back({link.rate, link.delay});
    return topology_.neighbour(node, port);
  };
  std::uint32_t node = cross(src, 0);
  while (node != edge_switch(dst)) node = cross(node, next_port(node));
  cross(dst, 0);
  return path;
}

Path Routing::path(std::uint32_t src, std::uint32_t dst) const {
  const bool own = single_path() || pinned(dst);  // not that of all hosts of its switch
  const std::uint32_t edge = edge_of_[edge_switch(dst)];
  return follow(src, dst, [&](std::uint32_t node) {
    return own ? next_ports(node, dst).front() : first_port(node, edge).value_or(0);
  });
}

Path Routing::longest_path(std::uint32_t src, std::uint32_t dst) const {
  if (!pinned(dst)) return path(src, dst);
  struct Way {
    std::size_t links = 0;
    std::uint32_t port = 0;
  };
  std::map<std::uint32_t, Way> known = {{edge_switch(dst), {}}};  // by switch, to the host's switch
  const auto find = [&](auto&& self, std::uint32_t node) -> Way {
    if (const auto found = known.find(node); found != known.end()) return found->second;
    Way longest;
    for (const std::uint32_t port : next_ports(node, dst))
      if (const std::size_t links = 1 + self(self, topology_.neighbour(node, port)).links;
          links > longest.links)
        longest = {links, port};
    return known[node] = longest;
  };
  return follow(src, dst, [&](std::uint32_t node) { return find(find, node).port; });
}

void Routing::add_rules(std::uint32_t switch_node, const Rng& seed, std::vector<Route>& rules) const {
  const std::uint32_t index = switch_node - topology_.hosts();
  for (std::uint32_t port = 0; port < topology_.nodes()[switch_node].links.size(); ++port) {
    const std::uint32_t host = topology_.neighbour(switch_node, port);
    if (topology_.is_host(host)) rules.push_back({index, addresses_[host].ipv4, 32, 0, 0, port, true});
  }
  add_host_rules(switch_node, rules);
  std::vector<std::vector<std::uint32_t>> sets;
  std::vector<std::uint32_t> set_of_block(edges_.back().block + 1, kAnyValue);
  for (std::uint32_t e = 0; e < edges_.size(); ++e) {
    if (edges_[e].node == switch_node) continue;
    std::vector<std::uint32_t> ports = towards(switch_node, e);
    if (ports.empty()) continue;  // of another plane: whoever sends there is refused
    if (single_path()) ports.resize(1);
    const auto found = std::find(sets.begin(), sets.end(), ports);
    set_of_block[edges_[e].block] = static_cast<std::uint32_t>(found - sets.begin());
    if (found == sets.end()) sets.push_back(std::move(ports));
  }
  const std::vector<PrefixRule> prefixes = aggregate(set_of_block);
  for (std::size_t i = 0; i < prefixes.size(); ++i) {
    const PrefixRule& p = prefixes[i];
    Route route{index, kNetwork | p.first << 8, kBlockLength - p.bits_free, 0, 0, 0};
    if (i + 1 == prefixes.size()) route = {index, kNetwork, kNetworkLength, 0, 0, 0};  // everything else
    add_rule_set(route, sets[p.value], tier_[switch_node], seed, rules);
  }
}

// Of hosts that do not take what the rule of their switch's addresses says.
void Routing::add_host_rules(std::uint32_t switch_node, std::vector<Route>& rules) const {
  if (topology_.paths != PathChoice::kSpread && pinned_.empty()) return;
  for (std::uint32_t host = 0; host < topology_.hosts(); ++host) {
    if (edge_switch(host) == switch_node) continue;
    std::optional<std::uint32_t> port = pinned_port(switch_node, host);
    if (!port && topology_.paths == PathChoice::kSpread) {
      const std::vector<std::uint32_t> ports = towards(switch_node, edge_of_[edge_switch(host)]);
      if (ports.size() > 1) port = chosen(ports, switch_node, host);
      if (port && *port == ports.front()) port.reset();
    }
    if (port) rules.push_back({switch_node - topology_.hosts(), addresses_[host].ipv4, 32, 0, 0, *port});
  }
}

std::vector<Route> Routing::rules(Rng seed) const {
  std::vector<Route> rules;
  for (std::uint32_t node = topology_.hosts(); node < topology_.nodes().size(); ++node)
    add_rules(node, seed.fork("ecmp/" + topology_.nodes()[node].name), rules);
  return rules;
}

std::vector<Route> Routing::all_rules(Rng seed) const {
  std::vector<Route> all = rules(seed);
  std::ranges::move(group_rules(), std::back_inserter(all));
  std::ranges::stable_sort(all, {}, &Route::switch_index);
  return all;
}

std::vector<std::string> openflow(const Route& route, bool back) {
  if (!route.group_ports.empty()) return openflow_of_groups(route);
  // 10.0.s.n is in the last four bytes of 02:00:0a:00:ss:nn: a prefix of one is a mask of the other.
  std::array<std::uint8_t, 6> mac{2, 0}, mask{0xff, 0xff};
  const std::uint32_t bits = route.prefix_length == 0 ? 0 : ~0u << (32 - route.prefix_length);
  for (std::size_t i = 0; i < 4; ++i) {
    mac[2 + i] = static_cast<std::uint8_t>((route.prefix & bits) >> (24 - 8 * i));
    mask[2 + i] = static_cast<std::uint8_t>(bits >> (24 - 8 * i));
  }
  const std::string dst = "dl_dst=" + hex_bytes(mac) + "/" + hex_bytes(mask);
  const std::string out = std::string(",actions=") +
                          (back || route.to_host ? "load:0->OXM_OF_IN_PORT[]," : "") +
                          "output:" + std::to_string(route.port_id + 1);
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
