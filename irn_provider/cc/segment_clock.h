// SegmentClock: RTT samples of one sequence space: when each segment's first packet left, until everything up
// to its last packet is acknowledged. A segment of which a packet was sent again gives no sample (Karn: its
// ACK could be for either copy). Source: Mittal, 3.2.1.
#pragma once

#include <optional>

#include "base/psn.h"
#include "base/ring.h"
#include "irn_provider/cc/congestion_control.h"

namespace rocelab {

class SegmentClock {
 public:
  void start() {
    segments_.clear();
    open_ = false;
  }

  // A packet has left; `total` counts the flow's wire bytes, this packet included.
  void on_sent(UnwrappedPsn psn, Bytes wire, Bytes total, bool ends_segment, Time now) {
    if (!open_) segments_.push_back({psn, psn, now, {}, {}, total - wire, true});
    Segment& segment = segments_.back();
    segment.end = psn + 1;
    segment.wire += wire;
    segment.last = wire;
    open_ = !ends_segment;
  }
  void on_resent(UnwrappedPsn psn) {
    for (std::size_t i = 0; i < segments_.size() && segments_[i].first <= psn; ++i)
      if (psn < segments_[i].end) segments_[i].clean = false;
  }
  // The next completed segment's sample; null: none (more) up to `una`. Its packets followed each other at
  // `burst_rate`, and each took the line's time.
  std::optional<RttSample> take(UnwrappedPsn una, Bytes total, Rate burst_rate, Rate line, Time now) {
    while (segments_.size() > (open_ ? 1u : 0u) && segments_.front().end <= una) {
      const Segment s = segments_.take_front();
      if (!s.clean) continue;
      const Duration serialisation =
          burst_rate < line ? transfer_time(s.wire - s.last, burst_rate) + transfer_time(s.last, line)
                            : transfer_time(s.wire, line);
      return sample(s.end - 1, s.sent_at, serialisation, s.total_before, total, now);
    }
    return std::nullopt;
  }
  static RttSample sample(UnwrappedPsn last, Time sent_at, Duration serialisation, Bytes total_before,
                          Bytes total, Time now) {
    const Duration elapsed = now - sent_at;
    return {elapsed - serialisation, elapsed, total - total_before, last};
  }

 private:
  struct Segment {
    UnwrappedPsn first, end;
    Time sent_at;
    Bytes wire, last, total_before;  // of all its packets, and of the last one
    bool clean;
  };
  Ring<Segment> segments_;  // oldest first
  bool open_ = false;       // the last one has not ended yet
};

}  // namespace rocelab
