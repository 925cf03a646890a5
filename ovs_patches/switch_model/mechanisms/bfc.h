// BFC in the switch: the data of one class wait in queues by flow (../bfc_port.h), served in turn, and pauses
// of single queues go to the upstream end of each link. On where a label runs BFC (irn_provider/cc/bfc.h). A
// frame names the queue that it has left at the upstream end (base/bfc.h), which is rewritten at each
// departure. Frames of the class that name none, which acknowledgements are, have a queue of their own that
// comes first and is never paused.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ring.h"
#include "base/rng.h"
#include "base/schema.h"
#include "base/wire/controls.h"
#include "ovs_patches/switch_model/actions.h"
#include "ovs_patches/switch_model/bfc_port.h"

namespace rocelab {

struct BfcSwitchParams {
  bool enabled = false;
  std::uint32_t tc = 3;
  std::uint32_t queues = 32;
  std::uint32_t flows = 7'200;
  double factor = 1.5;
  Duration hop_rtt{};     // 0: computed
  Duration hysteresis{};  // 0: computed
  Duration period = 1_us;
};

class BfcMechanism {
 public:
  using Params = BfcSwitchParams;
  struct Counters {
    static constexpr std::array kNames = {"bfc_pauses_sent", "bfc_pauses_received", "bfc_frames_pausing",
                                          "bfc_shared_queues"};
    std::uint64_t sent = 0;      // pauses of queues that the port sent
    std::uint64_t received = 0;  // and that it got
    std::uint64_t pausing = 0;   // as egress: frames that were a reason to pause
    std::uint64_t shared = 0;    // as egress: flows that found no free queue
  };
  static constexpr std::string_view kName = "bfc";
  static Schema<Params> schema();
  static void follow(Params& params, std::string_view congestion_control, std::string_view preset);
  static bool is_on(const Params& params) { return params.enabled; }
  static std::optional<SchemaProblem> problem_beside(const Params& params, const SwitchConfig& config);
  static std::optional<SchemaProblem> problem_of_network(const Params& params, const SwitchConfig& config,
                                                         const NetworkFacts& network);

  BfcMechanism(const Params& params, SwitchActions actions, Rng rng);
  void on_enqueue(PortId out, PortId in, Packet& packet, Time now);
  // Every frame that joined a queue leaves it so: what drops frames out of queues is refused beside BFC.
  void on_transmit(PortId out, Packet& packet, Time now);
  std::int64_t rank(PortId out, const Packet& packet, Time now) const;
  Time next_timeout(PortId port) const { return ports_[port.value].tell_at; }
  void on_timeout(PortId port, Time now);
  static constexpr bool takes(PacketKind kind) { return kind == kind_of<BfcPause>; }
  void on_message(PortId in, std::span<const PortId> outs, PacketRef message, Time now);
  static bool ignore(SwitchPortCounters& counters, const Packet& message);
  const Counters& counters(PortId port) const { return ports_[port.value].counters; }

  // Of an egress port.
  static BfcLaw law(const Params& params, const SwitchConfig& config, const PortConfig& link);

 private:
  struct Waiting {
    PortId in;
    Bytes length;  // as it joined: what is stamped at departure makes a frame longer
  };
  struct Port {
    std::unique_ptr<BfcEgress> egress;    // from its first frame or pause on
    std::unique_ptr<BfcIngress> ingress;  // from its first frame on
    std::vector<Ring<Waiting>> waiting;   // by queue, of its frames in their order
    std::uint64_t ahead = 0;              // frames in queue 0
    Time tell_at = Time::never();         // the peer is to be told what has changed
    Counters counters;
  };
  bool names_queue(const Packet& packet) const { return packet.roce.has_bfc && packet.tc == tc_; }
  BfcEgress& egress_of(PortId out);
  void hold(PortId out);
  void tell(PortId ingress);

  Params params_;
  Tc tc_;
  SwitchActions actions_;
  Rng rng_;
  std::vector<Port> ports_;
};

}  // namespace rocelab
