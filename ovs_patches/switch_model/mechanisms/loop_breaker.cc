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

constexpr std::string_view kDrops[] = {"queue", "to-xon"};
constexpr auto kFields = fields(
    field<&LoopBreakerParams::enabled>(
        "enabled",
        "Loop Breaker: queues that wait for one another in a loop find it by messages, and one of them, the "
        "master, drops (docs/explanation/escape.md). Needs PFC, and no Escape"),
    choice<&LoopBreakerParams::drop>(
        "drop", kDrops,
        "what the master drops: all that its queue holds, or `to-xon`: from its head on until the ingress "
        "port of the loop asks for no pause any more"),
    field<&LoopBreakerParams::interval>(
        "interval", "a queue that is paused for so long, with frames and without a departure, is suspected")
        .positive(),
    field<&LoopBreakerParams::period>("period",
                                      "how often a suspected queue asks; `by-interval`: each interval")
        .positive()
        .or_word("by-interval"));

}  // namespace

Schema<LoopBreakerParams> LoopBreakerMechanism::schema() { return kFields; }

std::optional<SchemaProblem> LoopBreakerMechanism::problem_beside(const Params&, const SwitchConfig& config) {
  if (!config.pfc.enabled)
    return SchemaProblem{{}, "needs PFC: give the label a transport with it, such as \"roce+pfc\""};
  if (config.mechanisms.is_on("escape"))
    return SchemaProblem{{}, "and escape are for the same deadlocks: use one of them"};
  return std::nullopt;
}

// A host passes nothing on, so that no loop goes over one: its port neither asks nor answers.
LoopBreakerMechanism::LoopBreakerMechanism(const Params& params, SwitchActions actions, Rng rng)
    : params_(params), actions_(actions), ports_(actions.ports()) {
  const Duration period = params.period > 0_ps ? params.period : params.interval;
  for (std::uint16_t p = 0; p < ports_.size(); ++p) {
    if (actions_.port(PortId{p}).peer != PeerKind::kSwitch) continue;
    ports_[p] = std::make_unique<LoopBreaker>(params.interval, period, rng.fork(std::to_string(p)));
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
  const bool whole = params_.drop == LoopBreakerDrop::kQueue;
  actions_.drop_queue(port, message.tc, SwitchDropReason::kLoopBreaker,
                      whole ? std::nullopt : std::optional(in), now);
  actions_.set_timer(port);
}

}  // namespace rocelab
