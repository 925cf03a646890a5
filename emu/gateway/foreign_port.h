// ForeignPort: the port of a host whose NIC is a foreign device: a kernel's rxe, a hardware adapter. It sends
// the device's frames onto the emulated link at the link's rate, in the order in which they came, and obeys
// PFC in the device's place: a class that is paused waits, the others pass it by. Law only: no I/O.
//
// Contract: times never decrease from call to call; before a departure at d is taken, what arrived before d
// has been told (on_pfc).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "base/ids.h"
#include "base/trace.h"
#include "base/units.h"
#include "base/wire/pfc.h"
#include "base/wire_clock.h"
#include "irn_provider/nic/pause_state.h"
#include "irn_provider/transport/counters.h"

namespace rocelab {

class ForeignPort {
 public:
  struct Departure {
    std::uint32_t frame = 0;
    std::uint16_t length = 0;
    Time due;  // arrival of its last bit at the switch
  };
  ForeignPort(Rate link_rate, Duration link_delay, NicCounters& counters);

  // A frame that the device has sent: it may leave at `ready` or later.
  void push(std::uint32_t frame, std::uint16_t length, Tc tc, Time ready);
  void on_pfc(const PfcFrame& pfc, Time now) { pause_.on_pfc(pfc, now); }
  // The next frame that begins to leave before `limit`; null: none.
  std::optional<Departure> depart(Time limit);
  // When the next frame begins to leave, as things are now; Time::never() when none waits.
  Time next_departure() const { return next().at; }

 private:
  struct Waiting {
    std::uint32_t frame = 0;
    std::uint16_t length = 0;
    Time ready;
    std::uint64_t order = 0;
  };
  struct Next {
    Time at = Time::never();
    std::size_t tc = 0;
  };
  Next next() const;

  const WireClock wire_;
  const Duration link_delay_;
  NullTrace trace_;
  NicPauseState pause_;
  std::array<std::deque<Waiting>, kTrafficClasses> queues_;
  std::uint64_t arrived_ = 0;
  Time free_;  // when the last departure's gap has passed
};

}  // namespace rocelab
