// ClassScheduler: which class of one port sends next: strict priority, then enhanced transmission selection
// by deficit weighted round robin. Switch ports and NICs run it. Source: IEEE 802.1Qaz (802.1Q clause 37) for
// the meaning of ETS; Shreedhar and Varghese (1996) for DWRR. Shares are of the wire: a frame costs its bytes
// and its overhead. A quantum is at least one maximum frame, so that each turn sends something. A class that
// is alone pays nothing and saves nothing: deficits matter only among classes that compete.
// With ClassShares in itself it is plain data, which processes may share.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>

#include "base/ids.h"
#include "base/tc_mask.h"
#include "base/units.h"

namespace rocelab {

// DWRR's part, which is looked at only when classes compete.
struct ClassShares {
  std::array<Bytes, kTrafficClasses> quantum{}, deficit{};
  ClassShares* operator->() { return this; }
};

// `Shares`: ClassShares, or a pointer to them that keeps them out of the owner's cache lines.
template <class Shares = ClassShares>
class ClassScheduler {
 public:
  using Weights = std::array<std::uint16_t, kTrafficClasses>;  // those of strict classes mean nothing

  ClassScheduler(TcMask strict, const Weights& weights, Bytes max_frame, Shares kept = {});

  // `eligible`: classes that have a frame and are not paused; at least one. `head_length(tc)`: frame length
  // at the head of the class, at most max_frame.
  template <class HeadLength>
  Tc pick(TcMask eligible, HeadLength&& head_length) {
    if (const TcMask strict = eligible & strict_; strict != 0)
      return Tc{static_cast<std::uint8_t>(std::bit_width(strict) - 1u)};
    if (const bool only_one = (eligible & (eligible - 1u)) == 0; only_one)
      return Tc{static_cast<std::uint8_t>(std::countr_zero(eligible))};
    return pick_ets(eligible, head_length);
  }
  // Whether pick() charges the class that it picks.
  bool charges(TcMask eligible) const {
    return (eligible & strict_) == 0 && (eligible & (eligible - 1u)) != 0;
  }
  // Where a frame's length is known only when it has left: the part of the charge that was too much.
  void give_back(Tc tc, Bytes on_wire) { shares_->deficit[tc.value] += on_wire; }

  // A class without frames keeps no deficit; a paused one keeps it.
  void on_empty(Tc tc) {
    if ((saved_ & bit_of(tc)) == 0) return;
    saved_ = static_cast<TcMask>(saved_ & ~bit_of(tc));
    shares_->deficit[tc.value] = 0_B;
  }

 private:
  template <class HeadLength>
  Tc pick_ets(TcMask eligible, HeadLength& head_length) {
    for (;;) {
      const Tc tc{turn_};
      if ((eligible & bit_of(tc)) != 0) {
        const Bytes cost = wire_bytes(head_length(tc));
        if (cost <= shares_->deficit[turn_]) {
          shares_->deficit[turn_] -= cost;
          return tc;
        }
      }
      do turn_ = static_cast<std::uint8_t>((turn_ + 1) % kTrafficClasses);
      while ((eligible & bit_of(Tc{turn_})) == 0);
      shares_->deficit[turn_] += shares_->quantum[turn_];
      saved_ |= bit_of(Tc{turn_});
    }
  }

  TcMask strict_ = 0, saved_ = 0;  // saved: classes whose deficit may not be zero
  std::uint8_t turn_ = 0;
  Shares shares_;
};

template <class Shares>
ClassScheduler<Shares>::ClassScheduler(TcMask strict, const Weights& weights, Bytes max_frame, Shares kept)
    : strict_(strict), shares_(std::move(kept)) {
  const auto shares = [&](std::size_t tc) { return (strict >> tc & 1) == 0; };
  int lightest = 0xffff;
  for (std::size_t tc = 0; tc < weights.size(); ++tc)
    if (shares(tc)) lightest = std::min<int>(lightest, weights[tc]);
  // Rounded up by less than a byte; the lightest class gets exactly one maximum frame.
  for (std::size_t tc = 0; tc < weights.size(); ++tc)
    if (shares(tc))
      shares_->quantum[tc] =
          (wire_bytes(max_frame) * weights[tc] + Bytes::from_count(lightest - 1)) / lightest;
}

}  // namespace rocelab
