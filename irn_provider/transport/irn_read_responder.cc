#include "irn_provider/transport/irn_read_responder.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace rocelab {
IrnReadResponder::IrnReadResponder(QpContext& qp) : qp_(qp) {}

void IrnReadResponder::start(UnwrappedPsn first_rpsn) {
  slots_.clear();
  sender_.reset();
  limit_ = resent_by_guard_ = first_rpsn;
  guard_ = Time::never();
  recoveries_seen_ = 0;
  next_ = oldest_ = 0;
  started_ = gave_up_ = false;
}

void IrnReadResponder::begin() {
  slots_.resize(qp_.attr.max_dest_rd_atomic);
  sender_.use_irn(qp_, limit_);
  started_ = true;
}

// What is held keeps a slot, however few there shall be: a peer whose queue is drained has had all its
// responses, but its last READ_ACKs may be on their way, or lost.
void IrnReadResponder::refresh() {
  if (slots_.empty()) return;  // as many as there shall be then
  std::size_t size = std::max<std::size_t>(1, qp_.attr.max_dest_rd_atomic);
  for (const Slot& s : slots_)
    if (s.sn >= oldest_) size = std::max(size, static_cast<std::size_t>(s.sn - oldest_ + 1));
  if (size == slots_.size()) return;
  std::vector<Slot> before(size);
  std::swap(slots_, before);
  for (const Slot& s : before)
    if (s.sn >= oldest_) slot(s.sn) = s;
}

bool IrnReadResponder::fits(std::int64_t sn) const {
  if (sn < next_ || sn >= next_ + std::int64_t{qp_.attr.max_dest_rd_atomic}) return false;
  if (slots_.empty()) return true;
  const Slot& s = slot(sn);
  return s.sn < 0 || (s.sn != sn && s.sn < next_ && s.end <= sender_.sent_end());
}

void IrnReadResponder::insert(std::int64_t sn, const RoceHeaders& request, Time now) {
  RL_CHECK(fits(sn));
  if (!sender_) begin();
  Slot& s = slot(sn);
  if (s.sn >= 0) {
    const UnwrappedPsn una = sender_->una();
    sender_->on_ack(std::max(s.end, una), now);
    note_progress(una, now);
    oldest_ = std::max(oldest_, s.sn + 1);
  }
  s = Slot{};
  s.sn = sn;
  s.va = request.va;
  s.rkey = request.rkey;
  s.length = request.dma_length;
  s.operation = opcode_info(request.opcode).operation;
  s.atomic = opcode_info(request.opcode).is_atomic();
  s.swap_or_add = request.swap_or_add;
  s.compare = request.compare;
  go_on(now);
}

// False: the region went away while the request waited.
bool IrnReadResponder::execute_atomic_of(Slot& s) {
  const auto addr = qp_.find_remote(s.rkey, qp_.init.pd, s.va, kAtomicBytes, kAccessRemoteAtomic);
  if (!addr) return false;
  RoceHeaders request;
  request.swap_or_add = s.swap_or_add, request.compare = s.compare;
  s.original = execute_atomic(qp_.nic.memory, *addr, s.operation, request);
  return true;
}

bool IrnReadResponder::execute_next(std::uint32_t msn) {
  if (slots_.empty() || slot(next_).sn != next_) return false;
  Slot& s = slot(next_);
  if (s.atomic && !execute_atomic_of(s)) return false;
  const std::uint32_t mtu = qp_.attr.path_mtu;
  s.msn = msn;
  s.first = limit_;
  s.end = s.first + std::max<std::int64_t>(1, (std::int64_t{s.length} + mtu - 1) / mtu);
  limit_ = s.end;
  ++next_;
  add_to_low();
  return true;
}

void IrnReadResponder::on_read_ack(const Packet& packet, const OpcodeInfo& info, Time now) {
  if (!started_) return;
  const UnwrappedPsn una = sender_->una();
  const std::int64_t covered = sender_.covered();
  const unsigned level = qp_.level_of(packet);
  if (level == 0 ? !hear(packet, info, now) : !sender_.on_low_answer(qp_, packet, info, now)) return;
  while (oldest_ < next_ && slot(oldest_).end <= sender_->una()) slot(oldest_++).sn = -1;
  note_progress(una, now);
  go_on(now);
  add_to_low();
  if (qp_.cc && level == 0) note_answer_to_cc(covered, packet, now);
}

