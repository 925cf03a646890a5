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
  answer(kAckNoCredits, may_acknowledge_all(psn) ? expected_ - 1 : psn);
}

// An ACK stands for all requests up to its PSN (IBTA 9.7.5.1.2, coalesced acknowledgements), but a READ or
// an atomic is answered by data alone, which its requester may not have: Linux rxe takes an ACK of its PSN
// for its answer. So where one was executed behind the duplicate, the ACK names the duplicate.
bool GbnResponder::may_acknowledge_all(UnwrappedPsn psn) const { return psn > last_fetched_; }

// IBTA 9.7.4.1.2: a duplicate READ, or its rest, is executed again. One that is still being answered starts
// over where the requester now is; unless the answer to an earlier request, repeated before it, waits behind
// it: then behind that one (IBTA 9.5: answers in the order of requests), or the requester would have to drop
// what comes too early and to ask a third time.
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
  const std::size_t pending = find_read(psn);
  if (pending < answers_.size()) {
    again.repeated = answers_[pending].repeated;
    if (end != answers_[pending].end) return;
    if (!earlier_behind(pending)) {
      answers_[pending] = again;
      return;
    }
    take_out(pending);
  } else {
    if (!has_room_to_repeat()) return;
    count(again, 1);
  }
  answers_.push_back(again);
}

// The place of the READ that `psn` belongs to among what is still to be answered; none: beyond its end.
std::size_t GbnResponder::find_read(UnwrappedPsn psn) const {
  std::size_t i = 0;
  while (i < answers_.size() && !(answers_[i].read && psn >= answers_[i].start && psn < answers_[i].end)) ++i;
  return i;
}

bool GbnResponder::earlier_behind(std::size_t place) const {
  for (std::size_t i = place + 1; i < answers_.size(); ++i)
    if (answers_[i].start < answers_[place].start) return true;
  return false;
}

void GbnResponder::take_out(std::size_t place) {
  for (std::size_t i = place; i > 0; --i) std::swap(answers_[i], answers_[i - 1]);
  answers_.pop_front();
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
