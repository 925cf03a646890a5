#include "emu/runner/offered_load.h"

#include <algorithm>
#include <map>
#include <sstream>

#include "emu/runner/arrivals.h"

namespace rocelab {
namespace {

constexpr double kTolerance = 1.0001;  // what is drawn differs by more

std::vector<std::uint32_t> hosts_or_all(const std::vector<std::uint32_t>& named, const Topology& topology) {
  if (!named.empty()) return named;
  std::vector<std::uint32_t> all(topology.hosts());
  for (std::uint32_t h = 0; h < topology.hosts(); ++h) all[h] = h;
  return all;
}

bool contains(const std::vector<std::uint32_t>& sorted, std::uint32_t host) {
  return std::binary_search(sorted.begin(), sorted.end(), host);
}

// Traffic from host to host, collected by the switches on which they hang and then sent over the routes.
class Traffic {
 public:
  Traffic(const Topology& topology, const Routing& routing)
      : topology_(topology), routing_(routing), load_(2 * topology.links().size()) {}

  std::uint32_t edge(std::uint32_t host) const { return topology_.neighbour(host, 0); }
  double rate(std::uint32_t host) const {
    return static_cast<double>(topology_.links()[link_of(host)].rate.bps());
  }
  void leaves(std::uint32_t host, double bps) { load_[2 * link_of(host)] += bps; }
  void arrives(std::uint32_t host, double bps) { load_[2 * link_of(host) + 1] += bps; }
  // Between the switches of two hosts.
  void crosses(std::uint32_t from_edge, std::uint32_t to_host, double bps) {
    Towards& towards = towards_[routing_.single_path() ? to_host : edge(to_host)];
    towards.host = to_host;
    towards.at.resize(topology_.nodes().size());
    towards.at[from_edge] += bps;
  }

