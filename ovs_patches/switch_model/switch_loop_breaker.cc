// Loop Breaker in the switch: which queues a message is for, and what a master does. The law of one port is
// loop_breaker.h.
#include <string>
#include <utility>

#include "ovs_patches/switch_model/switch_path.h"

namespace rocelab {
namespace {

constexpr std::size_t kMostWaiting = 64;  // messages at a port: what is more is not passed on

}  // namespace

// A host passes nothing on, so that no loop goes over one: its port neither asks nor answers.
void Switch::Impl::add_loop_breakers(const Rng& rng) {
  const LoopBreakerConfig& c = config.loop_breaker;
  const Duration period = c.period > 0_ps ? c.period : c.interval;
  for (std::uint16_t p = 0; p < ports.size(); ++p) {
    if (ports[p].config.peer != PeerKind::kSwitch) continue;
    ports[p].loop_breaker = std::make_unique<LoopBreaker>(c.interval, period, rng.fork(std::to_string(p)));
  }
}

void Switch::Impl::loop_breaker_timeout(PortId port_id, Port& port, Time now) {
  const TcMask due = port.loop_breaker->on_timeout(now, port.waiting);
  for (std::uint8_t n = 0; n < kTrafficClasses; ++n)
    if ((due & bit_of(Tc{n})) != 0) send_clcm(port_id, port, port.loop_breaker->message(Tc{n}));
}

void Switch::Impl::send_clcm(PortId port_id, Port& port, const Clcm& message) {
  if (port.control.size() >= kMostWaiting) {
    ++port.counters.clcms_ignored;
    return;
  }
  PacketRef packet = pool.make();
  put_clcm(*packet, message);
  ++port.counters.clcms_sent;
  send_control(port_id, port, std::move(packet));
}

// A message from the switch that has sent what this ingress port stores. Its sender waits for the port while
// that asks for a pause, and so for the queues that hold the port's frames.
void Switch::Impl::receive_clcm(PortId in, const Packet& packet, Time now) {
  Port& ingress = at(in);
  Clcm message = clcm_of(packet);
  const bool blocked = ingress.loop_breaker && lossless(message.tc) && ingress.requests.asks(message.tc);
  bool used = false;
  for (std::uint16_t p = 0; blocked && p < ports.size(); ++p) {
    Port& port = ports[p];
    if (port.loop_breaker && port.loop_breaker->is_master(message) &&
        queues.holds_from(PortId{p}, message.tc, in))
      return break_loop(PortId{p}, port, in, message, now);
  }
  for (std::uint16_t p = 0; blocked && p < ports.size(); ++p) {
    Port& port = ports[p];
    if (!port.loop_breaker || !port.loop_breaker->is_suspected(message.tc)) continue;
    if (!queues.holds_from(PortId{p}, message.tc, in) || !port.loop_breaker->passes(message)) continue;
    used = true;
    Clcm next = message;
    ++next.hops;
    send_clcm(PortId{p}, port, next);
  }
  ingress.counters.clcms_ignored += !used;
}

// The thesis's Loop Breaker drops (4.6.4); the original sends another way, where there is one.
void Switch::Impl::break_loop(PortId port_id, Port& port, PortId in, const Clcm& message, Time now) {
  ++port.counters.loops_broken;
  trace.record({.time = now,
                .kind = TraceKind::kLoop,
                .mark = message.tc.value,
                .port = port_id.value,
                .bytes = static_cast<std::uint64_t>(queues.bytes(port_id, message.tc).count()),
                .psn = message.hops,
                .peer = in.value});
  const bool whole = config.loop_breaker.drop == LoopBreakerDrop::kQueue;
  drop_queue(port_id, port, message.tc, SwitchDropReason::kLoopBreaker, whole ? kNoPort : in, now);
  set_timer(port_id, port);
}

}  // namespace rocelab