// Of the primary's level, or of the only one. False: it is stale or of no honest peer, and changes nothing.
bool IrnReadResponder::hear(const Packet& packet, const OpcodeInfo& info, Time now) {
  const bool blocks = info.has(Header::kIrnBlocks);
  const UnwrappedPsn una = sender_->una(), expected = unwrap(packet.roce.psn, una);
  const UnwrappedPsn trigger = unwrap(packet.roce.sack, una);
  const bool nack = info.operation == Operation::kReadNack || (blocks && trigger > expected);
  if (expected > sender_.sent_end() || (nack && trigger >= sender_.sent_end()) ||
      (blocks && !sender_.blocks_are_good(packet)))
    return qp_.count_stray(), false;
  if (expected < sender_.acknowledged() || (nack && trigger <= expected)) return false;
  if (nack) {
    ++qp_.counters().packet_seq_err;
    sender_->on_nack(expected, trigger, now);
  } else {
    sender_->on_ack(expected, now);
  }
  if (blocks) sender_.note_blocks(packet, now);
  return true;
}

void IrnReadResponder::note_answer_to_cc(std::int64_t covered_before, const Packet& answer, Time now) {
  const UnwrappedPsn una = sender_.acknowledged();
  qp_.cc->on_ack(CcStream::kResponses,
                 {sender_.covered() - covered_before, answer.roce.becn, una, una + sender_.own_out(),
                  PacketPool::telemetry_of(answer), rcp_of(answer)},
                 now);
  note_losses_to_cc(CcLoss::kRecovery, now);
}

void IrnReadResponder::note_losses_to_cc(CcLoss loss, Time now) {
  if (!qp_.cc || std::exchange(recoveries_seen_, sender_->recoveries()) == sender_->recoveries()) return;
  if (qp_.cc->governs(CcStream::kResponses)) qp_.cc->on_loss(loss, now);
}

void IrnReadResponder::note_progress(UnwrappedPsn una_before, Time now) {
  if (sender_->una() == una_before) return;
  idle_periods_ = 0;
  guard_ = sender_->una() < sender_.sent_end() ? now + qp_.verbs_timeout() : Time::never();
}

const IrnReadResponder::Slot& IrnReadResponder::slot_of(UnwrappedPsn rpsn) const {
  for (std::int64_t sn = oldest_; sn < next_; ++sn)
    if (rpsn < slot(sn).end) return slot(sn);
  RL_CHECK(false);
  return slots_.front();
}

void IrnReadResponder::build(Packet& packet, const Slot& s, UnwrappedPsn rpsn, std::uint8_t syndrome) const {
  const std::uint32_t mtu = qp_.attr.path_mtu;
  const bool first = rpsn == s.first, last = rpsn == s.end - 1;
  const Operation operation = s.atomic        ? Operation::kAtomicAck
                              : first && last ? Operation::kReadResponseOnly
                              : first         ? Operation::kReadResponseFirst
                              : last          ? Operation::kReadResponseLast
                                              : Operation::kReadResponseMiddle;
  qp_.begin(packet, operation, rpsn);
  if (s.atomic) {
    packet.roce.swap_or_add = s.original;
    qp_.finish_ack(packet, syndrome, s.msn);
    return qp_.mark_as_read(packet);  // it is one of the READ responses' stream
  }
  qp_.mark_as_read(packet);
  if (first || last) {
    packet.roce.syndrome = syndrome;
    packet.roce.msn = Msn{s.msn & Psn::kMask};
  }
  qp_.finish(packet, last ? s.length - static_cast<std::uint32_t>((rpsn - s.first) * mtu) : mtu);
}

PayloadSource IrnReadResponder::source_of(const Slot& s, UnwrappedPsn rpsn) const {
  PayloadSource source;
  source.rkey = s.rkey;
  source.pd = qp_.init.pd;
  source.va = s.va + static_cast<std::uint64_t>(rpsn - s.first) * qp_.attr.path_mtu;
  source.packets = static_cast<std::uint32_t>(s.end - s.first);
  source.left = static_cast<std::uint32_t>(s.end - rpsn);
  return source;
}

