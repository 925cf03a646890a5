// NicPauseState: how the NIC's port obeys PFC. Each class is paused until its quanta have passed or an XON
// (time 0) comes; a further frame sets the time anew. Source: IEEE 802.1Q, 36.1.3.3 (receiver of
// priority-based flow control) and annex O. A frame that is on the wire is finished.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/trace.h"
#include "base/wire/pfc.h"
#include "irn_provider/transport/counters.h"

namespace rocelab {

class NicPauseState {
 public:
  NicPauseState(Rate link_rate, NicCounters& counters, TraceSink& trace);

  void on_pfc(const PfcFrame& frame, Time now);
  void on_timeout(Time now);  // classes whose pause has run out may send again
  Time next_timeout() const { return next_timeout_; }
  std::uint8_t open_classes() const { return static_cast<std::uint8_t>(~paused_); }
  // When the class may send again, as things are now; zero() when it is open.
  Time opens(std::size_t tc) const { return (paused_ >> tc & 1) == 0 ? Time::zero() : until_[tc]; }

 private:
  void set_paused(int tc, bool paused, Time now);
  void update_timeout();

  Rate link_rate_;
  NicCounters& counters_;
  TraceSink& trace_;
  std::array<Time, kTrafficClasses> until_;  // never: not paused
  std::uint8_t paused_ = 0;                  // bit n: class n
  Time next_timeout_ = Time::never();
  Time paused_since_;  // meaningful while any class is paused
  Duration paused_total_;
};

// The counter rx_prioN_pause.
std::uint64_t& rx_prio_pause(NicCounters& counters, int tc);

}  // namespace rocelab
