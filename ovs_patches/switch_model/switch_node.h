// SwitchNode: a Switch with the clock work around it that every driver shares: arrivals wait until they are
// due, ports serialise, and events happen in the order of docs/explanation/architecture.md: by time; at equal
// times arrivals by input port, then timers, then departures by port. Contract: before run_until(limit) the
// driver has delivered every frame that is due before `limit`; then every event before `limit` happens. How a
// run is cut into limits changes nothing. A frame departs at d only after everything due up to d was
// processed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/packet.h"
#include "base/units.h"
#include "base/wire_clock.h"
#include "ovs_patches/switch_model/arrival_queue.h"
#include "ovs_patches/switch_model/switch.h"
#include "ovs_patches/switch_model/switch_policy.h"
#include "ovs_patches/switch_model/winner_tree.h"

namespace rocelab {

class SwitchNode {
 public:
  // As Switch.
  SwitchNode(const SwitchConfig& config, std::span<const PortConfig> ports, Rng rng, PacketPool& pool,
             TraceSink& trace, FrameOwner* frames = nullptr);

  // A frame whose last bit arrives on `in` at `due`; `outs` is copied. PFC frames (kind kPfc) go to
  // on_control: they need no outs. Order of calls is free, except between frames of one input port that are
  // due at the same instant. A frame due before the committed time counts as late and is due then.
  [[gnu::always_inline]] void deliver(PortId in, std::span<const PortId> outs, PacketRef&& packet, Time due) {
    if (due < committed_) [[unlikely]] {
      ++late_arrivals_;
      due = committed_;
    }
    packet->due = due;
    arrivals_.push(in, outs, std::move(packet), due);
  }

  // Queueing policies, in the order of time, the first from 0 on; before the first frame.
  void set_policies(std::vector<PolicyChange> changes);
  // One more from `change.at` on, which is not before the committed time; after set_policies().
  void add_policy(PolicyChange change);

  // As Switch::request_pause, by hand; `now` is not before the committed time.
  void request_pause(PauseOwner owner, PortId ingress, Tc tc, bool on, Time now);

  // Earliest arrival, timer, departure, or change of policy while frames wait; Time::never() when there is
  // none. An empty switch changes its policy before its next event, so that nothing waits for the change.
  Time next_event() const {
    const Time change =
        next_policy_.is_never() || switch_.queued_frames() == 0 ? Time::never() : next_policy_;
    return std::min({arrivals_.next_due(), timers_.min_time(), departures_.min_time(), change});
  }

  // Runs all events before `limit`. A frame that departs at d on p is handed over as out(p, PacketRef, d,
  // due_at_peer): due_at_peer = d + its serialisation + the link's delay, also written into Packet::due. Of a
  // class that preempts it is handed over at its last bit: d is that instant, due_at_peer = d + the delay.
  // `out` may deliver() to other nodes, and to this one what is due at `limit` or later.
  template <class Out>
  void run_until(Time limit, Out&& out) {
    while (next_policy_ < limit) [[unlikely]] {
        run_events(next_policy_, out);
        change_policy();
      }
    run_events(limit, out);
    if (limit > committed_ && !limit.is_never()) committed_ = limit;
  }

  const Switch& model() const { return switch_; }
  Time last_event() const { return last_event_; }  // the latest that has happened
  std::uint64_t late_arrivals() const { return late_arrivals_; }

 private:
  template <class Out>
  void run_events(Time limit, Out&& out) {
    for (;;) {
      const Time departure = departures_.min_time();
      const Time timer = timers_.min_time();
      const Time arrival = arrivals_.next_due();
      const Time now = std::min({arrival, timer, departure});
      if (now >= limit) return;
      last_event_ = now;
      PortId port;
      Time due_at_peer;
      PacketRef packet;
      if (arrival == now) {
        packet = arrive(port, due_at_peer);
      } else if (timer == now) {
        switch_.on_timeout(now);
        schedule_ready(now);
      } else {
        port = PortId{static_cast<std::uint16_t>(departures_.winner())};
        packet = depart(port, now, due_at_peer);
      }
      if (packet) out(port, std::move(packet), now, due_at_peer);
    }
  }
  // A port's way out. The model keeps no time of its own.
  struct Wire {
    Wire(Rate rate, Duration link_delay) : clock(rate), delay(link_delay) {}
    WireClock clock;
    Duration delay;
    Time free_at;  // end of the frame being sent
  };
  // The next arrival. The frame that then leaves at once, and by which port; null: none does.
  PacketRef arrive(PortId& port, Time& due_at_peer);
  void arrive_from_switches(ArrivalQueue::Arrival arrival);
  PacketRef depart(PortId port, Time now, Time& due_at_peer);  // null: it has been paused meanwhile
  PacketRef depart_by_pieces(PortId port, Time now, Time& due_at_peer);
  PacketRef depart_by_policy(PortId port, Time now, Time& due_at_peer);
  bool leaves_at_once(PortId port, Time now) const;
  Time put_on_wire(PortId port, Packet& packet, Time now);
  PacketRef send(PortId port, Time now, Time& due_at_peer);
  void schedule(Time now);  // ports that may newly send; inline in switch_node.cc
  void schedule_ready(Time now);
  void change_policy();

  Switch switch_;
  const WinnerTree& timers_;  // the model's
  FrameOwner* frames_;
  ArrivalQueue arrivals_;
  WinnerTree departures_;    // per port: when it sends next; never while it has nothing to send
  std::vector<Wire> wires_;  // per port
  Time committed_ = Time::zero();
  Time last_event_;
  std::uint64_t late_arrivals_ = 0;
  Rng rng_;
  std::vector<PolicyChange> policies_;  // to come, the next one last
  Time next_policy_ = Time::never();
};

}  // namespace rocelab
