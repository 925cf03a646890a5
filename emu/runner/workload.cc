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

using ConnectionKey = std::tuple<std::string, std::uint32_t, std::uint32_t, FlowOp, int, std::uint32_t>;

// Of flows that share queue pairs; `connection` is as drawn, a number among those of the workload's pair.
ConnectionKey connection_key(const Flow& flow) {
  return {flow.group, flow.src, flow.dst, flow.op, flow.dscp ? *flow.dscp : -1, flow.connection};
}

// Places of flows in start order. A flow that waits for others on a shared connection is behind them: both
// ends post by this order, and would wait for ever else. Its start is set to the earliest one, at which it
// starts where flows take no time. `after` names flows by their place.
class StartOrder {
 public:
  explicit StartOrder(std::vector<Flow>& flows)
      : flows_(flows), waiters_(flows.size()), follower_(flows.size(), kNone), waits_(flows.size()) {
    std::map<ConnectionKey, std::uint32_t> last;
    for (std::uint32_t i = 0; i < flows.size(); ++i) {
      const Flow& flow = flows[i];
      if (flow.connection != 0 && flow.after_count > 0) {
        waits_[i].ends = flow.after_count;
        for (const FlowEnd& end : flow.after) waiters_[end.flow].push_back({i, end.delay});
      }
      if (!flow.in_order) continue;
      const auto [before, first] = last.try_emplace(connection_key(flow), i);
      waits_[i].turn = !first;
      if (!first) follower_[std::exchange(before->second, i)] = i;
    }
  }

  std::vector<std::uint32_t> take() {
    for (std::uint32_t i = 0; i < flows_.size(); ++i) start_if_ready(i);
    std::vector<std::uint32_t> order;
    while (!starts_.empty()) {
      const auto [at, place] = starts_.top();
      starts_.pop();
      order.push_back(place);
      for (const auto& [i, delay] : waiters_[place]) end_before(i, at + delay);
      if (const std::uint32_t next = follower_[place]; next != kNone) {
        waits_[next].turn = false;
        flows_[next].start = std::max(flows_[next].start, at);
        start_if_ready(next);
      }
    }
    RL_CHECK(order.size() == flows_.size());  // who writes or draws them sees to it that all start
    return order;
  }

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;
  struct Waits {
    std::uint32_t ends = 0;  // so many more of those that it waits for
    bool turn = false;       // until the flow before it has started
  };
  using Start = std::pair<Time, std::uint32_t>;  // and place

  void start_if_ready(std::uint32_t i) {
    if (waits_[i].ends == 0 && !waits_[i].turn) starts_.emplace(flows_[i].start, i);
  }
  void end_before(std::uint32_t i, Time earliest) {
    if (waits_[i].ends == 0) return;
    flows_[i].start = std::max(flows_[i].start, earliest);
    if (--waits_[i].ends == 0) start_if_ready(i);
  }

  std::vector<Flow>& flows_;
  std::vector<std::vector<std::pair<std::uint32_t, Duration>>> waiters_;
  std::vector<std::uint32_t> follower_;
  std::vector<Waits> waits_;
  std::priority_queue<Start, std::vector<Start>, std::greater<>> starts_;
};

// In start order. `after` named flows by their place before.
void number_flows(std::vector<Flow>& flows) {
  std::vector<std::uint32_t> id_of(flows.size());
  std::vector<Flow> sorted;
  sorted.reserve(flows.size());
  for (const std::uint32_t place : StartOrder(flows).take()) {
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
  std::map<ConnectionKey, std::uint32_t> known;
  for (Flow& flow : flows)
    if (flow.connection != 0)
      flow.connection =
          known.try_emplace(connection_key(flow), static_cast<std::uint32_t>(known.size()) + 1).first->second;
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
