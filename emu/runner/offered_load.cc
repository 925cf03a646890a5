#include "emu/runner/offered_load.h"

#include <algorithm>
#include <sstream>

#include "emu/runner/workload_type.h"

namespace rocelab {
namespace {

constexpr double kTolerance = 1.0001;  // what is drawn differs by more

struct Rated {
  std::size_t workload = 0;
  double from_ps = 0, until_ps = 0;
  bool overload = false;
  std::string_view key;
  std::vector<double> bps;
};

struct Worst {
  double share = kTolerance, bps = 0;
  std::size_t direction = 0, workload = 0;
  std::string_view key;
};

// At the time at which `now` begins.
void find_worst(const std::vector<Rated>& rated, const Rated& now, const Topology& topology, Worst& worst) {
  for (std::size_t d = 0; d < now.bps.size(); ++d) {
    const auto rate = static_cast<double>(topology.links()[d / 2].rate.bps());
    double bps = 0;
    bool allowed = false;
    const Rated* crossing = nullptr;
    for (const Rated& r : rated) {
      if (r.from_ps > now.from_ps || r.until_ps <= now.from_ps || r.bps[d] == 0) continue;
      bps += r.bps[d];
      allowed = allowed || r.overload;
      if (crossing == nullptr && bps > rate * kTolerance) crossing = &r;
    }
    if (crossing != nullptr && !allowed && bps / rate > worst.share * (1 + 1e-9))
      worst = {bps / rate, bps, d, crossing->workload, crossing->key};
  }
}

std::string words_of(const Worst& worst, const Topology& topology) {
  const Link& link = topology.links()[worst.direction / 2];
  const bool back = worst.direction % 2 != 0;
  std::ostringstream text;
  text.precision(4);
  text << "brings the link from \"" << topology.nodes()[back ? link.b : link.a].name << "\" to \""
       << topology.nodes()[back ? link.a : link.b].name << "\" to " << 100 * worst.share << " % of its rate ("
       << worst.bps / 1e9 << " of " << static_cast<double>(link.rate.bps()) / 1e9 << " Gb/s)";
  return text.str();
}

}  // namespace

void OfferedTraffic::crosses(std::uint32_t from_edge, std::uint32_t to_host, double bps) {
  Towards& towards = towards_[routing_.single_path() || routing_.pinned(to_host) ? to_host : edge(to_host)];
  towards.host = to_host;
  towards.at.resize(topology_.nodes().size());
  towards.at[from_edge] += bps;
}

void OfferedTraffic::between(std::uint32_t from, std::uint32_t to, double bps) {
  leaves(from, bps);
  arrives(to, bps);
  if (edge(from) != edge(to)) crosses(edge(from), to, bps);
}

std::vector<double> OfferedTraffic::load() && {
  for (auto& [key, towards] : towards_) {
    std::vector<std::uint32_t> order;
    std::vector<bool> seen(topology_.nodes().size());
    seen[edge(towards.host)] = true;
    for (std::uint32_t node = topology_.hosts(); node < seen.size(); ++node)
      if (towards.at[node] > 0) visit(node, towards.host, seen, order);
    for (auto node = order.rbegin(); node != order.rend(); ++node) send(*node, towards);
  }
  return std::move(load_);
}

void OfferedTraffic::visit(std::uint32_t node, std::uint32_t host, std::vector<bool>& seen,
                           std::vector<std::uint32_t>& order) const {
  if (seen[node]) return;
  seen[node] = true;
  for (const std::uint32_t port : routing_.next_ports(node, host))
    visit(topology_.neighbour(node, port), host, seen, order);
  order.push_back(node);
}

void OfferedTraffic::send(std::uint32_t node, Towards& towards) {
  const std::vector<std::uint32_t> ports = routing_.next_ports(node, towards.host);
  const double share = towards.at[node] / static_cast<double>(ports.size());
  for (const std::uint32_t port : ports) {
    const std::uint32_t link = topology_.nodes()[node].links[port];
    load_[2 * link + (topology_.links()[link].a == node ? 0 : 1)] += share;
    towards.at[topology_.neighbour(node, port)] += share;
  }
}

std::vector<double> offered_load(const Topology& topology, const Routing& routing, const WorkloadSettings& w,
                                 std::uint32_t path_mtu) {
  if (!w.workload->rate(w, topology, path_mtu)) return {};
  OfferedTraffic traffic(topology, routing);
  w.workload->offer(w, path_mtu, traffic);
  return std::move(traffic).load();
}

std::optional<Overload> find_overload(const std::vector<WorkloadSettings>& workloads,
                                      const Topology& topology, std::uint32_t path_mtu) {
  std::optional<Routing> routing;  // only where some workload has a rate
  std::vector<Rated> rated;
  for (std::size_t i = 0; i < workloads.size(); ++i) {
    const WorkloadSettings& w = workloads[i];
    const auto rate = w.workload->rate(w, topology, path_mtu);
    if (!rate) continue;
    if (!routing) routing.emplace(topology);
    const auto start = static_cast<double>(w.start.ps()), stop = static_cast<double>(w.stop.ps());
    rated.push_back({i, start, std::min(stop, start + rate->duration_ps), w.overload, rate->key,
                     offered_load(topology, *routing, w, path_mtu)});
  }
  Worst worst;
  for (const Rated& now : rated) find_worst(rated, now, topology, worst);
  if (worst.bps == 0) return std::nullopt;
  return Overload{worst.workload, worst.key, words_of(worst, topology)};
}

}  // namespace rocelab
