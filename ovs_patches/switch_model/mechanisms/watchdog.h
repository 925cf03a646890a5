// The PFC watchdog in the switch: what a storm does to a port's queue. The law is pfc_watchdog.h.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/rng.h"
#include "base/schema.h"
#include "ovs_patches/switch_model/actions.h"
#include "ovs_patches/switch_model/pfc.h"
#include "ovs_patches/switch_model/pfc_watchdog.h"

namespace rocelab {

class WatchdogMechanism {
 public:
  using Params = PfcWatchdogParams;
  static constexpr std::string_view kName = "watchdog", kSection = "switch.pfc.watchdog";
  static Schema<Params> schema();
  static bool is_on(const Params& params) { return params.period > 0_ps; }
  static bool drops(const Params& params) { return params.action == WatchdogAction::kDrop; }
  WatchdogMechanism(const Params& params, SwitchActions actions, Rng rng);

  std::optional<SwitchDropReason> admit(PortId in, PortId out, const Packet& packet, Time now);
  void on_pauses(PortId egress, PauseState::Change change, Time now);
  Time next_timeout(PortId port) const { return ports_[port.value].next_timeout(); }
  void on_timeout(PortId port, Time now);

 private:
  void note_storms(PortId port, bool before);

  SwitchActions actions_;
  bool drops_;
  std::vector<PfcWatchdog> ports_;
  std::size_t storming_ports_ = 0;
};

}  // namespace rocelab
