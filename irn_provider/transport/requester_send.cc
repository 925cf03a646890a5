// Requester, outbound: which new packet may leave, and how it is built from its WQE.
#include <algorithm>

#include "irn_provider/transport/requester.h"

namespace rocelab {
namespace {

// The operation of a SEND or WRITE packet by its place in the message (IBTA Vol 1, table 38: both families
// have the same order).
Operation operation_of(const SendEntry& entry, bool first, bool last) {
  const Operation family = entry.is_send() ? Operation::kSendFirst : Operation::kWriteFirst;
  const unsigned imm = entry.has_imm() ? 1 : 0;
  if (entry.invalidates() && last)
    return first ? Operation::kSendOnlyInvalidate : Operation::kSendLastInvalidate;
  const unsigned step = first && last ? 4 + imm : first ? 0 : last ? 2 + imm : 1;
  return static_cast<Operation>(static_cast<unsigned>(family) + step);
}

// XRC: each request says which SRQ of the peer it is for, and so in whose protection domain (annex A14).
void name_srq(RoceHeaders& h, const SendEntry& entry) { h.src_qpn = Qpn{entry.wqe.remote_srqn.value}; }

}  // namespace

// Looked at when its turn comes (IBTA 10.8.3: at execution, not at posting).
bool Requester::keys_are_good(SendEntry& entry) {
  if (!entry.checked) {
    const std::uint32_t rights = entry.fetches() ? kAccessLocalWrite : 0;
    entry.checked = true;
    entry.bad = !entry.wqe.inline_data &&
                !list_is_valid(qp_.view(), {entry.wqe.sge.data(), entry.wqe.num_sge}, rights);
  }
  return !entry.bad;
}

// Whether a WQE of which nothing has left may begin.
bool Requester::may_start(SendEntry& entry, Time now) {
  if (qp_.attr.state != QpState::kRts && !entry.continued) return false;  // its request has begun
  if (!keys_are_good(entry)) {
    if (entry.number == queue_.front_number()) fail(entry, WcStatus::kLocProtErr, now);
    return false;
  }
  if (entry.wqe.fence && reads_->outstanding() > 0) return false;
  // Executed before a WRITE to its region it would end that WRITE: IRN, whose packets arrive in any order,
  // lets it begin when all before it has been acknowledged (Mittal, 4.4.4).
  if (entry.invalidates() && qp_.irn() && (window_->una() < entry.first || reads_->outstanding() > 0))
    return false;
  return !entry.fetches() || reads_->outstanding() < qp_.attr.max_rd_atomic;
}

// IBTA 9.7.7.2.5: without a credit the first packet of a SEND, or all of a WRITE with immediate, may go as a
// probe.
UnwrappedPsn Requester::credit_limit(const SendEntry& entry) const {
  if (!credits_known_ || !entry.takes_receive_wqe()) return entry.end;
  const auto ssn = static_cast<std::int64_t>(entry.number) + 1 - local_done_;  // of those that send
  if (ssn <= credit_limit_) return entry.end;
  // With nothing before it in flight no answer will bring credits: a probe must.
  const bool idle = window_->una() >= entry.first;
  if (ssn > credit_limit_ + 1 && !idle) return entry.first;
  const bool probe_pending = entry.is_send() && window_->una() <= entry.first;
  return probe_pending ? entry.first + 1 : entry.end;
}

void Requester::find_limit(Time now) {
  if (!window_ || qp_.failed()) return;
  const UnwrappedPsn next = window_->next();
  limit_ = next;
  fresh_ = std::max(fresh_, queue_.front_number());
  while (fresh_ < queue_.end_number() && queue_.at(fresh_).end <= next) {
    if (queue_.at(fresh_).is_local() && !execute_local(queue_.at(fresh_), now)) [[unlikely]]
      return;
    ++fresh_;
  }
  if (fresh_ == queue_.end_number()) return;
  SendEntry& entry = queue_.at(fresh_);
  if (!entry.started && !may_start(entry, now)) return;
  UnwrappedPsn space = window_->una() + kMaxOutstanding;
  if (entry.is_read() && entry.end > space) return;  // a READ request takes all its PSNs at once
  if (qp_.cc && !window_->take_window(qp_.cc->window())) {
    space = std::min(space, window_->una() + std::max<std::int64_t>(1, qp_.cc->window()));
    if (entry.is_read() && entry.end > space) {
      if (window_->una() < next)
        return;  // it waits until nothing is outstanding if it alone exceeds the window
      space = entry.end;
    }
  }
  limit_ = std::max(next, std::min({entry.end, credit_limit(entry), space}));
}

void Requester::update_limit(Time now) {
  find_limit(now);
  if (window_.has_loop()) [[unlikely]]
    add_to_low();
}

PayloadSource Requester::pull_data(Packet& packet, Time now) {
  if (window_.has_loop()) [[unlikely]] {
    if (next_level() > 0) return pull_low(packet, now);
    qp_.counters().rlp_repeated += window_.loops().would_repeat(limit_);
  }
  const NextPacket next = window_->pull(limit_, now);
  SendEntry& entry = queue_.find(next.psn);
  const PayloadSource source = entry.is_read()     ? build_read(packet, entry, next.psn)
                               : entry.is_atomic() ? build_atomic(packet, entry, next.psn)
                                                   : build(packet, entry, next.psn);
  packet.retransmission = next.retransmission;
  note_sent(entry, next, packet, now);
  if (qp_.cc) note_sent_to_cc(entry, next, packet, now);
  if (!qp_.reliable()) [[unlikely]]
    complete_in_order(now);  // what has left is done (IBTA 9.8.1.1)
  // A packet that leaves within the limit moves none of its bounds, but for those of congestion control.
  if (window_->next() >= limit_ || qp_.cc) update_limit(now);
  return source;
}

PayloadSource Requester::build(Packet& packet, SendEntry& entry, UnwrappedPsn psn) {
  const std::uint32_t mtu = qp_.attr.path_mtu;
  const auto index = static_cast<std::uint32_t>(psn - entry.first);
  const std::uint32_t offset = index * mtu;
  const bool first = index == 0, last = psn + 1 == entry.end;
  qp_.begin(packet, operation_of(entry, first, last), psn);
  RoceHeaders& h = packet.roce;
  const OpcodeInfo& info = opcode_info(h.opcode);
  // The last packet that may leave for now asks too, or nothing would open the way again; so does the last of
  // a segment whose RTT is taken.
  const std::uint32_t payload = std::min(mtu, entry.length - offset);
  if (info.has(Header::kXrcEth)) [[unlikely]]
    name_srq(h, entry);
  h.ack_req = qp_.reliable() &&
              wants_ack(last || psn + 1 == limit_ || (qp_.cc && qp_.cc->ends_timed_segment(payload, last)));
  h.solicited = last && entry.wqe.solicited && entry.takes_receive_wqe();
  if (info.has(Header::kReth)) {
    h.va = entry.wqe.remote_addr + offset;
    h.rkey = entry.wqe.rkey;
    h.dma_length = entry.length - offset;
  }
  if (info.has(Header::kImmDt) || info.has(Header::kIeth)) h.imm = entry.wqe.imm;
  if (info.has(Header::kIrnSend)) h.wqe_sn = entry.wqe_sn & Psn::kMask, h.offset = index;
  if (info.has(Header::kIrnWqeSn)) h.wqe_sn = entry.wqe_sn & Psn::kMask;
  if (info.has(Header::kDeth)) [[unlikely]]
    return address_datagram(packet, entry);
  qp_.finish(packet, payload);
  PayloadSource source{
      entry.wqe.sge.data(), entry.wqe.num_sge, entry.wqe.inline_data, {}, 0, offset, nullptr};
  if (qp_.nic.config.slack.on()) [[unlikely]] {
    source.packets = static_cast<std::uint32_t>(entry.end - entry.first);
    source.left = static_cast<std::uint32_t>(entry.end - psn);
  }
  return source;
}

bool Requester::sends_by(Ahn ah) const {
  for (std::uint64_t number = queue_.front_number(); number < queue_.end_number(); ++number)
    if (queue_.at(number).wqe.ah == ah) return true;
  return false;
}

// Datagrams: what has left is complete, so that the oldest is the next one.
Tc Requester::next_class() {
  if (queue_.empty()) return qp_.tc();
  if (const unsigned level = next_level(); level > 0) return qp_.tc_of_level(level);
  if (qp_.init.type != QpType::kUd)
    return queue_.find(window_->peek(limit_)).is_read() ? qp_.read_tc() : qp_.tc();
  const AddressHandle* ah = qp_.nic.address_handles.find(queue_.front().wqe.ah.value);
  return ah != nullptr ? qp_.class_of(ah->path) : qp_.tc();
}

// An address handle that the program destroyed before its datagram left gives nothing to send: its payload
// cannot be gathered.
PayloadSource Requester::address_datagram(Packet& packet, const SendEntry& entry) const {
  static const PathAddress kNowhere;
  constexpr std::uint32_t kOwnQkey = 1u << 31;
  const AddressHandle* ah = qp_.nic.address_handles.find(entry.wqe.ah.value);
  packet.roce.dest = entry.wqe.remote_qpn;
  packet.roce.qkey = (entry.wqe.remote_qkey & kOwnQkey) != 0 ? qp_.attr.qkey : entry.wqe.remote_qkey;
  packet.roce.src_qpn = qp_.qpn;
  qp_.finish_datagram(packet, entry.length, ah != nullptr ? ah->path : kNowhere);
  PayloadSource source{entry.wqe.sge.data(), entry.wqe.num_sge, entry.wqe.inline_data, {}, 0, 0, &kNowhere};
  if (ah != nullptr)
    source.path = &ah->path;
  else
    source.sge = nullptr;
  return source;
}

// From the middle of a READ's PSNs it is requested anew for what is missing (IBTA 9.7.5.1.3). IRN's takes one
// PSN: never from the middle.
PayloadSource Requester::build_read(Packet& packet, SendEntry& entry, UnwrappedPsn psn) {
  const auto offset = static_cast<std::uint32_t>(psn - entry.first) * qp_.attr.path_mtu;
  qp_.begin(packet, Operation::kReadRequest, psn);
  qp_.mark_as_read(packet);
  RoceHeaders& h = packet.roce;
  if (opcode_info(h.opcode).has(Header::kXrcEth)) name_srq(h, entry);
  h.ack_req = wants_ack(true);
  h.va = entry.wqe.remote_addr + offset;
  h.rkey = entry.wqe.rkey;
  h.dma_length = entry.length - offset;
  if (opcode_info(h.opcode).has(Header::kIrnWqeSn)) h.wqe_sn = entry.wqe_sn & Psn::kMask;
  qp_.finish(packet, 0);
  if (psn + 1 < entry.end) window_->extend(entry.end);
  return PayloadSource{};
}

PayloadSource Requester::build_atomic(Packet& packet, SendEntry& entry, UnwrappedPsn psn) {
  const bool add = entry.wqe.opcode == WrOpcode::kFetchAdd;
  qp_.begin(packet, add ? Operation::kFetchAdd : Operation::kCompareSwap, psn);
  RoceHeaders& h = packet.roce;
  if (opcode_info(h.opcode).has(Header::kXrcEth)) name_srq(h, entry);
  h.ack_req = wants_ack(true);
  h.va = entry.wqe.remote_addr;
  h.rkey = entry.wqe.rkey;
  h.swap_or_add = add ? entry.wqe.compare_add : entry.wqe.swap;
  h.compare = add ? 0 : entry.wqe.compare_add;
  if (opcode_info(h.opcode).has(Header::kIrnWqeSn)) h.wqe_sn = entry.wqe_sn & Psn::kMask;
  qp_.finish(packet, 0);
  return PayloadSource{};
}

void Requester::note_started(SendEntry& entry) {
  entry.started = true;
  if (credits_known_ && !entry.takes_receive_wqe())
    ++credit_limit_;  // it uses none, so the limit moves along
}

void Requester::note_sent(SendEntry& entry, const NextPacket& next, const Packet& packet, Time now) {
  if (next.retransmission) {
    const bool by_timeout = next.by_timeout || next.psn < resent_by_timeout_;
    NicCounters& c = qp_.counters();
    ++c.retransmitted_packets;
    ++(by_timeout ? c.timeout_retransmissions : c.nack_retransmissions);
    qp_.trace(TraceKind::kRetransmit, now, next.psn, packet.frame_length,
              static_cast<std::uint8_t>(by_timeout ? RetransmitCause::kTimeout : RetransmitCause::kNak));
  } else if (!entry.started) {
    note_started(entry);
    if (entry.fetches()) reads_->on_request_sent(entry, now);
  }
  if (verbs_deadline_.is_never()) arm_verbs_timer(now);
}

void Requester::note_sent_to_cc(SendEntry& entry, const NextPacket& next, const Packet& packet, Time now) {
  if (entry.fetches()) {
    const std::uint32_t left = entry.is_atomic() ? kAtomicBytes : packet.roce.dma_length;
    const CcReadMark mark =
        qp_.cc->on_read_requested(packet.frame(), qp_.wire_bytes_of(left), next.retransmission, now);
    entry.cc_mark = mark;
    return;
  }
  const bool ends_message = next.psn + 1 == entry.end;
  qp_.cc->on_sent(CcStream::kRequests,
                  {next.psn, packet.frame(), packet.payload_length, ends_message, next.retransmission}, now);
}

// RoCE: on a message's last packet and on every ack_interval-th packet of a long one. IRN: every packet is
// acknowledged.
bool Requester::wants_ack(bool must) {
  if (++since_ack_req_ < qp_.nic.config.ack_interval && !must && !qp_.irn()) return false;
  since_ack_req_ = 0;
  return true;
}

}  // namespace rocelab