  std::vector<double> load() && {
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

 private:
  struct Towards {  // one edge switch, or one host where each has its own way
    std::uint32_t host = 0;
    std::vector<double> at;  // [switch]: bits per second on their way
  };

  std::uint32_t link_of(std::uint32_t host) const { return topology_.nodes()[host].links[0]; }

  // Switches on the ways to `host`, each behind those that it sends to.
  void visit(std::uint32_t node, std::uint32_t host, std::vector<bool>& seen,
             std::vector<std::uint32_t>& order) const {
    if (seen[node]) return;
    seen[node] = true;
    for (const std::uint32_t port : routing_.next_ports(node, host))
      visit(topology_.neighbour(node, port), host, seen, order);
    order.push_back(node);
  }

  void send(std::uint32_t node, Towards& towards) {
    const std::vector<std::uint32_t> ports = routing_.next_ports(node, towards.host);
    const double share = towards.at[node] / static_cast<double>(ports.size());
    for (const std::uint32_t port : ports) {
      const std::uint32_t link = topology_.nodes()[node].links[port];
      load_[2 * link + (topology_.links()[link].a == node ? 0 : 1)] += share;
      towards.at[topology_.neighbour(node, port)] += share;
    }
  }

  const Topology& topology_;
  const Routing& routing_;
  std::vector<double> load_;
  std::map<std::uint32_t, Towards> towards_;
};

void add_poisson(Traffic& traffic, const Topology& topology, const WorkloadSettings& w) {
  std::vector<std::uint32_t> senders = hosts_or_all(w.senders, topology),
                             targets = hosts_or_all(w.receivers, topology);
  for (auto* hosts : {&senders, &targets}) std::sort(hosts->begin(), hosts->end());
  const double mean_rate = bps_of(topology, senders) / static_cast<double>(senders.size());
  double to_each = 0;
  std::map<std::uint32_t, double> from_edge, share;  // share: of what a host sends, for each of its receivers
  for (const std::uint32_t host : senders) {
    const double others = static_cast<double>(receivers_of(w, topology, host).size());
    const double bps = w.poisson.load * (w.poisson.network ? mean_rate : traffic.rate(host));
    share[host] = others == 0 ? 0 : bps / others;
    to_each += share[host];
    from_edge[traffic.edge(host)] += share[host];
    if (others > 0) traffic.leaves(host, bps);
  }
  for (const std::uint32_t to : targets) {
    const double own = w.behind_other_switches ? from_edge[traffic.edge(to)]
                       : contains(senders, to) ? share[to]
                                               : 0;
    traffic.arrives(to, to_each - own);
    for (const auto& [edge, bps] : from_edge)
      if (edge != traffic.edge(to)) traffic.crosses(edge, to, bps);
  }
}

double bits_of_request(const WorkloadSettings& w, std::size_t stripes, std::uint32_t path_mtu) {
  WorkloadSettings one = w;
  if (w.incast.total.count() > 0) {
    one.size = {w.incast.total, w.incast.total};
    one.size.min = one.size.max =
        Bytes::from_count(w.incast.total.count() / static_cast<std::int64_t>(stripes));
  }
  return 8 * mean_wire_bytes(one, path_mtu) * static_cast<double>(stripes);
}

// Of one request after another, `bps` together.
void add_requests(Traffic& traffic, const std::vector<std::uint32_t>& senders, std::uint32_t receiver,
                  double bps) {
  traffic.arrives(receiver, bps);
  const auto own = static_cast<std::size_t>(std::ranges::count(senders, receiver));
  const double share = bps / static_cast<double>(senders.size() - own);
  for (const std::uint32_t from : senders) {
    if (from == receiver) continue;
    traffic.leaves(from, share);
    if (traffic.edge(from) != traffic.edge(receiver)) traffic.crosses(traffic.edge(from), receiver, share);
  }
}

void add_incast(Traffic& traffic, const Topology& topology, const WorkloadSettings& w,
                std::uint32_t path_mtu) {
  const std::vector<std::uint32_t> senders = hosts_or_all(w.senders, topology);
  const bool drawn = w.incast.receiver == Topology::kNoNode;
  const std::size_t eligible = senders.size() - (w.senders.empty() ? 1 : 0);
  const std::size_t stripes = w.incast.fan_in != 0 ? w.incast.fan_in : eligible;
  const double bps = bits_of_request(w, stripes, path_mtu) * 1e12 / static_cast<double>(w.incast.gap().ps());
  if (!drawn) return add_requests(traffic, senders, w.incast.receiver, bps);
  for (std::uint32_t h = 0; h < topology.hosts(); ++h) {
    if (w.incast.each)
      add_requests(traffic, senders, h, bps / topology.hosts());
    else
      traffic.arrives(h, bps);
  }
}

// Each pair has a stream.
void add_streams(Traffic& traffic, const Topology& topology, const WorkloadSettings& w,
                 std::uint32_t path_mtu) {
  WorkloadSettings one = w;
  one.size = {w.message_size, w.message_size};
  const StreamSettings& stream = w.stream;
  const double on = stream.off.ps() == 0 ? 1 : stream.on.seconds() / (stream.on + stream.off).seconds();
  const double bps = static_cast<double>(stream.rate.bps()) * on * mean_wire_bytes(one, path_mtu) /
                     static_cast<double>(w.message_size.count());
  const std::vector<std::uint32_t> senders = senders_of(w, topology);
  for (const std::uint32_t from : senders)
    for (const std::uint32_t to : receivers_of(w, topology, from)) {
      traffic.leaves(from, bps);
      traffic.arrives(to, bps);
      if (traffic.edge(from) != traffic.edge(to)) traffic.crosses(traffic.edge(from), to, bps);
    }
}

bool has_rate(const WorkloadSettings& w) {
  return w.kind == WorkloadKind::kStream || w.kind == WorkloadKind::kPoisson ||
         (w.kind == WorkloadKind::kIncast && w.incast.has_rate());
}

// Until when flows start, about.
double arrivals_end_ps(const WorkloadSettings& w, const Topology& topology, std::uint32_t path_mtu) {
  const auto start = static_cast<double>(w.start.ps());
  if (w.kind == WorkloadKind::kIncast)
    return start + (w.incast.every.ps() > 0 ? static_cast<double>(w.incast.duration.ps())
                                            : static_cast<double>(w.incast.period.ps()) * w.incast.repeats);
  const double longest = static_cast<double>(w.poisson.duration.ps());
  if (w.poisson.flows == 0) return start + longest;
  const double bps = w.poisson.load * bps_of(topology, senders_of(w, topology));
  const double bits = 8 * mean_wire_bytes(w, path_mtu) * static_cast<double>(w.poisson.flows);
  return start + std::min(longest, bits * 1e12 / bps);
}

// A stream has no end but its stop.
double end_ps(const WorkloadSettings& w, const Topology& topology, std::uint32_t path_mtu) {
  const auto stop = static_cast<double>(w.stop.ps());
  return w.kind == WorkloadKind::kStream ? stop : std::min(stop, arrivals_end_ps(w, topology, path_mtu));
}

struct Rated {
  std::size_t workload = 0;
  double from_ps = 0, until_ps = 0;
  bool overload = false;
  std::vector<double> bps;
};

struct Worst {
  double share = kTolerance, bps = 0;
  std::size_t direction = 0, workload = 0;
};

// At the time at which `now` begins.
void find_worst(const std::vector<Rated>& rated, const Rated& now, const Topology& topology, Worst& worst) {
  for (std::size_t d = 0; d < now.bps.size(); ++d) {
    const auto rate = static_cast<double>(topology.links()[d / 2].rate.bps());
    double bps = 0;
    bool allowed = false;
    std::optional<std::size_t> crossing;
    for (const Rated& r : rated) {
      if (r.from_ps > now.from_ps || r.until_ps <= now.from_ps || r.bps[d] == 0) continue;
      bps += r.bps[d];
      allowed = allowed || r.overload;
      if (!crossing && bps > rate * kTolerance) crossing = r.workload;
    }
    if (crossing && !allowed && bps / rate > worst.share * (1 + 1e-9))
      worst = {bps / rate, bps, d, *crossing};
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

std::vector<double> offered_load(const Topology& topology, const Routing& routing, const WorkloadSettings& w,
                                 std::uint32_t path_mtu) {
  if (!has_rate(w)) return {};
  Traffic traffic(topology, routing);
  if (w.kind == WorkloadKind::kStream)
    add_streams(traffic, topology, w, path_mtu);
  else if (w.kind == WorkloadKind::kPoisson)
    add_poisson(traffic, topology, w);
  else
    add_incast(traffic, topology, w, path_mtu);
  return std::move(traffic).load();
}

std::optional<Overload> find_overload(const std::vector<WorkloadSettings>& workloads,
                                      const Topology& topology, std::uint32_t path_mtu) {
  if (std::none_of(workloads.begin(), workloads.end(), has_rate)) return std::nullopt;
  const Routing routing(topology);
  std::vector<Rated> rated;
  for (std::size_t i = 0; i < workloads.size(); ++i) {
    const WorkloadSettings& w = workloads[i];
    if (has_rate(w))
      rated.push_back({i, static_cast<double>(w.start.ps()), end_ps(w, topology, path_mtu), w.overload,
                       offered_load(topology, routing, w, path_mtu)});
  }
  Worst worst;
  for (const Rated& now : rated) find_worst(rated, now, topology, worst);
  if (worst.bps == 0) return std::nullopt;
  return Overload{worst.workload, words_of(worst, topology)};
}

}  // namespace rocelab
