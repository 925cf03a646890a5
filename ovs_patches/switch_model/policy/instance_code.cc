// The code of programs: loads and operations. All are total.
#include <algorithm>

#include "base/units.h"
#include "ovs_patches/switch_model/policy/instance.h"

namespace rocelab {
namespace {

std::int64_t saturated(__int128 value) {
  return static_cast<std::int64_t>(std::clamp<__int128>(value, -kPolicyLimit, kPolicyLimit));
}

std::int64_t apply(PolicyOp op, std::int64_t a, std::int64_t b) {
  switch (op) {
    case PolicyOp::kAdd:
      return saturated(static_cast<__int128>(a) + b);
    case PolicyOp::kSub:
      return saturated(static_cast<__int128>(a) - b);
    case PolicyOp::kMul:
      return saturated(static_cast<__int128>(a) * b);
    case PolicyOp::kDiv:
      return b == 0 ? 0 : a / b;
    case PolicyOp::kMod:
      return b == 0 ? 0 : a % b;
    case PolicyOp::kMin:
      return std::min(a, b);
    case PolicyOp::kMax:
      return std::max(a, b);
    case PolicyOp::kLess:
      return a < b;
    case PolicyOp::kLessEqual:
      return a <= b;
    case PolicyOp::kEqual:
      return a == b;
    case PolicyOp::kNotEqual:
      return a != b;
    case PolicyOp::kAnd:
      return (a != 0) & (b != 0);
    case PolicyOp::kOr:
      return (a != 0) | (b != 0);
    case PolicyOp::kNot:
      return a == 0;
    case PolicyOp::kWire:
      return wire_bytes(Bytes::from_count(a)).count();
    default:
      return 0;
  }
}

}  // namespace

bool PolicyInstance::draw(PolicyShare share, Rng& rng) const {
  if (share.part >= share.whole) return true;
  return share.part != 0 && rng.below(share.whole) < share.part;
}

std::int64_t PolicyInstance::value_of(PolicyCode code, const Context& context) {
  std::int64_t registers[kPolicyRegisters];
  const PolicyInstruction* at = program_->code.data() + code.first;
  const PolicyInstruction* const end = at + code.count;
  instructions_ += code.count;
  std::int64_t value = 0;
  for (; at != end; ++at) {
    if (at->op >= PolicyOp::kAdd && at->op <= PolicyOp::kWire)
      value = apply(at->op, registers[at->a], registers[at->b]);
    else if (at->op == PolicyOp::kChance)
      value = draw(program_->shares[at->operand], *context.rng);
    else
      value = load(*at, context);
    registers[at->to] = value;
  }
  return value;
}

std::int64_t PolicyInstance::load(const PolicyInstruction& at, const Context& context) const {
  const auto object = [&](std::uint32_t own) { return at.operand == kContextObject ? own : at.operand; };
  switch (at.op) {
    case PolicyOp::kConstant:
      return program_->constants[at.operand];
    case PolicyOp::kNow:
      return context.now.ps();
    case PolicyOp::kPacket:
      return packet_field(*context.packet, static_cast<PacketField>(at.a));
    case PolicyOp::kHead: {
      const std::uint32_t queue = object(context.queue);
      if (queues_[queue].arrivals.empty()) return 0;
      return packet_field(waiting_[head(queue)].packet, static_cast<PacketField>(at.a));
    }
    case PolicyOp::kQueue:
      return queue_field(object(context.queue), static_cast<QueueField>(at.a), at.b, context.packet);
    case PolicyOp::kBuffer:
      return buffer_field(object(context.buffer), static_cast<BufferField>(at.a), at.b);
    case PolicyOp::kPort:
      return port_field(object(context.port), static_cast<PortField>(at.a), at.b);
    default:
      return 0;
  }
}

std::int64_t PolicyInstance::packet_field(const PolicyPacket& packet, PacketField field) const {
  switch (field) {
    case PacketField::kArrival:
      return packet.arrival;
    case PacketField::kSize:
      return packet.size;
    case PacketField::kTx:
      return ports_[packet.out.value].line.wire_time(Bytes::from_count(packet.size)).ps();
    case PacketField::kClass:
      return packet.tc.value;
    case PacketField::kDscp:
      return packet.dscp;
    case PacketField::kEcn:
      return packet.ecn;
    case PacketField::kIn:
      return packet.in.value;
    case PacketField::kOut:
      return packet.out.value;
    case PacketField::kFlow:
      return static_cast<std::int64_t>(packet.flow);
    case PacketField::kSlack:
      return packet.slack;
    case PacketField::kValue:
      return packet.value;
    case PacketField::kProcessing:
      return packet.processing;
    case PacketField::kHeld:
      return packet.held;
    case PacketField::kXoff:
      return packet.xoff;
    case PacketField::kXon:
      return packet.xon;
  }
  return 0;
}

std::int64_t PolicyInstance::queue_field(std::uint32_t queue, QueueField field, std::uint8_t slot,
                                         const PolicyPacket* packet) const {
  const PolicyQueue& spec = program_->queues[queue];
  const QueueCounts& counts = queues_[queue].counts;
  switch (field) {
    case QueueField::kSize:
      return spec.size;
    case QueueField::kCurrSize:
      return spec.in_packets ? counts.packets : counts.bytes;
    case QueueField::kBytes:
      return counts.bytes;
    case QueueField::kPackets:
      return counts.packets;
    case QueueField::kIndex:
      return spec.index;
    case QueueField::kStrict:
      return spec.strict;
    case QueueField::kQuantum:
      return spec.quantum;
    case QueueField::kDelay:
      return transfer_time(Bytes::from_count(counts.bytes), Rate::from_bps(program_->ports[spec.port].rate))
          .ps();
    case QueueField::kArrivals:
      return packet == nullptr ? 0 : queues_[queue].arrivals_from[packet->in.value];
    case QueueField::kState:
      return queue_states_[queue * program_->state_slots + slot];
  }
  return 0;
}

std::int64_t PolicyInstance::buffer_field(std::uint32_t buffer, BufferField field, std::uint8_t slot) const {
  const PolicyBuffer& spec = program_->buffers[buffer];
  const Buffer& counts = buffers_[buffer];
  switch (field) {
    case BufferField::kSize:
      return spec.size;
    case BufferField::kCurrSize:
      return spec.in_packets ? counts.packets : counts.bytes;
    case BufferField::kBytes:
      return counts.bytes;
    case BufferField::kPackets:
      return counts.packets;
    case BufferField::kCurrQueue:
      return counts.lost_last;
    case BufferField::kState:
      return buffer_states_[buffer * program_->state_slots + slot];
  }
  return 0;
}

std::int64_t PolicyInstance::port_field(std::uint32_t port, PortField field, std::uint8_t slot) const {
  switch (field) {
    case PortField::kRate:
      return program_->ports[port].rate;
    case PortField::kLineRate:
      return ports_[port].line_rate;
    case PortField::kIndex:
      return port;
    case PortField::kCurrQueue:
      return ports_[port].current;
    case PortField::kState:
      return port_states_[port * program_->state_slots + slot];
  }
  return 0;
}

std::int64_t& PolicyInstance::state(PolicyAction::Of of, std::uint32_t object, std::uint8_t slot) {
  std::vector<std::int64_t>& states = of == PolicyAction::Of::kQueue    ? queue_states_
                                      : of == PolicyAction::Of::kBuffer ? buffer_states_
                                                                        : port_states_;
  return states[object * program_->state_slots + slot];
}

PolicyRanks PolicyInstance::ranks(const PolicyKey& key, const Context& context) {
  PolicyRanks ranks;
  for (std::size_t i = 0; i < key.components.size(); ++i) {
    const PolicyKey::Component& component = key.components[i];
    ranks[i].value = value_of(component.value, context);
    if (component.divisor) ranks[i].divisor = std::max<std::int64_t>(1, value_of(component.divisor, context));
  }
  return ranks;
}

}  // namespace rocelab
