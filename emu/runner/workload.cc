#include "emu/runner/workload.h"

#include <algorithm>
#include <map>
#include <queue>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "emu/runner/workload_parts.h"
#include "emu/runner/workload_type.h"

namespace rocelab {
namespace {

constexpr Bytes kCutMessage = 64_KB;  // of flows with a stop that say none: a message that has begun is sent

bool takes_turns(const Flow& flow) { return flow.connection != 0 && flow.after_count > 0; }

// Places of the flows in start order. A flow that waits for others on a shared connection is behind them:
// both ends post by this order, and would wait for ever else. Its start is set to the earliest one, at which
// it starts where flows take no time. `after` names flows by their place.
std::vector<std::uint32_t> start_order(std::vector<Flow>& flows) {
  using Start = std::pair<Time, std::uint32_t>;  // and place
  std::priority_queue<Start, std::vector<Start>, std::greater<>> starts;
  std::vector<std::vector<std::pair<std::uint32_t, Duration>>> waiters(flows.size());
  std::vector<std::uint32_t> ended(flows.size()), order;
  for (std::uint32_t i = 0; i < flows.size(); ++i) {
    if (!takes_turns(flows[i])) {
      starts.emplace(flows[i].start, i);
      continue;
    }
    for (const FlowEnd& end : flows[i].after) waiters[end.flow].push_back({i, end.delay});
  }
  while (!starts.empty()) {
    const auto [at, place] = starts.top();
    starts.pop();
    order.push_back(place);
    for (const auto& [i, delay] : waiters[place]) {
      if (++ended[i] > flows[i].after_count) continue;
      flows[i].start = std::max(flows[i].start, at + delay);
      if (ended[i] == flows[i].after_count) starts.emplace(flows[i].start, i);
    }
  }
  RL_CHECK(order.size() == flows.size());  // who writes or draws them sees to it that all start
  return order;
}

// In start order. `after` named flows by their place before.
void number_flows(std::vector<Flow>& flows) {
  std::vector<std::uint32_t> id_of(flows.size());
  std::vector<Flow> sorted;
  sorted.reserve(flows.size());
  for (const std::uint32_t place : start_order(flows)) {
    id_of[place] = static_cast<std::uint32_t>(sorted.size()) + 1;
    sorted.push_back(std::move(flows[place]));
    sorted.back().id = id_of[place];
  }
  flows = std::move(sorted);
  for (Flow& flow : flows)
    for (FlowEnd& end : flow.after) end.flow = id_of[end.flow];
}

// Flows that share queue pairs have `connection` set.
void number_connections(std::vector<Flow>& flows) {
  std::map<std::tuple<std::string, std::uint32_t, std::uint32_t, FlowOp, int>, std::uint32_t> known;
  for (Flow& flow : flows)
    if (flow.connection != 0)
      flow.connection =
          known
              .try_emplace({flow.group, flow.src, flow.dst, flow.op, flow.dscp ? *flow.dscp : -1},
                           static_cast<std::uint32_t>(known.size()) + 1)
              .first->second;
}

}  // namespace

std::vector<Flow> draw_flows(const Settings& settings, Rng seed) {
  std::vector<Flow> flows;
  for (const WorkloadSettings& w : settings.workloads) {
    FlowDraw draw(settings, w, seed.fork("workload/" + w.name));
    w.workload->draw(draw);
    std::vector<Flow> drawn = draw.take();
    for (Flow& flow : drawn) {
      const bool cut = !flow.stop.is_never() && w.message_size.count() == 0;
      flow.message_size = message_size_of(flow.size, flow.qps, cut ? kCutMessage : w.message_size);
      for (FlowEnd& end : flow.after) end.flow += static_cast<std::uint32_t>(flows.size());
    }
    flows.insert(flows.end(), std::make_move_iterator(drawn.begin()), std::make_move_iterator(drawn.end()));
  }
  number_flows(flows);
  number_connections(flows);
  return flows;
}

}  // namespace rocelab
