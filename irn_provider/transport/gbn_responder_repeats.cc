// GbnResponder: requests that it has executed already and that come again. Source: IBTA Vol 1, 9.7.4.1.2.
#include "base/wire/aeth.h"
#include "irn_provider/transport/gbn_responder.h"
#include "irn_provider/transport/receive_wqe.h"
#include "irn_provider/transport/xrc_target.h"

namespace rocelab {

void GbnResponder::on_duplicate(const Packet& packet, const OpcodeInfo& info, UnwrappedPsn psn, Time now) {
  ++qp_.counters().duplicate_request;
  if (info.operation == Operation::kReadRequest) return repeat_read(packet, psn);
  if (info.is_atomic()) return repeat_atomic(psn);
  ++qp_.counters().spurious_retransmissions;
  qp_.trace(TraceKind::kDuplicate, now, psn, packet.frame_length);
  answer(kAckNoCredits, expected_ - 1);
}

// IBTA 9.7.4.1.2: a duplicate READ, or its rest, is executed again. One that is still being answered starts
// over where the requester now is.
void GbnResponder::repeat_read(const Packet& packet, UnwrappedPsn psn) {
  const RoceHeaders& h = packet.roce;
  const UnwrappedPsn end = psn + read_packets(h.dma_length);
  const OpcodeInfo& info = opcode_info(h.opcode);
  if ((qp_.attr.access_flags & kAccessRemoteRead) == 0 || end > expected_ || !length_fits(packet, info))
    return count_refusal(qp_, kNakInvalidRequest);
  const SharedReceiveQueue* srq = info.has(Header::kXrcEth) ? named_srq(qp_, h) : nullptr;
  if (info.has(Header::kXrcEth) && srq == nullptr) return count_refusal(qp_, kNakRemoteAccess);
  const Pdn pd = srq != nullptr ? srq->pd : qp_.init.pd;
  if (h.dma_length > 0 && !qp_.find_remote(h.rkey, pd, h.va, h.dma_length, kAccessRemoteRead))
    return count_refusal(qp_, kNakRemoteAccess);
  Answer again{true, false, kAckNoCredits, msn_, psn, psn, end, h.va, h.dma_length, h.rkey, pd, true};
  for (std::size_t i = 0; i < answers_.size(); ++i) {
    Answer& pending = answers_[i];
    if (!pending.read || psn < pending.start || psn >= pending.end) continue;
    again.repeated = pending.repeated;
    if (end == pending.end) pending = again;
    return;
  }
  if (!has_room_to_repeat()) return;
  count(again, 1);
  answers_.push_back(again);
}

// One that is remembered no longer is of no honest peer: it has the answers of all but the last few.
void GbnResponder::repeat_atomic(UnwrappedPsn psn) {
  for (std::size_t i = 0; i < atomics_.size(); ++i) {
    const AtomicResult& result = atomics_[i];
    if (result.psn != psn || !has_room_to_repeat()) continue;
    ++qp_.counters().retransmitted_packets;
    ++qp_.counters().nack_retransmissions;
    answer_atomic(psn, result.msn, result.original, true);
    return;
  }
}

}  // namespace rocelab
