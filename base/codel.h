// CodelLaw: which frames CoDel drops (Nichols, Jacobson, ACM Queue 2012), frame by frame, as the two programs
// of Mittal's 5.3 have it: in the switch, and at the edge by the slack that a frame has used. Both take the
// same decisions (public code of the UPS chapter, read, not copied); they differ in what "above the target"
// is. The caller has the clock and the delays. After a drop the next frame is judged at once where it is
// taken at the same instant, so that a large backlog can lose several.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/units.h"

namespace rocelab {

class CodelLaw {
 public:
  // A frame is to leave (or has arrived). `above`: its delay was at least the target, and the queue has more
  // than a frame. True: it is dropped.
  bool drops(bool above, Time now, Duration interval) {
    const bool ok = is_due(above, now, interval);
    const bool dropped_last = dropped_;
    dropped_ = false;
    if (dropping_ && !ok) {
      dropping_ = false;
    } else if (dropping_) {
      if (dropped_last) {
        ++count_;
        drop_next_ = drop_next_ + step(interval);
      }
      dropped_ = now >= drop_next_;
    } else if (ok) {
      // Close to the last dropping state: about the rate that controlled the queue then is where to begin.
      const bool recent = count_ > 2 && now < drop_next_ + 8 * interval;
      count_ = recent ? count_ - 2 : 1;
      dropping_ = true;
      drop_next_ = now + step(interval);
      return true;
    }
    return dropped_;
  }
  // Delays were not seen for some time: they have to be above the target for a whole interval again.
  void interrupt() { first_above_ = Time::never(); }
  // It has nothing to remember.
  bool is_idle(Time now, Duration interval) const {
    return !dropping_ && first_above_.is_never() && (count_ <= 2 || now >= drop_next_ + 8 * interval);
  }
  bool dropping() const { return dropping_; }
  std::uint32_t count() const { return count_; }

 private:
  // Above the target for an interval.
  bool is_due(bool above, Time now, Duration interval) {
    if (!above) {
      first_above_ = Time::never();
      return false;
    }
    if (first_above_.is_never()) {
      first_above_ = now + interval;
      return false;
    }
    return now >= first_above_;
  }
  // interval / sqrt(count): correctly rounded, and so equal on every machine.
  Duration step(Duration interval) const {
    return Duration::from_ps(static_cast<std::int64_t>(static_cast<double>(interval.ps()) /
                                                       std::sqrt(static_cast<double>(count_))));
  }

  Time first_above_ = Time::never(), drop_next_ = Time::zero();
  std::uint32_t count_ = 0;
  bool dropping_ = false, dropped_ = false;
};

}  // namespace rocelab
