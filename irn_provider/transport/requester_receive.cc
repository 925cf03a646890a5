// Requester, inbound: ACKs, NAKs, credits. The peer is not trusted: a PSN that was never sent, or is
// acknowledged already, changes nothing.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/wire/aeth.h"
#include "irn_provider/transport/requester.h"

namespace rocelab {

void Requester::on_response(const Packet& packet, const OpcodeInfo& info, Time now) {
  if (!window_) return;
  const bool response = info.is_read_response() || info.operation == Operation::kAtomicAck;
  if (window_.has_loop() && !response && qp_.level_of(packet) > 0) [[unlikely]] {
    on_low_answer(packet, info, now);
    return update_limit(now);
  }
  const std::int64_t covered_before = window_.covered();
  if (response)
    reads_->on_response(packet, info, now);
  else if (info.operation == Operation::kNack)
    on_nack(packet, now);
  else if (info.operation == Operation::kAckBlocks)
    on_ack_blocks(packet, now);
  else if (info.operation == Operation::kAck && is_ack(packet.roce.syndrome))
    on_ack(packet, now);
  else if (info.operation == Operation::kAck)
    on_nak(packet, now);
  if (qp_.cc && window_) note_answer_to_cc(covered_before, packet, now);
  update_limit(now);
}

void Requester::note_answer_to_cc(std::int64_t covered_before, const Packet& answer, Time now) {
  const UnwrappedPsn una = window_.acknowledged();
  qp_.cc->on_ack(CcStream::kRequests,
                 {window_.covered() - covered_before, answer.roce.becn, una, una + window_.own_out(),
                  PacketPool::telemetry_of(answer), rcp_of(answer)},
                 now);
  while (const auto sample = qp_.cc->next_rtt(una, now)) qp_.trace_rtt(*sample, now);
  note_losses_to_cc(CcLoss::kRecovery, now);
}

// Once for each recovery that has begun since the last call.
void Requester::note_losses_to_cc(CcLoss loss, Time now) {
  if (!qp_.cc || std::exchange(recoveries_seen_, window_->recoveries()) == window_->recoveries()) return;
  qp_.cc->on_loss(loss, now);
}

inline void Requester::cover(UnwrappedPsn expected, Time now) {
  if (window_.has_loop()) [[unlikely]]
    return acknowledge_primary(expected, now);
  if (expected <= window_->una()) return;
  window_->on_ack(expected, now);
  note_progress(now);
  complete_in_order(now);
}

void Requester::on_ack(const Packet& packet, Time now) {
  // An RC ACK names the last packet that arrived, an IRN ACK the one that is expected (base/wire/irn.h).
  const UnwrappedPsn expected = unwrap(packet.roce.psn, window_->una()) + (qp_.irn() ? 0 : 1);
  if (expected > window_.sent_end()) return count_stray();
  take_credits(packet);
  const UnwrappedPsn barrier = reads_->ack_barrier();
  cover(std::min(expected, barrier), now);
  if (expected > barrier) reads_->on_implied_nak(now);
}

void Requester::on_nack(const Packet& packet, Time now) {
  const UnwrappedPsn expected = unwrap(packet.roce.psn, window_->una());
  const UnwrappedPsn sack = unwrap(packet.roce.sack, window_->una());
  if (sack >= window_.sent_end()) return count_stray();
  if (expected < window_.acknowledged() || sack <= expected) return;  // stale, or of no honest peer
  ++qp_.counters().packet_seq_err;
  take_credits(packet);
  acknowledge(expected, now);
  if (qp_.failed()) return;
  window_->on_nack(expected, sack, now);
}

// A packet above the cumulative value came out of order. A sender without RC3 has no use for the blocks.
void Requester::on_ack_blocks(const Packet& packet, Time now) {
  const UnwrappedPsn una = window_->una(), trigger = unwrap(packet.roce.sack, una);
  if (trigger >= window_.sent_end() || !window_.blocks_are_good(packet)) return count_stray();
  if (trigger > unwrap(packet.roce.psn, una))
    on_nack(packet, now);
  else
    on_ack(packet, now);
  if (!qp_.failed()) window_.note_blocks(packet, now);
}

void Requester::on_nak(const Packet& packet, Time now) {
  const UnwrappedPsn refused = unwrap(packet.roce.psn, window_->una());
  if (refused >= window_.sent_end()) return count_stray();
  if (refused < window_->una()) return;
  const UnwrappedPsn barrier = reads_->ack_barrier();
  acknowledge(std::min(refused, barrier), now);
  if (qp_.failed()) return;
  const std::uint8_t syndrome = packet.roce.syndrome;
  if (refused > barrier) {
    reads_->on_implied_nak(now);
  } else if (is_rnr_nak(syndrome)) {
    on_rnr_nak(syndrome, refused, now);
  } else if (syndrome == kNakPsnSequence) {
    ++qp_.counters().packet_seq_err;
    resent_by_timeout_ = refused;
    window_->on_nack(refused, std::nullopt, now);
  } else if (is_nak(syndrome)) {
    on_fatal_nak(syndrome, refused, now);
  }
}

void Requester::on_rnr_nak(std::uint8_t syndrome, UnwrappedPsn refused, Time now) {
  constexpr std::uint8_t kForEver = 7;
  if (!rnr_until_.is_never()) return;  // a copy, or for a packet behind the one that is waited for
  ++qp_.counters().rnr_nak_retry_err;
  if (qp_.attr.rnr_retry != kForEver) {
    if (rnr_retries_left_ == 0) {
      fail(queue_.find(refused), WcStatus::kRnrRetryExcErr, now);
      return;
    }
    --rnr_retries_left_;
  }
  resent_by_timeout_ = refused;
  rnr_until_ = now + rnr_timer(aeth_value(syndrome));
  verbs_deadline_ = Time::never();
}

void Requester::on_fatal_nak(std::uint8_t syndrome, UnwrappedPsn refused, Time now) {
  NicCounters& c = qp_.counters();
  WcStatus status = WcStatus::kRemOpErr;
  if (syndrome == kNakInvalidRequest) status = WcStatus::kRemInvReqErr, ++c.req_remote_invalid_request;
  if (syndrome == kNakRemoteAccess) status = WcStatus::kRemAccessErr, ++c.req_remote_access_errors;
  fail(queue_.find(refused), status, now);
}

// IBTA 9.7.7.2.5, table 46: the peer has room for `credits` messages behind the MSN-th.
void Requester::take_credits(const Packet& packet) {
  const auto credits = credits_of(packet.roce.syndrome);
  if (!credits) {
    credits_known_ = false;  // 0x1f: no end-to-end flow control
    peer_shares_ = is_ack(packet.roce.syndrome);
    return;
  }
  const auto done = static_cast<std::int64_t>(queue_.front_number()) - local_done_;
  const std::int64_t msn = unwrap(Psn(packet.roce.msn.value), done);
  std::int64_t limit = msn + *credits;
  if (!credits_known_) {
    limit += without_receive_wqe_behind(msn);
    credit_limit_ = limit;
    credits_known_ = true;
  }
  credit_limit_ = std::max(credit_limit_, limit);
}

// Messages on their way behind the msn-th that use no receive WQE: they leave the credits to others.
std::int64_t Requester::without_receive_wqe_behind(std::int64_t msn) const {
  std::uint64_t end = queue_.front_number();
  while (end < queue_.end_number() && queue_.at(end).started) ++end;
  std::int64_t on_their_way = static_cast<std::int64_t>(end) - local_done_ - msn, found = 0;
  while (on_their_way > 0 && end > queue_.front_number()) {
    const SendEntry& entry = queue_.at(--end);
    if (entry.is_local()) continue;
    --on_their_way;
    if (!entry.takes_receive_wqe()) ++found;
  }
  return found;
}

// --- what ReadRequesters report

void Requester::acknowledge(UnwrappedPsn expected, Time now) { cover(expected, now); }

void Requester::go_back(UnwrappedPsn expected, Time now) {
  window_->on_go_back(expected, now);
  resent_by_timeout_ = expected;
  reads_->on_progress();
}

bool Requester::place_response(SendEntry& read, std::uint64_t offset, const Packet& packet, Time now) {
  const PlaceResult result = place(qp_.view(), {read.wqe.sge.data(), read.wqe.num_sge}, offset,
                                   packet.payload, packet.payload_length);
  if (result == PlaceResult::kOk) return true;
  fail(read, WcStatus::kLocProtErr, now);
  return false;
}

bool Requester::place_original(SendEntry& atomic, const Packet& packet, Time now) {
  std::array<std::byte, kAtomicBytes> bytes;
  std::memcpy(bytes.data(), &packet.roce.swap_or_add, bytes.size());
  const PlaceResult result =
      place(qp_.view(), {atomic.wqe.sge.data(), atomic.wqe.num_sge}, 0, bytes.data(), kAtomicBytes);
  if (result == PlaceResult::kOk) return true;
  fail(atomic, WcStatus::kLocProtErr, now);
  return false;
}

void Requester::finish_read(SendEntry& read, Time now) {
  read.done = true;
  const UnwrappedPsn last = read.response_end - 1;
  if (const auto sample = qp_.cc ? qp_.cc->on_read_done(read.cc_mark, last, now) : std::nullopt)
    qp_.trace_rtt(*sample, now);
  if (!read.continues) qp_.trace(TraceKind::kPlaced, now, last, read.message_length);
  complete_in_order(now);
}

}  // namespace rocelab
