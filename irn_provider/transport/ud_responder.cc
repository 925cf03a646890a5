#include "irn_provider/transport/ud_responder.h"

#include "base/check.h"

namespace rocelab {

void UdResponder::on_request(const Packet& packet, const OpcodeInfo& info, Time now) {
  NicCounters& c = qp_.counters();
  const RoceHeaders& h = packet.roce;
  if (h.qkey != qp_.attr.qkey) {
    ++c.qkey_violations;
    return;
  }
  if (packet.payload_length > qp_.nic.config.active_mtu) {
    ++c.rx_malformed;
    return;
  }
  ++c.rx_send_requests;
  if (receive_queue_.empty()) {
    ++c.out_of_buffer;
    return;
  }
  const RecvWqe& wqe = receive_queue_.at(receive_queue_.head());
  const std::uint32_t length = kGrhBytes + packet.payload_length;
  const std::byte* bytes = packet.payload != nullptr ? packet.payload - kGrhBytes : nullptr;
  const PlaceResult placed = place(qp_.view(), {wqe.sge.data(), wqe.num_sge}, 0, bytes, length);
  Cqe cqe;
  cqe.wr_id = wqe.wr_id;
  cqe.opcode = WcOpcode::kRecv;
  if (placed == PlaceResult::kOk) {
    cqe.has_imm = info.has_imm();
    cqe.imm = h.imm;
    cqe.byte_len = length;
    cqe.solicited = h.solicited;
    cqe.has_grh = true;
    cqe.src_qpn = h.src_qpn;
    qp_.trace(TraceKind::kPlaced, now, h.psn.value(), packet.payload_length);
  } else {
    if (placed == PlaceResult::kTooLong) ++c.resp_local_length_error;
    cqe.status = placed == PlaceResult::kTooLong ? WcStatus::kLocLenErr : WcStatus::kLocProtErr;
    qp_.fail();
  }
  receive_queue_.consume();
  qp_.complete(QpContext::Queue::kRecv, cqe, now);
}

PayloadSource UdResponder::pull_data(Packet&, Time) {
  RL_CHECK(false);
  return {};
}

}  // namespace rocelab
