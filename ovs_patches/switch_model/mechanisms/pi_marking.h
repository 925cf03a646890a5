// DCQCN+PI in the switch: every queue with data that can be marked has a PI controller (../pi_marking.h),
// which marks in place of the thresholds of [switch.ecn]. On where a label runs it
// (irn_provider/cc/dcqcn_pi.h).
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/rng.h"
#include "base/schema.h"
#include "ovs_patches/switch_model/actions.h"
#include "ovs_patches/switch_model/pi_marking.h"

namespace rocelab {

class PiMarkingMechanism {
 public:
  using Params = PiMarkingParams;
  static constexpr std::string_view kName = "pi_marking";
  static Schema<Params> schema();
  static void follow(Params& params, std::string_view congestion_control, std::string_view preset);
  static bool is_on(const Params& params) { return params.enabled; }
  static std::optional<SchemaProblem> problem_of(const Params& params);

  PiMarkingMechanism(const Params& params, SwitchActions actions, Rng rng);
  void on_enqueue(PortId out, PortId in, Packet& packet, Time now);
  Time next_timeout(PortId port) const { return ports_[port.value].next; }
  void on_timeout(PortId port, Time now);

 private:
  struct Point {  // of a queue, from its first frame on that can be marked
    PiMarking pi;
    Rng rng;
    Time next = Time::never();  // of its periods; never: it rests
  };
  struct Port {
    std::array<std::unique_ptr<Point>, kTrafficClasses> points;
    Time next = Time::never();  // the earliest of theirs
  };
  Point& point_of(PortId out, Tc tc);

  Params params_;
  SwitchActions actions_;
  Rng rng_;
  std::vector<Port> ports_;
};

}  // namespace rocelab
