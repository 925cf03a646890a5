#include "ovs_patches/switch_model/mechanisms/watchdog.h"

#include "ovs_patches/switch_model/counters.h"

namespace rocelab {
namespace {

constexpr std::string_view kActions[] = {"report", "drop"};
constexpr auto kFields = fields(
    field<&PfcWatchdogParams::period>("period",
                                      "a queue that its neighbour keeps paused for so long, with frames in "
                                      "it, is in a storm: it is counted and traced")
        .positive()
        .or_word("off"),
    choice<&PfcWatchdogParams::action>("action", kActions,
                                       "`drop`: what waits in it and what comes for it is dropped until the "
                                       "pause ends"));

}  // namespace

Schema<PfcWatchdogParams> WatchdogMechanism::schema() { return kFields; }

WatchdogMechanism::WatchdogMechanism(const Params& params, SwitchActions actions, Rng)
    : actions_(actions), drops_(drops(params)), ports_(actions.ports(), PfcWatchdog(params.period)) {}

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
