#include "irn_provider/transport/uc_responder.h"

#include "base/check.h"
#include "base/wire/aeth.h"

namespace rocelab {
namespace {

constexpr RefusalCounter kNoReceiveWqe = &NicCounters::out_of_buffer,
                         kIncomplete = &NicCounters::rx_incomplete_messages,
                         kInvalid = &NicCounters::resp_remote_invalid_request,
                         kAccess = &NicCounters::resp_remote_access_errors;

}  // namespace

void UcResponder::start(Time /*now*/) {
  expected_ = qp_.attr.rq_psn & Psn::kMask;
  message_ = Message::kNone;
}

void UcResponder::drop(RefusalCounter why) {
  NicCounters& c = qp_.counters();
  ++(c.*why);
  if (why != kNoReceiveWqe) ++c.rx_dropped_messages;
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
    if (message_ != Message::kNone) drop(in_sequence ? kInvalid : kIncomplete);  // without its end
    if (!length_fits) return drop(kInvalid);
    if (!begin(packet, info)) return;
  } else if (message_ == Message::kNone) {  // of one that is dropped already, or has not begun here
    ++qp_.counters().rx_stray_packets;
    return;
  } else if (!in_sequence) {
    return drop(kIncomplete);
  } else if (!length_fits || info.is_send() != (message_ == Message::kSend)) {
    return drop(kInvalid);
  }
  if (place(packet, now) && info.ends_message()) end(packet, info, now);
}

bool UcResponder::begin(const Packet& packet, const OpcodeInfo& info) {
  received_ = 0;
  message_ = info.is_send() ? Message::kSend : Message::kWrite;
  if (info.is_send()) {
    if (!receive_queue_.fetch_front()) return drop(kNoReceiveWqe), false;
    return true;
  }
  const RoceHeaders& h = packet.roce;
  if (const auto refusal = refuse_write(qp_, qp_.init.pd, h)) return drop(refusal_counter(*refusal)), false;
  va_ = h.va, rkey_ = h.rkey, dma_length_ = h.dma_length;
  return true;
}

// False: the message, or the QP, has come to its end.
bool UcResponder::place(const Packet& packet, Time now) {
  const std::uint32_t length = packet.payload_length;
  if (message_ == Message::kWrite) {
    if (length > dma_length_ - received_) return drop(kInvalid), false;
    if (length > 0 && !place_written(qp_, rkey_, qp_.init.pd, va_ + received_, packet))
      return drop(kAccess), false;  // the region went away in the middle of the message
    received_ += length;
    return true;
  }
  const PlaceResult placed =
      place_received(qp_, receive_queue_, receive_queue_.head(), received_, packet.payload, length);
  received_ += length;
  if (placed == PlaceResult::kOk) return true;
  count_refusal(qp_, fail_receive(qp_, receive_queue_, placed, now));
  message_ = Message::kNone;
  qp_.fail();
  return false;
}

void UcResponder::end(const Packet& packet, const OpcodeInfo& info, Time now) {
  const bool send = message_ == Message::kSend;
  if (!send && received_ != dma_length_) return drop(kInvalid);
  if (info.has_imm() && !receive_queue_.fetch_front()) return drop(kNoReceiveWqe);
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
