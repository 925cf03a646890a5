#include "emu/runner/flow_frames.h"

#include <algorithm>
#include <utility>

#include "base/wire/frame.h"
#include "base/wire/opcode.h"

namespace rocelab {
namespace {

TransportClass transport_class(TransportMode mode, FlowService service) {
  if (service == FlowService::kUc) return TransportClass::kUc;
  if (service == FlowService::kUd) return TransportClass::kUd;
  return mode == TransportMode::kIrn ? TransportClass::kIrn : TransportClass::kRc;
}

Bytes frame_bytes(TransportClass transport, Operation operation, std::int64_t payload) {
  RoceHeaders headers;
  headers.opcode = make_opcode(transport, operation);
  return Bytes::from_count(
      static_cast<std::int64_t>(frame_length(headers, static_cast<std::size_t>(payload), true)));
}

Bytes frame_of(const FlowShape& shape, Operation operation, std::int64_t payload) {
  return frame_bytes(transport_class(shape.mode, shape.service), operation, payload) + shape.shim;
}

struct MessageOperations {
  Operation first, middle, last, only;
  Operation final_last, final_only;  // of a queue pair's last message
};

MessageOperations operations_of(const FlowShape& shape) {
  using enum Operation;
  const auto [op, numbered] = std::pair(shape.op, shape.numbered);
  if (shape.service == FlowService::kUd)  // each packet is a datagram
    return {kSendOnlyImm, kSendOnlyImm, kSendOnlyImm, kSendOnlyImm, kSendOnlyImm, kSendOnlyImm};
  if (numbered && op == FlowOp::kSend)
    return {kSendFirst, kSendMiddle, kSendLastImm, kSendOnlyImm, kSendLastImm, kSendOnlyImm};
  if (numbered)
    return {kWriteFirst, kWriteMiddle, kWriteLastImm, kWriteOnlyImm, kWriteLastImm, kWriteOnlyImm};
  switch (op) {
    case FlowOp::kSend:
      return {kSendFirst, kSendMiddle, kSendLast, kSendOnly, kSendLast, kSendOnly};
    case FlowOp::kWrite:
      return {kWriteFirst, kWriteMiddle, kWriteLast, kWriteOnly, kWriteLastImm, kWriteOnlyImm};
    case FlowOp::kRead:
      break;
  }
  return {kReadResponseFirst, kReadResponseMiddle, kReadResponseLast,
          kReadResponseOnly,  kReadResponseLast,   kReadResponseOnly};
}

}  // namespace

Bytes frame_bytes(TransportMode mode, Operation operation, std::int64_t payload) {
  return frame_bytes(transport_class(mode, FlowService::kRc), operation, payload);
}

FlowFrames::FlowFrames(const FlowShape& shape)
    : middle_(frame_of(shape, operations_of(shape).middle, shape.path_mtu)) {
  const std::int64_t size = shape.size.count(),
                     whole = shape.message_size.count() > 0 ? shape.message_size.count() : size,
                     messages = (size + whole - 1) / whole,
                     lanes = std::min<std::int64_t>(messages, shape.qps);
  whole_ = make_message(shape, whole, false);
  for (std::int64_t l = 0; l < lanes; ++l) {  // messages go over the queue pairs in turn
    Lane lane;
    lane.messages = (messages - l + lanes - 1) / lanes;
    const std::int64_t last = l + (lane.messages - 1) * lanes;
    lane.final = make_message(shape, std::min(whole, size - last * whole), true);
    lane.frames = (lane.messages - 1) * whole_.packets + lane.final.packets;
    lanes_.push_back(lane);
  }
}

FlowFrames::Message FlowFrames::make_message(const FlowShape& shape, std::int64_t bytes,
                                             bool is_final) const {
  const MessageOperations o = operations_of(shape);
  const std::int64_t mtu = shape.path_mtu;
  Message m;
  m.packets = (bytes + mtu - 1) / mtu;
  const std::int64_t rest = bytes - (m.packets - 1) * mtu;
  m.first = frame_of(shape, o.first, mtu);
  if (m.packets == 1)
    m.last = frame_of(shape, is_final ? o.final_only : o.only, rest);
  else
    m.last = frame_of(shape, is_final ? o.final_last : o.last, rest);
  return m;
}

FlowFrames::Position FlowFrames::position(std::size_t lane, std::int64_t index) const {
  const Lane& l = lanes_[lane];
  Position p;
  p.message = std::min(index / whole_.packets, l.messages - 1);
  p.packet = index - p.message * whole_.packets;
  p.shape = p.message + 1 == l.messages ? &l.final : &whole_;
  return p;
}

DataFrame FlowFrames::frame(std::size_t lane, std::int64_t index) const {
  const Position p = position(lane, index);
  const bool last = p.packet + 1 == p.shape->packets;
  return {last ? p.shape->last : p.packet == 0 ? p.shape->first : middle_, p.message, last};
}

std::int64_t FlowFrames::middles_after(std::size_t lane, std::int64_t index) const {
  const Position p = position(lane, index);
  return p.packet == 0 ? -1 : std::max<std::int64_t>(p.shape->packets - 2 - p.packet, -1);
}

std::int64_t FlowFrames::total_frames() const {
  std::int64_t total = 0;
  for (const Lane& lane : lanes_) total += lane.frames;
  return total;
}

Bytes FlowFrames::wire_bytes_of_message(const Message& m) const {
  if (m.packets == 1) return wire_bytes(m.last);
  return wire_bytes(m.first) + (m.packets - 2) * wire_bytes(middle_) + wire_bytes(m.last);
}

Bytes FlowFrames::total_wire_bytes() const {
  Bytes total;
  for (const Lane& lane : lanes_)
    total += (lane.messages - 1) * wire_bytes_of_message(whole_) + wire_bytes_of_message(lane.final);
  return total;
}

}  // namespace rocelab
