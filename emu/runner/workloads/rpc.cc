#include "emu/runner/workloads/rpc.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/quantity.h"
#include "emu/runner/workload_parts.h"

namespace rocelab {
namespace {

constexpr auto kFields = fields(
    field<&RpcParams::load>(
        "load",
        "open loop: share of each client's link, headers included, that its requests take, or their "
        "responses where these are larger; `load`, `every` or `requests` is needed")
        .within(1e-6, 1)
        .or_word("none"),
    field<&RpcParams::every>("every", "in place of `load`: mean time between requests of a client")
        .positive()
        .or_word("none"),
    field<&RpcParams::duration>("duration", "open loop: requests come within it").positive().or_word("none"),
    field<&RpcParams::requests>(
        "requests", "closed loop: requests, one after the other, in each of a client's `outstanding` places")
        .within(1, 10'000'000)
        .or_word("none"),
    field<&RpcParams::outstanding>(
        "outstanding",
        "open loop: most RPCs that a client has under way with a server; later requests wait at the client. "
        "Closed loop: places of a client, each with queue pairs of its own; 1 unless given")
        .within(1, 4'096)
        .or_word("unlimited"),
    field<&RpcParams::think>("think",
                             "closed loop: mean time from a response to the next request of its place")
        .within(0_ps, 1_s),
    choice<&RpcParams::constant_think>("think_times", kThinkTimes, "how these times are distributed"),
    field<&RpcParams::service_time>("service_time",
                                    "from the last byte of a request at the server to its response")
        .within(0_ps, 1_s));

// Requests of one place of a client to a server, and the responses, have queue pairs of their own each.
std::uint32_t connection_of(std::uint32_t place, bool response) { return 1 + 2 * place + (response ? 1 : 0); }

Duration rounded(double ps) { return Duration::from_ps(static_cast<std::int64_t>(ps)); }

}  // namespace

Schema<RpcParams> Rpc::schema() { return kFields; }

void Rpc::read(ConfigSection& section, WorkloadSettings& w, const WorkloadContext& context) {
  const bool by_load = params.load > 0, by_gap = params.every.ps() > 0, closed = params.requests > 0;
  if (!by_load && !by_gap && !closed)
    section.fail("workload \"" + w.name +
                 "\" of kind \"rpc\" needs load or every (open loop), or requests (closed loop)");
  if (by_load && by_gap) section.fail_at("every", "excludes load: requests come by one of them");
  if (closed && (by_load || by_gap))
    section.fail_at("requests", std::string("is of a closed loop, and excludes ") +
                                    (by_load ? "load" : "every") + ", which is of an open one");
  if (!closed) section.require("duration");
  for (const char* key : {"think", "think_times"})
    if (!closed && section.has(key))
      section.fail_at(key, "is of a closed loop: it needs requests in place of load or every");
  if (closed && section.has("duration"))
    section.fail_at("duration", "is of an open loop: a closed one ends after its requests");
  if (closed && params.outstanding == 0) {
    if (section.has("outstanding")) section.fail_at("outstanding", "of a closed loop must be a number");
    params.outstanding = 1;
  }
  if (w.service != FlowService::kRc) section.fail_at("service", "must be \"rc\": each request is answered");
  if (w.op == FlowOp::kRead)
    section.fail_at("op", "must be \"write\" or \"send\": a server that is read does not know of it");
  if (section.has("stop")) section.fail_at("stop", "is not for RPCs: each request is answered");
  response_ = {Bytes{}, Bytes{}};
  for (const char* key : {"size", "size_min", "size_max", "cdf", "cdf_form"})
    if (section.has("response_" + std::string(key))) {
      response_ = read_sizes(section, context.folder, "response_");
      break;
    }
}

void Rpc::check(ConfigSection& section, const WorkloadSettings& w, const Topology& topology) const {
  if (w.queue_pairs == QueuePairs::kPerFlow)
    section.fail_at("queue_pairs",
                    "must be \"persistent\" or \"ahead\": a client does not know when responses start");
  const std::vector<std::uint32_t> clients = senders_of(w, topology);
  for (const std::uint32_t client : clients)
    if (receivers_of(w, topology, client).empty())
      section.fail_at("receivers", "leave \"" + topology.nodes()[client].name + "\" no server");
  const double flows =
      2.0 * params.requests * std::max(1u, params.outstanding) * static_cast<double>(clients.size());
  if (!open() && flows > static_cast<double>(kMostFlows))
    section.fail_at("requests", "makes more than " + std::to_string(kMostFlows) + " flows");
}

// The RPC whose request is due so long after the workload's start and waits for `before`, if any. Returns the
// response's place among the flows drawn.
std::uint32_t Rpc::add(FlowDraw& draw, std::uint32_t client, std::uint32_t server, Duration due,
                       const std::vector<FlowEnd>& before, std::uint32_t place) const {
  const bool shared = draw.workload().queue_pairs == QueuePairs::kPersistent;
  const auto request = static_cast<std::uint32_t>(draw.flows());
  Flow& there = draw.add_plain(client, server, due);
  there.request = request / 2;
  const Bytes size = there.size = draw.size();
  if (open()) there.due = there.start;
  there.after = before;
  there.after_count = static_cast<std::uint32_t>(before.size());
  there.in_order = shared;
  if (shared) there.connection = connection_of(place, false);
  Flow& back = draw.add_plain(server, client, due);
  back.size = response_.max.count() > 0 ? draw.size(response_) : size;
  back.after = {{request, params.service_time}};
  back.after_count = 1;
  back.in_order = shared;
  back.request = request / 2;
  back.step = 1;
  if (shared) back.connection = connection_of(place, true);
  return request + 1;
}

void Rpc::draw(FlowDraw& draw) const {
  for (const std::uint32_t client : draw.senders())
    if (open())
      draw_open(draw, client);
    else
      draw_closed(draw, client);
}

void Rpc::draw_open(FlowDraw& draw, std::uint32_t client) const {
  const WorkloadSettings& w = draw.workload();
  const Topology& topology = draw.topology();
  const std::vector<std::uint32_t> servers = receivers_of(w, topology, client);
  const double mean_gap_ps = 1 / request_rate(w, topology, client, draw.path_mtu());
  Rng rng = draw.rng().fork("from/" + topology.nodes()[client].name);
  std::map<std::uint32_t, std::vector<std::uint32_t>> responses;  // by server
  double at_ps = mean_gap_ps * draw_exponential(rng);
  for (; at_ps < static_cast<double>(params.duration.ps()); at_ps += mean_gap_ps * draw_exponential(rng)) {
    const std::uint32_t server = servers[rng.below(servers.size())];
    std::vector<std::uint32_t>& earlier = responses[server];
    std::vector<FlowEnd> before;
    if (params.outstanding > 0 && earlier.size() >= params.outstanding)
      before.push_back({earlier[earlier.size() - params.outstanding], {}});
    earlier.push_back(add(draw, client, server, rounded(at_ps), before, 0));
  }
}

void Rpc::draw_closed(FlowDraw& draw, std::uint32_t client) const {
  const WorkloadSettings& w = draw.workload();
  const Topology& topology = draw.topology();
  const std::vector<std::uint32_t> servers = receivers_of(w, topology, client);
  for (std::uint32_t place = 0; place < params.outstanding; ++place) {
    Rng rng = draw.rng().fork("from/" + topology.nodes()[client].name + "/" + std::to_string(place));
    const Duration begin = draw.jitter();
    std::vector<FlowEnd> before;
    for (std::uint32_t i = 0; i < params.requests; ++i) {
      const std::uint32_t server = servers[rng.below(servers.size())];
      const std::uint32_t response = add(draw, client, server, begin, before, place);
      before = {{response, think_time(params.think, params.constant_think, rng)}};
    }
  }
}

Rpc::WireBytes Rpc::wire_bytes(const WorkloadSettings& w, std::uint32_t path_mtu) const {
  WorkloadSettings answer = w;
  if (response_.max.count() > 0) answer.size = response_;
  return {mean_wire_bytes(w, path_mtu), mean_wire_bytes(answer, path_mtu)};
}

double Rpc::request_rate(const WorkloadSettings& w, const Topology& topology, std::uint32_t client,
                         std::uint32_t path_mtu) const {
  if (params.every.ps() > 0) return 1 / static_cast<double>(params.every.ps());
  const WireBytes bytes = wire_bytes(w, path_mtu);
  return params.load * bps_of(topology, {client}) / (8e12 * std::max(bytes.request, bytes.response));
}

std::optional<WorkloadRate> Rpc::rate(const WorkloadSettings&, const Topology&, std::uint32_t) const {
  if (!open()) return std::nullopt;
  return WorkloadRate{params.every.ps() > 0 ? "every" : "load", static_cast<double>(params.duration.ps())};
}

void Rpc::offer(const WorkloadSettings& w, std::uint32_t path_mtu, OfferedTraffic& traffic) const {
  const Topology& topology = traffic.topology();
  const WireBytes bytes = wire_bytes(w, path_mtu);
  for (const std::uint32_t client : senders_of(w, topology)) {
    const std::vector<std::uint32_t> servers = receivers_of(w, topology, client);
    const double each =
        8e12 * request_rate(w, topology, client, path_mtu) / static_cast<double>(servers.size());
    for (const std::uint32_t server : servers) {
      traffic.between(client, server, each * bytes.request);
      traffic.between(server, client, each * bytes.response);
    }
  }
}

double Rpc::expected_flows(const WorkloadSettings& w, const Topology& topology,
                           std::uint32_t path_mtu) const {
  if (!open()) return 0;
  double per_ps = 0;
  for (const std::uint32_t client : senders_of(w, topology))
    per_ps += request_rate(w, topology, client, path_mtu);
  return 2 * per_ps * static_cast<double>(params.duration.ps());
}

std::optional<RpcFacts> Rpc::rpc(const WorkloadSettings& w) const {
  const Time begin = Time::zero() + w.start;
  return RpcFacts{open(), begin, open() ? begin + params.duration : Time::never()};
}

Bytes Rpc::largest_flow(const WorkloadSettings& w) const { return std::max(w.size.max, response_.max); }

}  // namespace rocelab
