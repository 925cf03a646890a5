#include "emu/runner/workloads/incast.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/quantity.h"
#include "emu/runner/workload_parts.h"

namespace rocelab {
namespace {

constexpr auto kFields = fields(
    field<&IncastParams::fan_in>("fan_in", "so many senders, drawn for each request").or_word("all"),
    field<&IncastParams::total>("total",
                                "in place of `size`: payload of a request, striped evenly over its "
                                "senders")
        .positive()
        .or_word("none"),
    field<&IncastParams::repeats>("repeats", "requests; more than one have a rate (below)")
        .within(1, 1'000'000),
    field<&IncastParams::period>("period", "time from one request to the next").positive().or_word("none"),
    field<&IncastParams::every>(
        "every",
        "in place of both: the mean of exponential gaps between requests, which begin "
        "within the duration; they have a rate, too")
        .positive()
        .or_word("none"),
    field<&IncastParams::duration>("duration", "with `every`").positive().or_word("none"));

}  // namespace

Schema<IncastParams> Incast::schema() { return kFields; }

// To a receiver that is drawn, which may be one of them.
std::size_t Incast::fewest_senders(const WorkloadSettings& w, const Topology& topology) {
  const std::size_t senders = senders_of(w, topology).size();
  if (topology.nics_per_host == 1) return senders - 1;
  std::size_t fewest = senders;
  for (std::uint32_t h = 0; h < topology.hosts(); ++h)
    fewest = std::min(fewest, senders_to(w, topology, h).size());
  return fewest;
}

// The number of hosts that can send.
std::size_t Incast::read_receiver(ConfigSection& section, const WorkloadSettings& w,
                                  const Topology& topology) {
  each_ = section.is_word("receiver", "random-each", false);
  if (each_ || section.is_word("receiver", "random", false)) return fewest_senders(w, topology);
  const std::string name = section.text("receiver", "");
  receiver_ = find_host(section, "receiver", topology, name);
  if (std::ranges::find(w.senders, receiver_) != w.senders.end())
    section.fail_at("senders", "holds the receiver \"" + name + "\": a flow to itself crosses no link");
  return senders_to(w, topology, receiver_).size();
}

void Incast::check_requests(ConfigSection& section, std::size_t fan_in) const {
  if (params.every.ps() > 0) {
    for (const char* key : {"period", "repeats"})
      if (section.has(key))
        section.fail_at("every", std::string("excludes ") + key + ": requests come by one of them");
    section.require("duration");
    return;
  }
  if (section.has("duration")) section.fail_at("duration", "needs every: the mean time between requests");
  if (params.repeats > 1 && params.period.ps() == 0)
    section.fail_at("period", "must be more than 0 where an incast repeats");
  if (params.period > kLongestDuration / params.repeats)
    section.fail_at("period", "makes the last request begin after " + to_string(kLongestDuration));
  if (static_cast<std::int64_t>(fan_in) * params.repeats > kMostFlows)
    section.fail_at("repeats", "makes more than " + std::to_string(kMostFlows) + " flows");
}

void Incast::read(ConfigSection& section, WorkloadSettings& w, const WorkloadContext& context) {
  const std::size_t eligible = read_receiver(section, w, context.topology);
  if (eligible == 0) section.fail_at("receiver", "leaves no senders: an incast needs some");
  if (params.fan_in > eligible)
    section.fail_at("fan_in", "= " + std::to_string(params.fan_in) + " is more than the " +
                                  std::to_string(eligible) + " hosts that can send");
  const std::size_t fan_in = params.fan_in == 0 ? eligible : params.fan_in;
  if (params.total.count() == 0) {
    w.size = read_sizes(section, context.folder);
  } else {
    for (const char* key : {"size", "size_min", "size_max", "cdf"})
      if (section.has(key)) section.fail_at("total", std::string("excludes ") + key);
    if (params.total.count() < static_cast<std::int64_t>(fan_in))
      section.fail_at("total", "is less than a byte for each sender");
  }
  check_requests(section, fan_in);
}

Bytes Incast::largest_flow(const WorkloadSettings& w) const {
  return params.total.count() > 0 ? params.total : w.size.max;
}

// From the workload's start on.
std::vector<Duration> Incast::request_starts(const Rng& rng) const {
  std::vector<Duration> starts;
  for (std::uint32_t i = 0; params.every.ps() == 0 && i < params.repeats; ++i)
    starts.push_back(i * params.period);
  if (params.every.ps() == 0) return starts;
  Rng gaps = rng.fork("gaps");
  const auto mean_ps = static_cast<double>(params.every.ps()),
             end_ps = static_cast<double>(params.duration.ps());
  for (double at = mean_ps * draw_exponential(gaps); at < end_ps; at += mean_ps * draw_exponential(gaps))
    starts.push_back(Duration::from_ps(static_cast<std::int64_t>(at)));
  return starts;
}

// The first fan_in of a shuffle (Fisher-Yates); all senders in their order where all take part.
void Incast::draw_request(FlowDraw& draw, std::vector<std::uint32_t>& senders, std::uint32_t receiver,
                          std::uint32_t request, Duration start) const {
  const std::size_t all = senders.size(), many = params.fan_in == 0 ? all : params.fan_in;
  if (many < all)
    for (std::size_t i = 0; i < many; ++i) std::swap(senders[i], senders[i + draw.rng().below(all - i)]);
  const std::int64_t total = params.total.count(), stripes = static_cast<std::int64_t>(many);
  for (std::size_t i = 0; i < many; ++i) {
    Flow& flow = draw.add(senders[i], receiver, start);
    flow.request = request;
    if (total > 0)  // the bytes that do not divide go to the first
      flow.size =
          Bytes::from_count(total / stripes + (static_cast<std::int64_t>(i) < total % stripes ? 1 : 0));
  }
}

void Incast::draw(FlowDraw& draw) const {
  const auto draw_receiver = [&] {
    return static_cast<std::uint32_t>(draw.rng().below(draw.topology().hosts()));
  };
  const std::vector<Duration> starts = request_starts(draw.rng());
  const bool drawn = receiver_ == Topology::kNoNode;
  std::uint32_t receiver = drawn && !each_ ? draw_receiver() : receiver_;
  std::vector<std::uint32_t> senders = senders_to(draw.workload(), draw.topology(), receiver);
  for (std::uint32_t request = 0; request < starts.size(); ++request) {
    if (each_) {
      receiver = draw_receiver();
      senders = senders_to(draw.workload(), draw.topology(), receiver);
    }
    draw_request(draw, senders, receiver, request, starts[request]);
  }
}

std::optional<WorkloadRate> Incast::rate(const WorkloadSettings&, const Topology&, std::uint32_t) const {
  if (params.every.ps() > 0) return WorkloadRate{"every", static_cast<double>(params.duration.ps())};
  if (params.repeats == 1) return std::nullopt;
  return WorkloadRate{"period", static_cast<double>(params.period.ps()) * params.repeats};
}

namespace {

// Of one request after another, `bps` together.
void add_requests(OfferedTraffic& traffic, const WorkloadSettings& w, std::uint32_t receiver, double bps) {
  traffic.arrives(receiver, bps);
  const std::vector<std::uint32_t> senders = senders_to(w, traffic.topology(), receiver);
  const double share = bps / static_cast<double>(senders.size());
  for (const std::uint32_t from : senders) {
    traffic.leaves(from, share);
    if (traffic.edge(from) != traffic.edge(receiver)) traffic.crosses(traffic.edge(from), receiver, share);
  }
}

double bits_of_request(const WorkloadSettings& w, Bytes total, std::size_t stripes, std::uint32_t path_mtu) {
  WorkloadSettings one = w;
  if (total.count() > 0)
    one.size.min = one.size.max = Bytes::from_count(total.count() / static_cast<std::int64_t>(stripes));
  return 8 * mean_wire_bytes(one, path_mtu) * static_cast<double>(stripes);
}

}  // namespace

// Of a receiver that is drawn once only the last link is told, of each host: any may be it.
void Incast::offer(const WorkloadSettings& w, std::uint32_t path_mtu, OfferedTraffic& traffic) const {
  const Topology& topology = traffic.topology();
  const std::size_t eligible = receiver_ != Topology::kNoNode ? senders_to(w, topology, receiver_).size()
                               : topology.nics_per_host > 1
                                   ? fewest_senders(w, topology)
                                   : senders_of(w, topology).size() - (w.senders.empty() ? 1 : 0);
  const std::size_t stripes = params.fan_in != 0 ? params.fan_in : eligible;
  const Duration gap = params.every.ps() > 0 ? params.every : params.period;
  const double bps =
      bits_of_request(w, params.total, stripes, path_mtu) * 1e12 / static_cast<double>(gap.ps());
  if (receiver_ != Topology::kNoNode) return add_requests(traffic, w, receiver_, bps);
  for (std::uint32_t h = 0; h < topology.hosts(); ++h) {
    if (each_)
      add_requests(traffic, w, h, bps / topology.hosts());
    else
      traffic.arrives(h, bps);
  }
}

double Incast::expected_flows(const WorkloadSettings& w, const Topology& topology, std::uint32_t) const {
  if (params.every.ps() == 0) return 0;
  const std::size_t fan_in = params.fan_in != 0 ? params.fan_in : senders_of(w, topology).size();
  return params.duration.seconds() / params.every.seconds() * static_cast<double>(fan_in);
}

}  // namespace rocelab
