// Coordinator: the switch process's half of the lock-step clock. It opens windows, waits for the VFs that
// take part, and watches that they live.
//
// Hosts and switches take turns, because hosts are linked to switches only. L is the lookahead: whatever is
// sent at time t is due at t + L or later.
//   switches' turn   hosts stand; none sends before H, the earliest event or promise of a host, or before the
//                    first frame that a switch may still send it arrives: switches may run to H + L
//   hosts' turn      switches stand; none sends to a host before S, their next event, or before the first
//                    frame that a host may still send them arrives: hosts may run to min(S, H + L) + L
// So time advances by two lookaheads per wake-up of the hosts, where a common window for everybody would
// advance by one; what wakes processes is what costs (docs/benchmarks/README.md). Links between switches cut
// the switches' turn: it is run in passes of one lookahead, without waking anybody.
//
// Only VFs with an event in the window are woken. Between windows nothing runs but VFs that *hold* time:
// programs that compute or wait for the operating system while their NIC takes no part in a window.
//
// The thread that drives it (the PMD thread) also forwards management traffic, so no call blocks for longer
// than it is told.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/units.h"
#include "lockstep/segment.h"

namespace rocelab::lockstep {

enum class Turn : std::uint8_t { kNobody, kSwitches, kHosts };
struct Step {
  Turn turn = Turn::kNobody;
  Time end = Time::never();  // exclusive; never() for nobody
};

class Coordinator {
 public:
  explicit Coordinator(Segment& segment);  // the segment outlives it
  ~Coordinator();
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  // Waits at most `wall_ns` until the window's participants have finished and nobody holds time. True: the
  // next window may be opened. Grace and liveness are applied in here; it is cheap to call when there is
  // nothing to wait for.
  bool wait_ready(std::int64_t wall_ns);

  // Whose turn is next; call only after wait_ready() said true, and after all input of VFs was announced by
  // note_input(). `switch_next`: earliest event of the switch side: models, links between switches, frames
  // waiting in tx rings.
  //   kSwitches  the caller runs the switches' events before `end`
  //   kHosts     the window up to `end` is already granted to the VFs that have events in it
  //   kNobody    nothing to do anywhere (time stands until somebody posts), the gate is closed, somebody
  //              holds time, a pace or the wall clock holds it back, or the clock stops for the runner
  //              (Header::stop_ps): every frame that arrives before that instant has passed, none that
  //              arrives later
  Step next_step(Time switch_next);

  // A frame with this due time was pushed into the VF's rx ring.
  void note_input(std::uint32_t vf, Time due);

  // VFs that took part in the window just finished, and those that follow them: only their tx and returns
  // rings can have news.
  const std::vector<std::uint32_t>& participants() const { return participants_; }

  // Sleeps at most `wall_ns` until a VF begins or ceases to hold time; for a driver that next_step() gave
  // nothing to do.
  void wait_idle(std::int64_t wall_ns);

  // VFs whose process has ended since the last call (slot state kLeft: in order, kDead: not). Frames that
  // they sent may still be in their tx rings and in the network. Call release() when all frames of the VF's
  // range are home and its rx ring is drained: it empties the rings (views of them must be made anew) and
  // frees the slot for another process.
  std::vector<std::uint32_t> take_ended();
  void release(std::uint32_t vf);

  Time now() const { return now_; }  // end of the hosts' last window
  // What a host sent in its last window is due at this time or later; what is due earlier comes from a
  // process that time has gone on without.
  Time earliest_arrival() const { return std::max(switches_now_, now_ - lookahead_); }
  bool gate_open() const { return gate_open_; }
  // Ends the run with an error that runner and programs can read.
  void fail(const std::string& why);
  void stop();  // orderly end: programs leave experiment time

 private:
  struct Watch {  // what is known of the process that owns a VF
    int pidfd = -1;
    std::uint32_t pid = 0;
    bool ended = false;
    std::int64_t waiting_since_ns = -1;  // wall time since when time stands because of it
    std::int64_t next_request_ns = 0;
    std::int64_t stopped_since_ns = -1;  // time stands and it is stopped
  };
  bool owes(std::uint32_t vf) const;  // time must wait for this VF
  std::uint32_t lead_of(std::uint32_t vf) const;
  std::span<const std::uint32_t> followers_of(std::uint32_t vf) const;
  bool anyone_owes() const;
  void adopt_new_processes();
  void check_liveness(std::int64_t now_ns);
  void press(std::uint32_t vf, std::int64_t now_ns);  // grace is over
  bool another_runs(std::uint32_t vf) const;
  void wait_for_stopped(std::uint32_t vf, bool by_debugger, std::int64_t now_ns);
  void leave_behind(std::uint32_t vf);
  Time earliest_host_event() const;
  Time switches_end(Time host_next, Time switch_next) const;
  bool publish(Time time);
  void grant(Time end);
  bool update_gate();
  void share_ports();
  void abandon_turns(std::uint32_t vf);
  bool held_back_by_pace(Time next);
  void follow_wall_clock(Time next);
  void slip_wall_clock(Time next);
  bool waits_at_stop(Time stop_at, Time host_next, Time switch_next);

  Segment& segment_;
  Header& header_;
  const Duration lookahead_;
  bool switches_linked_ = false;  // to each other
  Time now_ = Time::zero();       // hosts
  Time switches_now_ = Time::zero();
  bool gate_open_ = false;
  std::uint32_t seq_ = 0;
  std::vector<std::uint32_t> leads_;                   // per VF: the slot that it follows in a program
  std::vector<std::vector<std::uint32_t>> followers_;  // per VF: the slots that follow it in one
  std::vector<Time> input_;  // per lead: earliest frame pushed since its last window
  std::vector<std::uint32_t> participants_;
  std::vector<Watch> watches_;
  std::vector<std::uint32_t> ended_;
  std::int64_t pace_epoch_ns_ = -1;
  std::int64_t held_until_ns_ = -1;  // by the wall clock, when nothing is to do before; -1: not held
  std::int64_t last_check_ns_ = 0;
};

}  // namespace rocelab::lockstep
