#include "emu/runner/rpc_metrics.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "emu/runner/metrics.h"
#include "emu/runner/workload_type.h"

namespace rocelab {
namespace {

struct RpcRecord {
  Time due, posted, done;  // never: not yet
  Bytes payload;           // of both directions
};

const FlowRecord* record_of(const std::vector<FlowRecord>& records, std::uint32_t id) {
  const auto found = std::ranges::lower_bound(records, id, {}, &FlowRecord::id);
  return found != records.end() && found->id == id ? &*found : nullptr;
}

// In the order of the responses' ids.
std::vector<RpcRecord> records_of(const RunPlan& plan, const std::vector<FlowRecord>& records,
                                  const std::string& workload, bool open) {
  std::vector<RpcRecord> rpcs;
  for (const Flow& response : plan.flows) {
    if (response.step == 0 || response.group != workload) continue;
    const Flow& request = plan.flows.at(response.after.front().flow - 1);
    const FlowRecord *sent = record_of(records, request.id), *answer = record_of(records, response.id);
    const Time posted = sent == nullptr ? Time::never() : sent->posted;
    const bool done = answer != nullptr && answer->completed();
    rpcs.push_back({open ? request.due : posted, posted, done ? answer->placed : Time::never(),
                    request.size + response.size});
  }
  return rpcs;
}

// Of a closed loop: when the first of its places has no more requests. No place waits for the last response.
Time first_end(const RunPlan& plan, const std::vector<FlowRecord>& records, const std::string& workload) {
  std::set<std::uint32_t> followed;
  for (const Flow& flow : plan.flows)
    if (flow.group == workload && flow.step == 0)
      for (const FlowEnd& end : flow.after) followed.insert(end.flow);
  Time first = Time::never();
  for (const Flow& flow : plan.flows) {
    if (flow.group != workload || flow.step == 0 || followed.contains(flow.id)) continue;
    const FlowRecord* record = record_of(records, flow.id);
    if (record != nullptr && record->completed()) first = std::min(first, record->placed);
  }
  return first;
}

void add(double& sum, double value) { sum = std::isnan(sum) ? value : sum + value; }

void add_workload(const RunPlan& plan, const std::vector<FlowRecord>& records, const std::string& workload,
                  const RpcFacts& facts, bool has_rates, RpcSums& sums) {
  const Time from = std::max(facts.begin, plan.measure_from);
  const Time end = facts.open ? facts.end : first_end(plan, records, workload);
  const Time until = std::min(end, plan.measure_until);
  double offered = 0, accepted = 0;
  for (const RpcRecord& rpc : records_of(plan, records, workload, facts.open)) {
    const auto bytes = static_cast<double>(rpc.payload.count());
    if (rpc.due >= from && rpc.due < until) offered += bytes;
    if (rpc.done >= from && rpc.done < until) accepted += bytes;
    if (rpc.due < plan.measure_from || rpc.due >= plan.measure_until) continue;
    if (!rpc.done.is_never()) sums.latency_s.push_back((rpc.done - rpc.posted).seconds());
    if (facts.open && !rpc.posted.is_never()) sums.wait_s.push_back((rpc.posted - rpc.due).seconds());
  }
  if (!has_rates || until.is_never() || until <= from) return;
  add(sums.accepted_bps, rate_of(accepted, until - from));
  if (facts.open) add(sums.offered_bps, rate_of(offered, until - from));
}

}  // namespace

RpcSums rpcs_of(const RunPlan& plan, const std::vector<FlowRecord>& records, const std::string* workload) {
  std::vector<std::pair<std::string, RpcFacts>> chosen;
  bool any_open = false;
  for (const WorkloadSettings& w : plan.settings.workloads)
    if (const auto facts = w.workload->rpc(w); facts && (workload == nullptr || w.name == *workload)) {
      chosen.emplace_back(w.name, *facts);
      any_open |= facts->open;
    }
  RpcSums sums;
  for (const auto& [name, facts] : chosen)
    add_workload(plan, records, name, facts, facts.open || !any_open, sums);
  return sums;
}

}  // namespace rocelab
