// SharedPort: one VF's view of the port that it shares with other VFs of its host. With several in a window
// the VFs run event by event, each in its own process, and hand the turn on through shared memory; the order
// is port_turn.h's, so a frame leaves when the port is free for it and never queues behind the NIC.
#pragma once

#include <cstdint>

#include "irn_provider/live/port_turn.h"
#include "lockstep/segment.h"

namespace rocelab {

class SharedPort {
 public:
  SharedPort(const lockstep::Segment& segment, std::uint32_t vf);  // index of the slot

  // At the begin of a window that ends at `limit`. True: others take part in it, so events go by turns;
  // false: this VF is alone until the end.
  bool begin(Time limit);
  Time port_free() const { return Time::from_ps(port_.free_ps.load()); }
  void set_port_free(Time t) { port_.free_ps.store(t.ps()); }
  ClassTurns& classes() { return port_.classes; }
  TcMask ready_elsewhere() const;  // classes of which the host's other VFs have something to send
  // At a window's end, and at the process's.
  void note_ready(TcMask classes) { slot_.ready_classes.store(classes); }

  // --- in a shared window
  void check_in(const VfIntent& intent);             // once, before the first turn
  Turn my_turn() const;                              // kNone: somebody else's, or none is left
  bool over() const;                                 // no more turns before the end
  bool abandoned() const;                            // finish alone
  void hand_on(const VfIntent& intent, Bytes sent);  // after a turn; `sent`: of the frame that left, else 0
  void leave(bool in_turn, Bytes sent);              // the process ends in mid-window: the others go on
  void wait(std::int64_t wall_ns) const;             // until the turn changes; may return early

 private:
  void publish(const VfIntent& intent);
  void decide();
  const lockstep::Segment& segment_;
  lockstep::VfSlot& slot_;
  lockstep::HostPort& port_;
  Time limit_;
};

}  // namespace rocelab
