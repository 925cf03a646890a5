#include "ovs_patches/switch_model/pfc.h"

#include <algorithm>

namespace rocelab {

PfcFrame PauseRequests::make_frame(Time now) {
  if (!refresh_at_) {
    refresh_at_ = std::make_unique<std::array<Time, kTrafficClasses>>();
    refresh_at_->fill(Time::never());
  }
  PfcFrame frame;
  frame.class_enable = due_classes();
  for (int tc = 0; tc < kTrafficClasses; ++tc) {
    if ((frame.class_enable >> tc & 1) == 0) continue;
    const bool on = (asked_ >> tc & 1) != 0;
    frame.time[tc] = on ? quanta_ : std::uint16_t{0};
    (*refresh_at_)[tc] = on ? now + refresh_after_ : Time::never();
  }
  told_ = asked_;
  stale_ = 0;
  set_next_refresh();
  return frame;
}

void PauseRequests::on_timeout(Time now) {
  if (now < next_refresh_ || !refresh_at_) return;
  for (int tc = 0; tc < kTrafficClasses; ++tc) {
    if ((*refresh_at_)[tc] > now) continue;
    stale_ |= bit_of(Tc{static_cast<std::uint8_t>(tc)});
    (*refresh_at_)[tc] = Time::never();  // until the frame has left
  }
  set_next_refresh();
}

void PauseRequests::set_next_refresh() {
  next_refresh_ = *std::min_element(refresh_at_->begin(), refresh_at_->end());
}

PauseState::Change PauseState::on_frame(const PfcFrame& frame, Time now) {
  if (!times_) times_ = std::make_unique<std::array<Pause, kTrafficClasses>>();
  Change change;
  for (int tc = 0; tc < kTrafficClasses; ++tc) {
    if ((frame.class_enable >> tc & 1) == 0) continue;
    const TcMask bit = bit_of(Tc{static_cast<std::uint8_t>(tc)});
    if (frame.time[tc] != 0) {
      (*times_)[tc].until = now + pause_duration(frame.time[tc], rate_);
      if ((paused_ & bit) == 0) {
        change.paused |= bit;
        paused_ |= bit;
        (*times_)[tc].since = now;
      }
    } else if ((paused_ & bit) != 0) {
      change.resumed |= bit;
      resume(tc, now);
    }
  }
  closed_ = paused_ | held_;
  set_next_expiry();
  return change;
}

PauseState::Change PauseState::on_timeout(Time now) {
  Change change;
  if (now < next_expiry_ || !times_) return change;
  for (int tc = 0; tc < kTrafficClasses; ++tc) {
    if ((*times_)[tc].until > now) continue;
    change.resumed |= bit_of(Tc{static_cast<std::uint8_t>(tc)});
    resume(tc, now);
  }
  closed_ = paused_ | held_;
  set_next_expiry();
  return change;
}

void PauseState::resume(int tc, Time now) {
  paused_ = static_cast<TcMask>(paused_ & ~(1u << tc));
  Pause& pause = (*times_)[tc];
  pause.total += now - pause.since;
  pause.longest = std::max(pause.longest, now - pause.since);
  pause.until = Time::never();
}

void PauseState::set_next_expiry() {
  next_expiry_ = std::ranges::min_element(*times_, {}, &Pause::until)->until;
}

}  // namespace rocelab
