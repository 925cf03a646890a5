// Requester: posting, completion, timers. Answers of the peer: requester_receive.cc; outbound packets:
// requester_send.cc.
#include "irn_provider/transport/requester.h"

#include <algorithm>

#include "irn_provider/transport/gbn_reads.h"
#include "irn_provider/transport/go_back_n.h"
#include "irn_provider/transport/irn_read_requester.h"
#include "irn_provider/transport/unacknowledged.h"

namespace rocelab {
namespace {

WcOpcode wc_opcode(const SendEntry& entry) {
  if (entry.is_local())
    return entry.wqe.opcode == WrOpcode::kBindMw ? WcOpcode::kBindMw : WcOpcode::kLocalInvalidate;
  if (entry.is_read()) return WcOpcode::kRead;
  if (entry.is_atomic())
    return entry.wqe.opcode == WrOpcode::kFetchAdd ? WcOpcode::kFetchAdd : WcOpcode::kCompareSwap;
  return entry.is_send() ? WcOpcode::kSend : WcOpcode::kWrite;
}

// The part [offset, offset + length) of a READ: its remote address and its part of the scatter list.
SendWqe part_of(const SendWqe& read, std::uint32_t offset, std::uint32_t length) {
  SendWqe part = read;
  part.remote_addr += offset;
  part.fence = read.fence && offset == 0;
  part.num_sge = 0;
  for (std::size_t i = 0; i < read.num_sge && length > 0; ++i) {
    const Sge& sge = read.sge[i];
    if (offset >= sge.length) {
      offset -= sge.length;
      continue;
    }
    const std::uint32_t taken = std::min(length, sge.length - offset);
    part.sge[part.num_sge++] = {sge.addr + offset, taken, sge.lkey};
    length -= taken;
    offset = 0;
  }
  return part;
}

}  // namespace

Requester::Requester(QpContext& qp) : qp_(qp) {}
Requester::~Requester() = default;

void Requester::start(Time now) {
  const NicConfig& config = qp_.nic.config;
  const UnwrappedPsn first = qp_.attr.sq_psn & Psn::kMask;
  reset();
  queue_.start(first);
  if (!qp_.reliable()) {
    window_.use(std::make_unique<Unacknowledged>(first));
    reads_ = std::make_unique<GbnReads>(qp_, *this);  // of which there are none
    window_has_timer_ = true;
  } else if (qp_.irn()) {
    window_.use_irn(qp_, first);
    reads_ = std::make_unique<IrnReadRequester>(qp_, *this);
    window_has_timer_ = config.recovery_timers;
  } else {
    const Duration rto = config.recovery_timers ? config.roce_rto : Duration::infinite();
    window_.use(std::make_unique<GoBackN>(rto, config.roce_restart_on_any_ack, first));
    reads_ = std::make_unique<GbnReads>(qp_, *this);
    window_has_timer_ = rto != Duration::infinite();
  }
  reads_->start(first);
  limit_ = first;
  retries_left_ = qp_.attr.retry_cnt;
  rnr_retries_left_ = qp_.attr.rnr_retry;
  update_limit(now);
}

void Requester::reset() {
  end_work();
  reads_.reset();
  has_reads_ = false;
}

// All but the acknowledgements of READ responses that have come.
void Requester::end_work() {
  queue_.start(0);
  window_.reset();
  peer_shares_ = false;
  if (reads_) reads_->flush();
  limit_ = resent_by_timeout_ = 0;
  recoveries_seen_ = 0;
  fresh_ = 0;
  local_done_ = 0;
  since_ack_req_ = receive_wqe_sn_ = read_wqe_sn_ = 0;
  credits_known_ = false;
  verbs_deadline_ = rnr_until_ = Time::never();
}

// What an unreliable class does not have (IBTA Vol 1, table 47).
PostResult Requester::check_class(const SendWqe& wqe, std::uint64_t length) const {
  if (qp_.reliable()) return PostResult::kOk;
  if (wqe.opcode >= WrOpcode::kRead || wqe.opcode == WrOpcode::kSendInvalidate) return PostResult::kBadOpcode;
  if (qp_.init.type == QpType::kUc) return PostResult::kOk;
  if (wqe.opcode > WrOpcode::kSendImm) return PostResult::kBadOpcode;
  if (length > qp_.attr.path_mtu) return PostResult::kBadLength;
  const AddressHandle* ah = qp_.nic.address_handles.find(wqe.ah.value);
  return ah != nullptr && ah->pd == qp_.init.pd ? PostResult::kOk : PostResult::kBadHandle;
}

PostResult Requester::check(const SendWqe& wqe) const {
  if (is_local(wqe.opcode)) [[unlikely]]
    return check_local(wqe);
  if (wqe.num_sge > std::min<std::uint32_t>(qp_.init.caps.max_send_sge, kMaxSge)) return PostResult::kBadSge;
  const std::uint64_t length = total_length({wqe.sge.data(), wqe.num_sge});
  if (length > kMaxMessageBytes || (wqe.inline_data && length > qp_.init.caps.max_inline))
    return PostResult::kBadLength;
  if (const PostResult result = check_class(wqe, length); result != PostResult::kOk) return result;
  if (fetches(wqe.opcode) && (wqe.inline_data || qp_.attr.max_rd_atomic == 0)) return PostResult::kBadOpcode;
  return is_atomic(wqe.opcode) && (length < kAtomicBytes || wqe.remote_addr % kAtomicBytes != 0)
             ? PostResult::kBadLength
             : PostResult::kOk;
}

PostResult Requester::check(std::span<const SendWqe> wqes) const {
  for (const SendWqe& wqe : wqes)
    if (const PostResult result = check(wqe); result != PostResult::kOk) return result;
  return queue_.work_requests() + wqes.size() > qp_.init.caps.max_send_wr ? PostResult::kQueueFull
                                                                          : PostResult::kOk;
}

std::int64_t Requester::packets_of(std::uint64_t length) const {
  const std::int64_t mtu = qp_.attr.path_mtu;
  return std::max<std::int64_t>(1, (static_cast<std::int64_t>(length) + mtu - 1) / mtu);
}

PostResult Requester::post(const SendWqe& wqe, Time now) {
  if (const PostResult result = check(wqe); result != PostResult::kOk) return result;
  if (queue_.work_requests() >= qp_.init.caps.max_send_wr) return PostResult::kQueueFull;
  const std::uint64_t length =
      is_atomic(wqe.opcode) ? kAtomicBytes : total_length({wqe.sge.data(), wqe.num_sge});
  if (qp_.attr.state == QpState::kErr || qp_.attr.state == QpState::kSqe) {
    const SendEntry& entry = queue_.push(wqe, static_cast<std::uint32_t>(length), packets_of(length));
    complete(entry, WcStatus::kWrFlushErr, now);
    queue_.pop_front();
    return PostResult::kOk;
  }
  if (!is_local(wqe.opcode)) qp_.trace(TraceKind::kPosted, now, queue_.end(), length);
  const std::uint32_t piece = wqe.opcode == WrOpcode::kRead ? read_piece(length) : 0;
  if (piece != 0 && length > piece)
    push_in_pieces(wqe, static_cast<std::uint32_t>(length), piece);
  else
    push(wqe, static_cast<std::uint32_t>(length));
  update_limit(now);
  return PostResult::kOk;
}

void Requester::push(const SendWqe& wqe, std::uint32_t length) {
  const bool one_psn = wqe.opcode == WrOpcode::kRead && qp_.irn();  // responses have a space of their own
  SendEntry& entry = queue_.push(wqe, length, one_psn ? 1 : is_local(wqe.opcode) ? 0 : packets_of(length));
  if (entry.takes_receive_wqe()) entry.wqe_sn = receive_wqe_sn_++;
  if (entry.fetches()) entry.wqe_sn = read_wqe_sn_++, reads_->on_posted(entry), has_reads_ = true;
}

// READs are requested in pieces of at most so many bytes; 0: whole. RoCE's takes all its PSNs at once, and
// the longest one at the smallest MTU has more than may be outstanding.
std::uint32_t Requester::read_piece(std::uint64_t length) const {
  const std::uint32_t paced = qp_.cc ? qp_.cc->read_segment() : 0;
  if (paced != 0 || qp_.irn() || packets_of(length) <= kMaxOutstanding) return paced;
  return kMaxMessageBytes / 2;
}

// Pieces are READs of their own to the peer and one work request to the program.
void Requester::push_in_pieces(const SendWqe& read, std::uint32_t length, std::uint32_t piece) {
  piece -= piece % qp_.attr.path_mtu;  // full packets
  for (std::uint32_t offset = 0; offset < length; offset += piece) {
    const std::uint32_t part = std::min(piece, length - offset);
    push(part_of(read, offset, part), part);
    queue_.mark_piece(queue_.at(queue_.end_number() - 1), length, offset > 0, offset + part < length);
  }
}

void Requester::refresh(Time now) { update_limit(now); }

void Requester::flush(Time now) {
  for (; !queue_.empty(); queue_.pop_front())
    if (!queue_.front().continues) complete(queue_.front(), WcStatus::kWrFlushErr, now);
  end_work();
}

// --- completion

void Requester::complete(const SendEntry& entry, WcStatus status, Time now) {
  if (status == WcStatus::kSuccess && !entry.wqe.signaled && !qp_.init.sq_sig_all) return;
  Cqe cqe;
  cqe.wr_id = entry.wqe.wr_id;
  cqe.status = status;
  cqe.opcode = wc_opcode(entry);
  cqe.byte_len = entry.message_length;
  qp_.complete(QpContext::Queue::kSend, cqe, now);
}

void Requester::complete_in_order(Time now) {
  while (!queue_.empty() && !qp_.failed()) {
    const SendEntry& entry = queue_.front();
    if (entry.end > window_->una() || (!entry.ends_by_ack() && !entry.done)) break;
    if (!entry.continues) complete(entry, WcStatus::kSuccess, now);
    queue_.pop_front();
  }
}

void Requester::fail(SendEntry& entry, WcStatus status, Time now) {
  for (const std::uint64_t number = entry.number; queue_.front_number() < number; queue_.pop_front())
    if (!queue_.front().continues) complete(queue_.front(), WcStatus::kWrFlushErr, now);
  complete(queue_.front(), status, now);
  for (bool more = true; more; queue_.pop_front())
    more = queue_.front().continues;  // one completion a request
  qp_.fail_send();
}

// --- timers

void Requester::arm_verbs_timer(Time now) {
  verbs_deadline_ = waits_for_peer() ? now + qp_.verbs_timeout() : Time::never();
}

void Requester::note_progress(Time now) {
  retries_left_ = qp_.attr.retry_cnt;
  rnr_retries_left_ = qp_.attr.rnr_retry;
  reads_->on_progress();
  if (rnr_until_.is_never()) arm_verbs_timer(now);
}

void Requester::on_timeout(Time now) {
  if (now < next_timeout()) return;
  if (!rnr_until_.is_never()) {
    rnr_until_ = Time::never();
    go_back(window_->una(), now);
  } else {
    const TimeoutKind fired = window_->on_timeout(now);
    if (fired != TimeoutKind::kNone) {
      const bool low = fired == TimeoutKind::kRtoLow;
      ++(low ? qp_.counters().rto_low_timeouts : qp_.counters().rto_high_timeouts);
      qp_.trace(TraceKind::kTimeout, now, window_->una(), 0,
                static_cast<std::uint8_t>(low ? TimeoutMark::kLow : TimeoutMark::kHigh));
      reads_->on_progress();
      note_losses_to_cc(CcLoss::kTimeout, now);
    }
    if (now >= verbs_deadline_) on_verbs_timeout(now);
  }
  update_limit(now);
}

void Requester::on_verbs_timeout(Time now) {
  ++qp_.counters().local_ack_timeout_err;
  if (retries_left_ == 0) {
    fail(queue_.front(), WcStatus::kRetryExcErr, now);
    return;
  }
  --retries_left_;
  reads_->on_verbs_timeout();
  if (!window_has_timer_) {
    qp_.trace(TraceKind::kTimeout, now, window_->una(), 0, static_cast<std::uint8_t>(TimeoutMark::kHigh));
    go_back(window_->una(), now);
    resent_by_timeout_ = window_->next();
  }
  arm_verbs_timer(now);
}

}  // namespace rocelab
