// Metrics: records in, the fields of summary.json out.
#include <array>
#include <bit>
#include <cstring>

#include "emu/pybind/bindings.h"
#include "emu/runner/metrics.h"

namespace py = pybind11;
using namespace py::literals;

namespace rocelab::python {
namespace {

std::uint64_t count_of(const Counts& counts, const std::string& name) {
  const auto found = counts.find(name);
  return found == counts.end() ? 0 : found->second;
}

NicCounters nic_counters(const Counts& counts) {
  std::array<std::uint64_t, kNicCounterCount> values{};
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = count_of(counts, kNicCounterNames[i]);
  return std::bit_cast<NicCounters>(values);
}

LinkCounters link_counters(const Counts& counts, const std::string& prefix) {
  return {count_of(counts, prefix + "lost_frames"),          count_of(counts, prefix + "lost_data_frames"),
          count_of(counts, prefix + "corrupted_frames"),     count_of(counts, prefix + "malformed_frames"),
          count_of(counts, prefix + "undeliverable_frames"), count_of(counts, prefix + "down_frames")};
}

PortInput port_input(const Counts& counts) {
  std::array<std::uint64_t, kSwitchPortCounterCount> values{};
  for (std::size_t i = 0; i < switch_port_counters(); ++i)
    values[i] = count_of(counts, switch_port_counter_name(i));
  return {std::bit_cast<SwitchPortCounters>(values), link_counters(counts, "link_in_"),
          link_counters(counts, "link_out_")};
}

using FlowTuple = std::tuple<std::uint32_t, py::object, py::object, py::object, std::int32_t, bool,
                             bool>;  // id, posted, placed, cqe, status, stopped, settled
using MessageTuple = std::tuple<std::uint32_t, std::uint64_t, std::uint64_t, std::int64_t, std::int64_t,
                                std::int64_t, py::object>;  // id, sent, delivered, bytes, latencies: sum,
                                                            // max, last arrival
using ProgressTuple = std::tuple<std::uint32_t, std::int64_t, std::int64_t>;  // id, time, bytes

py::dict as_dict(const MessageMetrics& m) {
  return py::dict("planned"_a = m.planned, "sent"_a = m.sent, "delivered"_a = m.delivered, "lost"_a = m.lost,
                  "avg_latency_s"_a = m.avg_latency_s, "max_latency_s"_a = m.max_latency_s);
}

py::dict as_dict(const RunMetrics& m) {
  py::list groups;
  for (const GroupMetrics& g : m.groups)
    groups.append(
        py::dict("name"_a = g.name, "flows"_a = g.flows, "completed"_a = g.completed, "stopped"_a = g.stopped,
                 "goodput_bps"_a = g.goodput_bps, "avg_fct_s"_a = g.avg_fct_s, "p99_fct_s"_a = g.p99_fct_s,
                 "avg_slowdown"_a = g.avg_slowdown, "p99_slowdown"_a = g.p99_slowdown, "rct_s"_a = g.rct_s,
                 "requests"_a = g.requests, "avg_request_s"_a = g.avg_request_s, "during"_a = g.during,
                 "goodput_during_bps"_a = g.goodput_during_bps, "messages"_a = as_dict(g.messages)));
  return py::dict(
      "flows"_a = m.flows, "completed"_a = m.completed, "stopped"_a = m.stopped,
      "goodput_bps"_a = m.goodput_bps, "avg_slowdown"_a = m.avg_slowdown, "p99_slowdown"_a = m.p99_slowdown,
      "avg_fct_s"_a = m.avg_fct_s, "median_fct_s"_a = m.median_fct_s, "p99_fct_s"_a = m.p99_fct_s,
      "rct_s"_a = m.rct_s, "drops"_a = m.drops, "data_drops"_a = m.data_drops,
      "lossless_drops"_a = m.lossless_drops, "retransmitted_packets"_a = m.retransmitted_packets,
      "timeout_retransmissions"_a = m.timeout_retransmissions,
      "spurious_retransmissions"_a = m.spurious_retransmissions, "timeouts"_a = m.timeouts,
      "pfc_pause_frames"_a = m.pfc_pause_frames, "pfc_paused_s"_a = m.pfc_paused_s,
      "ecn_marks"_a = m.ecn_marks, "cnps"_a = m.cnps, "delivered_data_packets"_a = m.delivered_data_packets,
      "down_link_drops"_a = m.down_link_drops, "corrupted_frames"_a = m.corrupted_frames,
      "undeliverable_frames"_a = m.undeliverable_frames,
      "bottleneck_utilization"_a = m.bottleneck_utilization, "bottleneck_port"_a = m.bottleneck_port,
      "lost_messages"_a = m.messages.lost, "avg_message_latency_s"_a = m.messages.avg_latency_s,
      "max_message_latency_s"_a = m.messages.max_latency_s, "groups"_a = groups);
}

py::dict measure_run(const RunPlan& plan, const std::vector<FlowTuple>& flows,
                     const std::vector<Counts>& nics, const std::vector<Counts>& ports,
                     const std::vector<ProgressTuple>& progress, const std::vector<MessageTuple>& messages) {
  RunInput input;
  for (const auto& [id, posted, placed, cqe, status, stopped, settled] : flows)
    input.flows.push_back({id, time_of(posted), time_of(placed), time_of(cqe), status, stopped, settled});
  for (const Counts& counts : nics) input.nics.push_back(nic_counters(counts));
  for (const Counts& counts : ports) input.ports.push_back(port_input(counts));
  for (const auto& [id, at, bytes] : progress)
    input.progress.push_back({id, Time::from_ps(at), Bytes::from_count(bytes)});
  for (const auto& [id, sent, delivered, bytes, latency_sum, latency_max, last] : messages)
    input.messages.push_back({id, sent, delivered, Bytes::from_count(bytes), Duration::from_ps(latency_sum),
                              Duration::from_ps(latency_max), time_of(last)});
  return as_dict(measure(plan, std::move(input)));
}

std::string hash_of(const std::vector<std::string>& digests) {
  std::vector<Digest> nodes(digests.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (digests[i].size() != nodes[i].size()) throw py::value_error("a node's digest has 32 bytes");
    std::memcpy(nodes[i].data(), digests[i].data(), nodes[i].size());
  }
  return trace_hash(nodes);
}

}  // namespace

void bind_metrics(py::module_& m) {
  m.def("measure", measure_run, "plan"_a, "flows"_a, "nics"_a, "ports"_a,
        "progress"_a = std::vector<ProgressTuple>{}, "messages"_a = std::vector<MessageTuple>{});
  m.def(
      "trace_hash",
      [](const std::vector<py::bytes>& digests) {
        return hash_of({digests.begin(), digests.end()});
      },
      "digests"_a);
  m.def("percentile", percentile, "values"_a, "percent"_a, "Nearest rank.");
  m.def(
      "estimate",
      [](const std::vector<double>& values) {
        const Estimate e = estimate(values);
        return py::dict("mean"_a = e.mean, "median"_a = e.median, "ci95"_a = e.ci95, "n"_a = e.n);
      },
      "values"_a, "Mean, median and half width of the 95 % confidence interval.");
}

}  // namespace rocelab::python
