#include "emu/runner/metrics.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <set>
#include <utility>

namespace rocelab {
namespace {

// Adds to each counter of `sum` that of `each`: both are made of std::uint64_t.
template <class Counters>
void add(Counters& sum, const Counters& each) {
  using Values = std::array<std::uint64_t, sizeof(Counters) / sizeof(std::uint64_t)>;
  Values values = std::bit_cast<Values>(sum);
  const Values more = std::bit_cast<Values>(each);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] += more[i];
  sum = std::bit_cast<Counters>(values);
}

void add_messages(const MessageCounts& counts, MessageSums& m) {
  m.sent += std::max(counts.sent, counts.delivered);
  m.delivered += counts.delivered;
  m.latency = m.latency + counts.latency_sum;
  if (counts.delivered > 0) m.max_latency_s = std::max(m.max_latency_s, counts.latency_max.seconds());
}

// By id, both.
template <class T>
const T* find_by_id(const std::vector<T>& records, std::uint32_t id) {
  const auto found = std::lower_bound(records.begin(), records.end(), id,
                                      [](const T& r, std::uint32_t i) { return r.id < i; });
  return found != records.end() && found->id == id ? &*found : nullptr;
}

// Of a flow that did not complete, or a stream: its stop, or when the last of it came.
Time end_of(const Flow& flow, const FlowRecord& record, const MessageCounts* counts) {
  if (flow.is_stream() || record.stopped) return flow.stop;
  return counts != nullptr && !counts->last.is_never() ? counts->last : record.posted;
}

bool measured(const RunPlan& plan, const Flow& flow, const FlowRecord* record) {
  const Time start = record != nullptr && !record->posted.is_never() ? record->posted : flow.start;
  return start >= plan.measure_from && start < plan.measure_until;
}

// Over the flows of one group, or of all groups (null).
FlowSums sum_flows(const RunPlan& plan, const RunInput& input, const std::string* group) {
  FlowSums sums;
  for (const Flow& flow : plan.flows) {
    if (group != nullptr && flow.group != *group) continue;
    const FlowRecord* record = find_by_id(input.flows, flow.id);
    if (!measured(plan, flow, record)) continue;
    ++sums.flows;
    const MessageCounts* counts = find_by_id(input.messages, flow.id);
    if (counts != nullptr) add_messages(*counts, sums.messages);
    if (flow.numbered()) sums.messages.planned += static_cast<std::uint64_t>(flow.messages());
    if (record == nullptr) continue;
    sums.stopped += record->stopped && !record->completed();
    if (record->posted.is_never() || !(record->completed() || record->settled)) continue;
    sums.completed += record->completed();
    sums.bytes += static_cast<double>((counts != nullptr ? counts->bytes : flow.size).count());
    if (flow.is_stream() || !record->completed()) {  // its end says nothing of the network
      sums.span.add(record->posted, end_of(flow, *record, counts));
      continue;
    }
    const Duration fct = record->placed - record->posted;
    sums.span.add(record->posted, record->placed);
    sums.packets += flow.packets;
    sums.fct_s.push_back(fct.seconds());
    sums.slowdown.push_back(static_cast<double>(fct.ps()) / static_cast<double>(flow.alone.ps()));
    sums.requests[flow.request].add(record->posted, record->placed);
  }
  if (sums.messages.delivered == 0) sums.messages.max_latency_s = std::numeric_limits<double>::quiet_NaN();
  sums.collectives = collectives_of(plan, input.flows, group);
  sums.rpcs = rpcs_of(plan, input.flows, group);
  return sums;
}

// A direction of a link counts at one of its ports.
void sum_counters(const RunInput& input, RunSums& sums) {
  for (const NicCounters& nic : input.nics) add(sums.nics, nic);
  for (const PortInput& at : input.ports) {
    add(sums.ports, at.port);
    add(sums.links, at.in);
    add(sums.links, at.out);
    for (const std::uint64_t ps : at.port.longest_pause_ps)
      sums.longest_pause = std::max(sums.longest_pause, Duration::from_ps(static_cast<std::int64_t>(ps)));
  }
}

// Sets the utilization of the busiest switch port, whose name it returns.
std::string find_bottleneck(const RunPlan& plan, const std::vector<PortInput>& ports, RunSums& sums) {
  std::string busiest;
  const Duration lasted = sums.flows.span.length();
  if (lasted.ps() <= 0) return busiest;
  for (std::size_t i = 0; i < std::min(ports.size(), plan.limits.size()); ++i) {
    const SwitchPortCounters& c = ports[i].port;
    const std::int64_t overhead = wire_bytes(Bytes{}).count();
    const double wire =
        static_cast<double>(c.tx_bytes) + static_cast<double>(c.tx_frames) * static_cast<double>(overhead);
    const double busy = rate_of(wire, lasted) / static_cast<double>(plan.limits[i].rate.bps());
    if (busy <= sums.bottleneck_utilization) continue;
    sums.bottleneck_utilization = busy;
    busiest = plan.limits[i].interface;
  }
  return busiest;
}

double goodput_during(const RunPlan& plan, const std::vector<Progress>& progress, const std::string& group,
                      const Span& window) {
  if (window.empty()) return 0;
  double bytes = 0;
  for (const Progress& step : progress) {
    const Flow& flow = plan.flows.at(step.id - 1);
    if (flow.group == group && step.at > window.first && step.at <= window.last)
      bytes += static_cast<double>(step.bytes.count());
  }
  return rate_of(bytes, window.length());
}

// In the order of the workloads; a traffic file may hold several groups, called NAME:PORT.
std::vector<std::pair<std::string, const WorkloadSettings*>> groups_of(const RunPlan& plan) {
  std::vector<std::pair<std::string, const WorkloadSettings*>> groups;
  for (const WorkloadSettings& w : plan.settings.workloads) {
    std::set<std::string> named;
    for (const ListedFlow& flow : w.flows)
      if (!flow.group.empty()) named.insert(flow.group);
    if (named.empty()) named.insert(w.name);
    for (const std::string& name : named) groups.emplace_back(name, &w);
  }
  return groups;
}

GroupMetrics measure_group(const std::string& name, const FlowSums& sums) {
  GroupMetrics g;
  g.name = name;
  for (const Metric& metric : metric_table())
    if (metric.of_flows != nullptr) g.values.push_back({metric.name, metric.of_flows(sums)});
  g.requests = sums.requests.size();
  std::vector<double> lengths;
  for (const auto& [request, span] : sums.requests) lengths.push_back(span.length().seconds());
  g.avg_request_s = mean(lengths);
  g.messages = sums.messages;
  g.collectives = sums.collectives;
  return g;
}

std::vector<GroupMetrics> measure_groups(const RunPlan& plan, const RunInput& input) {
  std::vector<GroupMetrics> groups;
  for (const auto& [name, w] : groups_of(plan)) {
    GroupMetrics g = measure_group(name, sum_flows(plan, input, &name));
    g.during = w->during;
    if (!w->during.empty())
      g.goodput_during_bps =
          goodput_during(plan, input.progress, name, sum_flows(plan, input, &w->during).span);
    groups.push_back(g);
  }
  return groups;
}

}  // namespace

RunMetrics measure(const RunPlan& plan, RunInput input) {
  std::ranges::sort(input.flows, {}, &FlowRecord::id);
  std::ranges::sort(input.messages, {}, &MessageCounts::id);
  RunSums sums;
  sums.flows = sum_flows(plan, input, nullptr);
  sum_counters(input, sums);
  RunMetrics m;
  m.bottleneck_port = find_bottleneck(plan, input.ports, sums);
  for (const Metric& metric : metric_table()) {
    if (metric.of_flows != nullptr) m.values.push_back({metric.name, metric.of_flows(sums.flows)});
    if (metric.of_run != nullptr) m.values.push_back({metric.name, metric.of_run(sums)});
  }
  m.groups = measure_groups(plan, input);
  return m;
}

std::string trace_hash(const std::vector<Digest>& nodes) { return to_hex(combine(nodes)); }

}  // namespace rocelab
