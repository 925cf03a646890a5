#include "ovs_patches/switch_model/mechanisms/qcn.h"

#include <algorithm>

#include "base/wire/cnm.h"
#include "ovs_patches/switch_model/mechanisms/feedback.h"

namespace rocelab {
namespace {

constexpr auto kFields = fields(
    field<&QcnParams::q_eq>("q_eq", "Q_eq, cpQSp: the length that a queue should have")
        .within(100_B, 1000_MB),
    field<&QcnParams::w>("w", "w, 2 to the power of cpW: weight of the queue's growth").within(0, 1024),
    field<&QcnParams::sample_base>("sample_base",
                                   "cpSampleBase: bytes between samples of a queue without congestion")
        .within(1_KB, 1000_MB),
    field<&QcnParams::jitter_percent>("jitter_percent", "by which each interval between samples differs")
        .within(0, 99),
    field<&QcnParams::scale_from>("scale_from", "lengths are those of such a link, and grow with the port's")
        .positive()
        .or_word("off"));

// In units of cnmQOffset and cnmQDelta, as far as they go.
std::int16_t units(std::int64_t bytes) {
  return static_cast<std::int16_t>(std::clamp<std::int64_t>(bytes / Cnm::kUnit, -32768, 32767));
}

}  // namespace

Schema<QcnParams> QcnMechanism::schema() { return kFields; }

void QcnMechanism::follow(Params& params, std::string_view congestion_control, std::string_view preset) {
  params.enabled = congestion_control == kName;
  if (preset == "scaled") params.scale_from = 10_Gbps;
}

QcnPoint QcnMechanism::point(const Params& params, const PortConfig& link) {
  const auto grown = [&](Bytes length) {
    if (params.scale_from == Rate{}) return length;
    const double times = static_cast<double>(link.rate.bps()) / static_cast<double>(params.scale_from.bps());
    return std::max(
        100_B, Bytes::from_count(static_cast<std::int64_t>(static_cast<double>(length.count()) * times)));
  };
  return {grown(params.q_eq), params.w, grown(params.sample_base), params.jitter_percent};
}

std::string QcnMechanism::problem_in(const Params& /*params*/, const SwitchConfig& config,
                                     std::span<const PortConfig> /*ports*/) {
  return problem_of_feedback(config, Cnm::kDscp, "QCN's CNMs, which count as DSCP 48,");
}

QcnMechanism::QcnMechanism(const Params& params, SwitchActions actions, Rng rng)
    : params_(params), actions_(actions), rng_(rng), ports_(actions.ports()) {
  for (std::uint16_t p = 0; p < actions_.ports(); ++p) actions_.watch(PortId{p}, static_cast<TcMask>(~0));
}

QcnCp& QcnMechanism::point_of(PortId out, Tc tc) {
  std::unique_ptr<QcnCp>& cp = ports_[out.value].points[tc.value];
  if (cp == nullptr)
    cp = std::make_unique<QcnCp>(point(params_, actions_.port(out)),
                                 rng_.fork(std::to_string(out.value)).fork(std::to_string(tc.value)));
  return *cp;
}

// The frame is about to join the queue.
void QcnMechanism::on_enqueue(PortId out, PortId in, const Packet& packet, Time now) {
  if (!draws_feedback(packet)) return;
  const Bytes queue = actions_.queued(out, packet.tc) + packet.frame();
  const std::optional<QcnSample> sample = point_of(out, packet.tc).on_frame(packet.frame(), queue);
  if (!sample) return;
  ++ports_[out.value].counters.feedback;
  Cnm cnm;
  cnm.cp = actions_.port(out).cp_address;
  cnm.tc = packet.tc;
  cnm.feedback = sample->feedback;
  cnm.q_offset = units(sample->q_offset);
  cnm.q_delta = units(sample->q_delta);
  cnm.sample(packet);
  send_feedback(actions_, out, flow_of(packet, in), cnm, Cnm::kDscp, now);
}

}  // namespace rocelab
