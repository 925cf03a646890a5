#include "emu/runner/arrivals.h"

#include <algorithm>
#include <queue>

#include "emu/runner/formula.h"
#include "emu/runner/workload.h"

namespace rocelab {
namespace {

class Sender {
 public:
  Sender(const Settings& settings, std::uint32_t host, std::vector<std::uint32_t> receivers,
         double wire_bytes, double load, Rng rng)
      : host_(host), receivers_(std::move(receivers)), rng_(std::move(rng)) {
    const Link& link = settings.topology.links()[settings.topology.nodes()[host].links[0]];
    mean_gap_ps_ = wire_bytes * 8e12 / static_cast<double>(link.rate.bps()) / load;
    advance();
  }
  double at_ps() const { return at_ps_; }
  Arrival take() {
    const std::uint32_t to = receivers_[rng_.below(receivers_.size())];
    const Arrival a{Duration::from_ps(static_cast<std::int64_t>(at_ps_)), host_, to};
    advance();
    return a;
  }

 private:
  void advance() { at_ps_ += mean_gap_ps_ * draw_exponential(rng_); }
  std::uint32_t host_;
  std::vector<std::uint32_t> receivers_;
  Rng rng_;
  double mean_gap_ps_ = 0, at_ps_ = 0;
};

}  // namespace

std::vector<std::uint32_t> senders_of(const WorkloadSettings& w, const Topology& topology) {
  std::vector<std::uint32_t> hosts = w.senders;
  for (std::uint32_t h = 0; w.senders.empty() && h < topology.hosts(); ++h) hosts.push_back(h);
  return hosts;
}

std::vector<std::uint32_t> receivers_of(const WorkloadSettings& w, const Topology& topology,
                                        std::uint32_t sender) {
  std::vector<std::uint32_t> hosts;
  const auto add = [&](std::uint32_t host) {
    const bool elsewhere = topology.neighbour(host, 0) != topology.neighbour(sender, 0);
    if (host != sender && (elsewhere || !w.behind_other_switches)) hosts.push_back(host);
  };
  for (const std::uint32_t host : w.receivers) add(host);
  for (std::uint32_t h = 0; w.receivers.empty() && h < topology.hosts(); ++h) add(h);
  return hosts;
}

double bps_of(const Topology& topology, const std::vector<std::uint32_t>& hosts) {
  double bps = 0;
  for (const std::uint32_t host : hosts)
    bps += static_cast<double>(topology.links()[topology.nodes()[host].links[0]].rate.bps());
  return bps;
}

double mean_wire_bytes(const WorkloadSettings& w, std::uint32_t path_mtu) {
  const auto wire = [&](Bytes size) {
    FlowShape shape;
    shape.op = w.op;
    shape.size = size;
    shape.message_size = message_size_of(size, w.qps, w.message_size);
    shape.qps = w.qps;
    shape.path_mtu = path_mtu;
    return static_cast<double>(wire_bytes_of(shape).count());
  };
  if (w.size.min == w.size.max) return wire(w.size.min);
  const SizeCdf cdf = w.size.cdf.empty() ? SizeCdf(w.size.min, w.size.max) : w.size.cdf;
  // Means of equal parts of each of the distribution's lines.
  const std::size_t lines = cdf.points().size() - 1, parts = std::max<std::size_t>(8, 512 / lines);
  double sum = 0;
  for (std::size_t i = 1; i <= lines; ++i) {
    const double from = cdf.points()[i - 1].percent, width = cdf.points()[i].percent - from;
    for (std::size_t k = 0; k < parts; ++k) {
      const double middle = (static_cast<double>(k) + 0.5) / static_cast<double>(parts);
      sum += wire(cdf.at(from + width * middle)) * width / 100 / static_cast<double>(parts);
    }
  }
  return sum;
}

double expected_flows(const WorkloadSettings& w, const Topology& topology, std::uint32_t path_mtu) {
  if (w.kind == WorkloadKind::kIncast && w.incast.every.ps() > 0) {
    const std::size_t fan_in = w.incast.fan_in != 0 ? w.incast.fan_in : senders_of(w, topology).size();
    return w.incast.duration.seconds() / w.incast.every.seconds() * static_cast<double>(fan_in);
  }
  if (w.kind != WorkloadKind::kPoisson || w.poisson.flows != 0) return 0;
  return w.poisson.duration.seconds() * w.poisson.load * bps_of(topology, senders_of(w, topology)) /
         (8 * mean_wire_bytes(w, path_mtu));
}

namespace {

bool full(const WorkloadSettings& w, const std::vector<Arrival>& arrivals) {
  return w.poisson.flows != 0 && arrivals.size() >= w.poisson.flows;
}

// The rate is that of all senders together; who sends is drawn first, then to whom.
std::vector<Arrival> draw_in_network(const Topology& topology, const std::vector<std::uint32_t>& hosts,
                                     const WorkloadSettings& w, double bytes, Rng rng) {
  std::vector<std::vector<std::uint32_t>> receivers;
  for (const std::uint32_t host : hosts) receivers.push_back(receivers_of(w, topology, host));
  const double mean_gap_ps = bytes * 8e12 / (w.poisson.load * bps_of(topology, hosts));
  std::vector<Arrival> arrivals;
  double at_ps = mean_gap_ps * draw_exponential(rng);
  while (!full(w, arrivals) && at_ps < static_cast<double>(w.poisson.duration.ps())) {
    const std::size_t from = rng.below(hosts.size());
    const std::uint32_t to = receivers[from][rng.below(receivers[from].size())];
    arrivals.push_back({Duration::from_ps(static_cast<std::int64_t>(at_ps)), hosts[from], to});
    at_ps += mean_gap_ps * draw_exponential(rng);
  }
  return arrivals;
}

}  // namespace

std::vector<Arrival> draw_arrivals(const Settings& settings, const WorkloadSettings& w, const Rng& seed) {
  const double bytes = mean_wire_bytes(w, settings.nic.config.active_mtu);
  const std::vector<std::uint32_t> hosts = senders_of(w, settings.topology);
  if (w.poisson.network) return draw_in_network(settings.topology, hosts, w, bytes, seed.fork("network"));
  std::vector<Sender> senders;
  for (const std::uint32_t host : hosts)
    senders.emplace_back(settings, host, receivers_of(w, settings.topology, host), bytes, w.poisson.load,
                         seed.fork("from/" + settings.topology.nodes()[host].name));
  const auto later = [&](std::size_t a, std::size_t b) {
    return senders[a].at_ps() > senders[b].at_ps() || (senders[a].at_ps() == senders[b].at_ps() && a > b);
  };
  std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(later)> next(later);
  for (std::size_t i = 0; i < senders.size(); ++i) next.push(i);
  std::vector<Arrival> arrivals;
  while (!full(w, arrivals)) {
    const std::size_t i = next.top();
    if (senders[i].at_ps() >= static_cast<double>(w.poisson.duration.ps())) break;
    next.pop();
    arrivals.push_back(senders[i].take());
    next.push(i);
  }
  return arrivals;
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

}  // namespace rocelab
