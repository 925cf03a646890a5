#include "irn_provider/transport/receive_wqe.h"

#include "base/wire/aeth.h"

namespace rocelab {

RefusalCounter refusal_counter(std::uint8_t syndrome) {
  if (syndrome == kNakRemoteAccess) return &NicCounters::resp_remote_access_errors;
  if (syndrome == kNakRemoteOperational) return &NicCounters::resp_remote_operation_errors;
  return &NicCounters::resp_remote_invalid_request;
}

void refuse_for_good(QpContext& qp, std::uint8_t syndrome, bool by_cqe) {
  count_refusal(qp, syndrome);
  qp.fail();
  // An XRC target's CQEs are those of the program that has the SRQ: its own program is told in any case.
  if (by_cqe && qp.init.type != QpType::kXrcTgt) return;
  const bool access = syndrome == kNakRemoteAccess;
  qp.nic.events.raise(
      {access ? AsyncEvent::Kind::kQpAccessError : AsyncEvent::Kind::kQpRequestError, qp.qpn.value});
}

PlaceResult place_received(const QpContext& qp, const ReceiveQueue& queue, std::uint64_t sn,
                           std::uint64_t offset, const std::byte* bytes, std::uint32_t length) {
  const RecvWqe& wqe = queue.at(sn);
  return place(qp.view(queue.pd()), {wqe.sge.data(), wqe.num_sge}, offset, bytes, length);
}

void complete_receive(QpContext& qp, ReceiveQueue& queue, Cqe cqe, Time now) {
  cqe.wr_id = queue.at(queue.head()).wr_id;
  queue.consume();
  qp.complete(QpContext::Queue::kRecv, cqe, now);
}

std::uint8_t fail_receive(QpContext& qp, ReceiveQueue& queue, PlaceResult why, Time now) {
  const bool too_long = why == PlaceResult::kTooLong;
  if (too_long) ++qp.counters().resp_local_length_error;
  Cqe cqe;
  cqe.status = too_long ? WcStatus::kLocLenErr : WcStatus::kLocProtErr;
  cqe.opcode = WcOpcode::kRecv;
  complete_receive(qp, queue, cqe, now);
  return too_long ? kNakInvalidRequest : kNakRemoteOperational;
}

void refuse_invalidate(QpContext& qp, ReceiveQueue& queue, Time now) {
  Cqe cqe;
  count_refusal(qp, kNakInvalidRequest);
  cqe.status = WcStatus::kRemInvReqErr;
  cqe.opcode = WcOpcode::kRecv;
  complete_receive(qp, queue, cqe, now);
  qp.fail();
}

namespace {

// As place_in_window: called last.
[[gnu::cold, gnu::noinline]] std::optional<std::uint8_t> refuse_write_to_window(const QpContext& qp, Pdn pd,
                                                                                const RoceHeaders& h) {
  return qp.find_remote(h.rkey, pd, h.va, h.dma_length, kAccessRemoteWrite) ? std::nullopt
                                                                            : std::optional(kNakRemoteAccess);
}

}  // namespace

std::optional<std::uint8_t> refuse_write(const QpContext& qp, Pdn pd, const RoceHeaders& h) {
  if ((qp.attr.access_flags & kAccessRemoteWrite) == 0 || h.dma_length > kMaxMessageBytes)
    return kNakInvalidRequest;
  if (h.dma_length > 0 && !qp.nic.regions.translate(h.rkey, pd, h.va, h.dma_length, kAccessRemoteWrite))
    return refuse_write_to_window(qp, pd, h);
  return std::nullopt;
}

bool place_in_window(const QpContext& qp, RKey key, Pdn pd, std::uint64_t va, const Packet& packet) {
  const auto addr = qp.find_remote(key, pd, va, packet.payload_length, kAccessRemoteWrite);
  if (addr) qp.nic.memory.write(*addr, packet.payload, packet.payload_length);
  return addr.has_value();
}

}  // namespace rocelab
