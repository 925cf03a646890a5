#include "ovs_patches/switch_model/mechanisms/shared_memory.h"

#include "ovs_patches/switch_model/counters.h"
#include "ovs_patches/switch_model/headroom.h"
#include "ovs_patches/switch_model/switch_config.h"

namespace rocelab {
namespace {

constexpr auto kFields = fields(
    field<&SharedMemoryParams::enabled>(
        "enabled",
        "lossless classes share the memory before a pipeline, and that behind it, each within these limits"),
    field<&SharedMemoryParams::dedicated>("dedicated", "of a queue (a port and a class) alone").at_least(0_B),
    field<&SharedMemoryParams::pool>("pool", "that all queues of a side share").at_least(0_B),
    field<&SharedMemoryParams::queue>("queue", "of the pool, for a queue").at_least(0_B),
    field<&SharedMemoryParams::port>("port", "of the pool, for a port").at_least(0_B));

}  // namespace

Schema<SharedMemoryParams> SharedMemoryMechanism::schema() { return kFields; }

// The limits of `ingress_buffer` and `egress_max` are to be those of a queue here, so that each drop has one
// reason.
std::string SharedMemoryMechanism::problem_in(const Params& params, const SwitchConfig& config,
                                              std::span<const PortConfig> ports) {
  if (!config.mechanisms.is_on("pipeline"))
    return "shared_memory is that before and behind a pipeline: set switch.pipeline.enabled";
  const Bytes most = params.most_of_queue();
  if (most < config.longest_frame())
    return "shared_memory: a queue's " + to_string(most) + " hold no frame of " +
           to_string(config.longest_frame());
  for (std::size_t n = 0; n < kTrafficClasses; ++n)
    if (config.pfc.enabled && config.classes[n].lossless && config.classes[n].egress_max < most)
      return "class " + std::to_string(n) + ": egress_max " + to_string(config.classes[n].egress_max) +
             " is less than the " + to_string(most) + " that shared_memory gives a queue";
  for (const PortConfig& port : ports) {
    const PfcThresholds at = thresholds_for(config, port);
    if (at.xoff + at.headroom < most)
      return "lossless_buffer holds " + to_string(at.xoff + at.headroom) +
             " of an ingress port, less than the " + to_string(most) + " that shared_memory gives a queue";
  }
  return {};
}

SharedMemoryMechanism::SharedMemoryMechanism(const Params& params, SwitchActions actions, Rng)
    : actions_(actions),
      ingress_(params, actions.ports()),
      egress_(params, actions.ports()),
      counters_(actions.ports()) {
  actions_.watch_arrivals();
  for (std::uint16_t p = 0; p < actions_.ports(); ++p) {
    actions_.watch(PortId{p}, actions_.lossless());
    actions_.watch_departures(PortId{p}, actions_.lossless());
  }
}

// Ahead of the pipeline, which then finds room.
bool SharedMemoryMechanism::on_arrival(PortId in, std::span<const PortId>, PacketRef& packet, Time now) {
  if (!actions_.lossless(packet->tc)) return false;
  if (const auto limit = ingress_.exceeds(in, packet->tc, packet->frame())) {
    ++counters_[in.value].ingress[static_cast<std::size_t>(*limit)];
    actions_.drop(in, in, *packet, SwitchDropReason::kMechanism, now);
    return true;
  }
  ingress_.hold(in, packet->tc, packet->frame());
  return false;
}

void SharedMemoryMechanism::on_placed(PortId in, const Packet& packet, Time) {
  if (actions_.lossless(packet.tc)) ingress_.release(in, packet.tc, packet.frame());
}

void SharedMemoryMechanism::on_refused(PortId out, Tc tc, Bytes frame) {
  if (const auto limit = egress_.exceeds(out, tc, frame))
    ++counters_[out.value].egress[static_cast<std::size_t>(*limit)];
}

void SharedMemoryMechanism::on_enqueue(PortId out, PortId, const Packet& packet, Time) {
  egress_.hold(out, packet.tc, packet.frame());
}

void SharedMemoryMechanism::on_dequeue(PortId out, PortId, const Packet& packet, Time) {
  egress_.release(out, packet.tc, packet.frame());
}

}  // namespace rocelab
