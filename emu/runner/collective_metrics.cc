#include "emu/runner/collective_metrics.h"

#include <algorithm>
#include <map>
#include <utility>

#include "emu/runner/metrics.h"

namespace rocelab {
namespace {

struct Ended {
  const Flow* flow;
  const FlowRecord* record;
};

void add(StepTimes& sum, const StepTimes& more) {
  sum.ranks += more.ranks;
  sum.sum = sum.sum + more.sum;
  sum.longest = std::max(sum.longest, more.longest);
}

void find_straggler(CollectiveResult& result, const std::map<std::uint32_t, Duration>& of_rank) {
  Duration all, most;
  for (const auto& [host, time] : of_rank) {
    all = all + time;
    if (time <= most) continue;
    most = time;
    result.straggler = host;
  }
  result.straggler_ratio = most.seconds() * static_cast<double>(of_rank.size()) / all.seconds();
}

void measure_steps(CollectiveResult& result, const std::vector<Ended>& flows) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, Span> spans;  // of a rank's step
  for (const auto& [flow, record] : flows) spans[{flow->step, flow->src}].add(record->posted, record->placed);
  std::map<std::uint32_t, Duration> of_rank;
  for (const auto& [key, span] : spans) {
    const auto [step, host] = key;
    if (result.steps.size() <= step) result.steps.resize(step + 1);
    add(result.steps[step], {1, span.length(), span.length()});
    of_rank[host] = of_rank[host] + span.length();
  }
  find_straggler(result, of_rank);
}

const FlowRecord* record_of(const std::vector<FlowRecord>& records, std::uint32_t id) {
  const auto found = std::ranges::lower_bound(records, id, {}, &FlowRecord::id);
  return found != records.end() && found->id == id ? &*found : nullptr;
}

// Null records: not all of them completed.
std::map<std::uint32_t, std::vector<Ended>> by_request(const RunPlan& plan, const std::string& workload,
                                                       const std::vector<FlowRecord>& records) {
  std::map<std::uint32_t, std::vector<Ended>> found;
  for (const Flow& flow : plan.flows)
    if (flow.group == workload) found[flow.request].push_back({&flow, record_of(records, flow.id)});
  return found;
}

}  // namespace

StepTimes CollectiveResult::all_steps() const {
  StepTimes sum;
  for (const StepTimes& step : steps) add(sum, step);
  return sum;
}

double CollectiveResult::algorithm_bps() const {
  return rate_of(static_cast<double>(facts.size.count()), end - begin);
}

double CollectiveResult::bus_bps() const {
  return algorithm_bps() * bus_factor(facts.operation, facts.ranks);
}

std::vector<CollectiveResult> collectives_of(const RunPlan& plan, const std::vector<FlowRecord>& records,
                                             const std::string* workload) {
  std::vector<CollectiveResult> results;
  for (const WorkloadSettings& w : plan.settings.workloads) {
    const std::optional<CollectiveFacts> facts = w.workload->collective(w);
    if (!facts || (workload != nullptr && w.name != *workload)) continue;
    for (const auto& [request, flows] : by_request(plan, w.name, records)) {
      if (std::ranges::any_of(flows,
                              [](const Ended& e) { return e.record == nullptr || !e.record->completed(); }))
        continue;
      Span span;
      for (const auto& [flow, record] : flows) span.add(record->posted, record->placed);
      if (span.first < plan.measure_from || span.first >= plan.measure_until) continue;
      CollectiveResult result;
      result.workload = w.name;
      result.facts = *facts;
      result.iteration = request / facts->groups;
      result.group = request % facts->groups;
      result.begin = span.first;
      result.end = span.last;
      measure_steps(result, flows);
      results.push_back(std::move(result));
    }
  }
  return results;
}

std::vector<StepTimes> sum_steps(const std::vector<CollectiveResult>& results) {
  std::vector<StepTimes> steps;
  for (const CollectiveResult& result : results)
    for (std::size_t step = 0; step < result.steps.size(); ++step) {
      if (steps.size() <= step) steps.resize(step + 1);
      add(steps[step], result.steps[step]);
    }
  return steps;
}

}  // namespace rocelab
