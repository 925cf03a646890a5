// Pacer: turns a rate into the earliest departure of a flow's next burst: the start of the last burst plus
// the time that its bytes take at the rate. A burst is one packet, or a segment of several (TIMELY). At line
// rate it holds nothing back. Source: Mittal, 3.2.3 (rate control engine) and 3.4 (lazy updates: at its
// send time a segment is held back further when the rate has fallen, and never brought forward).
#pragma once

#include "base/units.h"

namespace rocelab {

class Pacer {
 public:
  // `lazy`: as 3.4. Otherwise a rate that rises while a burst waits brings it forward, as a hardware limiter
  // does.
  Pacer(Rate line_rate, bool lazy) : line_(line_rate), lazy_(lazy) {}

  void start() { *this = Pacer(line_, lazy_); }

  // One packet has left. `burst_rate`: at which packets follow each other inside a burst.
  void on_sent(Bytes wire, bool ends_burst, Rate rate, Rate burst_rate, Time now) {
    if (!in_burst_) burst_start_ = now, burst_ = {};
    burst_ += wire;
    in_burst_ = !ends_burst;
    if (in_burst_) {
      not_before_ = burst_rate < line_ ? now + transfer_time(wire, burst_rate) : now;
      return;
    }
    settle(rate);
  }

  // Nothing may leave from now on, or again. `rate`: the flow's, which does not change meanwhile.
  void hold(bool on, Rate rate) {
    settle(rate);
    if (on) not_before_ = Time::never();
  }

  // Earliest departure of the next packet, at the present rate. At or before `now`: it may leave.
  Time not_before(Rate rate, Time now) {
    if (in_burst_ || rate == rate_) return not_before_;
    const bool waits = not_before_ > now;
    if (lazy_ && (waits || rate > rate_)) return not_before_;
    settle(rate);
    return not_before_;
  }

 private:
  void settle(Rate rate) {
    rate_ = rate;
    not_before_ = rate >= line_ ? burst_start_ : burst_start_ + transfer_time(burst_, rate);
  }

  Rate line_;
  bool lazy_;
  bool in_burst_ = false;
  Time burst_start_, not_before_;
  Bytes burst_;  // wire bytes of the burst that is on its way, or of the last one
  Rate rate_;    // at which not_before_ was computed
};

}  // namespace rocelab
