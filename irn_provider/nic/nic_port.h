// NicPort: the node loop around one Nic that every driver shares (live process, test pair, virtual-time
// host). It owns the order of events at a host (docs/explanation/architecture.md: arrivals, timers, posts by
// the program, departures), the serialisation of the port, and nothing else: no I/O. A frame that departs at
// d occupies the port for wire_time(frame, rate) and is due at the link's other end one link delay after its
// last bit. Contract:
//  1. deliver() in due order; no frame is due before now().
//  2. run_until(limit) runs every event with time < limit, unless a completion is made: then it returns at
//     once, after the arrivals and timers of that instant and before its departures, so that the program can
//     post at that very time. Call it again with the same limit to go on.
//  3. The program posts at now() or later: call advance_to(t) (or run_to_posts(t, out)) before posting at t,
//     so that nothing leaves earlier than it was posted.
//  4. `out(PacketRef, Time departure, Time due)` is called while Nic::gather() and Nic::path_of() of the
//     packet are valid.
// Several engines behind one port (virtual functions of a host): their driver runs them event by event with
// next_input(), wants_port(), run_inputs() and depart(), and hands the port's state on with port_free() and
// set_port_free().
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/check.h"
#include "base/packet.h"
#include "base/ring.h"
#include "base/units.h"
#include "base/wire_clock.h"
#include "irn_provider/nic/nic.h"
#include "irn_provider/nic/nic_impl.h"

namespace rocelab {

enum class StopReason : std::uint8_t { kLimit, kCompletion };

class NicPort {
 public:
  NicPort(Nic& nic, Rate rate, Duration link_delay)
      : nic_(nic), state_(*nic.impl_), wire_(rate), link_delay_(link_delay) {}

  void deliver(PacketRef&& packet, Time due) {  // PFC frames (base/wire/pfc.h) included
    RL_CHECK(due >= now_ && due >= last_due_);
    packet->due = last_due_ = due;
    arrivals_.push_slot() = std::move(packet);
  }
  Time next_event() const;  // of arrivals, timers and the next departure; Time::never() when idle
  Time now() const { return now_; }
  // Moves the clock over a time in which nothing happens.
  void advance_to(Time t);

  template <class Out>
  StopReason run_until(Time limit, Out&& out) {
    for (;;) {
      const Time input = next_input();
      const Time t = std::min(input, next_departure());
      if (t >= limit) return StopReason::kLimit;
      now_ = t;
      if (input == t) {
        take_inputs(t);
        if (completed()) return StopReason::kCompletion;
      }
      depart(t, out);
      if (completed()) return StopReason::kCompletion;  // a WQE that could not even be sent
    }
  }

  // All events before `t`, then the arrivals and timers at `t` itself; now() == t unless a completion stopped
  // it earlier.
  template <class Out>
  StopReason run_to_posts(Time t, Out&& out) {
    if (run_until(t, out) == StopReason::kCompletion) return StopReason::kCompletion;
    return run_inputs(t);
  }

  // --- event by event
  Time next_input() const {  // earliest arrival or timer
    const Time arrival = arrivals_.empty() ? Time::never() : arrivals_.front()->due;
    // A timer may have been set for an instant that has passed by now (a pull or post arms it): it is due at
    // once.
    return std::min(arrival, std::max(next_timer(), now_));
  }
  Time wants_port() const {
    return has_more() ? now_ : Time::never();
  }  // since when a frame could leave, were the port free
  TcMask ready_classes() const { return state_.scheduler.ready_classes(); }  // paused ones included
  TcMask sendable_classes() const {
    return static_cast<TcMask>(ready_classes() & state_.pause.open_classes());
  }
  // Whether what could leave is more than acknowledgements and CNPs.
  bool wants_to_send_data() const { return state_.scheduler.has_ready_data(state_.pause.open_classes()); }
  Time port_free() const { return port_free_; }
  void set_port_free(Time t) { port_free_ = t; }
  StopReason run_inputs(Time t) {
    take_inputs(t);
    return completed() ? StopReason::kCompletion : StopReason::kLimit;
  }
  // At most one frame, of one of these classes, at `t` (not before now() nor before the port is free).
  template <class Out>
  StopReason depart_at(Time t, Out&& out, TcMask of = kAllClasses) {
    now_ = t;
    depart(t, out, of);
    return completed() ? StopReason::kCompletion : StopReason::kLimit;
  }

 private:
  bool has_more() const { return state_.scheduler.has_ready(state_.pause.open_classes()); }
  Time next_departure() const { return has_more() ? std::max(now_, port_free_) : Time::never(); }
  Time next_timer() const {
    return std::min({state_.timers.next(), state_.pause.next_timeout(), state_.link.next_change()});
  }
  void take_inputs(Time t);
  bool completed() { return std::exchange(completions_seen_, state_.completions) != state_.completions; }

  template <class Out>
  void depart(Time t, Out&& out, TcMask of = kAllClasses) {
    if (next_departure() > t) return;
    PacketRef packet = nic_.poll_transmit(t, of);
    if (!packet) return;
    port_free_ = t + wire_.wire_time(packet->frame());
    const Time due = port_free_ + link_delay_;
    out(std::move(packet), t, due);
  }

  Nic& nic_;
  const Nic::Impl& state_;  // of nic_
  const WireClock wire_;
  const Duration link_delay_;
  Ring<PacketRef> arrivals_;  // in due order
  Time last_due_;             // of the latest of them
  Time now_;
  Time port_free_;  // when the last departure's gap has passed
  std::uint64_t completions_seen_ = 0;
};

}  // namespace rocelab
