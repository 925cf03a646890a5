#include "ovs_patches/switch_model/mechanisms/loop_breaker.h"

#include <string>
#include <utility>

#include "base/wire/controls.h"
#include "ovs_patches/switch_model/counters.h"
#include "ovs_patches/switch_model/queue.h"
#include "ovs_patches/switch_model/switch_config.h"

namespace rocelab {
namespace {

constexpr std::size_t kMostWaiting = 64;  // messages at a port: what is more is not passed on

}  // namespace

bool LoopBreakerMechanism::is_on(const SwitchConfig& config) { return config.loop_breaker.enabled; }

// A host passes nothing on, so that no loop goes over one: its port neither asks nor answers.
LoopBreakerMechanism::LoopBreakerMechanism(SwitchActions actions, Rng rng)
    : actions_(actions), ports_(actions.ports()) {
  const LoopBreakerConfig& c = actions_.config().loop_breaker;
  const Duration period = c.period > 0_ps ? c.period : c.interval;
  for (std::uint16_t p = 0; p < ports_.size(); ++p) {
    if (actions_.port(PortId{p}).peer != PeerKind::kSwitch) continue;
    ports_[p] = std::make_unique<LoopBreaker>(c.interval, period, rng.fork(std::to_string(p)));
  }
}

void LoopBreakerMechanism::on_pauses(PortId egress, PauseState::Change change, Time now) {
  LoopBreaker* breaker = ports_[egress.value].get();
  if (breaker == nullptr) return;
  if (change.paused != 0) breaker->on_paused(change.paused, actions_.waiting(egress), now);
  if (change.resumed != 0) breaker->on_resumed(change.resumed);
}

void LoopBreakerMechanism::on_dropped(PortId egress, Tc tc, Time now) {
  if (ports_[egress.value]) ports_[egress.value]->on_dropped(tc, actions_.waiting(egress), now);
}

void LoopBreakerMechanism::on_timeout(PortId port, Time now) {
  LoopBreaker& breaker = *ports_[port.value];
  const TcMask due = breaker.on_timeout(now, actions_.waiting(port));
  for (std::uint8_t n = 0; n < kTrafficClasses; ++n)
    if ((due & bit_of(Tc{n})) != 0) send(port, breaker.message(Tc{n}));
}

void LoopBreakerMechanism::send(PortId port, const Clcm& message) {
  SwitchPortCounters& counters = actions_.counters(port);
  if (actions_.controls(port) >= kMostWaiting) {
    ++counters.clcms_ignored;
    return;
  }
  PacketRef packet = actions_.make_packet();
  put_control(*packet, message);
  ++counters.clcms_sent;
  actions_.send_control(port, std::move(packet));
}

bool LoopBreakerMechanism::ignore(SwitchPortCounters& counters, const Packet&) {
  ++counters.clcms_ignored;
  return true;
}

// A message from the switch that has sent what this ingress port stores. Its sender waits for the port while
// that asks for a pause, and so for the queues that hold the port's frames.
void LoopBreakerMechanism::on_message(PortId in, std::span<const PortId>, PacketRef packet, Time now) {
  const Clcm message = control_of<Clcm>(*packet);
  const EgressQueues& queues = actions_.queues();
  const bool blocked = ports_[in.value] && actions_.lossless(message.tc) && actions_.asks(in, message.tc);
  bool used = false;
  for (std::uint16_t p = 0; blocked && p < ports_.size(); ++p) {
    if (ports_[p] && ports_[p]->is_master(message) && queues.holds_from(PortId{p}, message.tc, in))
      return break_loop(PortId{p}, in, message, now);
  }
  for (std::uint16_t p = 0; blocked && p < ports_.size(); ++p) {
    if (!ports_[p] || !ports_[p]->is_suspected(message.tc)) continue;
    if (!queues.holds_from(PortId{p}, message.tc, in) || !ports_[p]->passes(message)) continue;
    used = true;
    Clcm next = message;
    ++next.hops;
    send(PortId{p}, next);
  }
  actions_.counters(in).clcms_ignored += !used;
}

// The thesis's Loop Breaker drops (4.6.4); the original sends another way, where there is one.
void LoopBreakerMechanism::break_loop(PortId port, PortId in, const Clcm& message, Time now) {
  ++actions_.counters(port).loops_broken;
  actions_.trace({.time = now,
                  .kind = TraceKind::kLoop,
                  .mark = message.tc.value,
                  .port = port.value,
                  .bytes = static_cast<std::uint64_t>(actions_.queued(port, message.tc).count()),
                  .psn = message.hops,
                  .peer = in.value});
  const bool whole = actions_.config().loop_breaker.drop == LoopBreakerDrop::kQueue;
  actions_.drop_queue(port, message.tc, SwitchDropReason::kLoopBreaker,
                      whole ? std::nullopt : std::optional(in), now);
  actions_.set_timer(port);
}

}  // namespace rocelab
