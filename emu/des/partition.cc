#include "emu/des/partition.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>

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

// Grows parts one after the other, each from the first switch that is left, always by the neighbour with the
// most link rate into the part.
class Grower {
 public:
  Grower(const World& world, const std::vector<double>& work) : world_(world), work_(work) {
    part_of_.resize(world.switches.size(), kNoPart);
    for (std::size_t s = 0; s < part_of_.size(); ++s) left_ += weight(s);
  }

  std::vector<std::uint32_t> grow(std::uint32_t parts) {
    std::size_t unassigned = part_of_.size();
    for (std::uint32_t part = 0; part < parts; ++part) {
      const double target = left_ / (parts - part);
      std::map<std::uint32_t, double> border;  // neighbours of the part: rate of the links to it
      double has = 0;
      while (unassigned > parts - part - 1) {  // one is left for each part to come
        const std::uint32_t next = best(border);
        // The switch that passes the target belongs here if most of it fits.
        if (part + 1 < parts && has > 0 && has + weight(next) / 2 > target) break;
        part_of_[next] = part;
        --unassigned;
        has += weight(next);
        border.erase(next);
        for_neighbours(next, [&](std::uint32_t peer, double rate) {
          if (part_of_[peer] == kNoPart) border[peer] += rate;
        });
      }
      left_ -= has;
    }
    return part_of_;
  }

 private:
  double weight(std::size_t s) const {
    double sum = work_[world_.hosts.size() + s];
    const SwitchEntry& entry = world_.switches[s];
    for (std::uint32_t p = entry.first_port; p < entry.first_port + entry.ports; ++p)
      if (world_.ports[p].peer_host != kNoPeer) sum += work_[world_.ports[p].peer_host];
    return sum;
  }
  template <class Use>
  void for_neighbours(std::uint32_t s, Use&& use) const {
    const SwitchEntry& entry = world_.switches[s];
    for (std::uint32_t p = entry.first_port; p < entry.first_port + entry.ports; ++p)
      if (world_.ports[p].peer_port != kNoPeer)
        use(world_.ports[world_.ports[p].peer_port].switch_index,
            static_cast<double>(world_.ports[p].config.rate.bps()));
  }
  std::uint32_t best(const std::map<std::uint32_t, double>& border) const {
    if (border.empty())
      return static_cast<std::uint32_t>(std::ranges::find(part_of_, kNoPart) - part_of_.begin());
    // Of equal rates the first, as nodes near each other have numbers near each other.
    return std::ranges::max_element(border, {}, [](const auto& entry) { return entry.second; })->first;
  }

  const World& world_;
  const std::vector<double>& work_;
  std::vector<std::uint32_t> part_of_;  // by switch
  double left_ = 0;
};

}  // namespace

Partition make_partition(const World& world, const std::vector<double>& work, std::uint32_t parts) {
  const std::size_t switches = world.switches.size();
  Partition partition;
  partition.parts =
      static_cast<std::uint32_t>(std::clamp<std::size_t>(parts, 1, std::max<std::size_t>(switches, 1)));
  partition.last_here = partition.parts;
  if (partition.parts == 1) return partition;
  const std::vector<std::uint32_t> of_switch = Grower(world, work).grow(partition.parts);
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
