// P4QCN in the switch: every queue with data is a congestion point (../p4qcn_cp.h), whose feedback (FBP) goes
// back to the flow's source by the way that its frames came; or, with three points, which marks the frame. On
// where a label runs P4QCN in one of its two forms (irn_provider/cc/p4qcn_rp.h).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/rng.h"
#include "base/schema.h"
#include "ovs_patches/switch_model/actions.h"
#include "ovs_patches/switch_model/p4qcn_cp.h"
#include "ovs_patches/switch_model/switch_config.h"

namespace rocelab {

enum class P4qcnCount : std::uint8_t { kFrames, kBytes };
enum class P4qcnDepth : std::uint8_t { kQueue, kPort };
enum class P4qcnFlow : std::uint8_t { kConnection, kHosts };
enum class P4qcnSize : std::uint8_t { kHeaders, kFrame };

struct P4qcnParams {  // preset "paper": Geng et al., section 4
  bool enabled = false;
  bool marks = false;                      // three points: the receiver tells the source
  P4qcnCount count = P4qcnCount::kFrames;  // unit of the queue's length
  std::uint32_t frames_min = 11, frames_max = 11;
  Bytes q_min = kComputed, q_max = kComputed;
  double p_max = 1;
  Duration gap = 50_us;
  std::uint32_t flows = 4096;
  P4qcnFlow flow = P4qcnFlow::kConnection;  // of `gap`
  P4qcnDepth depth = P4qcnDepth::kQueue;
  P4qcnSize feedback_size = P4qcnSize::kHeaders;
  std::uint8_t dscp = 48;
};

class P4qcnMechanism {
 public:
  using Params = P4qcnParams;
  struct Counters {  // of an egress port
    static constexpr std::array kNames = {"p4qcn_feedback", "p4qcn_within_gap", "p4qcn_flows_evicted"};
    std::uint64_t feedback = 0;    // FBPs that its congestion points made
    std::uint64_t within_gap = 0;  // that were due and not sent: the flow has had one just now
    std::uint64_t evicted = 0;     // flows that were forgotten too early
  };
  static constexpr std::string_view kName = "p4qcn";
  static Schema<Params> schema();
  static void follow(Params& params, std::string_view congestion_control, std::string_view preset);
  static bool is_on(const Params& params) { return params.enabled; }
  static std::optional<SchemaProblem> problem_of(const Params& params);
  static std::string problem_in(const Params& params, const SwitchConfig& config,
                                std::span<const PortConfig> ports);

  P4qcnMechanism(const Params& params, SwitchActions actions, Rng rng);
  void on_enqueue(PortId out, PortId in, Packet& packet, Time now);
  const Counters& counters(PortId port) const { return ports_[port.value].counters; }

  // Of the queues of a port. Computed: Q_max is what a link can bring before PFC stops it, less what is in
  // flight on it (3.2.2: Q_P4QCN <= Q_PFC - Q_flight), at least half of the former; and Q_min is Q_max.
  static P4qcnPoint point(const Params& params, const SwitchConfig& config, const PortConfig& link);

 private:
  struct Port {
    std::array<std::unique_ptr<P4qcnCp>, kTrafficClasses> points;  // from a queue's first data frame on
    Counters counters;
  };
  std::int64_t depth(PortId out, Tc tc) const;
  P4qcnCp& point_of(PortId out, Tc tc);
  void send(PortId out, PortId in, const Packet& packet, std::int64_t found, Time now);

  Params params_;
  SwitchActions actions_;
  Rng rng_;
  std::vector<Port> ports_;
};

}  // namespace rocelab
