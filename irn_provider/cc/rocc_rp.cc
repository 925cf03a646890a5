#include "irn_provider/cc/rocc_rp.h"

#include <algorithm>

#include "base/wire/rocc_cnp.h"

namespace rocelab {

void RoccRp::start(Time /*now*/) {
  r_cur_ = r_max_;
  cp_ = 0;
  timer_at_ = Time::never();
  pending_ = {};
}

// Lines 1 to 7.
void RoccRp::process_cnp(const SwitchRate& feedback, Time at) {
  const Rate received = params_.delta_f * static_cast<std::int64_t>(feedback.rate);
  if (received > r_cur_ && feedback.cp != cp_) return;
  r_cur_ = received;
  cp_ = feedback.cp;
  timer_at_ = at + params_.recovery_timer;
}

// Lines 8 to 13. A rate above R_max holds nothing back, so that the limiter's queue is empty.
void RoccRp::timer_expired() {
  if (r_cur_ > r_max_) {
    r_cur_ = r_max_;
    cp_ = 0;
    timer_at_ = Time::never();
    return;
  }
  r_cur_ = r_cur_ * 2;
  timer_at_ = timer_at_ + params_.recovery_timer;
}

void RoccRp::catch_up(Time now) {
  for (;;) {
    const Time cnp = pending_.empty() ? Time::never() : pending_.front().at;
    if (std::min(cnp, timer_at_) > now) return;
    if (cnp <= timer_at_) {
      const Pending next = pending_.take_front();
      process_cnp(next.feedback, next.at);
    } else {
      timer_expired();
    }
  }
}

bool RoccRp::on_switch_rate(const SwitchRate& feedback, Time now) {
  catch_up(now);
  const bool sound =
      is_cp_address(feedback.cp) && feedback.rate > 0 &&
      static_cast<std::int64_t>(feedback.rate) <= params_.max_feedback.bps() / params_.delta_f.bps();
  if (!sound) return false;
  pending_.push_back({now + params_.reaction_delay, feedback});
  catch_up(now);
  return true;
}

Rate RoccRp::rate(Time now) {
  if (!pending_.empty() || !timer_at_.is_never()) catch_up(now);
  return std::min(r_cur_, r_max_);
}

Time RoccRp::next_change() const {
  return pending_.empty() ? timer_at_ : std::min(pending_.front().at, timer_at_);
}

}  // namespace rocelab
