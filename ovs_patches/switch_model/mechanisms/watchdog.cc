#include "ovs_patches/switch_model/mechanisms/watchdog.h"

#include "ovs_patches/switch_model/counters.h"
#include "ovs_patches/switch_model/switch_config.h"

namespace rocelab {

bool WatchdogMechanism::is_on(const SwitchConfig& config) { return config.pfc.watchdog.period > 0_ps; }

WatchdogMechanism::WatchdogMechanism(SwitchActions actions, Rng)
    : actions_(actions),
      drops_(actions.config().pfc.watchdog.action == WatchdogAction::kDrop),
      ports_(actions.ports(), PfcWatchdog(actions.config().pfc.watchdog.period)) {}

// Frames for a queue in a storm are dropped; those with several outputs are let in.
std::optional<SwitchDropReason> WatchdogMechanism::admit(PortId, PortId out, const Packet& packet, Time) {
  if (drops_ && (ports_[out.value].storming() & bit_of(packet.tc)) != 0) return SwitchDropReason::kWatchdog;
  return std::nullopt;
}

void WatchdogMechanism::on_pauses(PortId egress, PauseState::Change change, Time now) {
  PfcWatchdog& watchdog = ports_[egress.value];
  const bool stormed = watchdog.storming() != 0;
  if (change.paused != 0) watchdog.on_paused(change.paused, now);
  if (change.resumed != 0) watchdog.on_resumed(change.resumed);
  note_storms(egress, stormed);
}

void WatchdogMechanism::on_timeout(PortId port, Time now) {
  PfcWatchdog& watchdog = ports_[port.value];
  const bool stormed = watchdog.storming() != 0;
  const TcMask begun = watchdog.on_timeout(now, actions_.waiting(port));
  note_storms(port, stormed);
  for (std::uint8_t n = 0; n < kTrafficClasses; ++n) {
    const Tc tc{n};
    if ((begun & bit_of(tc)) == 0) continue;
    ++actions_.counters(port).pfc_storms;
    actions_.trace_queue(TraceKind::kStorm, port, tc, now);
    if (drops_) actions_.drop_queue(port, tc, SwitchDropReason::kWatchdog, std::nullopt, now);
  }
}

// Admission is watched while any port storms.
void WatchdogMechanism::note_storms(PortId port, bool before) {
  const bool storms = ports_[port.value].storming() != 0;
  if (storms == before) return;
  if (storms ? storming_ports_++ == 0 : --storming_ports_ == 0) actions_.watch_admission(storms);
}

}  // namespace rocelab
