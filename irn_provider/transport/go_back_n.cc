#include "irn_provider/transport/go_back_n.h"

#include <algorithm>

namespace rocelab {

NextPacket GoBackN::pull(UnwrappedPsn limit, Time now) {
  RL_CHECK(has_more(limit));
  const NextPacket packet{send_, send_ < next_, send_ < next_ && by_timeout_};
  const bool was_idle = una_ == next_;
  next_ = std::max(next_, ++send_);
  if (was_idle) restart_timer(now);
  return packet;
}

void GoBackN::extend(UnwrappedPsn end) {
  send_ = std::max(send_, end);
  next_ = std::max(next_, end);
}

void GoBackN::on_ack(UnwrappedPsn expected, Time now) {
  if (expected == una_ && restart_on_any_ack_) restart_timer(now);
  if (expected <= una_) return;
  RL_CHECK(expected <= next_);
  una_ = expected;
  send_ = std::max(send_, una_);
  followed_nak_.reset();
  restart_timer(now);
}

void GoBackN::on_nack(UnwrappedPsn expected, std::optional<UnwrappedPsn> /*sack*/, Time now) {
  on_ack(expected, now);
  if (expected < una_ || followed_nak_ == expected) return;
  on_go_back(expected, now);
  ++recoveries_;
  followed_nak_ = expected;
}

void GoBackN::on_go_back(UnwrappedPsn expected, Time now) {
  on_ack(expected, now);
  send_ = una_;
  by_timeout_ = false;
  followed_nak_.reset();
  restart_timer(now);
}

TimeoutKind GoBackN::on_timeout(Time now) {
  if (now < deadline_) return TimeoutKind::kNone;
  on_go_back(una_, now);
  ++recoveries_;
  by_timeout_ = true;
  return TimeoutKind::kRtoHigh;
}

}  // namespace rocelab
