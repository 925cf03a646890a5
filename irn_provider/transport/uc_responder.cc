#include "irn_provider/transport/uc_responder.h"

#include "base/check.h"
#include "irn_provider/transport/receive_wqe.h"

namespace rocelab {

void UcResponder::start(Time /*now*/) {
  expected_ = qp_.attr.rq_psn & Psn::kMask;
  message_ = Message::kNone;
}

void UcResponder::drop(bool no_receive_wqe) {
  ++(no_receive_wqe ? qp_.counters().out_of_buffer : qp_.counters().rx_dropped_messages);
  message_ = Message::kNone;
}

void UcResponder::on_request(const Packet& packet, const OpcodeInfo& info, Time now) {
  const UnwrappedPsn psn = unwrap(packet.roce.psn, expected_);
  const bool in_sequence = psn == expected_;
  expected_ = psn + 1;
  if (!in_sequence) ++qp_.counters().out_of_sequence;
  const std::uint32_t mtu = qp_.attr.path_mtu, length = packet.payload_length;
  const bool length_fits = info.ends_message() ? length <= mtu : length == mtu;
  ++(info.is_send() ? qp_.counters().rx_send_requests : qp_.counters().rx_write_requests);
  if (info.starts_message()) {
    if (message_ != Message::kNone) drop();  // it has lost its end
    if (!length_fits) return drop();
    if (!begin(packet, info)) return;
  } else if (message_ == Message::kNone) {
    return;  // of a message that is dropped already
  } else if (!in_sequence || !length_fits || info.is_send() != (message_ == Message::kSend)) {
    return drop();
  }
  if (place(packet, now) && info.ends_message()) end(packet, info, now);
}

bool UcResponder::begin(const Packet& packet, const OpcodeInfo& info) {
  received_ = 0;
  message_ = info.is_send() ? Message::kSend : Message::kWrite;
  if (info.is_send()) {
    if (!receive_queue_.fetch_front()) return drop(true), false;
    return true;
  }
  const RoceHeaders& h = packet.roce;
  if (refuse_write(qp_, qp_.init.pd, h)) return drop(), false;
  va_ = h.va, rkey_ = h.rkey, dma_length_ = h.dma_length;
  return true;
}

// False: the message, or the QP, has come to its end.
bool UcResponder::place(const Packet& packet, Time now) {
  const std::uint32_t length = packet.payload_length;
  if (message_ == Message::kWrite) {
    if (length > dma_length_ - received_) return drop(), false;
    if (length > 0 && !place_written(qp_, rkey_, qp_.init.pd, va_ + received_, packet))
      return drop(), false;  // the region went away in the middle of the message
    received_ += length;
    return true;
  }
  const PlaceResult placed =
      place_received(qp_, receive_queue_, receive_queue_.head(), received_, packet.payload, length);
  received_ += length;
  if (placed == PlaceResult::kOk) return true;
  fail_receive(qp_, receive_queue_, placed, now);
  message_ = Message::kNone;
  qp_.fail();
  return false;
}

void UcResponder::end(const Packet& packet, const OpcodeInfo& info, Time now) {
  const bool send = message_ == Message::kSend;
  if (!send && received_ != dma_length_) return drop();
  if (info.has_imm() && !receive_queue_.fetch_front()) return drop(true);
  message_ = Message::kNone;
  qp_.trace(TraceKind::kPlaced, now, expected_ - 1, received_);
  if (!send && !info.has_imm()) return;
  Cqe cqe;
  cqe.opcode = send ? WcOpcode::kRecv : WcOpcode::kRecvWriteImm;
  cqe.has_imm = info.has_imm();
  cqe.imm = packet.roce.imm;
  cqe.byte_len = received_;
  cqe.solicited = packet.roce.solicited;
  complete_receive(qp_, receive_queue_, cqe, now);
}

PayloadSource UcResponder::pull_data(Packet&, Time) {
  RL_CHECK(false);
  return {};
}

}  // namespace rocelab
