// The PFC watchdog in the switch: what a storm does to a port's queue. The law is pfc_watchdog.h.
#include <utility>

#include "ovs_patches/switch_model/switch_path.h"

namespace rocelab {

void Switch::Impl::add_watchdogs() {
  for (Port& port : ports) port.watchdog = std::make_unique<PfcWatchdog>(config.pfc.watchdog.period);
}

// Pauses began or ended at this port.
void Switch::Impl::watch_pauses(Port& port, PauseState::Change change, Time now) {
  const bool stormed = port.watchdog->storming() != 0;
  if (change.paused != 0) port.watchdog->on_paused(change.paused, now);
  if (change.resumed != 0) port.watchdog->on_resumed(change.resumed);
  if (stormed && port.watchdog->storming() == 0) --storming_ports;
}

void Switch::Impl::watchdog_timeout(PortId port_id, Port& port, Time now) {
  const bool stormed = port.watchdog->storming() != 0;
  const TcMask begun = port.watchdog->on_timeout(now, port.waiting);
  if (begun == 0) return;
  if (!stormed) ++storming_ports;
  for (std::uint8_t n = 0; n < kTrafficClasses; ++n) {
    const Tc tc{n};
    if ((begun & bit_of(tc)) == 0) continue;
    ++port.counters.pfc_storms;
    trace_class(TraceKind::kStorm, port_id, tc, queues.bytes(port_id, tc), now);
    if (config.pfc.watchdog.action == WatchdogAction::kDrop)
      drop_queue(port_id, port, tc, SwitchDropReason::kWatchdog, kNoPort, now);
  }
}

// Frames of a lossless class leave the switch by its own decision: their ingress ports get their room back.
// From the head on, all, or until ingress port `until_open` asks for no pause any more.
void Switch::Impl::drop_queue(PortId port_id, Port& port, Tc tc, SwitchDropReason reason, PortId until_open,
                              Time now) {
  while (!queues.empty(port_id, tc) && (until_open == kNoPort || at(until_open).requests.asks(tc))) {
    EgressQueues::Frame frame = queues.pop(port_id, tc);
    give_back(frame.in, tc, frame.packet->frame(), frame.share, now);
    drop(port_id, frame.in, *frame.packet, reason, now);
  }
  if (queues.empty(port_id, tc)) {
    port.waiting = static_cast<TcMask>(port.waiting & ~bit_of(tc));
    port.scheduler.on_empty(tc);
  }
  if (port.loop_breaker) port.loop_breaker->on_dropped(tc, port.waiting, now);
}

bool Switch::Impl::storms(PortId out, Tc tc) {
  return config.pfc.watchdog.action == WatchdogAction::kDrop &&
         (at(out).watchdog->storming() & bit_of(tc)) != 0;
}

}  // namespace rocelab
