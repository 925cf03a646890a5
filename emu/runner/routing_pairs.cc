// Routing: which pairs of hosts have paths unlike those of all others.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "emu/runner/routing.h"

namespace rocelab {
namespace {

using LinkKind = std::tuple<std::int64_t, std::int64_t>;  // rate, delay
LinkKind kind_of(const Link& link) { return {link.rate.bps(), link.delay.ps()}; }

// Numbers for things that are equal, in the order in which they come.
template <class T>
class Numbers {
 public:
  std::uint32_t operator[](const T& thing) {
    return known_.try_emplace(thing, static_cast<std::uint32_t>(known_.size())).first->second;
  }

 private:
  std::map<T, std::uint32_t> known_;
};

// Two hosts for each switch, rate and delay, for paths below one switch, too; and those with pinned paths.
std::vector<std::uint32_t> representatives(const Topology& topology, const Routing& routing) {
  std::set<std::tuple<std::uint32_t, LinkKind, int>> seen;
  std::vector<std::uint32_t> hosts;
  for (std::uint32_t h = 0; h < topology.hosts(); ++h) {
    if (routing.pinned(h)) {
      hosts.push_back(h);
      continue;
    }
    const Link& link = topology.links()[topology.nodes()[h].links[0]];
    for (int copy = 0; copy < 2; ++copy)
      if (seen.emplace(link.b, kind_of(link), copy).second) {
        hosts.push_back(h);
        break;
      }
  }
  return hosts;
}

}  // namespace

// [edge to][edge from]: paths of the same number cross links of the same rates and delays, in their order.
// A path is a link and the path from its other end, of the same destination.
std::vector<std::uint32_t> Routing::kinds_of_paths() const {
  Numbers<std::tuple<LinkKind, std::uint32_t>> kinds;
  std::vector<std::uint32_t> all;
  std::vector<std::uint32_t> order(topology_.switches()), kind(topology_.switches());
  for (std::uint32_t to = 0; to < edges_.size(); ++to) {
    std::iota(order.begin(), order.end(), topology_.hosts());
    std::ranges::stable_sort(order, {}, [&](std::uint32_t node) { return distance(current_, to, node); });
    for (const std::uint32_t node : order) {
      std::uint32_t& mine = kind[node - topology_.hosts()];
      mine = 0;
      if (const std::optional<std::uint32_t> port = first_port(node, to)) {
        const Link& link = topology_.links()[topology_.nodes()[node].links[*port]];
        mine = 1 + kinds[{kind_of(link), kind[topology_.neighbour(node, *port) - topology_.hosts()]}];
      }
    }
    for (const Edge& from : edges_) all.push_back(kind[from.node - topology_.hosts()]);
  }
  return all;
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> Routing::distinct_pairs() const {
  const std::vector<std::uint32_t> hosts = representatives(topology_, *this);
  // Where each host has a path of its own through the same switches, no two pairs are taken for alike.
  const bool by_host = topology_.paths == PathChoice::kSpread;
  const std::vector<std::uint32_t> kinds = by_host ? std::vector<std::uint32_t>() : kinds_of_paths();
  Numbers<LinkKind> links;
  std::vector<std::uint32_t> link_of, edge;
  for (const std::uint32_t host : hosts) {
    link_of.push_back(links[kind_of(topology_.links()[topology_.nodes()[host].links[0]])]);
    edge.push_back(edge_of_[edge_switch(host)]);
  }
  std::set<std::array<std::uint32_t, 4>> seen;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (std::size_t a = 0; a < hosts.size(); ++a)
    for (std::size_t b = 0; b < hosts.size(); ++b) {
      if (a == b || !topology_.reaches(hosts[a], hosts[b])) continue;
      if (!by_host && !pinned(hosts[a]) && !pinned(hosts[b])) {
        const std::uint32_t there = kinds[edge[b] * edges_.size() + edge[a]],
                            back = kinds[edge[a] * edges_.size() + edge[b]];
        if (!seen.insert({link_of[a], link_of[b], there, back}).second) continue;
      }
      pairs.emplace_back(hosts[a], hosts[b]);
    }
  return pairs;
}

}  // namespace rocelab
