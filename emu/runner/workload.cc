#include "emu/runner/workload.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "emu/runner/workload_parts.h"
#include "emu/runner/workload_type.h"

namespace rocelab {
namespace {

constexpr Bytes kCutMessage = 64_KB;  // of flows with a stop that say none: a message that has begun is sent

// In start order. `after` named flows by their place before.
void number_flows(std::vector<Flow>& flows) {
  for (std::size_t i = 0; i < flows.size(); ++i) flows[i].id = static_cast<std::uint32_t>(i);
  std::stable_sort(flows.begin(), flows.end(),
                   [](const Flow& a, const Flow& b) { return a.start < b.start; });
  std::vector<std::uint32_t> id_of(flows.size());
  for (std::size_t i = 0; i < flows.size(); ++i)
    id_of[std::exchange(flows[i].id, static_cast<std::uint32_t>(i) + 1)] = static_cast<std::uint32_t>(i) + 1;
  for (Flow& flow : flows)
    for (std::uint32_t& other : flow.after) other = id_of[other];
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
      for (std::uint32_t& other : flow.after) other += static_cast<std::uint32_t>(flows.size());
    }
    flows.insert(flows.end(), std::make_move_iterator(drawn.begin()), std::make_move_iterator(drawn.end()));
  }
  number_flows(flows);
  number_connections(flows);
  return flows;
}

}  // namespace rocelab
