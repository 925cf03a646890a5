#include "emu/runner/workload_parts.h"

#include <algorithm>
#include <numeric>

#include "emu/runner/formula.h"

namespace rocelab {

std::vector<std::uint32_t> hosts_or_all(const std::vector<std::uint32_t>& named, const Topology& topology) {
  if (!named.empty()) return named;
  std::vector<std::uint32_t> all(topology.hosts());
  std::iota(all.begin(), all.end(), 0u);
  return all;
}

std::vector<std::uint32_t> senders_of(const WorkloadSettings& w, const Topology& topology) {
  return hosts_or_all(w.senders, topology);
}

bool may_send(const WorkloadSettings& w, const Topology& topology, std::uint32_t src, std::uint32_t dst) {
  if (topology.nics_per_host == 1) return src != dst;
  return topology.machine_of(src) != topology.machine_of(dst) &&
         (w.nic_pairs == NicPairs::kAny || topology.nic_number_of(src) == topology.nic_number_of(dst));
}

std::vector<std::uint32_t> senders_to(const WorkloadSettings& w, const Topology& topology,
                                      std::uint32_t receiver) {
  std::vector<std::uint32_t> senders = senders_of(w, topology);
  std::erase_if(senders, [&](std::uint32_t src) { return !may_send(w, topology, src, receiver); });
  return senders;
}

// Of a shortest path from `host`, by node. Nodes that it does not reach: 0.
static std::vector<std::uint32_t> links_from(const Topology& topology, std::uint32_t host) {
  std::vector<std::uint32_t> links(topology.nodes().size()), next = {host};
  while (!next.empty()) {
    std::vector<std::uint32_t> found;
    for (const std::uint32_t node : next)
      for (std::uint32_t port = 0; port < topology.nodes()[node].links.size(); ++port)
        if (const std::uint32_t to = topology.neighbour(node, port); to != host && links[to] == 0) {
          links[to] = links[node] + 1;
          found.push_back(to);
        }
    next = std::move(found);
  }
  return links;
}

std::vector<std::uint32_t> receivers_of(const WorkloadSettings& w, const Topology& topology,
                                        std::uint32_t sender) {
  std::vector<std::uint32_t> hosts;
  std::vector<std::uint32_t> links;
  if (w.min_switches > 2) links = links_from(topology, sender);
  const auto is_far = [&](std::uint32_t host) {
    if (w.min_switches > 2) return links[host] > w.min_switches;
    return w.min_switches < 2 || topology.neighbour(host, 0) != topology.neighbour(sender, 0);
  };
  const auto add = [&](std::uint32_t host) {
    if (may_send(w, topology, sender, host) && is_far(host)) hosts.push_back(host);
  };
  for (const std::uint32_t host : w.receivers) add(host);
  for (std::uint32_t h = 0; w.receivers.empty() && h < topology.hosts(); ++h) add(h);
  return hosts;
}

void for_each_pair(const WorkloadSettings& w, const Topology& topology,
                   const std::function<void(std::uint32_t, std::uint32_t)>& pair) {
  const std::vector<std::uint32_t> senders = senders_of(w, topology);
  for (const std::uint32_t src : senders)
    for (const std::uint32_t dst : w.min_switches > 1    ? receivers_of(w, topology, src)
                                   : w.receivers.empty() ? senders
                                                         : w.receivers)
      if (may_send(w, topology, src, dst)) pair(src, dst);
}

double bps_of(const Topology& topology, const std::vector<std::uint32_t>& hosts) {
  double bps = 0;
  for (const std::uint32_t host : hosts)
    bps += static_cast<double>(topology.links()[topology.nodes()[host].links[0]].rate.bps());
  return bps;
}

namespace {

// Mean of of_size(size) over the sizes of flows.
template <class F>
double mean_over_sizes(const WorkloadSettings& w, F&& of_size) {
  if (w.size.min == w.size.max) return of_size(w.size.min);
  const SizeCdf cdf = w.size.cdf.empty() ? SizeCdf(w.size.min, w.size.max) : w.size.cdf;
  // Means of equal parts of each of the distribution's lines.
  const std::size_t lines = cdf.points().size() - 1, parts = std::max<std::size_t>(8, 512 / lines);
  double sum = 0;
  for (std::size_t i = 1; i <= lines; ++i) {
    const double from = cdf.points()[i - 1].percent, width = cdf.points()[i].percent - from;
    for (std::size_t k = 0; k < parts; ++k) {
      const double middle = (static_cast<double>(k) + 0.5) / static_cast<double>(parts);
      sum += of_size(cdf.at(from + width * middle)) * width / 100 / static_cast<double>(parts);
    }
  }
  return sum;
}

}  // namespace

double mean_wire_bytes(const WorkloadSettings& w, std::uint32_t path_mtu) {
  return mean_over_sizes(w, [&](Bytes size) {
    FlowShape shape;
    shape.op = w.op;
    shape.size = size;
    shape.message_size = message_size_of(size, w.qps, w.message_size);
    shape.qps = w.qps;
    shape.path_mtu = path_mtu;
    return static_cast<double>(wire_bytes_of(shape).count());
  });
}

double mean_ack_bytes(const WorkloadSettings& w, std::uint32_t path_mtu, std::uint32_t interval, Bytes ack) {
  const auto packets = [&](std::int64_t message) { return (message + path_mtu - 1) / path_mtu; };
  return mean_over_sizes(w, [&](Bytes size) {
    const std::int64_t message = message_size_of(size, w.qps, w.message_size).count();
    const std::int64_t whole = size.count() / message, rest = size.count() % message;
    const auto acks = [&](std::int64_t bytes) { return (packets(bytes) + interval - 1) / interval; };
    return static_cast<double>((whole * acks(message) + acks(rest)) * ack.count());
  });
}

Bytes message_size_of(Bytes flow, std::uint32_t qps, Bytes wanted) {
  constexpr std::int64_t kMost = std::int64_t{1} << 31;  // IBTA 9.7.1
  const std::int64_t size = flow.count(),
                     message = wanted.count() > 0 ? wanted.count() : (size + qps - 1) / qps;
  return Bytes::from_count(std::min({message, kMost, size}));
}

double draw_exponential(Rng& rng) {
  for (int whole = 0;; ++whole) {
    const double first = rng.uniform();
    double last = first;
    bool odd = true;  // length of the decreasing run that starts with `first`
    for (double next = rng.uniform(); next < last; next = rng.uniform()) {
      last = next;
      odd = !odd;
    }
    if (odd) return whole + first;
  }
}

Duration think_time(Duration mean, bool constant, Rng& rng) {
  const double share = constant ? 1 : draw_exponential(rng);
  return Duration::from_ps(static_cast<std::int64_t>(static_cast<double>(mean.ps()) * share));
}

}  // namespace rocelab
