// SharedPort: one process's view of the port that it shares with other processes of its host. With several in
// a window they run event by event, and hand the turn on through shared memory; the order is port_turn.h's,
// so a frame leaves when the port is free for it and never queues behind the NIC. A host with several NICs
// has a port for each and one turn for all: inputs of a process are those of all its NICs, a departure is one
// NIC's, at equal times the first one's. `nic`: its number within the host.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "irn_provider/live/port_turn.h"
#include "lockstep/segment.h"

namespace rocelab {

class SharedPort {
 public:
  SharedPort(const lockstep::Segment& segment, std::uint32_t lead);  // index of the lead's slot

  // At the begin of a window that ends at `limit`. True: others take part in it, so events go by turns;
  // false: this VF is alone until the end.
  bool begin(Time limit);
  Time port_free(std::size_t nic) const { return Time::from_ps(port(nic).free_ps.load()); }
  void set_port_free(std::size_t nic, Time t) { port(nic).free_ps.store(t.ps()); }
  ClassTurns& classes(std::size_t nic) { return port(nic).classes; }
  // Classes of which the host's other processes have something to send.
  TcMask ready_elsewhere(std::size_t nic) const;
  // At a window's end, and at the process's.
  void note_ready(std::size_t nic, TcMask classes) { slot(nic).ready_classes.store(classes); }

  // --- in a shared window
  using Intents = std::span<const VfIntent>;  // by NIC, with one time of input
  void check_in(Intents intents);             // once, before the first turn
  Turn my_turn() const;                       // kNone: somebody else's, or none is left
  bool over() const;                          // no more turns before the end
  bool abandoned() const;                     // finish alone
  void hand_on(Intents intents, Bytes sent);  // after a turn; `sent`: of the frame that left, else 0
  void leave(bool in_turn, Bytes sent);       // the process ends in mid-window: the others go on
  void wait(std::int64_t wall_ns) const;      // until the turn changes; may return early

 private:
  lockstep::VfSlot& slot(std::size_t nic) const { return segment_.vfs()[slots_[nic]]; }
  lockstep::HostPort& port(std::size_t nic) const { return segment_.host_ports()[slot(nic).host]; }
  void publish(Intents intents);
  void decide();
  Turn choose() const;
  const lockstep::Segment& segment_;
  const std::vector<std::uint32_t> slots_;  // by NIC
  lockstep::VfSlot& lead_;
  lockstep::HostPort& turns_;  // the first NIC's: whose turn it is
  Time limit_;
};

}  // namespace rocelab
