#include "irn_provider/transport/ud_responder.h"

#include "base/check.h"
#include "base/wire/cm/mad.h"
#include "irn_provider/transport/receive_wqe.h"

namespace rocelab {

void UdResponder::on_request(const Packet& packet, const OpcodeInfo& info, Time now) {
  NicCounters& c = qp_.counters();
  const RoceHeaders& h = packet.roce;
  if (h.qkey != qp_.attr.qkey) {
    ++c.qkey_violations;
    return;
  }
  if (packet.payload_length > (qp_.init.gsi ? kMaxMadBytes : qp_.nic.config.active_mtu)) {
    ++c.rx_malformed;
    return;
  }
  ++c.rx_send_requests;
  if (!receive_queue_.fetch_front()) {
    ++c.out_of_buffer;
    return;
  }
  const std::uint32_t length = kGrhBytes + packet.payload_length;
  const std::byte* bytes = packet.payload != nullptr ? packet.payload - kGrhBytes : nullptr;
  const PlaceResult placed = place_received(qp_, receive_queue_, receive_queue_.head(), 0, bytes, length);
  if (placed != PlaceResult::kOk) {
    count_refusal(qp_, fail_receive(qp_, receive_queue_, placed, now));
    return qp_.fail();
  }
  Cqe cqe;
  cqe.opcode = WcOpcode::kRecv;
  cqe.has_imm = info.has_imm();
  cqe.imm = h.imm;
  cqe.byte_len = length;
  cqe.solicited = h.solicited;
  cqe.has_grh = true;
  cqe.grh_is_ipv6 = bytes != nullptr && std::to_integer<unsigned>(bytes[0]) >> 4 == 6;
  cqe.src_qpn = h.src_qpn;
  qp_.trace(TraceKind::kPlaced, now, h.psn.value(), packet.payload_length);
  complete_receive(qp_, receive_queue_, cqe, now);
}

PayloadSource UdResponder::pull_data(Packet&, Time) {
  RL_CHECK(false);
  return {};
}

}  // namespace rocelab
