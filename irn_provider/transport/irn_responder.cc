// IrnResponder: what is accepted, and answers. What a packet would be refused for: irn_responder_checks.cc.
#include "irn_provider/transport/irn_responder.h"

#include <utility>

#include "base/check.h"
#include "base/wire/aeth.h"
#include "base/wire/roce_packet.h"
#include "irn_provider/transport/receive_wqe.h"

namespace rocelab {

IrnResponder::IrnResponder(QpContext& qp, ReceiveQueue& receive_queue)
    : qp_(qp), receive_queue_(receive_queue), reads_(qp), echo_(qp.nic.config.cc.needs()) {}

void IrnResponder::start(Time /*now*/) {
  const UnwrappedPsn first = qp_.attr.rq_psn & Psn::kMask;
  receiver_.emplace(qp_.nic.config.irn, first, qp_.rc3());
  last_.clear();
  answers_.start();
  level_ = 0;
  echo_.clear();
  reads_.start(first);
  held_ = Verdict::kAccept;
  msn_ = 0;
  message_start_ = first;
}

void IrnResponder::flush(Time /*now*/) {
  reads_.flush();
  held_ = Verdict::kAccept;
}

void IrnResponder::on_request(const Packet& packet, const OpcodeInfo& info, Time now) {
  const UnwrappedPsn psn = unwrap(packet.roce.psn, receiver_->expected());
  NicCounters& c = qp_.counters();
  marked_ = packet.ecn == Ecn::kCe;
  level_ = static_cast<std::uint8_t>(qp_.level_of(packet));
  if (level_ > 0) [[unlikely]]
    return on_low_request(packet, info, psn, now);
  echo_.on_packet(packet);
  switch (receiver_->classify(psn)) {
    case Arrival::kDuplicate:
      ++c.duplicate_request;
      ++c.spurious_retransmissions;
      qp_.trace(TraceKind::kDuplicate, now, psn, packet.frame_length);
      return answer(psn);
    case Arrival::kBeyondBitmap:
      ++c.rx_beyond_bitmap;
      return;
    case Arrival::kOutOfOrder:
      ++c.out_of_sequence;
      if (receiver_->discards_out_of_order()) {
        if (receiver_->take_nack_due()) answer(psn);
        return;
      }
      if (check(packet, info, psn) != Verdict::kAccept) {
        ++c.probe_drops;
        return;
      }
      accept(packet, info, psn, now);
      return refuse_held(now);
    case Arrival::kInOrder: {
      const Verdict verdict = check(packet, info, psn);
      held_ = Verdict::kAccept;
      return verdict == Verdict::kAccept ? accept(packet, info, psn, now) : refuse(verdict, psn, now);
    }
  }
}

void IrnResponder::on_low_request(const Packet& packet, const OpcodeInfo& info, UnwrappedPsn psn, Time now) {
  NicCounters& c = qp_.counters();
  const Arrival arrival = receiver_->classify(psn);
  if (arrival == Arrival::kBeyondBitmap || receiver_->discards_out_of_order()) {
    ++c.rx_beyond_bitmap;
  } else if (arrival == Arrival::kDuplicate) {
    ++c.rlp_duplicates;
    answer(psn);
  } else if (!takes_early(info) || check(packet, info, psn) != Verdict::kAccept) {
    ++c.rlp_refused;
  } else {
    if (arrival == Arrival::kInOrder) held_ = Verdict::kAccept;  // it was another packet of that PSN
    accept(packet, info, psn, now);
    refuse_held(now);
  }
  level_ = 0;
}

// READs and atomics have no low-priority loop.
bool IrnResponder::takes_early(const OpcodeInfo& info) const {
  if (!info.is_send() && !info.is_write()) return false;
  return !receive_queue_.is_shared() || !(info.is_send() || info.has_imm());
}

void IrnResponder::on_read_ack(const Packet& packet, const OpcodeInfo& info, Time now) {
  reads_.on_read_ack(packet, info, now);
  refuse_held(now);
}

void IrnResponder::on_timeout(Time now) {
  reads_.on_timeout(now);
  refuse_held(now);
}

// --- what is accepted

void IrnResponder::accept(const Packet& packet, const OpcodeInfo& info, UnwrappedPsn psn, Time now) {
  NicCounters& c = qp_.counters();
  ++(info.is_send()     ? c.rx_send_requests
     : info.is_write()  ? c.rx_write_requests
     : info.is_atomic() ? c.rx_atomic_requests
                        : c.rx_read_requests);
  place(packet, info);
  if (psn != receiver_->expected() && packet.payload_length > 0) ++c.ooo_placed_packets;
  if (info.ends_message()) remember_last(packet, info, psn, now);
  const auto starved = receive_queue_.is_shared() ? message_without_wqe(psn) : std::nullopt;
  if (starved) {
    receiver_->forget(*starved);
    last_.erase(find_last(*starved));
  }
  const std::uint32_t messages = receiver_->accept(psn, info.ends_message());
  if (messages > 0 && !complete_in_order(messages, now)) return;
  if (starved) return refuse(Verdict::kRnr, *starved, now);
  answer(psn);
}

// `psn` is about to be accepted. When that completes WRITEs with immediate data whose last packets came
// early, each takes a WQE of the SRQ now. The last packet of the first one that finds none counts as not
// arrived: it draws the RNR NAK that it would have drawn in order.
std::optional<UnwrappedPsn> IrnResponder::message_without_wqe(UnwrappedPsn psn) {
  const UnwrappedPsn end = receiver_->expected_after(psn);
  for (auto last = find_last(psn + 1); last != last_.end() && last->psn < end; ++last)
    if (last->ending == Ending::kWriteImm && !receive_queue_.fetch(static_cast<std::uint64_t>(last->sn)))
      return last->psn;
  return std::nullopt;
}

// Few are kept, and most come last.
std::vector<IrnResponder::LastPacket>::iterator IrnResponder::find_last(UnwrappedPsn psn) {
  auto at = last_.end();
  while (at != last_.begin() && (at - 1)->psn >= psn) --at;
  return at;
}

// Straight to the final address; check() has seen that it is allowed.
void IrnResponder::place(const Packet& packet, const OpcodeInfo& info) {
  const RoceHeaders& h = packet.roce;
  if (packet.payload_length == 0) return;
  if (info.is_send()) {
    const auto sn = static_cast<std::uint64_t>(receive_sn(packet));
    const PlaceResult placed = place_received(qp_, receive_queue_, sn, std::uint64_t{h.offset} * mtu(),
                                              packet.payload, packet.payload_length);
    RL_CHECK(placed == PlaceResult::kOk);
  } else {
    RL_CHECK(place_written(qp_, h.rkey, qp_.init.pd, h.va, packet));
  }
}

void IrnResponder::remember_last(const Packet& packet, const OpcodeInfo& info, UnwrappedPsn psn, Time now) {
  LastPacket& last = *last_.insert(find_last(psn), LastPacket{});
  last.psn = psn;
  last.tail = packet.payload_length;
  if (info.operation == Operation::kReadRequest || info.is_atomic()) {
    last.ending = Ending::kRead;
    last.sn = read_sn(packet);
    reads_.insert(last.sn, packet.roce, now);
  } else if (info.is_send() || info.has_imm()) {
    last.ending = info.is_send() ? Ending::kSend : Ending::kWriteImm;
    last.sn = receive_sn(packet);
    last.first = psn - packet.roce.offset;
    last.has_imm = info.has_imm();
    last.invalidates = info.has(Header::kIeth);
    last.imm = packet.roce.imm;
    last.solicited = packet.roce.solicited;
    if (psn != receiver_->expected()) ++qp_.counters().premature_cqes;
  }
}

// So many messages: in order, with everything before them.
bool IrnResponder::complete_in_order(std::uint32_t messages, Time now) {
  RL_CHECK(messages <= last_.size());
  std::uint32_t done = 0;
  bool good = true;
  while (good && done < messages) good = complete_next(last_[done++], now);
  last_.erase(last_.begin(), last_.begin() + done);
  return good;
}

bool IrnResponder::complete_next(const LastPacket& last, Time now) {
  msn_ = (msn_ + 1) & Psn::kMask;
  if (!complete(last, now)) return fail(kNakInvalidRequest, last.psn, false), false;
  // Acknowledged, but nothing behind it is (refuse_invalidate).
  if (qp_.failed()) return push_answer({.psn = last.psn + 1, .trigger = last.psn, .msn = msn_}), false;
  message_start_ = last.psn + 1;
  return true;
}

// False: the packets of the message contradict each other (numbers and offsets out of order could not be
// compared before).
bool IrnResponder::complete(const LastPacket& last, Time now) {
  const auto bytes = static_cast<std::uint32_t>((last.psn - message_start_) * mtu() + last.tail);
  if (last.ending == Ending::kRead)
    return last.psn == message_start_ && last.sn == reads_.next_sn() && reads_.execute_next(msn_);
  if (last.ending != Ending::kWrite && last.sn != static_cast<std::int64_t>(receive_queue_.head()))
    return false;
  if (last.ending == Ending::kSend && last.first != message_start_) return false;
  qp_.trace(TraceKind::kPlaced, now, last.psn, bytes);
  if (last.ending == Ending::kWrite) return true;
  if (last.invalidates && !qp_.nic.windows.invalidate(RKey{last.imm}, qp_.qpn))
    return refuse_invalidate(qp_, receive_queue_, now), true;
  Cqe cqe;
  cqe.opcode = last.ending == Ending::kSend ? WcOpcode::kRecv : WcOpcode::kRecvWriteImm;
  cqe.has_imm = last.has_imm;
  cqe.has_invalidated = last.invalidates;
  cqe.imm = last.imm;
  cqe.solicited = last.solicited;
  cqe.byte_len = bytes;
  complete_receive(qp_, receive_queue_, cqe, now);
  return true;
}

// --- answers

void IrnResponder::refuse(Verdict verdict, UnwrappedPsn psn, Time now) {
  if (verdict == Verdict::kRnr) {
    ++qp_.counters().out_of_buffer;
    return push_answer(
        {.psn = psn, .trigger = psn, .syndrome = rnr_syndrome(qp_.attr.min_rnr_timer), .msn = msn_});
  }
  if (reads_.is_answering()) {  // which ends with the connection
    held_ = verdict;
    return;
  }
  if (verdict == Verdict::kInvalidRequest) return fail(kNakInvalidRequest, psn, false);
  if (verdict == Verdict::kRemoteAccess) return fail(kNakRemoteAccess, psn, false);
  const PlaceResult why = verdict == Verdict::kTooLong ? PlaceResult::kTooLong : PlaceResult::kProtection;
  fail(fail_receive(qp_, receive_queue_, why, now), psn, true);
}

void IrnResponder::refuse_held(Time now) {
  if (held_ == Verdict::kAccept || reads_.is_answering()) return;
  refuse(std::exchange(held_, Verdict::kAccept), receiver_->expected(), now);
}

void IrnResponder::fail(std::uint8_t nak, UnwrappedPsn psn, bool by_cqe) {
  push_answer({.psn = psn, .trigger = psn, .syndrome = nak, .msn = msn_});
  refuse_for_good(qp_, nak, by_cqe);
}

// Every packet draws its own answer with the cumulative value; out of order a NACK that names the packet as
// well (4.2.1).
void IrnResponder::answer(UnwrappedPsn psn) {
  push_answer({.psn = receiver_->expected(), .trigger = psn, .msn = msn_});
}

// A NAK that a packet of a lower level draws beside its own answer is of the primary's level.
void IrnResponder::push_answer(Answer answer) {
  if (level_ > 0 && !answer.syndrome) {
    answers_.push(answer, level_);
    return;
  }
  answer.marked = marked_;
  if (answers_.push(answer)) echo_.drop_oldest();
  echo_.on_answer();
}

inline void IrnResponder::put(Packet& packet, const Answer& answer) const {
  const bool blocks = receiver_->has_blocks() && !answer.syndrome, nack = answer.trigger > answer.psn;
  qp_.begin(packet, blocks ? Operation::kAckBlocks : nack ? Operation::kNack : Operation::kAck, answer.psn);
  if (blocks)
    put_irn_blocks(packet.roce, receiver_->blocks(answer.trigger));
  else if (nack)
    packet.roce.sack = wrap(answer.trigger);
  packet.roce.becn = answer.marked;
  qp_.finish_ack(packet, answer.syndrome.value_or(credits()), answer.msn);
}

void IrnResponder::pull_ack(Packet& packet, Time /*now*/) {
  const auto [answer, level] = answers_.take();
  put(packet, answer);
  if (level == 0) return echo_.put(packet);
  qp_.mark_level(packet, level);
}

PayloadSource IrnResponder::pull_data(Packet& packet, Time now) {
  return reads_.pull(packet, credits(), now);
}

// IBTA 9.7.7.2: what other QPs may take cannot be promised.
std::uint8_t IrnResponder::credits() const {
  return receive_queue_.is_shared() ? kAckNoCredits : ack_syndrome(receive_queue_.size());
}

// WQE numbers are 24 bits on the wire, as PSNs are.
std::int64_t IrnResponder::receive_sn(const Packet& packet) const {
  return unwrap(Psn(packet.roce.wqe_sn), static_cast<std::int64_t>(receive_queue_.head()));
}
std::int64_t IrnResponder::read_sn(const Packet& packet) const {
  return unwrap(Psn(packet.roce.wqe_sn), reads_.next_sn());
}

}  // namespace rocelab
