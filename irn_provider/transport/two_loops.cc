#include "irn_provider/transport/two_loops.h"

namespace rocelab {

TwoLoops::TwoLoops(const IrnConfig& config, const Rc3Config& rc3, bool timers, UnwrappedPsn first)
    : SenderWindow(first),
      arrived_(config.bitmap_packets, first),
      primary_(config, timers, first, &arrived_),
      levels_(rc3) {
  follow();
}

// A packet that is asked for has not arrived, whatever was said before: the peer has taken it back.
void TwoLoops::hear(UnwrappedPsn expected) {
  if (expected <= una_) return;
  arrived_.advance(expected);
  if (arrived_.test(expected)) arrived_.reset(expected);
}

// After every event: where the primary skips to, and where the loop ends.
void TwoLoops::follow() {
  primary_.skip_arrived();
  una_ = arrived_.head();
  next_ = std::max(primary_.next(), una_);
  recoveries_ = primary_.recoveries();
  if (loop_) loop_->pass(next_);
}

void TwoLoops::add(UnwrappedPsn first, UnwrappedPsn end) {
  if (!loop_) loop_ = std::make_unique<LowPriorityLoop>(levels_);
  loop_->add(first, end);
  added_end_ = end;
  loop_->pass(next_);
}

NextPacket TwoLoops::pull(UnwrappedPsn limit, Time now) {
  // Karn's argument: an answer to a packet that both send may be due to the other one.
  const NextPacket packet = primary_.pull(limit, now, !would_repeat(limit));
  follow();
  return packet;
}

void TwoLoops::on_ack(UnwrappedPsn expected, Time now) {
  hear(expected);
  primary_.on_ack(expected, now);
  follow();
}

void TwoLoops::on_nack(UnwrappedPsn expected, std::optional<UnwrappedPsn> sack, Time now) {
  hear(expected);
  primary_.on_nack(expected, sack, now);
  follow();
}

void TwoLoops::on_low_answer(UnwrappedPsn expected, std::optional<UnwrappedPsn> sack, Time /*now*/) {
  hear(expected);
  if (sack && arrived_.covers(*sack) && !arrived_.test(*sack)) arrived_.set(*sack);
  follow();
}

void TwoLoops::note_arrived(UnwrappedPsn from, UnwrappedPsn to, Time /*now*/) {
  from = std::max(from, una_ + 1), to = std::min(to, arrived_.end());
  if (from >= to) return;
  arrived_.set(from, to);
  follow();
}

// The peer has refused something, and may have taken packets back: what it had is not known any more.
void TwoLoops::on_go_back(UnwrappedPsn expected, Time now) {
  if (loop_) loop_->stop();
  arrived_.clear(std::max(expected, una_));
  primary_.on_go_back(expected, now);
  follow();
}

// All that the primary waits for may have arrived by answers of lower levels. If not, the oldest packet is
// sent again, though it was selectively acknowledged: the peer may have taken it back (RFC 2018, 8).
TimeoutKind TwoLoops::on_timeout(Time now) {
  if (now >= primary_.next_timeout() && primary_.absorb(una_, now)) return follow(), TimeoutKind::kNone;
  const TimeoutKind fired = primary_.on_timeout(now);
  if (fired != TimeoutKind::kNone) {
    if (arrived_.test(una_)) arrived_.reset(una_);
    primary_.unskip(una_);
  }
  follow();
  return fired;
}

}  // namespace rocelab
