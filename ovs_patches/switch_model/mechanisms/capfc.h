// CaPFC in the switch: egress queues of lossless classes hold ingress ports responsible (../capfc.h), and a
// link is paused while its ingress buffer is full, as PFC asks, or any egress queue holds its port
// responsible (paper, II-E). NICs, PFC frames and links are unchanged.
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
#include "ovs_patches/switch_model/capfc.h"

namespace rocelab {

class CapfcMechanism {
 public:
  using Params = CapfcParams;
  struct Counters {  // of an ingress port
    static constexpr std::array kNames = {"capfc_held_responsible", "capfc_released", "capfc_pauses"};
    std::uint64_t held_responsible = 0;  // how often an egress queue began to
    std::uint64_t released = 0;          // how often one no longer did
    std::uint64_t pauses = 0;            // how often the link began to be paused by that
  };
  static constexpr std::string_view kName = "capfc";
  static Schema<Params> schema();
  static bool is_on(const Params& params) { return params.enabled; }
  static std::optional<SchemaProblem> problem_of(const Params& params);
  static std::optional<SchemaProblem> problem_beside(const Params& params, const SwitchConfig& config);
  static std::string problem_in(const Params& params, const SwitchConfig& config,
                                std::span<const PortConfig> ports);

  CapfcMechanism(const Params& params, SwitchActions actions, Rng rng);
  void on_enqueue(PortId out, PortId in, const Packet& packet, Time now);
  void on_dequeue(PortId out, PortId in, const Packet& packet, Time now);
  const Counters& counters(PortId port) const { return counters_[port.value]; }
  // Null: no frame has come to that queue yet.
  const CapfcQueue* queue_of(PortId out, Tc tc) const { return queues_[index(out, tc)].get(); }
  std::uint16_t asking(PortId in, Tc tc) const { return asking_[index(in, tc)]; }  // queues that hold it

  // Those of an egress queue. Computed ones: with an egress_max so that no frame comes beyond it, though all
  // other ports send at line rate; else half of the ingress XOFF of the port, the paper's ratio (table II).
  static CapfcThresholds thresholds(const Params& params, const SwitchConfig& config,
                                    std::span<const PortConfig> ports, std::size_t egress, Tc tc);

 private:
  CapfcQueue& queue(PortId out, Tc tc) {
    const std::unique_ptr<CapfcQueue>& queue = queues_[index(out, tc)];
    return queue ? *queue : make_queue(out, tc);
  }
  [[gnu::noinline]] CapfcQueue& make_queue(PortId out, Tc tc);
  void trace(PortId out, std::uint16_t culprit, Tc tc, bool on, Bytes length, Time now);
  static std::size_t index(PortId port, Tc tc) {
    return port.value * std::size_t{kTrafficClasses} + tc.value;
  }

  Params params_;
  SwitchActions actions_;
  std::vector<PortConfig> ports_;
  std::vector<std::unique_ptr<CapfcQueue>> queues_;  // by egress port and class, from its first frame on
  std::vector<std::uint16_t> asking_;  // by ingress port and class: queues that hold it responsible
  std::vector<Counters> counters_;
};

}  // namespace rocelab