// The loop gets the responses of every READ that is executed, as far as the two ends keep account of them.
void IrnReadResponder::add_to_low() {
  if (!sender_ || !sender_.has_loop()) return;
  std::uint64_t& number = sender_.loops().next_message();
  number = std::max(number, static_cast<std::uint64_t>(oldest_));
  for (; number < static_cast<std::uint64_t>(next_); ++number) {
    const Slot& s = slot(static_cast<std::int64_t>(number));
    if (s.end - s.first > 1 && !sender_.add_to_low(s.first, s.end)) return;
  }
}

PayloadSource IrnReadResponder::pull_low(Packet& packet, std::uint8_t syndrome) {
  return sender_.pull_low(qp_, packet, [&](UnwrappedPsn rpsn) {
    const Slot& s = slot_of(rpsn);
    build(packet, s, rpsn, syndrome);
    return source_of(s, rpsn);
  });
}

PayloadSource IrnReadResponder::pull(Packet& packet, std::uint8_t syndrome, Time now) {
  if (guard_.is_never()) guard_ = now + qp_.verbs_timeout();
  if (sender_.has_loop()) [[unlikely]] {
    if (next_level() > 0) return pull_low(packet, syndrome);
    qp_.counters().rlp_repeated += sender_.loops().would_repeat(send_limit());
  }
  const NextPacket next = sender_->pull(send_limit(), now);
  const Slot& s = slot_of(next.psn);
  build(packet, s, next.psn, syndrome);
  packet.retransmission = next.retransmission;
  if (next.retransmission) note_resent(next, packet, now);
  if (qp_.cc)
    qp_.cc->on_sent(
        CcStream::kResponses,
        {next.psn, packet.frame(), packet.payload_length, next.psn == s.end - 1, next.retransmission}, now);
  return source_of(s, next.psn);
}

void IrnReadResponder::note_resent(const NextPacket& next, const Packet& packet, Time now) {
  NicCounters& c = qp_.counters();
  ++c.retransmitted_packets;
  const bool by_timeout = next.by_timeout || next.psn < resent_by_guard_;
  ++(by_timeout ? c.timeout_retransmissions : c.nack_retransmissions);
  const auto cause = by_timeout ? RetransmitCause::kTimeout : RetransmitCause::kNak;
  qp_.trace(TraceKind::kRetransmit, now, next.psn, packet.frame_length, static_cast<std::uint8_t>(cause));
}

// The peer has been heard: the sender's timer, which may be long due, repairs what it does not have.
void IrnReadResponder::go_on(Time now) {
  if (!gave_up_) return;
  gave_up_ = false;
  idle_periods_ = 0;
  guard_ = sender_->una() < sender_.sent_end() ? now + qp_.verbs_timeout() : Time::never();
  if (!qp_.nic.config.recovery_timers) resend_by_guard(now);
}

void IrnReadResponder::on_timeout(Time now) {
  if (!sends()) return;
  if (sender_->on_timeout(now) != TimeoutKind::kNone) {
    count_timeout(now);
    note_losses_to_cc(CcLoss::kTimeout, now);
  }
  if (now >= guard_) on_guard(now);
}

void IrnReadResponder::on_guard(Time now) {
  if (++idle_periods_ > qp_.attr.retry_cnt) {
    gave_up_ = true;
    guard_ = Time::never();
    return;
  }
  guard_ = now + qp_.verbs_timeout();
  if (qp_.nic.config.recovery_timers) return;
  count_timeout(now);
  resend_by_guard(now);
}

void IrnReadResponder::resend_by_guard(Time now) {
  sender_->on_go_back(sender_->una(), now);
  resent_by_guard_ = sender_->next();
}

void IrnReadResponder::count_timeout(Time now) {
  ++qp_.counters().read_responder_timeouts;
  qp_.trace(TraceKind::kTimeout, now, sender_->una(), 0,
            static_cast<std::uint8_t>(TimeoutMark::kReadResponder));
}

}  // namespace rocelab
