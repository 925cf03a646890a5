// Metrics: from what a run recorded to the values of metric_table() for the run and each of its workloads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/trace_hash.h"
#include "base/units.h"
#include "emu/link/link_counters.h"
#include "emu/runner/metric_table.h"
#include "emu/runner/plan.h"
#include "irn_provider/transport/counters.h"
#include "ovs_patches/switch_model/counters.h"

namespace rocelab {

struct FlowRecord {
  std::uint32_t id = 0;         // Flow::id
  Time posted = Time::never();  // first WQE posted; never: not started
  Time placed = Time::never();  // last byte in place at the sink
  Time cqe = Time::never();     // the sender's last CQE
  std::int32_t status = 0;      // ibv_wc_status of the first CQE that was not a success
  bool stopped = false;         // its source was, by its stop
  bool settled = false;         // its sink waits no longer for what has not come
  bool completed() const { return status == 0 && !placed.is_never(); }
};

struct PortInput {
  SwitchPortCounters port;
  LinkCounters in, out;  // of the link: towards this port, away from it
};

// Bytes of a flow that were in place at an instant: steps in time order, from the sink's records of messages
// placed.
struct Progress {
  std::uint32_t id = 0;  // Flow::id
  Time at;
  Bytes bytes;  // of this step
};

// Of a flow whose messages are counted one by one: streams, flows with a stop, UC and UD (datagrams).
struct MessageCounts {
  std::uint32_t id = 0;               // Flow::id
  std::uint64_t sent = 0;             // that the source knows to be sent; at least those that were delivered
  std::uint64_t delivered = 0;        // that came to the sink
  Bytes bytes;                        // of these
  Duration latency_sum, latency_max;  // from the time at which a message was due until it was in place
  Time last = Time::never();          // when the last of them came
};

struct RunInput {
  std::vector<FlowRecord> flows;
  std::vector<NicCounters> nics;   // of every VF that took part
  std::vector<PortInput> ports;    // in the order of RunPlan::world.ports
  std::vector<Progress> progress;  // only needed for workloads that say `during`
  std::vector<MessageCounts> messages = {};
};

// Values of metric_table(), in its order.
struct NamedValue {
  std::string_view name;
  MetricValue value;
};

struct GroupMetrics {
  std::string name;
  std::vector<NamedValue> values;  // of metrics of flows
  std::uint64_t requests = 0;      // of a periodic incast, or collectives; else 1
  double avg_request_s = 0;        // first start to last end of a request's flows, mean over requests
  std::string during;              // the other group, or empty
  double goodput_during_bps = 0;   // while the other group ran
  MessageSums messages;
  std::vector<CollectiveResult> collectives;
};

struct RunMetrics {
  std::vector<NamedValue> values;  // without those that traces give
  std::string bottleneck_port;     // the busiest switch port while flows lasted
  std::vector<GroupMetrics> groups;
};

RunMetrics measure(const RunPlan& plan, RunInput input);

// SHA-256 over the nodes' digests in index order: base/trace_hash.h.
std::string trace_hash(const std::vector<Digest>& nodes);

// Nearest-rank percentile: the smallest value such that at least `percent` % of the values are at most it.
// NaN when empty.
double percentile(std::vector<double> values, double percent);
double mean(const std::vector<double>& values);   // NaN when empty
double rate_of(double bytes, Duration duration);  // bit/s; 0 over no time

struct Estimate {
  double mean = 0, median = 0, ci95 = 0;  // ci95: half width, Student's t; NaN for a single value
  std::uint64_t n = 0;
};
Estimate estimate(const std::vector<double>& values);

// Student's t: the quantile at 97.5 % with `degrees` >= 1 degrees of freedom.
double student_t_975(std::uint64_t degrees);

}  // namespace rocelab
