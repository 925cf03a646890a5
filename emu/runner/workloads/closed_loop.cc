#include "emu/runner/workloads/closed_loop.h"

#include <string>
#include <vector>

#include "base/quantity.h"
#include "emu/runner/workload_parts.h"

namespace rocelab {
namespace {

constexpr auto kFields = fields(
    field<&ClosedLoopParams::flows>("flows", "flows of each connection, one after the other")
        .within(1, 10'000'000),
    field<&ClosedLoopParams::connections>(
        "connections", "of each sender with each receiver, each with queue pairs of its own")
        .within(1, 4'096),
    field<&ClosedLoopParams::think>(
        "think", "mean time from a flow's last acknowledgement to the connection's next flow")
        .within(0_ps, 1_s),
    choice<&ClosedLoopParams::constant_think>("think_times", kThinkTimes, "how these times are distributed"));

}  // namespace

Schema<ClosedLoopParams> ClosedLoop::schema() { return kFields; }

void ClosedLoop::read(ConfigSection& section, WorkloadSettings& w, const WorkloadContext&) {
  if (w.service != FlowService::kRc)
    section.fail_at("service", "must be \"rc\": the next flow waits for acknowledgements");
  if (w.op == FlowOp::kRead)
    section.fail_at("op",
                    "must be \"write\" or \"send\": the host that is read does not know when it is over");
  if (section.has("stop"))
    section.fail_at("stop", "is not for a closed loop, which ends with the `flows` of its connections");
}

void ClosedLoop::check(ConfigSection& section, const WorkloadSettings& w, const Topology& topology) const {
  if (w.queue_pairs == QueuePairs::kPerFlow)
    section.fail_at("queue_pairs",
                    "must be \"persistent\" or \"ahead\": a receiver does not know when flows start");
  std::uint64_t pairs = 0;
  for_each_pair(w, topology, [&](std::uint32_t, std::uint32_t) { ++pairs; });
  if (pairs == 0) section.fail_at("receivers", "leave no sender anybody to send to");
  if (static_cast<double>(pairs) * params.connections * params.flows > static_cast<double>(kMostFlows))
    section.fail_at("flows", "makes more than " + std::to_string(kMostFlows) + " flows of " +
                                 std::to_string(pairs * params.connections) + " connections");
}

void ClosedLoop::draw(FlowDraw& draw) const {
  for_each_pair(draw.workload(), draw.topology(), [&](std::uint32_t src, std::uint32_t dst) {
    for (std::uint32_t number = 1; number <= params.connections; ++number)
      draw_connection(draw, src, dst, number);
  });
}

void ClosedLoop::draw_connection(FlowDraw& draw, std::uint32_t src, std::uint32_t dst,
                                 std::uint32_t number) const {
  const bool shared = draw.workload().queue_pairs == QueuePairs::kPersistent;
  const auto& nodes = draw.topology().nodes();
  Rng rng = draw.rng().fork(nodes[src].name + "/" + nodes[dst].name + "/" + std::to_string(number));
  const Duration begin = draw.jitter();
  for (std::uint32_t i = 0; i < params.flows; ++i) {
    const auto before = static_cast<std::uint32_t>(draw.flows()) - 1;
    Flow& flow = draw.add_plain(src, dst, begin);
    flow.size = draw.size();
    if (shared) flow.connection = number;
    flow.in_order = shared;
    if (i == 0) continue;
    flow.after = {{before, think_time(params.think, params.constant_think, rng)}};
    flow.after_count = 1;
  }
}

}  // namespace rocelab
