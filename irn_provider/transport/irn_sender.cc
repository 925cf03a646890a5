#include "irn_provider/transport/irn_sender.h"

#include <algorithm>

#include "base/check.h"

namespace rocelab {
namespace {

// Half of what unwrapping can tell apart: the bound when neither a cap nor a bitmap limits the sender.
constexpr std::int64_t kUnlimitedWindow = 1 << 22;

std::int64_t window_of(const IrnConfig& config) {
  if (config.bdp_cap > 0) return config.bdp_cap;
  return config.go_back_n ? kUnlimitedWindow : std::int64_t{config.bitmap_packets};
}

// Go-back-N and "no SACK" keep no bitmap; one bit stands for it.
std::size_t bitmap_size(const IrnConfig& config) {
  return config.go_back_n || !config.sack ? 1 : static_cast<std::size_t>(window_of(config));
}

}  // namespace

IrnSender::IrnSender(const IrnConfig& config, bool timers, UnwrappedPsn first)
    : SenderWindow(first),
      config_(config),
      window_(window_of(config)),
      rto_(RtoParams{config.rto_low, config.rto_high, config.rto_low_packets, config.dynamic_rto, timers}),
      sacked_(bitmap_size(config), first),
      sacked_end_(first),
      retransmit_next_(first),
      go_back_end_(first),
      last_go_back_(first - 1) {}

bool IrnSender::knows_of_hole() const {
  const UnwrappedPsn from = std::max(retransmit_next_, una_);
  return from < sacked_end_ && sacked_.first_zero(from) < sacked_end_;
}

std::optional<UnwrappedPsn> IrnSender::lost_packet() const {
  if (recovery_ == Recovery::kNone) return std::nullopt;
  const UnwrappedPsn from = std::max(retransmit_next_, una_);
  if (from == una_ && cumulative_due_) return una_;
  if (from < go_back_end_) {
    const UnwrappedPsn psn = sacked_.covers(from) ? sacked_.first_zero(from) : from;
    if (psn < go_back_end_) return psn;
  }
  if (from < sacked_end_) {
    const UnwrappedPsn psn = sacked_.first_zero(from);
    if (psn < sacked_end_) return psn;
  }
  return std::nullopt;
}

bool IrnSender::has_more(UnwrappedPsn limit) const {
  return (next_ < limit && in_flight() < window_) || lost_packet().has_value();
}

NextPacket IrnSender::pull(UnwrappedPsn limit, Time now) {
  const std::optional<UnwrappedPsn> lost = lost_packet();
  RL_CHECK(lost || (next_ < limit && in_flight() < window_));
  if (!rto_.running()) rto_.restart(now);  // nothing was in flight, or all of it was taken back by on_go_back
  if (!lost) {
    if (config_.dynamic_rto) rtt_.on_sent(next_, now);
    return {next_++, false, false};
  }
  rtt_.on_resent(*lost);
  retransmit_next_ = *lost + 1;
  cumulative_due_ = false;
  look_ahead(now);
  return {*lost, true, recovery_ == Recovery::kTimeout};
}

void IrnSender::begin(Recovery recovery) {
  if (recovery != Recovery::kGoBack) ++recoveries_;
  recovery_ = recovery;
  recovery_psn_ = next_ - 1;
  cumulative_due_ =
      retransmit_next_ <= una_;  // not when an earlier episode has resent it: that copy may still arrive
  nacks_ = 0;
}

void IrnSender::go_back(Recovery recovery) {
  retransmit_next_ = una_;
  go_back_end_ = next_;
  last_go_back_ = una_;
  begin(recovery);
}

void IrnSender::advance(UnwrappedPsn expected, Time now) {
  RL_CHECK(expected <= next_);
  if (expected <= una_) return;
  una_ = expected;
  if (config_.dynamic_rto)
    if (const auto sample = rtt_.on_ack(una_, now)) rto_.on_rtt(*sample);
  sacked_.advance(una_);
  sacked_end_ = std::max(sacked_end_, una_);
  // A peer that waits for a packet does not have it, whatever it said before: with an SRQ it may have taken
  // back the last packet of a WRITE with immediate data (irn_responder.h).
  if (sacked_.test(una_)) sacked_.reset(una_);
  nacks_ = 0;
  if (in_flight() == 0) {
    rto_.stop();
  } else if (rto_.running()) {
    rto_.restart(now);
  }
  if (recovery_ == Recovery::kNone) return;
  if (una_ > recovery_psn_) {
    recovery_ = Recovery::kNone;
    cumulative_due_ = false;
    if (knows_of_hole()) begin(Recovery::kNack);  // its NACK came during the episode that ends here
  } else {
    // A partial acknowledgement names a hole without SACK, and after a timeout: the authors' published
    // hardware code (netsys.github.io/irn-vivado-hls, receiveAck) resends it unless that has been done. 4.2.1
    // does not say so, and to its letter a lost tail would take a timeout per packet.
    const bool after_timeout = recovery_ == Recovery::kTimeout && retransmit_next_ <= una_;
    cumulative_due_ = !config_.sack || after_timeout;
  }
}

// 4.5.3: a packet is read again from host memory only when it is found to be lost, by a (N)ACK, a timer, or
// by txFree's look-ahead when the one before it leaves.
void IrnSender::look_ahead(Time now) {
  if (config_.retransmit_fetch == Duration{}) return;
  const std::optional<UnwrappedPsn> lost = lost_packet();
  if (lost == fetching_) return;
  fetching_ = lost;
  fetched_at_ = lost ? now + config_.retransmit_fetch : Time::zero();
}

// Mittal, 4.2.1, does not say what restarts the timer; the simulator of the chapter restarts it here, too
// (DEVIATIONS.md#irn).
void IrnSender::heard_from_peer(Time now) {
  if (config_.restart_on_any_ack && rto_.running()) rto_.restart(now);
}

void IrnSender::on_ack(UnwrappedPsn expected, Time now) {
  advance(expected, now);
  if (expected == una_) heard_from_peer(now);
  look_ahead(now);
}

void IrnSender::on_nack(UnwrappedPsn expected, std::optional<UnwrappedPsn> sack, Time now) {
  if (expected < una_) return;
  take_nack(expected, sack, now);
  heard_from_peer(now);
  look_ahead(now);
}

void IrnSender::take_nack(UnwrappedPsn expected, std::optional<UnwrappedPsn> sack, Time now) {
  advance(expected, now);
  if (in_flight() == 0) return;
  if (config_.go_back_n) {
    if (una_ == last_go_back_) return;
    go_back(Recovery::kNack);
    return;
  }
  if (config_.sack && sack && sacked_.covers(*sack) && *sack < next_) {
    sacked_.set(*sack);
    sacked_end_ = std::max(sacked_end_, *sack + 1);
  }
  if (recovery_ == Recovery::kNone && ++nacks_ >= config_.nack_threshold) begin(Recovery::kNack);
}

void IrnSender::on_go_back(UnwrappedPsn expected, Time now) {
  if (expected < una_) return;
  advance(expected, now);
  rto_.stop();  // what was in flight has been refused: the next packet starts the timer
  if (in_flight() > 0) go_back(Recovery::kGoBack);
  look_ahead(now);
}

TimeoutKind IrnSender::on_timeout(Time now) {
  const RtoExpiry expiry = rto_.on_timeout(now, in_flight());
  if (expiry == RtoExpiry::kNone) return TimeoutKind::kNone;
  if (config_.go_back_n) {
    go_back(Recovery::kTimeout);
    last_go_back_ = una_ - 1;  // the receiver may ask again for the packet that is resent now
  } else {
    if (retransmit_next_ >= go_back_end_) go_back_end_ = una_;  // otherwise an on_go_back is not finished yet
    retransmit_next_ = una_;
    begin(Recovery::kTimeout);
  }
  look_ahead(now);
  return expiry == RtoExpiry::kLow ? TimeoutKind::kRtoLow : TimeoutKind::kRtoHigh;
}

}  // namespace rocelab
