// The arbiter between the virtual functions (VFs) of one host: whose event comes next, when several processes
// share the host's port. Law only: no I/O. Each VF says when it has input to take and since when it has a
// frame for the port; the port is free from `port_free` on. Order at one instant
// (docs/explanation/architecture.md): inputs of all VFs by VF index, then departures. A departure is one
// frame: of the class that one NIC would serve which had all that the VFs have (base/class_turns.h), and
// within the class round robin over the VFs that want the port by then, beginning behind the one that sent of
// that class last. So a VF never queues more than the frame that it is about to send.
#pragma once

#include <cstdint>
#include <span>

#include "base/class_turns.h"
#include "base/units.h"

namespace rocelab {

struct VfIntent {
  Time input = Time::never();       // earliest arrival, timer, or thread that wakes
  Time wants_port = Time::never();  // since when a frame could leave, were the port free
  TcMask sendable = 0;              // of these classes, none while there is no frame
  TcMask ready = 0;                 // and these, of which some may be paused
};

struct Turn {
  enum class What : std::uint8_t { kNone, kInputs, kDeparture };
  What what = What::kNone;
  std::uint32_t vf = 0;  // index within the host
  Time at;
  TcMask of = 0;          // of a departure: the bit of its class
  std::uint32_t nic = 0;  // of a departure: of which of the host's NICs
  friend bool operator==(const Turn&, const Turn&) = default;
};

// The next turn before `limit`; kNone: nothing of this host happens before it. `last_sender`: by class. With
// a departure a turn of `classes` begins, which the caller ends.
Turn next_turn(std::span<const VfIntent> vfs, Time port_free, ClassTurns& classes,
               std::span<const std::uint32_t, kTrafficClasses> last_sender, Time limit);

// When the first of the VFs can send by this port.
Time next_departure(std::span<const VfIntent> vfs, Time port_free);

}  // namespace rocelab
