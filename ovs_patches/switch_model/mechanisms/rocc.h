// RoCC in the switch: when the congestion points of a port work, and how their feedback leaves. The laws are
// rocc_cp.h (fair rate) and rocc_flow_table.h (whom to tell); Menikkumbura, 3.3.2 to 3.3.4.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/rng.h"
#include "base/schema.h"
#include "base/wire/controls.h"
#include "ovs_patches/switch_model/actions.h"
#include "ovs_patches/switch_model/rocc_cp.h"
#include "ovs_patches/switch_model/rocc_flow_table.h"

namespace rocelab {

struct RoccSwitchParams {
  bool enabled = false;             // the label runs RoCC
  std::uint8_t classes = 1 << 3;    // bit per class whose queues are congestion points, on every port
  std::uint8_t dscp = 48;           // of the CNPs: their class, here and further on
  RoccForm form = RoccForm::kRate;  // who computes the fair rate: this switch, or (3.3.6) the hosts
  RoccFlowTableParams table{};
  RoccSettings points{};
};

class RoccMechanism {
 public:
  using Params = RoccSwitchParams;
  static constexpr std::string_view kName = "rocc", kSection = "congestion_control.rocc";
  // Both ends of RoCC have one table in a scenario, so that its reader puts it together.
  static Schema<RoccSettings> point_schema();
  static Schema<RoccFlowTableParams> table_schema();
  static bool is_on(const Params& params) { return params.enabled; }
  static std::string problem_in(const Params& params, const SwitchConfig& config,
                                std::span<const PortConfig> ports);
  RoccMechanism(const Params& params, SwitchActions actions, Rng rng);

  void on_enqueue(PortId out, PortId in, const Packet& packet, Time now);
  Time next_timeout(PortId port) const { return ports_[port.value].next; }
  void on_timeout(PortId port, Time now);

 private:
  // One queue of a port, its fair rate and its flows. It rests while nobody is held back and nothing waits; a
  // period then would change nothing.
  struct CongestionPoint {
    Tc tc;
    RoccCp cp;
    std::unique_ptr<RoccFlowTable> flows;
    Time next = Time::never();  // end of the present period; never: at rest
  };
  struct Port {
    std::vector<CongestionPoint> points;
    TcMask wants = 0;  // classes whose points are to see the next frame
    Time next = Time::never();
  };
  void run_period(PortId port_id, CongestionPoint& point, Time now);
  bool updates(CongestionPoint& point, Bytes length);
  std::size_t notify_flows(PortId port, CongestionPoint& point, Bytes length, Time now);
  void send_cnp(PortId port, const SwitchFlow& flow, RoccFeedback feedback, Time now);

  Params params_;
  SwitchActions actions_;
  std::vector<Port> ports_;
};

}  // namespace rocelab
