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

using FlowTuple = std::tuple<std::uint32_t, py::object, py::object, py::object,
                             std::int32_t>;  // id, posted, placed, cqe, status
using ProgressTuple = std::tuple<std::uint32_t, std::int64_t, std::int64_t>;  // id, time, bytes

py::dict as_dict(const std::vector<NamedValue>& values) {
  py::dict result;
  for (const NamedValue& v : values) result[py::str(v.name)] = py::cast(v.value);
  return result;
}

py::dict as_dict(const RunMetrics& m) {
  py::dict result = as_dict(m.values);
  py::list groups;
  for (const GroupMetrics& g : m.groups) {
    py::dict group = as_dict(g.values);
    group["name"] = g.name;
    group["requests"] = g.requests;
    group["avg_request_s"] = g.avg_request_s;
    group["during"] = g.during;
    group["goodput_during_bps"] = g.goodput_during_bps;
    groups.append(group);
  }
  result["bottleneck_port"] = m.bottleneck_port;
  result["groups"] = groups;
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
                     const std::vector<ProgressTuple>& progress) {
  RunInput input;
  for (const auto& [id, posted, placed, cqe, status] : flows)
    input.flows.push_back({id, time_of(posted), time_of(placed), time_of(cqe), status});
  for (const Counts& counts : nics) input.nics.push_back(nic_counters(counts));
  for (const Counts& counts : ports) input.ports.push_back(port_input(counts));
  for (const auto& [id, at, bytes] : progress)
    input.progress.push_back({id, Time::from_ps(at), Bytes::from_count(bytes)});
  return as_dict(measure(plan, input));
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
        "progress"_a = std::vector<ProgressTuple>{});
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
