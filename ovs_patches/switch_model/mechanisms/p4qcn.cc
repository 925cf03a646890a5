#include "ovs_patches/switch_model/mechanisms/p4qcn.h"

#include <algorithm>

#include "base/wire/p4qcn_fbp.h"
#include "ovs_patches/switch_model/headroom.h"
#include "ovs_patches/switch_model/mechanisms/feedback.h"
#include "ovs_patches/switch_model/queue.h"

namespace rocelab {
namespace {

constexpr std::string_view kCounts[] = {"frames", "bytes"};
constexpr std::string_view kDepths[] = {"queue", "port"};
constexpr std::string_view kFlows[] = {"connection", "hosts"};
constexpr std::string_view kSizes[] = {"headers", "frame"};

constexpr auto kFields = fields(
    choice<&P4qcnParams::count>("count", kCounts,
                                "unit of a queue's length: it chooses one of the two pairs below"),
    field<&P4qcnParams::frames_min>("frames_min", "Q_min in frames: from here on feedback may be sent")
        .within(0, 1'000'000),
    field<&P4qcnParams::frames_max>("frames_max", "Q_max in frames: from here on it is sent for sure")
        .within(0, 1'000'000),
    field<&P4qcnParams::q_min>("q_min", "Q_min in bytes. `by-link`: as `q_max`")
        .at_least(0_B)
        .or_word("by-link", kComputed),
    field<&P4qcnParams::q_max>(
        "q_max",
        "Q_max in bytes. `by-link`: XOFF of the port less the headroom of its link, at least half of XOFF")
        .at_least(0_B)
        .or_word("by-link", kComputed),
    field<&P4qcnParams::p_max>("p_max", "probability just below Q_max").within(0, 1),
    field<&P4qcnParams::gap>(
        "gap",
        "N: a flow has feedback at most once in it; `0s`: with every frame. With `p4qcn3`: `cnp_interval`")
        .at_least(Duration{}),
    field<&P4qcnParams::flows>("flows", "flows that a queue remembers for `gap`").within(1, 1'000'000),
    choice<&P4qcnParams::flow>("flow", kFlows,
                               "what `gap` is of: a queue pair's frames, or all between two hosts"),
    choice<&P4qcnParams::depth>("depth", kDepths,
                                "what a frame finds: its queue's length, or that of all queues of the port"),
    choice<&P4qcnParams::feedback_size>(
        "feedback_size", kSizes,
        "of a feedback packet: 60 bytes, or as long as the frame that drew it, of which it is a clone in the "
        "paper"),
    field<&P4qcnParams::dscp>("dscp", "of the feedback: its class").within(0, 63));

}  // namespace

Schema<P4qcnParams> P4qcnMechanism::schema() { return kFields; }

void P4qcnMechanism::follow(Params& params, std::string_view congestion_control, std::string_view preset) {
  params.marks = congestion_control == "p4qcn3";
  params.enabled = params.marks || congestion_control == kName;
  if (preset == "rdma") params.count = P4qcnCount::kBytes;
}

std::optional<SchemaProblem> P4qcnMechanism::problem_of(const Params& p) {
  if (p.frames_min > p.frames_max) return SchemaProblem{"frames_min", "is more than frames_max"};
  if (p.q_max != kComputed && p.q_min > p.q_max) return SchemaProblem{"q_min", "is more than q_max"};
  return std::nullopt;
}

P4qcnPoint P4qcnMechanism::point(const Params& params, const SwitchConfig& config, const PortConfig& link) {
  P4qcnPoint point{params.frames_min, params.frames_max, params.p_max, params.gap, params.flows};
  if (params.count == P4qcnCount::kFrames) return point;
  Bytes most = params.q_max;
  if (most == kComputed) {
    const Bytes flight = headroom_for(link, config.longest_frame(), response_time_of(config, link));
    const Bytes xoff = thresholds_for(config, link).xoff;
    most = std::max(xoff - flight, xoff / 2);
  }
  point.q_max = most.count();
  point.q_min = params.q_min != kComputed ? params.q_min.count() : point.q_max;
  return point;
}

std::string P4qcnMechanism::problem_in(const Params& params, const SwitchConfig& config,
                                       std::span<const PortConfig> ports) {
  if (std::string problem = problem_of_feedback(config, params.dscp, "P4QCN's feedback"); !problem.empty())
    return problem;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const P4qcnPoint at = point(params, config, ports[i]);
    if (at.q_min > at.q_max)
      return "port " + std::to_string(i) + ": P4QCN's q_min is more than its q_max, by-link " +
             std::to_string(at.q_max) + " B: give both";
  }
  return {};
}

