// The metrics of a run, in one table. Name, title, unit, direction, text and computation of a metric are an
// entry of metric_table.cc; summary.json, the tables of run, sweep and report.html, comparisons, and the
// table of docs/reference/metrics.md follow. The order of the entries is that of columns.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "emu/link/link_counters.h"
#include "emu/runner/collective_metrics.h"
#include "emu/runner/plan.h"
#include "emu/runner/rpc_metrics.h"
#include "irn_provider/transport/counters.h"
#include "ovs_patches/switch_model/counters.h"

namespace rocelab {

// Experiment time from the first start to the last end of some flows.
struct Span {
  Time first = Time::never(), last;
  void add(Time posted, Time placed) {
    first = std::min(first, posted);
    last = std::max(last, placed);
  }
  bool empty() const { return first.is_never(); }
  Duration length() const { return empty() ? Duration{} : last - first; }
};

// Of all messages that are counted one by one (MessageCounts). NaN: none came.
struct MessageSums {
  std::uint64_t planned = 0, sent = 0, delivered = 0;
  Duration latency;
  double max_latency_s = 0;
  std::uint64_t lost() const { return sent - delivered; }
  double avg_latency_s() const { return latency.seconds() / static_cast<double>(delivered); }
};

// Sums over the flows that started in the measuring window. Times and packets are of those that completed,
// but for streams, whose length says nothing of the network; bytes and span also of streams and stopped
// flows.
struct FlowSums {
  std::uint64_t flows = 0, completed = 0, stopped = 0, packets = 0;
  double bytes = 0;
  Span span;
  MessageSums messages;
  std::vector<double> fct_s, slowdown;     // of each flow
  std::map<std::uint32_t, Span> requests;  // of a periodic incast or a collective; else one
  std::vector<CollectiveResult> collectives;
  RpcSums rpcs;
};

// Sums over a whole run.
struct RunSums {
  FlowSums flows;
  NicCounters nics;          // of every VF that took part
  SwitchPortCounters ports;  // but longest_pause
  LinkCounters links;        // both directions
  Duration longest_pause;
  double bottleneck_utilization = 0;
};

using MetricValue = std::variant<std::uint64_t, double>;  // NaN: not defined

enum class Better : std::uint8_t { kNeither, kLower, kHigher };
// Where a metric is shown beside summary.json: in all tables; in those of run and report.html where any run
// has more than 0; in none.
enum class Shown : std::uint8_t { kAlways, kIfAny, kNever };

struct ShownUnit {
  std::string_view name;  // empty: a ratio or plain number
  double scale = 1;       // what is shown is the value in summary.json times this
};

struct Metric {
  std::string_view name;  // in summary.json
  std::string_view title;
  ShownUnit unit;
  Better better = Better::kNeither;
  Shown shown = Shown::kNever;
  // One of these; `of_flows` makes it a metric of each workload, too. Neither: Python computes it from traces
  // (emu/rocelab/summary.py).
  MetricValue (*of_flows)(const FlowSums& sums) = nullptr;
  MetricValue (*of_run)(const RunSums& sums) = nullptr;
  std::string_view text;  // for docs/reference/metrics.md and the hints of report.html
};

std::span<const Metric> metric_table();

}  // namespace rocelab
