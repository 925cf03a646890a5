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

py::dict as_dict(const std::vector<NamedValue>& values) {
  py::dict result;
  for (const NamedValue& v : values) result[py::str(v.name)] = py::cast(v.value);
  return result;
}

py::dict as_dict(const RunPlan& plan, const CollectiveResult& c) {
  const StepTimes steps = c.all_steps();
  return py::dict("workload"_a = c.workload, "operation"_a = to_string(c.facts.operation),
                  "algorithm"_a = to_string(c.facts.algorithm), "ranks"_a = c.facts.ranks,
                  "size"_a = c.facts.size.count(), "iteration"_a = c.iteration, "group"_a = c.group,
                  "begin_s"_a = (c.begin - Time::zero()).seconds(), "completion_s"_a = c.completion_s(),
                  "step_avg_s"_a = steps.mean_s(), "step_max_s"_a = steps.longest.seconds(),
                  "algbw_bps"_a = c.algorithm_bps(), "busbw_bps"_a = c.bus_bps(),
                  "straggler"_a = plan.world.hosts[c.straggler].name,
                  "straggler_ratio"_a = c.straggler_ratio);
}

// Of each step of a collective workload.
py::list as_list(const std::vector<StepTimes>& steps) {
  py::list list;
  for (const StepTimes& step : steps)
    list.append(py::dict("avg_s"_a = step.mean_s(), "max_s"_a = step.longest.seconds()));
  return list;
}

py::dict as_dict(const RunPlan& plan, const RunMetrics& m) {
  py::dict result = as_dict(m.values);
  py::list groups, collectives;
  for (const GroupMetrics& g : m.groups) {
    py::dict group = as_dict(g.values);
    group["name"] = g.name;
    group["requests"] = g.requests;
    group["avg_request_s"] = g.avg_request_s;
    group["during"] = g.during;
    group["goodput_during_bps"] = g.goodput_during_bps;
    const MessageSums& messages = g.messages;
    group["messages"] =
        py::dict("planned"_a = messages.planned, "sent"_a = messages.sent, "delivered"_a = messages.delivered,
                 "lost"_a = messages.lost(), "avg_latency_s"_a = messages.avg_latency_s(),
                 "max_latency_s"_a = messages.max_latency_s);
    group["steps"] = as_list(sum_steps(g.collectives));
    for (const CollectiveResult& c : g.collectives) collectives.append(as_dict(plan, c));
    groups.append(group);
  }
  result["bottleneck_port"] = m.bottleneck_port;
  result["groups"] = groups;
  result["collectives"] = collectives;
  return result;
}

py::list as_list(std::span<const Metric> table) {
  constexpr std::array kBetter = {"", "lower", "higher"};
  constexpr std::array kShown = {"always", "if any", "never"};
  py::list result;
  for (const Metric& m : table)
    result.append(py::dict("name"_a = m.name, "title"_a = m.title, "unit"_a = m.unit.name,
                           "scale"_a = m.unit.scale, "better"_a = kBetter[static_cast<std::size_t>(m.better)],
                           "shown"_a = kShown[static_cast<std::size_t>(m.shown)],
                           "from_traces"_a = m.of_flows == nullptr && m.of_run == nullptr,
                           "text"_a = m.text));
  return result;
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
  return as_dict(plan, measure(plan, std::move(input)));
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
  m.def("metric_table", [] { return as_list(metric_table()); });
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
