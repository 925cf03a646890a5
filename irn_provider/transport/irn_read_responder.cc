#include "irn_provider/transport/irn_read_responder.h"

#include <algorithm>

#include "base/check.h"

namespace rocelab {
namespace {

// 4.096 us * 2^code, 0 = none (IBTA Vol 1, 9.7.6.1.3 local ACK timeout).
Duration verbs_timeout(std::uint8_t code) {
  return code == 0 ? Duration::infinite() : 4'096_ns * (std::int64_t{1} << (code & 31));
}

// With recovery timers off the verbs attribute is the guard, here as at the requester: a lost response would
// otherwise never come again.
IrnConfig timers_of(const QpContext& qp) {
  IrnConfig config = qp.nic.config.irn;
  if (!qp.nic.config.recovery_timers) config.rto_low = config.rto_high = verbs_timeout(qp.attr.timeout);
  return config;
}

}  // namespace

IrnReadResponder::IrnReadResponder(QpContext& qp) : qp_(qp) {}

void IrnReadResponder::start(UnwrappedPsn first_rpsn) {
  slots_.assign(qp_.attr.max_dest_rd_atomic, Slot{});
  const IrnConfig config = timers_of(qp_);
  sender_.emplace(config, config.rto_high != Duration::infinite(), first_rpsn);
  limit_ = first_rpsn;
  next_ = oldest_ = 0;
  started_ = true;
}

bool IrnReadResponder::fits(std::int64_t sn) const {
  if (sn < next_ || slots_.empty() || sn >= next_ + static_cast<std::int64_t>(slots_.size())) return false;
  const Slot& s = slot(sn);
  return s.sn < 0 || (s.sn != sn && s.sn < next_ && s.end <= sender_->next());
}

void IrnReadResponder::insert(std::int64_t sn, const RoceHeaders& request, Time now) {
  RL_CHECK(fits(sn));
  Slot& s = slot(sn);
  if (s.sn >= 0) {
    sender_->on_ack(std::max(s.end, sender_->una()), now);
    oldest_ = std::max(oldest_, s.sn + 1);
  }
  s = Slot{};
  s.sn = sn;
  s.va = request.va;
  s.rkey = request.rkey;
  s.length = request.dma_length;
}

bool IrnReadResponder::execute_next(std::uint32_t msn) {
  if (slots_.empty() || slot(next_).sn != next_) return false;
  Slot& s = slot(next_);
  const std::uint32_t mtu = qp_.attr.path_mtu;
  s.msn = msn;
  s.first = limit_;
  s.end = s.first + std::max<std::int64_t>(1, (std::int64_t{s.length} + mtu - 1) / mtu);
  limit_ = s.end;
  ++next_;
  return true;
}

void IrnReadResponder::on_read_ack(const Packet& packet, const OpcodeInfo& info, Time now) {
  if (!started_) return;
  const UnwrappedPsn expected = unwrap(packet.roce.psn, sender_->una());
  if (expected < sender_->una() || expected > sender_->next()) return;
  if (info.operation == Operation::kReadNack) {
    const UnwrappedPsn sack = unwrap(packet.roce.sack, sender_->una());
    if (sack <= expected || sack >= sender_->next()) return;
    ++qp_.counters().packet_seq_err;
    sender_->on_nack(expected, sack, now);
  } else {
    sender_->on_ack(expected, now);
  }
  while (oldest_ < next_ && slot(oldest_).end <= sender_->una()) slot(oldest_++).sn = -1;
}

const IrnReadResponder::Slot& IrnReadResponder::slot_of(UnwrappedPsn rpsn) {
  for (std::int64_t sn = oldest_; sn < next_; ++sn)
    if (rpsn < slot(sn).end) return slot(sn);
  RL_CHECK(false);
  return slots_.front();
}

PayloadSource IrnReadResponder::pull(Packet& packet, std::uint8_t syndrome, Time now) {
  const NextPacket next = sender_->pull(limit_, now);
  const Slot& s = slot_of(next.psn);
  const std::uint32_t mtu = qp_.attr.path_mtu;
  const auto offset = static_cast<std::uint32_t>((next.psn - s.first) * mtu);
  const bool first = next.psn == s.first, last = next.psn == s.end - 1;
  const Operation operation = first && last ? Operation::kReadResponseOnly
                              : first       ? Operation::kReadResponseFirst
                              : last        ? Operation::kReadResponseLast
                                            : Operation::kReadResponseMiddle;
  qp_.begin(packet, operation, next.psn);
  if (first || last) {
    packet.roce.syndrome = syndrome;
    packet.roce.msn = Msn{s.msn & Psn::kMask};
  }
  packet.retransmission = next.retransmission;
  qp_.finish(packet, last ? s.length - offset : mtu);
  if (next.retransmission) {
    NicCounters& c = qp_.counters();
    ++c.retransmitted_packets;
    ++(next.by_timeout ? c.timeout_retransmissions : c.nack_retransmissions);
    const auto cause = next.by_timeout ? RetransmitCause::kTimeout : RetransmitCause::kNak;
    qp_.trace(TraceKind::kRetransmit, now, next.psn, packet.frame_length, static_cast<std::uint8_t>(cause));
  }
  PayloadSource source;
  source.rkey = s.rkey;
  source.va = s.va + offset;
  return source;
}

void IrnReadResponder::on_timeout(Time now) {
  if (!started_ || sender_->on_timeout(now) == TimeoutKind::kNone) return;
  ++qp_.counters().read_responder_timeouts;
  qp_.trace(TraceKind::kTimeout, now, sender_->una(), 0,
            static_cast<std::uint8_t>(TimeoutMark::kReadResponder));
}

}  // namespace rocelab
