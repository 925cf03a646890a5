// RcpCp: RCP's law at a port: one rate R for all flows that leave by it, which rises by what is left of the
// link and falls by the queue, once in a slot T:
//
//     R := R (1 + T / d (alpha (gamma C - y) - beta q / d) / (gamma C))
//
// with y what has joined the port's queues in the slot, over T, q what waits in them at its end, and d a
// moving average of the round trips that data carries. Source: Dukkipati, "Rate Control Protocol (RCP):
// Congestion Control to Make Flows Complete Quickly", Stanford 2007; how d moves and R's floor: her ns-2 code
// (rcp.cc), and the ns-3 port of it by the authors of the RC3 chapter. DEVIATIONS.md#rcp. No clock, queue or
// packet here.
#pragma once

#include <algorithm>

#include "base/units.h"

namespace rocelab {

struct RcpLaw {
  double alpha = 0.4, beta = 0.4, gamma = 1;
  Duration slot = 10_ms;  // T is the lesser of it and d
  double initial = 0.05;  // of the link: R at first
  Duration rtt;           // d at first
  Rate min_rate;          // R's floor
};

class RcpCp {
 public:
  RcpCp(const RcpLaw& law, Rate link)
      : law_(law),
        link_(static_cast<double>(link.bps())),
        rtt_(law.rtt.seconds()),
        slot_(std::min(law.slot, law.rtt)) {
    set_rate(law.initial * link_);
  }

  // A frame joins: its bytes on the wire, and the round trip that it carries; 0: none.
  void on_frame(Bytes wire, Duration rtt) {
    const auto bytes = static_cast<double>(wire.count());
    bytes_ += bytes;
    if (rtt <= Duration{}) return;
    told_bytes_ += bytes;
    told_ += rtt.seconds() * bytes;
  }

  // The slot has ended with `queue` bytes waiting. Returns the next slot's length.
  Duration end_slot(Bytes queue) {
    const double t = slot_.seconds();
    if (told_bytes_ > 0) average(told_ / told_bytes_, t);
    const double capacity = law_.gamma * link_, y = bytes_ * 8 / t;
    const double q = static_cast<double>(queue.count()) * 8;
    set_rate(rate_ * (1 + t / rtt_ * (law_.alpha * (capacity - y) - law_.beta * q / rtt_) / capacity));
    bytes_ = told_bytes_ = told_ = 0;
    slot_ = std::min(law_.slot, Duration::from_ps(static_cast<std::int64_t>(rtt_ * 1e12)));
    return slot_;
  }

  // All slots that end at `end` or later, up to `now`, in which nothing came and nothing waited. Returns the
  // end of the one that holds `now`.
  Time pass_idle(Time end, Time now) {
    while (end <= now && rate_ < law_.gamma * link_) end = end + end_slot(0_B);
    return end <= now ? end + slot_ * ((now - end) / slot_ + 1) : end;
  }

  bool idle() const { return bytes_ == 0; }  // nothing has come in this slot
  Duration slot() const { return slot_; }
  Rate rate() const { return Rate::from_bps(static_cast<std::int64_t>(rate_)); }
  Duration rtt() const { return Duration::from_ps(static_cast<std::int64_t>(rtt_ * 1e12)); }  // d

 private:
  // Longer round trips count by the time, shorter ones less, the more so the more flows there are.
  void average(double mean, double t) {
    const double share = mean >= rtt_ ? t / rtt_ : rate_ / link_ * (mean / rtt_) * (t / rtt_);
    rtt_ += share * (mean - rtt_);
  }
  void set_rate(double rate) {
    const double most = law_.gamma * link_;
    rate_ = std::clamp(rate, std::min(static_cast<double>(law_.min_rate.bps()), most), most);
  }

  RcpLaw law_;
  double link_;                                   // C, bit/s
  double rate_ = 0;                               // R, bit/s
  double rtt_;                                    // d, s
  double bytes_ = 0, told_bytes_ = 0, told_ = 0;  // of this slot; told_: round trips times bytes
  Duration slot_;
};

}  // namespace rocelab
