#include "irn_provider/transport/tcp_sender.h"

#include <algorithm>

#include "base/check.h"

namespace rocelab {

namespace {
constexpr std::uint32_t kLeastDupThresh = 3;
}  // namespace

// At least RTO_high, the longest round trip of 4.3.1, where nothing else is said: finding a loss and
// repairing it takes two round trips without cumulative progress, which a shorter timer would not wait for.
TcpSender::TcpSender(const IrnConfig& config, bool timers, UnwrappedPsn first, const PsnBitmap* elsewhere)
    : SenderWindow(first),
      rto_(RtoParams{config.tcp_floor_low ? config.rto_low : config.rto_high, config.rto_high, 0, true,
                     timers}),
      sacked_(config.bdp_cap > 0 ? config.bdp_cap : config.bitmap_packets, first),
      highest_(std::max(kLeastDupThresh, config.nack_threshold), first - 1),
      resent_end_(first),
      timeout_end_(first),
      recovery_end_(first),
      elsewhere_(elsewhere),
      skipped_(elsewhere != nullptr ? std::make_unique<PsnBitmap>(sacked_) : nullptr) {}

// RFC 6675, 4, IsLost: DupThresh packets above it have arrived; or a timeout has passed over it.
UnwrappedPsn TcpSender::lost_end() const { return std::max({una_, highest_.back(), timeout_end_}); }

std::int64_t TcpSender::unacknowledged(UnwrappedPsn from, UnwrappedPsn to) const {
  if (from >= to) return 0;
  return (to - from) - static_cast<std::int64_t>(sacked_.popcount(from, to));
}

// RFC 6675, 4, SetPipe: what is neither acknowledged nor lost, and what was resent and is not acknowledged.
std::int64_t TcpSender::pipe() const {
  return unacknowledged(lost_end(), next_) + unacknowledged(una_, std::min(resent_end_, next_));
}

UnwrappedPsn TcpSender::first_missing(UnwrappedPsn from) const {
  UnwrappedPsn hole = sacked_.first_zero(from);
  while (hole < next_ && has_arrived(hole)) hole = hole + 1 < next_ ? sacked_.first_zero(hole + 1) : next_;
  return hole;
}

// RFC 6675, 4, NextSeg: (1) a lost packet, (2) a new one, (3) one that may be lost.
std::optional<UnwrappedPsn> TcpSender::next_segment(UnwrappedPsn limit) const {
  const UnwrappedPsn from = std::max(resent_end_, una_);
  const UnwrappedPsn hole = from < next_ ? first_missing(from) : next_;
  if (hole < std::min(lost_end(), next_)) return hole;
  if (next_ < limit && sacked_.covers(next_) && !has_arrived(next_)) return next_;
  if (in_recovery() && hole < std::min(highest_.front(), next_)) return hole;
  return std::nullopt;
}

bool TcpSender::has_more(UnwrappedPsn limit) const {
  const std::optional<UnwrappedPsn> segment = next_segment(limit);
  if (!segment) return false;
  return pipe() < window_ || (resend_at_once_ && *segment < next_);
}

NextPacket TcpSender::pull(UnwrappedPsn limit, Time now, bool timed) {
  RL_CHECK(has_more(limit));
  const UnwrappedPsn psn = *next_segment(limit);
  if (!rto_.running()) rto_.restart(now);
  if (psn == next_) {
    if (timed) rtt_.on_sent(psn, now);
    return {next_++, false, false};
  }
  rtt_.on_resent(psn);
  if (skipped_ && skipped_->test(psn)) skipped_->reset(psn);
  resent_end_ = psn + 1;
  resend_at_once_ = false;
  return {psn, true, by_timeout_};
}

void TcpSender::note_sack(UnwrappedPsn psn) {
  if (sacked_.test(psn)) return;
  sacked_.set(psn);
  for (UnwrappedPsn& high : highest_)
    if (psn > high) std::swap(psn, high);
}

void TcpSender::advance(UnwrappedPsn expected, Time now) {
  RL_CHECK(expected <= next_ || elsewhere_ != nullptr);
  if (expected <= una_) return;
  if (elsewhere_ != nullptr) {
    const UnwrappedPsn sent = std::min(expected, next_);
    covered_ += sent - una_ - static_cast<std::int64_t>(skipped_->popcount(una_, sent));
    skipped_->advance(expected);
    next_ = std::max(next_, expected);  // RC3's ACK bump: the other loop has brought it (Mittal, 2.3.1)
  }
  una_ = expected;
  sacked_.advance(una_);
  if (sacked_.test(una_) && !has_arrived(una_))
    sacked_.reset(una_);  // as irn_sender.cc: the peer has taken it back
  resent_end_ = std::max(resent_end_, una_);
  if (const auto sample = rtt_.on_ack(una_, now)) rto_.on_rtt(*sample);
  if (!in_recovery()) resend_at_once_ = by_timeout_ = false;
  if (una_ == next_)
    rto_.stop();
  else
    rto_.restart(now);  // RFC 6298, 5.3
}

// RFC 6675, 5: recovery begins when the cumulative packet counts as lost, and not again before everything
// that was out then is acknowledged.
void TcpSender::maybe_recover() {
  if (in_recovery() || una_ >= lost_end() || una_ == next_) return;
  ++recoveries_;
  recovery_end_ = next_;
  resent_end_ = una_;
  resend_at_once_ = true;
}

void TcpSender::on_ack(UnwrappedPsn expected, Time now) {
  advance(expected, now);
  maybe_recover();
}

void TcpSender::on_nack(UnwrappedPsn expected, std::optional<UnwrappedPsn> sack, Time now) {
  if (expected < una_) return;
  advance(expected, now);
  if (sack && sacked_.covers(*sack) && *sack < next_) note_sack(*sack);
  maybe_recover();
}

void TcpSender::skip_arrived() {
  for (; has_arrived(next_) && sacked_.covers(next_); ++next_) {
    sacked_.set(next_);
    skipped_->set(next_);
  }
}

bool TcpSender::absorb(UnwrappedPsn expected, Time now) {
  const std::int64_t covered = covered_;
  if (expected > una_) rtt_.cancel();  // the answer that would be a sample was lost
  advance(expected, now);
  covered_ = covered;
  return una_ == next_;
}

void TcpSender::unskip(UnwrappedPsn psn) {
  if (skipped_->test(psn)) sacked_.reset(psn);
}

// They are sent after all; those that are not yet are no packets of this loop's own.
void TcpSender::forget_skipped() {
  for (UnwrappedPsn psn = una_; psn < next_; ++psn) unskip(psn);
}

std::int64_t TcpSender::own_out() const {
  return next_ - una_ - static_cast<std::int64_t>(skipped_->popcount(una_, std::min(next_, skipped_->end())));
}

void TcpSender::lose_everything() {
  timeout_end_ = recovery_end_ = next_;
  resent_end_ = una_;
  resend_at_once_ = true;
}

void TcpSender::on_go_back(UnwrappedPsn expected, Time now) {
  if (expected < una_) return;
  if (elsewhere_ != nullptr) rtt_.cancel();
  advance(expected, now);
  if (elsewhere_ != nullptr) forget_skipped();
  rto_.stop();
  if (una_ < next_) lose_everything();
  by_timeout_ = false;
}

TimeoutKind TcpSender::on_timeout(Time now) {
  if (rto_.on_timeout(now, next_ - una_) == RtoExpiry::kNone) return TimeoutKind::kNone;
  if (una_ == next_) return TimeoutKind::kNone;
  ++recoveries_;
  lose_everything();
  by_timeout_ = true;
  return TimeoutKind::kRtoHigh;
}

}  // namespace rocelab
