#include "emu/des/partition.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

namespace rocelab::des {
namespace {

constexpr std::uint32_t kNoPart = 0xffffffff;

// A frame at a host costs about as much as at a switch: both are an arrival, a decision and a departure.
std::vector<double> expected_work(const RunPlan& plan) {
  const World& world = plan.world;
  const std::size_t hosts = world.hosts.size();
  std::vector<double> work(hosts + world.switches.size());
  double between = 0;  // frames that leave the switch of their host
  for (const Flow& flow : plan.flows) {
    const double packets = 1 + static_cast<double>(flow.packets);
    const std::uint32_t from = world.ports[world.hosts[flow.src].port].switch_index,
                        to = world.ports[world.hosts[flow.dst].port].switch_index;
    for (const std::size_t node : {std::size_t{flow.src}, std::size_t{flow.dst}, hosts + from})
      work[node] += packets;
    if (from == to) continue;
    work[hosts + to] += packets;
    between += packets;
  }
  // Switches without hosts share what passes them by the rates of their links.
  std::vector<double> transit(world.switches.size());
  for (const SwitchEntry& entry : world.switches)
    for (std::uint32_t p = entry.first_port; p < entry.first_port + entry.ports; ++p) {
      const PortEntry& port = world.ports[p];
      double& rate = transit[port.switch_index];
      if (port.peer_host != kNoPeer) {
        rate = 0;
        break;
      }
      rate += static_cast<double>(port.config.rate.bps());
    }
  const double all = std::accumulate(transit.begin(), transit.end(), 0.0);
  constexpr double kHops = 2;  // switches without hosts on a path, about
  for (std::size_t s = 0; s < transit.size() && all > 0; ++s)
    work[hosts + s] += kHops * between * transit[s] / all;
  return work;
}

// Switches that no border between parts may separate, as one.
struct Cluster {
  double work = 0;                        // with that of their hosts
  std::map<std::uint32_t, double> rates;  // to other clusters, of all links
};

// Those that are joined by links of less than `shortest`. Fills in by switch of which cluster it is; a
// cluster has the number of its first switch among first switches.
std::vector<Cluster> clusters_of(const World& world, const std::vector<double>& work, Duration shortest,
                                 std::vector<std::uint32_t>& of_switch) {
  std::vector<std::uint32_t> first(world.switches.size());  // by switch: one with a lower number, or itself
  std::iota(first.begin(), first.end(), 0u);
  const auto root = [&](std::uint32_t s) {
    while (first[s] != s) s = first[s] = first[first[s]];
    return s;
  };
  const auto for_trunks = [&](auto&& use) {
    for (const PortEntry& port : world.ports)
      if (port.peer_port != kNoPeer) use(port, world.ports[port.peer_port].switch_index);
  };
  for_trunks([&](const PortEntry& port, std::uint32_t peer) {
    if (latency_of(world, port) >= shortest) return;
    const auto [low, high] = std::minmax({root(port.switch_index), root(peer)});
    first[high] = low;
  });
  std::vector<Cluster> clusters;
  for (std::uint32_t s = 0; s < first.size(); ++s) {
    if (root(s) == s) clusters.emplace_back();
    of_switch[s] = root(s) == s ? static_cast<std::uint32_t>(clusters.size() - 1) : of_switch[root(s)];
    clusters[of_switch[s]].work += work[world.hosts.size() + s];
  }
  for (const PortEntry& port : world.ports)
    if (port.peer_host != kNoPeer) clusters[of_switch[port.switch_index]].work += work[port.peer_host];
  for_trunks([&](const PortEntry& port, std::uint32_t peer) {
    if (of_switch[port.switch_index] != of_switch[peer])
      clusters[of_switch[port.switch_index]].rates[of_switch[peer]] +=
          static_cast<double>(port.config.rate.bps());
  });
  return clusters;
}

// Grows parts one after the other, each from the first cluster that is left, always by the neighbour with the
// most link rate into the part. By cluster, its part.
std::vector<std::uint32_t> grow(const std::vector<Cluster>& clusters, std::uint32_t parts) {
  std::vector<std::uint32_t> part_of(clusters.size(), kNoPart);
  std::size_t unassigned = clusters.size();
  double left = 0;
  for (const Cluster& cluster : clusters) left += cluster.work;
  for (std::uint32_t part = 0; part < parts; ++part) {
    const double target = left / (parts - part);
    std::map<std::uint32_t, double> border;  // neighbours of the part: rate of the links to it
    double has = 0;
    while (unassigned > parts - part - 1) {  // one is left for each part to come
      // Of equal rates the first, as nodes near each other have numbers near each other.
      const auto next =
          border.empty()
              ? static_cast<std::uint32_t>(std::ranges::find(part_of, kNoPart) - part_of.begin())
              : std::ranges::max_element(border, {}, [](const auto& entry) { return entry.second; })->first;
      const Cluster& cluster = clusters[next];
      // The cluster that passes the target belongs here if most of it fits.
      if (part + 1 < parts && has > 0 && has + cluster.work / 2 > target) break;
      part_of[next] = part;
      --unassigned;
      has += cluster.work;
      border.erase(next);
      for (const auto& [peer, rate] : cluster.rates)
        if (part_of[peer] == kNoPart) border[peer] += rate;
    }
    left -= has;
  }
  return part_of;
}

// The cluster with most work first, each to the part that has least. By cluster, its part.
std::vector<std::uint32_t> pack(const std::vector<Cluster>& clusters, std::uint32_t parts) {
  std::vector<std::uint32_t> order(clusters.size()), part_of(clusters.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, std::greater(), [&](std::uint32_t c) { return clusters[c].work; });
  std::vector<std::pair<double, std::size_t>> has(parts);  // work and clusters, so that no part is empty
  for (const std::uint32_t c : order) {
    const auto least = std::ranges::min_element(has);
    part_of[c] = static_cast<std::uint32_t>(least - has.begin());
    least->first += clusters[c].work;
    ++least->second;
  }
  return part_of;
}

struct Cut {
  std::vector<std::uint32_t> of_switch;  // its part
  double most;                           // work of a part
};

using Dealing = std::vector<std::uint32_t> (*)(const std::vector<Cluster>&, std::uint32_t);

// Along links of at least `shortest`. Its largest part is infinite where they part the network into fewer.
Cut cut_at(const World& world, const std::vector<double>& work, std::uint32_t parts, Duration shortest,
           Dealing deal) {
  Cut cut{std::vector<std::uint32_t>(world.switches.size()), std::numeric_limits<double>::infinity()};
  const std::vector<Cluster> clusters = clusters_of(world, work, shortest, cut.of_switch);
  if (clusters.size() < parts) return cut;
  const std::vector<std::uint32_t> part_of = deal(clusters, parts);
  std::vector<double> sums(parts);
  for (std::size_t c = 0; c < clusters.size(); ++c) sums[part_of[c]] += clusters[c].work;
  for (std::uint32_t& part : cut.of_switch) part = part_of[part];
  cut.most = *std::ranges::max_element(sums);
  return cut;
}

// Parts run for longer without the others where the links between them are longer, and wait for the one that
// has most to do: of the cuts whose largest part is at most a tenth larger than where any link is cut, that
// of the longest links, which is looked for by halves. What is grown has fewer links between parts, what is
// packed is more even.
Cut best_cut(const World& world, const std::vector<double>& work, std::uint32_t parts) {
  constexpr double kUneven = 1.1;
  std::vector<Duration> latencies;
  for (const PortEntry& port : world.ports)
    if (port.peer_port != kNoPeer) latencies.push_back(latency_of(world, port));
  std::ranges::sort(latencies);
  latencies.erase(std::unique(latencies.begin(), latencies.end()), latencies.end());
  Cut best = cut_at(world, work, parts, Duration(), grow);
  const double most = kUneven * best.most;
  std::size_t good = 0, bad = latencies.size();  // the shortest latency is no condition
  while (good + 1 < bad) {
    const std::size_t middle = (good + bad) / 2;
    Cut cut = cut_at(world, work, parts, latencies[middle], grow);
    if (cut.most > most) cut = cut_at(world, work, parts, latencies[middle], pack);
    const bool fits = cut.most <= most;
    if (fits) best = std::move(cut);
    (fits ? good : bad) = middle;
  }
  return best;
}

}  // namespace

Duration latency_of(const World& world, const PortEntry& port) {
  WorldView one = world.view();
  one.ports = {&port, 1};
  return lookahead_of(one);
}

Partition make_partition(const World& world, const std::vector<double>& work, std::uint32_t parts) {
  const std::size_t switches = world.switches.size();
  Partition partition;
  partition.parts =
      static_cast<std::uint32_t>(std::clamp<std::size_t>(parts, 1, std::max<std::size_t>(switches, 1)));
  partition.last_here = partition.parts;
  if (partition.parts == 1) return partition;
  const std::vector<std::uint32_t> of_switch = best_cut(world, work, partition.parts).of_switch;
  for (const HostEntry& host : world.hosts)
    partition.of_node.push_back(of_switch[world.ports[host.port].switch_index]);
  partition.of_node.insert(partition.of_node.end(), of_switch.begin(), of_switch.end());
  return partition;
}

std::uint32_t threads_for(const RunPlan& plan, std::uint32_t most) {
  // A host at its link's rate is a few frames per window, and so is each switch on its paths; a run of fewer
  // frames is over before threads have begun.
  constexpr std::uint32_t kHosts = 8, kFrames = 50'000;
  std::uint64_t frames = 0;
  for (const Flow& flow : plan.flows) frames += flow.packets;
  const std::uint64_t worth = std::min(plan.world.hosts.size() / kHosts, frames / kFrames);
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(worth, 1, most));
}

Partition make_partition(const RunPlan& plan, std::uint32_t parts) {
  return make_partition(plan.world, expected_work(plan), parts);
}

Partition make_partition(const RunPlan& plan, std::uint32_t parts, const Peers& peers) {
  Partition partition = make_partition(plan, parts);
  if (partition.parts < peers.ranks())
    throw std::runtime_error(std::to_string(peers.ranks()) + " processes cannot share a network of " +
                             std::to_string(partition.parts) + (partition.parts == 1 ? " part" : " parts") +
                             ", which are its switches with their hosts: start fewer");
  partition.first_here = first_part_of(peers.rank(), peers.ranks(), partition.parts);
  partition.last_here = first_part_of(peers.rank() + 1, peers.ranks(), partition.parts);
  return partition;
}

}  // namespace rocelab::des
