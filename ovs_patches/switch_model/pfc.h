// PFC at one port, both directions: PauseRequests asks the link peer to pause classes, PauseState obeys the
// peer. Source: IEEE 802.1Qbb; frame: base/wire/pfc.h. Neither knows queues or thresholds: requesters say
// what they want, and the switch carries out what these answer. What every frame asks of them is small; what
// only pauses need has memory of its own.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>

#include "base/ids.h"
#include "base/tc_mask.h"
#include "base/units.h"
#include "base/wire/pfc.h"

namespace rocelab {

// A class is to be paused while any owner asks for it. Frames are made from the state at the moment when the
// port can send one, so at most one is ever due: what changed and changed back in between is not sent, and
// several classes share a frame.
class PauseRequests {
 public:
  static constexpr unsigned kMostOwners = 32;  // they are numbers below this

  PauseRequests(std::uint16_t quanta, std::uint16_t refresh_percent, Rate rate)
      : quanta_(quanta), refresh_after_(pause_duration(quanta, rate) * refresh_percent / 100) {}

  // True: whether the class is asked for has changed.
  bool request(unsigned owner, Tc tc, bool on) {
    std::uint32_t& owners = owners_[tc.value];
    const bool before = owners != 0;
    const std::uint32_t bit = std::uint32_t{1} << owner;
    owners = on ? owners | bit : owners & ~bit;
    asked_ = static_cast<TcMask>(owners != 0 ? asked_ | bit_of(tc) : asked_ & ~bit_of(tc));
    return before != (owners != 0);
  }
  bool asks(Tc tc) const { return (asked_ & bit_of(tc)) != 0; }
  bool asked_by(unsigned owner, Tc tc) const { return (owners_[tc.value] >> owner & 1) != 0; }
  bool frame_due() const { return due_classes() != 0; }

  // The frame to send at `now`; only while frame_due().
  PfcFrame make_frame(Time now);
  // Refreshes that are due by `now` join the next frame.
  void on_timeout(Time now);
  Time next_timeout() const { return next_refresh_; }

 private:
  TcMask due_classes() const { return static_cast<TcMask>((asked_ ^ told_) | (asked_ & stale_)); }
  void set_next_refresh();

  TcMask asked_ = 0;  // what the owners want
  TcMask told_ = 0;   // what the peer was told last
  TcMask stale_ = 0;  // told long ago: refresh
  std::uint16_t quanta_;
  Duration refresh_after_;
  Time next_refresh_ = Time::never();
  std::array<std::uint32_t, kTrafficClasses> owners_{};
  std::unique_ptr<std::array<Time, kTrafficClasses>> refresh_at_;  // from the first frame on
};

// Which classes the peer has paused here, and until when. A pause of n quanta that arrives at t holds for all
// departures before t + n quanta.
class PauseState {
 public:
  explicit PauseState(Rate rate) : rate_(rate) {}

  struct Change {
    TcMask paused = 0, resumed = 0;  // classes that were not before
  };
  Change on_frame(const PfcFrame& frame, Time now);
  Change on_timeout(Time now);
  TcMask paused() const { return paused_; }
  // Classes of which no frame may leave: those that the peer has paused, and those that a mechanism holds.
  TcMask closed() const { return closed_; }
  void hold(Tc tc, bool on) {
    held_ = static_cast<TcMask>(on ? held_ | bit_of(tc) : held_ & ~bit_of(tc));
    closed_ = paused_ | held_;
  }
  Time next_timeout() const { return next_expiry_; }
  Duration paused_time(Tc tc, Time now) const {
    if (!times_) return 0_ps;
    const bool on = (paused_ & bit_of(tc)) != 0;
    return (*times_)[tc.value].total + (on ? now - (*times_)[tc.value].since : 0_ps);
  }
  Duration longest_pause(Tc tc, Time now) const {
    if (!times_) return 0_ps;
    const bool on = (paused_ & bit_of(tc)) != 0;
    return std::max((*times_)[tc.value].longest, on ? now - (*times_)[tc.value].since : 0_ps);
  }

 private:
  void resume(int tc, Time now);
  void set_next_expiry();

  struct Pause {
    Time until = Time::never(), since;
    Duration total, longest;
  };
  TcMask paused_ = 0, held_ = 0, closed_ = 0;  // the last one is the union of the others
  Rate rate_;
  Time next_expiry_ = Time::never();
  std::unique_ptr<std::array<Pause, kTrafficClasses>> times_;  // from the first pause on
};

}  // namespace rocelab
