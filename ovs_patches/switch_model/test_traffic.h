// Random traffic with pauses for the tests that compare and balance: frames of all sizes and classes, with
// no, one and several outputs, and switches of every shape that takes them.
#pragma once

#include <string>
#include <vector>

#include "base/rng.h"
#include "ovs_patches/switch_model/mechanisms/capfc.h"
#include "ovs_patches/switch_model/mechanisms/escape.h"
#include "ovs_patches/switch_model/mechanisms/mechanisms.h"
#include "ovs_patches/switch_model/mechanisms/pipeline.h"
#include "ovs_patches/switch_model/mechanisms/shared_memory.h"
#include "ovs_patches/switch_model/test_support.h"

namespace rocelab::switch_test {

constexpr int kPortCount = 6;

// deliver(in, outs, packet, due) of each frame, port by port: at load 0.8 every port receives about 0.8 of a
// 40 Gb/s link, most of it for two outputs. The peers do not obey our PFC.
template <class Deliver>
void make_traffic(PacketPool& pool, CountingOwner& owner, std::uint64_t seed, Duration duration, double load,
                  Deliver&& deliver) {
  Rng rng(seed);
  std::uint32_t number = 0;
  for (int in = 0; in < kPortCount; ++in) {
    Time due = Time::zero();
    while (due < at(duration)) {
      const Bytes frame =
          60_B + Bytes::from_count(static_cast<std::int64_t>(rng.below(rng.below(50) == 0 ? 1200 : 1039)));
      due = due + Duration::from_ps(
                      static_cast<std::int64_t>(static_cast<double>(wire_time(frame, 40_Gbps).ps()) / load));
      if (rng.below(60) == 0) {
        const auto traffic_class = static_cast<int>(rng.below(4));
        const auto quanta = static_cast<std::uint16_t>(rng.below(3) * rng.below(400));
        deliver(port(in), {}, make_pfc(pool, traffic_class, quanta), due);
        continue;
      }
      std::vector<PortId> outs(rng.below(20) == 0 ? rng.below(5) : 1);
      for (std::size_t i = 0; i < outs.size(); ++i) {
        outs[i] = port(static_cast<int>(
            (rng.below(3) + (i == 0 && rng.below(2) == 0 ? 0 : rng.below(kPortCount))) % kPortCount));
      }
      PacketRef packet = make_packet(pool, frame, static_cast<int>(rng.below(4)), number, number);
      packet->frame_slot = number;
      owner.references[number] = 1;
      deliver(port(in), outs, std::move(packet), due);
      ++number;
    }
  }
}

inline void feed(Bench& bench, CountingOwner& owner, std::uint64_t seed, Duration duration,
                 double load = 0.8) {
  make_traffic(bench.pool, owner, seed, duration, load,
               [&](PortId in, std::span<const PortId> outs, PacketRef packet, Time due) {
                 bench.node.deliver(in, outs, std::move(packet), due);
               });
}

inline SwitchConfig random_config(const std::string& name) {
  SwitchConfig config;
  config.max_frame = 1098_B;
  config.ingress_buffer = 40_KB;
  config.egress_limit = 30_KB;
  config.classes[2].lossless = true;
  config.classes[1].weight = 3;
  config.classes[0].selection = Selection::kStrict;
  config.classes[3].ecn =
      config.classes[1].ecn = {.enabled = true, .k_min = 3_KB, .k_max = 20_KB, .p_max = 0.3};
  if (name == "voq") config.queue_order = QueueOrder::kRoundRobin;
  if (name == "pool") config.shared_pool = 100_KB;
  if (name == "lossy") config.pfc.enabled = false;
  if (name == "push_out_lower") {
    config.pfc.enabled = false;
    config.port_buffer = 25_KB;
    config.port_rule = PortRule::kPushOutLower;
  }
  if (name == "rocc") config.mechanisms.of<RoccMechanism>().enabled = true;
  if (name == "escape" || name == "escape_extensions") config.mechanisms.of<EscapeMechanism>().enabled = true;
  if (name == "escape_extensions")
    config.mechanisms.of<EscapeMechanism>().announce = config.mechanisms.of<EscapeMechanism>().return_tokens =
        true;
  if (name == "watchdog") config.mechanisms.of<WatchdogMechanism>() = {5_us, WatchdogAction::kDrop};
  if (name == "rcp") {
    config.mechanisms.of<RcpMechanism>().enabled = true;
    config.mechanisms.of<RcpMechanism>().slot = 7_us;
    config.mechanisms.of<RcpMechanism>().rtt = 20_us;
  }
  if (name == "telemetry") config.mechanisms.of<TelemetryMechanism>().enabled = true;
  if (name == "capfc" || name == "capfc_letter") {
    CapfcParams params;
    params.enabled = true;
    params.xoff = 9_KB;
    params.xon = params.warn = 6_KB;
    if (name == "capfc_letter") {
      params.policy = CapfcPolicy::kStopMax;
      params.count = CapfcCount::kFrames;
      params.contributors = CapfcContributors::kArrivals;
      params.fixes = 0;
    }
    config.classes[3].egress_max = 14_KB;
    config.mechanisms.of<WatchdogMechanism>() = {20_us, WatchdogAction::kDrop};
    config.mechanisms.of<CapfcMechanism>() = params;
  }
  if (name.starts_with("pipeline")) {
    PipelineParams params;
    params.enabled = true;
    params.service = 40_ns;
    params.latency = 300_ns;
    params.full = name == "pipeline_stop"                  ? PipelineFull::kStop
                  : name.find("skip") != std::string::npos ? PipelineFull::kSkipPort
                                                           : PipelineFull::kDrop;
    config.classes[2].egress_max = config.classes[3].egress_max = 14_KB;
    config.mechanisms.of<PipelineMechanism>() = params;
    if (name.starts_with("pipeline_shared"))
      config.mechanisms.of<SharedMemoryMechanism>() = {true, 2_KB, 26_KB, 12_KB, 14_KB};
  }
  if (name == "input_buffered") {
    config.input_buffered = true;
    config.input_buffer = 30_KB;
    config.queue_order = QueueOrder::kRoundRobin;
  }
  return config;
}

}  // namespace rocelab::switch_test
