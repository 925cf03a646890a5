// The pipeline of a switch (../pipeline.h): a memory for each ingress port before it, from which PFC's
// thresholds are taken, and the egress queues behind it, which `class.N.egress_max` limits. The lossless
// frames that it holds are charged to their ingress port until they join their queues; lossy frames have
// memory of their own here, and are charged as in any switch from then on.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ring.h"
#include "base/rng.h"
#include "base/schema.h"
#include "ovs_patches/switch_model/actions.h"
#include "ovs_patches/switch_model/pipeline.h"

namespace rocelab {

struct PipelineParams {
  bool enabled = false;
  Duration service = 1_us;  // table I: 1 Mpps
  Duration latency{};
  PipelineFull full = PipelineFull::kDrop;
  Bytes lossy_buffer = 240_KB;
};

class PipelineMechanism {
 public:
  using Params = PipelineParams;
  struct Counters {  // of an ingress port
    static constexpr std::array kNames = {"pipeline_served", "pipeline_waits"};
    std::uint64_t served = 0;  // frames
    std::uint64_t waits = 0;   // how often one of them found no room in its queue, and waited
  };
  static constexpr std::string_view kName = "pipeline";
  static Schema<Params> schema();
  static bool is_on(const Params& params) { return params.enabled; }
  static std::string problem_in(const Params& params, const SwitchConfig& config,
                                std::span<const PortConfig> ports);
  static std::optional<SchemaProblem> problem_of_network(const Params& params, const SwitchConfig& config,
                                                         const NetworkFacts& network);

  PipelineMechanism(const Params& params, SwitchActions actions, Rng rng);
  bool on_arrival(PortId in, std::span<const PortId> outs, PacketRef& packet, Time now);
  void on_dequeue(PortId out, PortId in, const Packet& packet, Time now);
  Time next_timeout(PortId port) const { return port == kTimer ? law_.next_event() : Time::never(); }
  void on_timeout(PortId port, Time now);
  std::uint64_t held_frames() const { return held_; }
  const Counters& counters(PortId port) const { return counters_[port.value]; }

 private:
  static constexpr PortId kTimer{0};  // whose timer stands for the whole switch's
  struct Frame {
    PacketRef packet;
    PortId out;
    std::vector<PortId> more;  // outputs, where it has several: `out` is the first of them
    std::span<const PortId> outs() const { return more.empty() ? std::span(&out, 1) : std::span(more); }
  };
  bool has_memory(PortId in, const Packet& packet, Time now);
  bool fits(std::uint16_t port) const;
  void place(std::uint16_t port, Time now);

  Params params_;
  SwitchActions actions_;
  Pipeline law_;
  std::vector<Ring<Frame>> waiting_;  // by ingress port
  std::vector<Bytes> lossy_;          // by ingress port: what its lossy frames hold here
  std::vector<Counters> counters_;
  std::uint64_t held_ = 0;
};

}  // namespace rocelab
