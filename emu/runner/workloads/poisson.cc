#include "emu/runner/workloads/poisson.h"

#include <algorithm>
#include <map>
#include <queue>

#include "base/wire/ethernet.h"
#include "base/wire/icrc.h"
#include "base/wire/ipv4.h"
#include "base/wire/opcode.h"
#include "base/wire/udp.h"
#include "base/wire_clock.h"
#include "emu/runner/workload_parts.h"

namespace rocelab {
namespace {

constexpr std::string_view kArrivals[] = {"senders", "network"};
constexpr std::string_view kCounts[] = {"data", "acks"};

constexpr auto kFields = fields(
    field<&PoissonParams::load>(
        "load",
        "share of each sender's link, headers included (counted as RoCE's for every "
        "label; see `counts`); receivers are drawn among all other hosts. This or `every` is needed")
        .within(1e-6, 1)
        .or_word("none"),
    field<&PoissonParams::every>("every",
                                 "in place of `load`: the mean time between flows of the whole network")
        .positive()
        .or_word("none"),
    choice<&PoissonParams::counts_acks>(
        "counts", kCounts,
        "what `load` is a share of: `data`: all labels have the same flows; `acks`: acknowledgements count, "
        "too, as the label's transport sends them without loss, so that labels have the same bytes on the "
        "wire "
        "in place of the same flows (DEVIATIONS.md#irn)"),
    choice<&PoissonParams::network>(
        "arrivals", kArrivals,
        "`senders`: each sender has a Poisson process of its own, of `load` of its link; `network`: one "
        "process of the `load` of all senders' links together, each flow of which draws its sender, then its "
        "receiver among the others"),
    field<&PoissonParams::duration>("duration", "flows start within it; this or `flows` is needed")
        .positive()
        .or_word("unlimited", Duration::infinite()),
    field<&PoissonParams::flows>("flows", "at most so many, the earliest")
        .within(1, kMostFlows)
        .or_word("unlimited"));

struct Arrival {
  Duration at;
  std::uint32_t src = 0, dst = 0;  // hosts
};

// Wire bytes of an acknowledgement of the label's transport.
Bytes ack_on_wire(bool irn, FlowOp op) {
  const bool read = op == FlowOp::kRead;
  const auto headers = opcode_info(irn ? TransportClass::kIrn : TransportClass::kRc,
                                   irn && read ? Operation::kReadAck : Operation::kAck)
                           .header_bytes;
  const auto around = EthernetHeader::kSize + Ipv4Header::kSize + UdpHeader::kSize + kIcrcBytes;
  return wire_bytes(std::max(kMinFrameBytes, Bytes::from_count(static_cast<std::int64_t>(around + headers))));
}

// Of the senders' links. `bytes`: mean of a flow on the wire.
double load_of(const PoissonParams& params, double bytes, double links_bps) {
  return params.every == Duration{} ? params.load : 8 * bytes / (params.every.seconds() * links_bps);
}

class Sender {
 public:
  Sender(const Topology& topology, std::uint32_t host, std::vector<std::uint32_t> receivers,
         double wire_bytes, double load, Rng rng)
      : host_(host), receivers_(std::move(receivers)), rng_(std::move(rng)) {
    mean_gap_ps_ = wire_bytes * 8e12 / bps_of(topology, {host}) / load;
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

bool full(const PoissonParams& params, const std::vector<Arrival>& arrivals) {
  return params.flows != 0 && arrivals.size() >= params.flows;
}

// The rate is that of all senders together; who sends is drawn first, then to whom.
std::vector<Arrival> draw_in_network(const PoissonParams& params, const FlowDraw& draw, double bytes,
                                     Rng rng) {
  const std::vector<std::uint32_t>& hosts = draw.senders();
  std::vector<std::vector<std::uint32_t>> receivers;
  for (const std::uint32_t host : hosts)
    receivers.push_back(receivers_of(draw.workload(), draw.topology(), host));
  const double links_bps = bps_of(draw.topology(), hosts);
  const double mean_gap_ps = bytes * 8e12 / (load_of(params, bytes, links_bps) * links_bps);
  std::vector<Arrival> arrivals;
  double at_ps = mean_gap_ps * draw_exponential(rng);
  while (!full(params, arrivals) && at_ps < static_cast<double>(params.duration.ps())) {
    const std::size_t from = rng.below(hosts.size());
    const std::uint32_t to = receivers[from][rng.below(receivers[from].size())];
    arrivals.push_back({Duration::from_ps(static_cast<std::int64_t>(at_ps)), hosts[from], to});
    at_ps += mean_gap_ps * draw_exponential(rng);
  }
  return arrivals;
}

// In the order of `at`. A limit on the number of flows cuts the end and changes nothing before it: each
// sender has a stream of random numbers of its own.
std::vector<Arrival> draw_of_senders(const PoissonParams& params, FlowDraw& draw, double bytes) {
  std::vector<Sender> senders;
  for (const std::uint32_t host : draw.senders())
    senders.emplace_back(draw.topology(), host, receivers_of(draw.workload(), draw.topology(), host), bytes,
                         params.load, draw.rng().fork("from/" + draw.topology().nodes()[host].name));
  const auto later = [&](std::size_t a, std::size_t b) {
    return senders[a].at_ps() > senders[b].at_ps() || (senders[a].at_ps() == senders[b].at_ps() && a > b);
  };
  std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(later)> next(later);
  for (std::size_t i = 0; i < senders.size(); ++i) next.push(i);
  std::vector<Arrival> arrivals;
  while (!full(params, arrivals)) {
    const std::size_t i = next.top();
    if (senders[i].at_ps() >= static_cast<double>(params.duration.ps())) break;
    next.pop();
    arrivals.push_back(senders[i].take());
    next.push(i);
  }
  return arrivals;
}

}  // namespace

Schema<PoissonParams> Poisson::schema() { return kFields; }

void Poisson::read(ConfigSection& section, WorkloadSettings& w, const WorkloadContext& context) {
  if (params.every == Duration{}) {
    section.require("load");
  } else {
    if (section.has("load")) section.fail_at("every", "excludes load: flows come by one of them");
    if (section.has("arrivals") && !params.network)
      section.fail_at("arrivals", "must be \"network\" with every: load is of single senders");
    params.network = true;
  }
  if (params.counts_acks) {
    if (!section.has("load")) section.fail_at("counts", "is about load, which every replaces");
    const bool irn = context.nic.mode == TransportMode::kIrn;
    const bool acknowledged = irn || w.op != FlowOp::kRead;  // RoCE's READ responses are not
    ack_interval_ = !acknowledged ? 0 : irn ? 1 : context.nic.ack_interval;
    ack_bytes_ = ack_on_wire(irn, w.op);
  }
  if (params.duration == Duration::infinite() && params.flows == 0)
    section.fail("workload \"" + w.name + "\" of kind \"poisson\" needs a duration or a number of flows");
}

void Poisson::check(ConfigSection& section, const WorkloadSettings& w, const Topology& topology) const {
  if (w.receivers.size() == 1 && (w.senders.empty() || std::ranges::count(w.senders, w.receivers[0]) > 0))
    section.fail_at("receivers", "is one host, which is among the senders: it would send to itself");
  if (topology.hosts() < 2) section.fail_at("kind", "needs at least two hosts");
  if (topology.nics_per_host == 1) return;
  for (const std::uint32_t sender : senders_of(w, topology))
    if (receivers_of(w, topology, sender).empty())
      section.fail_at("receivers", "leave \"" + topology.nodes()[sender].name +
                                       "\" nobody to send to: no NIC of another host that `nic` allows");
}

void Poisson::draw(FlowDraw& draw) const {
  const double bytes = flow_bytes(draw.workload(), draw.path_mtu()).all();
  for (const Arrival& a : params.network ? draw_in_network(params, draw, bytes, draw.rng().fork("network"))
                                         : draw_of_senders(params, draw, bytes))
    draw.add_plain(a.src, a.dst, a.at).size = draw.size();
}

std::optional<WorkloadRate> Poisson::rate(const WorkloadSettings& w, const Topology& topology,
                                          std::uint32_t path_mtu) const {
  const auto longest = static_cast<double>(params.duration.ps());
  const std::string_view key = params.every == Duration{} ? "load" : "every";
  if (params.flows == 0) return WorkloadRate{key, longest};
  const double flows_per_ps = expected_rate(w, topology, path_mtu) / 1e12;
  return WorkloadRate{key, std::min(longest, static_cast<double>(params.flows) / flows_per_ps)};
}

void Poisson::offer(const WorkloadSettings& w, std::uint32_t path_mtu, OfferedTraffic& traffic) const {
  const Topology& topology = traffic.topology();
  const std::vector<std::uint32_t> senders = senders_of(w, topology);
  const double links_bps = bps_of(topology, senders);
  const double mean_rate = links_bps / static_cast<double>(senders.size());
  const FlowBytes bytes = flow_bytes(w, path_mtu);
  const double load = load_of(params, bytes.all(), links_bps) * bytes.data / bytes.all();
  const double answers = bytes.acks / bytes.data;                    // come back for each byte of data
  std::map<std::uint32_t, std::map<std::uint32_t, double>> to_from;  // to a host, from an edge switch
  for (const std::uint32_t host : senders) {
    const std::vector<std::uint32_t> receivers = receivers_of(w, topology, host);
    const double bps = load * (params.network ? mean_rate : bps_of(topology, {host}));
    if (!receivers.empty()) traffic.leaves(host, bps);
    for (const std::uint32_t to : receivers)
      to_from[to][traffic.edge(host)] += bps / static_cast<double>(receivers.size());
  }
  for (const auto& [to, from] : to_from)
    for (const auto& [edge, bps] : from) {
      traffic.arrives(to, bps);
      if (edge != traffic.edge(to)) traffic.crosses(edge, to, bps);
    }
  if (answers == 0) return;
  for (const std::uint32_t host : senders) {
    const std::vector<std::uint32_t> receivers = receivers_of(w, topology, host);
    const double bps = load * answers * (params.network ? mean_rate : bps_of(topology, {host}));
    for (const std::uint32_t from : receivers)
      traffic.between(from, host, bps / static_cast<double>(receivers.size()));
  }
}

Poisson::FlowBytes Poisson::flow_bytes(const WorkloadSettings& w, std::uint32_t path_mtu) const {
  const bool counts = ack_interval_ != 0;
  return {mean_wire_bytes(w, path_mtu), counts ? mean_ack_bytes(w, path_mtu, ack_interval_, ack_bytes_) : 0};
}

double Poisson::expected_flows(const WorkloadSettings& w, const Topology& topology,
                               std::uint32_t path_mtu) const {
  return params.flows != 0 ? 0 : params.duration.seconds() * expected_rate(w, topology, path_mtu);
}

// Flows a second.
double Poisson::expected_rate(const WorkloadSettings& w, const Topology& topology,
                              std::uint32_t path_mtu) const {
  const double bytes = flow_bytes(w, path_mtu).all(), links_bps = bps_of(topology, senders_of(w, topology));
  return load_of(params, bytes, links_bps) * links_bps / (8 * bytes);
}

}  // namespace rocelab
