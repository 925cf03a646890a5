#include "emu/runner/metrics.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

namespace rocelab {
namespace {

// A flow that ended, with what its record says.
struct Ended {
  const Flow* flow;
  FlowRecord record;
  Duration fct() const { return record.placed - record.posted; }
  double slowdown() const { return static_cast<double>(fct().ps()) / static_cast<double>(flow->alone.ps()); }
};

struct Span {
  Time first = Time::never(), last;
  void add(Time posted, Time end) {
    first = std::min(first, posted);
    last = std::max(last, end);
  }
  bool empty() const { return first.is_never(); }
  Duration length() const { return empty() ? Duration{} : last - first; }
};

double rate_of(double bytes, Duration d) { return d.ps() > 0 ? bytes * 8 / d.seconds() : 0; }

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return values.empty() ? std::numeric_limits<double>::quiet_NaN() : sum / static_cast<double>(values.size());
}

bool measured(const RunPlan& plan, const Flow& flow, const FlowRecord* record) {
  const Time start = record != nullptr && !record->posted.is_never() ? record->posted : flow.start;
  return start >= plan.measure_from && start < plan.measure_until;
}

// Over the flows of one group, or of all groups (null).
struct FlowSums {
  std::uint64_t flows = 0, completed = 0, stopped = 0;
  std::vector<Ended> ended;  // completed ones without streams, whose length says nothing of the network
  Span span;
  double bytes = 0;
  MessageMetrics messages;
};

void add_messages(const MessageCounts& counts, Duration& latency, MessageMetrics& m) {
  m.sent += std::max(counts.sent, counts.delivered);
  m.delivered += counts.delivered;
  latency = latency + counts.latency_sum;
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

FlowSums sum_flows(const RunPlan& plan, const RunInput& input, const std::string* group) {
  FlowSums sums;
  Duration latency;
  for (const Flow& flow : plan.flows) {
    if (group != nullptr && flow.group != *group) continue;
    const FlowRecord* record = find_by_id(input.flows, flow.id);
    if (!measured(plan, flow, record)) continue;
    ++sums.flows;
    const MessageCounts* counts = find_by_id(input.messages, flow.id);
    if (counts != nullptr) add_messages(*counts, latency, sums.messages);
    if (flow.numbered()) sums.messages.planned += static_cast<std::uint64_t>(flow.messages());
    if (record == nullptr) continue;
    sums.stopped += record->stopped && !record->completed();
    if (record->posted.is_never() || !(record->completed() || record->settled)) continue;
    const bool by_plan = flow.is_stream() || !record->completed();  // its end says nothing of the network
    sums.completed += record->completed();
    sums.span.add(record->posted, !by_plan ? record->placed : end_of(flow, *record, counts));
    sums.bytes += static_cast<double>((counts != nullptr ? counts->bytes : flow.size).count());
    if (!by_plan) sums.ended.push_back({&flow, *record});
  }
  MessageMetrics& m = sums.messages;
  m.lost = m.sent - m.delivered;
  m.avg_latency_s = latency.seconds() / static_cast<double>(m.delivered);
  if (m.delivered == 0) m.max_latency_s = std::numeric_limits<double>::quiet_NaN();
  return sums;
}

void measure_flows(const FlowSums& sums, RunMetrics& m) {
  std::vector<double> fct, slowdown;
  for (const Ended& e : sums.ended) {
    fct.push_back(e.fct().seconds());
    slowdown.push_back(e.slowdown());
    m.delivered_data_packets += e.flow->packets;
  }
  m.flows = sums.flows;
  m.completed = sums.completed;
  m.stopped = sums.stopped;
  m.messages = sums.messages;
  m.rct_s = sums.span.length().seconds();
  m.goodput_bps = rate_of(sums.bytes, sums.span.length());
  m.avg_fct_s = mean(fct);
  m.median_fct_s = percentile(fct, 50);
  m.p99_fct_s = percentile(fct, 99);
  m.avg_slowdown = mean(slowdown);
  m.p99_slowdown = percentile(slowdown, 99);
}

void count_nics(const std::vector<NicCounters>& nics, RunMetrics& m) {
  for (const NicCounters& c : nics) {
    m.retransmitted_packets += c.retransmitted_packets;
    m.timeout_retransmissions += c.timeout_retransmissions;
    m.spurious_retransmissions += c.spurious_retransmissions;
    m.timeouts +=
        c.rto_low_timeouts + c.rto_high_timeouts + c.read_responder_timeouts + c.local_ack_timeout_err;
    m.cnps += c.np_cnp_sent;
    m.pfc_paused_s += static_cast<double>(c.rx_pause_duration_ns) * 1e-9;
    m.drops += c.rx_icrc_encapsulated;
    m.corrupted_frames += c.rx_icrc_encapsulated;
  }
}

// Frames that a link lost, that were none, or that nobody was there to take. A direction of a link counts at
// one of its ports.
void count_link(const LinkCounters& link, RunMetrics& m) {
  m.drops += link.lost_frames + link.malformed_frames + link.undeliverable_frames;
  m.data_drops += link.lost_data_frames;
  m.undeliverable_frames += link.undeliverable_frames;
  m.down_link_drops += link.down_frames;
}

void count_ports(const std::vector<PortInput>& ports, RunMetrics& m) {
  for (const PortInput& input : ports) {
    const SwitchPortCounters& c = input.port;
    m.drops += c.drops;
    m.data_drops += c.data_drops;
    m.lossless_drops += c.lossless_drops;
    m.ecn_marks += c.ecn_marked;
    m.cnps += c.rocc_cnps;
    for (int tc = 0; tc < kTrafficClasses; ++tc) {
      m.pfc_pause_frames += c.xoff_sent[static_cast<std::size_t>(tc)];
      m.pfc_paused_s += static_cast<double>(c.paused_ps[static_cast<std::size_t>(tc)]) * 1e-12;
    }
    count_link(input.in, m);
    count_link(input.out, m);
  }
}

void find_bottleneck(const RunPlan& plan, const std::vector<PortInput>& ports, Duration lasted,
                     RunMetrics& m) {
  if (lasted.ps() <= 0) return;
  for (std::size_t i = 0; i < std::min(ports.size(), plan.limits.size()); ++i) {
    const SwitchPortCounters& c = ports[i].port;
    const std::int64_t overhead = wire_bytes(Bytes{}).count();
    const double wire =
        static_cast<double>(c.tx_bytes) + static_cast<double>(c.tx_frames) * static_cast<double>(overhead);
    const double busy = rate_of(wire, lasted) / static_cast<double>(plan.limits[i].rate.bps());
    if (busy <= m.bottleneck_utilization) continue;
    m.bottleneck_utilization = busy;
    m.bottleneck_port = plan.limits[i].interface;
  }
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
  g.flows = sums.flows;
  g.completed = sums.completed;
  g.stopped = sums.stopped;
  g.messages = sums.messages;
  g.rct_s = sums.span.length().seconds();
  g.goodput_bps = rate_of(sums.bytes, sums.span.length());
  std::vector<double> fct, slowdown;
  std::map<std::uint32_t, Span> requests;
  for (const Ended& e : sums.ended) {
    fct.push_back(e.fct().seconds());
    slowdown.push_back(e.slowdown());
    requests[e.flow->request].add(e.record.posted, e.record.placed);
  }
  g.avg_fct_s = mean(fct);
  g.p99_fct_s = percentile(fct, 99);
  g.avg_slowdown = mean(slowdown);
  g.p99_slowdown = percentile(slowdown, 99);
  g.requests = requests.size();
  std::vector<double> lengths;
  for (const auto& [request, span] : requests) lengths.push_back(span.length().seconds());
  g.avg_request_s = mean(lengths);
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
  RunMetrics m;
  const FlowSums sums = sum_flows(plan, input, nullptr);
  measure_flows(sums, m);
  count_nics(input.nics, m);
  count_ports(input.ports, m);
  find_bottleneck(plan, input.ports, sums.span.length(), m);
  m.groups = measure_groups(plan, input);
  return m;
}

std::string trace_hash(const std::vector<Digest>& nodes) { return to_hex(combine(nodes)); }

}  // namespace rocelab
