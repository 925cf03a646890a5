#include "irn_provider/transport/gbn_responder.h"

#include <algorithm>

#include "base/wire/aeth.h"
#include "irn_provider/transport/receive_wqe.h"
#include "irn_provider/transport/xrc_target.h"

namespace rocelab {

void GbnResponder::start(Time /*now*/) {
  answers_.clear();
  echo_.clear();
  atomics_.clear();
  reads_pending_ = repeats_pending_ = msn_ = 0;
  expected_ = responses_sent_ = qp_.attr.rq_psn & Psn::kMask;
  last_fetched_ = expected_ - 1;
  nak_sent_ = refused_ = false;
  message_ = Message::kNone;
}

// What stands behind a READ that is not answered any more would acknowledge it.
void GbnResponder::flush(Time /*now*/) {
  if (refused_) return;
  bool kept = true;
  for (std::size_t n = answers_.size(); n > 0; --n) {
    const Answer a = answers_.take_front();
    kept = kept && !a.read;
    if (kept)
      answers_.push_back(a);
    else if (a.read || a.atomic)
      count(a, -1);
  }
}

// --- inbound

void GbnResponder::on_request(const Packet& packet, const OpcodeInfo& info, Time now) {
  const UnwrappedPsn psn = unwrap(packet.roce.psn, expected_);
  echo_.on_packet(packet);
  if (psn > expected_) return on_gap();
  if (psn < expected_) return on_duplicate(packet, info, psn, now);
  nak_sent_ = false;
  const std::uint64_t next_wqe = receive_queue_.head();
  const Refusal refusal = execute(packet, info, now);
  if (refusal) {
    nak_sent_ = true;
    answer(*refusal, psn);
    if (is_rnr_nak(*refusal)) return;
    refused_ = true;
    return refuse_for_good(qp_, *refusal, receive_queue_.head() != next_wqe);
  }
  if (info.operation == Operation::kReadRequest) return;  // the response answers it
  ++expected_;
  if (info.is_atomic()) return;
  if (packet.roce.ack_req) answer(kAckNoCredits, psn);
}

void GbnResponder::on_gap() {
  ++qp_.counters().out_of_sequence;
  if (std::exchange(nak_sent_, true)) return;
  answer(kNakPsnSequence, expected_);
}

// XRC: a message keeps to the SRQ that its first packet named.
bool GbnResponder::turn_to_srq(const Packet& packet) {
  SharedReceiveQueue* srq = named_srq(qp_, packet.roce);
  if (srq == nullptr) return false;
  if (message_ != Message::kNone) return receive_queue_.takes_from(*srq);
  receive_queue_.turn_to(*srq);
  qp_.recv_cq = srq->cq;
  pd_ = srq->pd;
  return true;
}

GbnResponder::Refusal GbnResponder::execute(const Packet& packet, const OpcodeInfo& info, Time now) {
  if (info.has(Header::kXrcEth) && !turn_to_srq(packet)) return kNakRemoteAccess;
  if (!in_sequence(info) || !length_fits(packet, info)) return kNakInvalidRequest;
  if (info.is_send()) return on_send(packet, info, now);
  if (info.is_write()) return on_write(packet, info, now);
  if (info.operation == Operation::kReadRequest) return on_read(packet);
  if (info.is_atomic()) return on_atomic(packet, info);
  return kNakInvalidRequest;
}

// IBTA 9.7.4.1.3: a message is not interrupted by another and does not begin in its middle.
bool GbnResponder::in_sequence(const OpcodeInfo& info) const {
  if (info.starts_message()) return message_ == Message::kNone;
  return message_ == (info.is_send()    ? Message::kSend
                      : info.is_write() ? Message::kWrite
                                        : Message::kNone) &&
         message_ != Message::kNone;
}

// IBTA 9.7.4.1.6: all but the last packet of a message are full.
bool GbnResponder::length_fits(const Packet& packet, const OpcodeInfo& info) const {
  const std::uint32_t mtu = qp_.attr.path_mtu, length = packet.payload_length;
  if (!info.has_payload) return length == 0;
  if (!info.ends_message()) return length == mtu;
  return length <= mtu && (length > 0 || info.position == Position::kOnly);
}

GbnResponder::Refusal GbnResponder::on_send(const Packet& packet, const OpcodeInfo& info, Time now) {
  ++qp_.counters().rx_send_requests;
  if (info.starts_message()) {
    if (!receive_queue_.fetch_front()) return no_receive_wqe();
    received_ = 0;
  }
  const PlaceResult placed = place_received(qp_, receive_queue_, receive_queue_.head(), received_,
                                            packet.payload, packet.payload_length);
  if (placed != PlaceResult::kOk) return fail_receive(qp_, receive_queue_, placed, now);
  received_ += packet.payload_length;
  message_ = Message::kSend;
  if (info.ends_message()) end_message(packet, info, received_, now);
  return std::nullopt;
}

GbnResponder::Refusal GbnResponder::on_write(const Packet& packet, const OpcodeInfo& info, Time now) {
  ++qp_.counters().rx_write_requests;
  if (info.starts_message()) {
    const RoceHeaders& h = packet.roce;
    if (const Refusal refusal = refuse_write(qp_, pd_, h)) return refusal;
    va_ = h.va, rkey_ = h.rkey, dma_length_ = h.dma_length;
    received_ = 0;
  }
  const std::uint32_t length = packet.payload_length, left = dma_length_ - received_;
  if (length > left || (info.ends_message() && length != left)) return kNakInvalidRequest;
  if (info.has_imm() && !receive_queue_.fetch_front()) return no_receive_wqe();
  if (length > 0 && !place_written(qp_, rkey_, pd_, va_ + received_, packet))
    return kNakRemoteAccess;  // the region went away in the middle of the message
  received_ += length;
  message_ = Message::kWrite;
  if (info.ends_message()) end_message(packet, info, received_, now);
  return std::nullopt;
}

GbnResponder::Refusal GbnResponder::on_read(const Packet& packet) {
  ++qp_.counters().rx_read_requests;
  const RoceHeaders& h = packet.roce;
  if ((qp_.attr.access_flags & kAccessRemoteRead) == 0 || h.dma_length > kMaxMessageBytes || !has_room())
    return kNakInvalidRequest;
  if (h.dma_length > 0 && !qp_.find_remote(h.rkey, pd_, h.va, h.dma_length, kAccessRemoteRead))
    return kNakRemoteAccess;
  ++msn_;
  const UnwrappedPsn end = expected_ + read_packets(h.dma_length);
  const Answer fresh{true, false, kAckNoCredits, msn_,   expected_, expected_,
                     end,  h.va,  h.dma_length,  h.rkey, pd_};
  count(fresh, 1);
  answers_.push_back(fresh);
  expected_ = end;
  last_fetched_ = end - 1;
  return std::nullopt;
}

// IBTA 9.4.5; checks in the order of Linux rxe: the QP's right, the region's, the alignment.
GbnResponder::Refusal GbnResponder::on_atomic(const Packet& packet, const OpcodeInfo& info) {
  ++qp_.counters().rx_atomic_requests;
  const RoceHeaders& h = packet.roce;
  if ((qp_.attr.access_flags & kAccessRemoteAtomic) == 0 || !has_room()) return kNakInvalidRequest;
  const auto addr = qp_.find_remote(h.rkey, pd_, h.va, kAtomicBytes, kAccessRemoteAtomic);
  if (!addr) return kNakRemoteAccess;
  if (h.va % kAtomicBytes != 0 || *addr % kAtomicBytes != 0) return kNakInvalidRequest;
  const std::uint64_t original = execute_atomic(qp_.nic.memory, *addr, info.operation, h);
  ++msn_;
  if (atomics_.size() >= qp_.attr.max_dest_rd_atomic) atomics_.pop_front();
  atomics_.push_back({expected_, msn_, original});
  answer_atomic(expected_, msn_, original, false);
  last_fetched_ = expected_;
  return std::nullopt;
}

void GbnResponder::answer_atomic(UnwrappedPsn psn, std::uint32_t msn, std::uint64_t original, bool repeated) {
  Answer a;
  a.atomic = true;
  a.repeated = repeated;
  a.syndrome = kAckNoCredits;
  a.msn = msn;
  a.next = a.start = psn;
  a.va = original;
  count(a, 1);
  answers_.push_back(a);
}

GbnResponder::Refusal GbnResponder::no_receive_wqe() {
  ++qp_.counters().out_of_buffer;
  return rnr_syndrome(qp_.attr.min_rnr_timer);
}

void GbnResponder::end_message(const Packet& packet, const OpcodeInfo& info, std::uint32_t length, Time now) {
  message_ = Message::kNone;
  const bool invalidates = info.has(Header::kIeth);
  if (invalidates && !qp_.nic.windows.invalidate(RKey{packet.roce.imm}, qp_.qpn))
    return refuse_invalidate(qp_, receive_queue_, now);
  ++msn_;
  qp_.trace(TraceKind::kPlaced, now, expected_, length);
  if (!info.is_send() && !info.has_imm()) return;
  Cqe cqe;
  cqe.opcode = info.is_send() ? WcOpcode::kRecv : WcOpcode::kRecvWriteImm;
  cqe.has_imm = info.has_imm();
  cqe.has_invalidated = invalidates;
  cqe.imm = packet.roce.imm;
  cqe.byte_len = length;
  cqe.solicited = packet.roce.solicited;
  complete_receive(qp_, receive_queue_, cqe, now);
}

// --- outbound

std::int64_t GbnResponder::read_packets(std::uint32_t length) const {
  return std::max<std::int64_t>(1, (std::int64_t{length} + qp_.attr.path_mtu - 1) / qp_.attr.path_mtu);
}

void GbnResponder::answer(std::uint8_t syndrome, UnwrappedPsn psn) {
  // A paused port must not let a peer's duplicates pile up: ACKs are cumulative, so the last one can stand
  // for those before it.
  if (answers_.size() >= kMaxAnswers && !answers_.back().read && !answers_.back().atomic &&
      is_ack(answers_.back().syndrome)) {
    Answer& last = answers_.back();
    if (is_ack(syndrome)) psn = std::max(psn, last.next);
    last.syndrome = syndrome, last.msn = msn_, last.next = last.start = psn;
    echo_.replace_newest();
    return;
  }
  answers_.push_back(Answer{false, false, syndrome, msn_, psn, psn, psn, 0, 0, {}});
  echo_.on_answer();
}

void GbnResponder::pull_ack(Packet& packet, Time /*now*/) {
  const Answer a = answers_.take_front();
  qp_.begin(packet, a.atomic ? Operation::kAtomicAck : Operation::kAck, a.next);
  if (a.atomic) packet.roce.swap_or_add = a.va, count(a, -1);
  qp_.finish_ack(packet, a.syndrome, a.msn);
  if (!a.atomic) echo_.put(packet);
}

PayloadSource GbnResponder::pull_data(Packet& packet, Time now) {
  Answer& a = answers_.front();
  const bool first = a.next == a.start, last = a.next + 1 == a.end;
  const Operation operation = first && last ? Operation::kReadResponseOnly
                              : first       ? Operation::kReadResponseFirst
                              : last        ? Operation::kReadResponseLast
                                            : Operation::kReadResponseMiddle;
  const std::uint32_t length = std::min(a.left, qp_.attr.path_mtu);
  qp_.begin(packet, operation, a.next);
  qp_.mark_as_read(packet);
  if (opcode_info(packet.roce.opcode).has(Header::kAeth)) {
    packet.roce.syndrome = a.syndrome;
    packet.roce.msn = Msn{a.msn & Psn::kMask};
  }
  qp_.finish(packet, length);
  packet.retransmission = a.next < responses_sent_;
  if (packet.retransmission) {
    ++qp_.counters().retransmitted_packets;
    ++qp_.counters()
          .nack_retransmissions;  // asked for again; whether a timer asked, only the requester knows
    qp_.trace(TraceKind::kRetransmit, now, a.next, packet.frame_length,
              static_cast<std::uint8_t>(RetransmitCause::kNak));
  }
  if (qp_.cc)
    qp_.cc->on_sent(CcStream::kResponses, {a.next, packet.frame(), length, last, packet.retransmission}, now);
  PayloadSource source{nullptr, 0, false, a.rkey, a.va, 0, nullptr, a.pd};
  source.packets = static_cast<std::uint32_t>(a.end - a.start);
  source.left = static_cast<std::uint32_t>(a.end - a.next);
  responses_sent_ = std::max(responses_sent_, ++a.next);
  a.va += length, a.left -= length;
  if (last) count(a, -1), answers_.pop_front();
  return source;
}

}  // namespace rocelab