P4qcnMechanism::P4qcnMechanism(const Params& params, SwitchActions actions, Rng rng)
    : params_(params), actions_(actions), rng_(rng), ports_(actions.ports()) {
  for (std::uint16_t p = 0; p < actions_.ports(); ++p) actions_.watch(PortId{p}, static_cast<TcMask>(~0));
}

std::int64_t P4qcnMechanism::depth(PortId out, Tc tc) const {
  const EgressQueues& queues = actions_.queues();
  const auto of = [&](Tc one) {
    return params_.count == P4qcnCount::kBytes ? queues.bytes(out, one).count()
                                               : static_cast<std::int64_t>(queues.frames(out, one));
  };
  if (params_.depth == P4qcnDepth::kQueue) return of(tc);
  std::int64_t sum = 0;
  for (std::uint8_t n = 0; n < kTrafficClasses; ++n) sum += of(Tc{n});
  return sum;
}

P4qcnCp& P4qcnMechanism::point_of(PortId out, Tc tc) {
  std::unique_ptr<P4qcnCp>& cp = ports_[out.value].points[tc.value];
  if (cp == nullptr)
    cp = std::make_unique<P4qcnCp>(point(params_, actions_.config(), actions_.port(out)),
                                   rng_.fork(std::to_string(out.value)).fork(std::to_string(tc.value)));
  return *cp;
}

void P4qcnMechanism::on_enqueue(PortId out, PortId in, Packet& packet, Time now) {
  if (!draws_feedback(packet)) return;
  const std::int64_t found = depth(out, packet.tc);
  P4qcnCp& cp = point_of(out, packet.tc);
  if (params_.marks) {
    if (packet.ecn == Ecn::kNotEct || packet.ecn == Ecn::kCe || !cp.draws(found)) return;
    return actions_.mark(out, in, packet, actions_.queued(out, packet.tc), now);
  }
  Counters& counters = ports_[out.value].counters;
  const std::uint64_t evicted = cp.evicted();
  const std::uint64_t all = flow_of(packet, in).key();
  const std::uint64_t flow = params_.flow == P4qcnFlow::kHosts ? all & kHostsOfFlow : all;
  switch (cp.on_frame(found, flow, now)) {
    case P4qcnVerdict::kNone:
      return;
    case P4qcnVerdict::kWithinGap:
      ++counters.within_gap;
      return;
    case P4qcnVerdict::kSend:
      break;
  }
  ++counters.feedback;
  counters.evicted += cp.evicted() - evicted;
  send(out, in, packet, found, now);
}

void P4qcnMechanism::send(PortId out, PortId in, const Packet& packet, std::int64_t found, Time now) {
  const SwitchFlow flow = flow_of(packet, in);
  const auto depth_said = static_cast<std::uint32_t>(std::min<std::int64_t>(found, 0xffffffff));
  P4qcnFbp fbp{actions_.port(out).cp_address, depth_said, flow.dest};
  if (params_.feedback_size == P4qcnSize::kFrame) fbp = fbp.as_long_as(packet.frame());
  send_feedback(actions_, out, flow, fbp, params_.dscp, now);
}

}  // namespace rocelab
