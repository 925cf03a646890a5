#include "ovs_patches/switch_model/mechanisms/pipeline.h"

#include <algorithm>
#include <utility>

#include "ovs_patches/switch_model/counters.h"
#include "ovs_patches/switch_model/network_facts.h"
#include "ovs_patches/switch_model/switch_config.h"

namespace rocelab {
namespace {

constexpr std::string_view kFull[] = {"drop", "stop", "skip-port"};

constexpr auto kFields = fields(
    field<&PipelineParams::enabled>(
        "enabled",
        "a packet processor with a memory before it (`ingress_buffer`) and one behind it "
        "(`class.N.egress_max`)"),
    field<&PipelineParams::service>("service", "time for one frame of any length: `1us` is 1 Mpps")
        .positive(),
    field<&PipelineParams::latency>("latency", "from a frame's arrival until it may be served")
        .at_least(0_ps),
    choice<&PipelineParams::full>(
        "full", kFull,
        "a frame of a lossless class whose queue is full is dropped, stops the processor, or stops only its "
        "ingress port; with the last two `egress_max` drops nothing"),
    field<&PipelineParams::lossy_buffer>(
        "lossy_buffer", "of an ingress port: what lossy frames before the processor may hold")
        .positive());

}  // namespace

Schema<PipelineParams> PipelineMechanism::schema() { return kFields; }

std::string PipelineMechanism::problem_in(const PipelineParams&, const SwitchConfig& config,
                                          std::span<const PortConfig>) {
  if (config.mechanisms.is_on("escape") || config.mechanisms.is_on("loop_breaker"))
    return "a pipeline goes with neither Escape nor Loop Breaker: both look for the frames of an ingress "
           "port in egress queues";
  if (config.input_buffered || config.shared_pool > 0_B)
    return "a pipeline has a memory on either side: it goes with neither input_buffered nor a shared_pool";
  for (std::size_t n = 0; n < config.classes.size(); ++n)
    if (config.pfc.enabled && config.classes[n].lossless && config.classes[n].egress_max == 0_B)
      return "class " + std::to_string(n) +
             " has no egress_max, which is its memory behind the pipeline: "
             "give switch.class." +
             std::to_string(n) + ".egress_max";
  return {};
}

std::optional<SchemaProblem> PipelineMechanism::problem_of_network(const Params& params, const SwitchConfig&,
                                                                   const NetworkFacts& network) {
  if (params.full == PipelineFull::kStop && network.wall_clock)
    return SchemaProblem{"full",
                         "switch.pipeline.full = \"stop\" may deadlock, and foreign devices would wait for "
                         "ever: use clock = \"lockstep\" or \"skip-port\""};
  return std::nullopt;
}

PipelineMechanism::PipelineMechanism(const PipelineParams& params, SwitchActions actions, Rng)
    : params_(params),
      actions_(actions),
      law_(params.service, params.latency, params.full, actions.ports()),
      waiting_(actions.ports()),
      lossy_(actions.ports()),
      counters_(actions.ports()) {
  actions_.watch_arrivals();
  if (params_.full == PipelineFull::kDrop) return;
  for (std::uint16_t p = 0; p < actions_.ports(); ++p)
    actions_.watch_departures(PortId{p}, actions_.lossless());
}

// Charges the frame to its ingress port. False: it has been dropped.
bool PipelineMechanism::has_memory(PortId in, const Packet& packet, Time now) {
  if (actions_.lossless(packet.tc)) {
    if (actions_.charge(in, packet.tc, packet.frame())) {
      actions_.check_xoff(in, packet.tc, now);
      return true;
    }
    actions_.drop(in, in, packet, SwitchDropReason::kHeadroom, now);
    return false;
  }
  if (lossy_[in.value] + packet.frame() > params_.lossy_buffer) {
    actions_.drop(in, in, packet, SwitchDropReason::kInputBuffer, now);
    return false;
  }
  lossy_[in.value] += packet.frame();
  return true;
}

bool PipelineMechanism::on_arrival(PortId in, std::span<const PortId> outs, PacketRef& packet, Time now) {
  if (!has_memory(in, *packet, now)) return true;
  Frame& frame = waiting_[in.value].push_slot();
  frame.packet = std::move(packet);
  frame.out = outs[0];
  frame.more.assign(outs.begin(), outs.size() > 1 ? outs.end() : outs.begin());
  ++held_;
  law_.on_arrival(in.value, now);
  actions_.set_timer(kTimer);
  return true;
}

bool PipelineMechanism::fits(std::uint16_t port) const {
  const Frame& frame = waiting_[port].front();
  if (!actions_.lossless(frame.packet->tc)) return true;  // it is dropped where it does not
  return std::ranges::all_of(frame.outs(), [&](PortId out) {
    return actions_.has_room(out, frame.packet->tc, frame.packet->frame());
  });
}

void PipelineMechanism::place(std::uint16_t port, Time now) {
  Frame frame = waiting_[port].take_front();
  --held_;
  ++counters_[port].served;
  if (!actions_.lossless(frame.packet->tc)) lossy_[port] -= frame.packet->frame();
  actions_.place(PortId{port}, frame.outs(), std::move(frame.packet), now);
}

void PipelineMechanism::on_timeout(PortId, Time now) {
  law_.run(
      now, [&](std::uint16_t port) { return fits(port); }, [&](std::uint16_t port) { place(port, now); },
      [&](std::uint16_t port) { ++counters_[port].waits; });
}

void PipelineMechanism::on_dequeue(PortId, PortId, const Packet&, Time now) {
  law_.on_room(now);
  actions_.set_timer(kTimer);
}

}  // namespace rocelab
