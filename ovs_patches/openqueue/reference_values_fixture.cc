// The part of ReferencePolicy that computes: trees as they stand, in exact fractions, and orders pair by
// pair.
#include <algorithm>

#include "ovs_patches/openqueue/reference_fixture.h"

namespace rocelab::oq {
namespace {

using TreeOp = Tree::Op;

}  // namespace

std::string ReferencePolicy::state_name(char kind, std::uint32_t object, std::uint8_t slot) {
  return kind + std::to_string(object) + "." + std::to_string(slot);
}

std::int64_t ReferencePolicy::bytes(std::uint32_t queue) const {
  std::int64_t sum = 0;
  for (const auto& [node, frame] : frames_)
    if (frame.queue == queue) sum += frame.packet.size;
  return sum;
}

std::int64_t ReferencePolicy::packets(std::uint32_t queue) const {
  return std::count_if(frames_.begin(), frames_.end(),
                       [&](const auto& one) { return one.second.queue == queue; });
}

std::int64_t ReferencePolicy::field(const PolicyPacket& packet, PacketField field) const {
  switch (field) {
    case PacketField::kArrival:
      return packet.arrival;
    case PacketField::kSize:
      return packet.size;
    case PacketField::kTx: {
      const ModelPort& port = model_.ports[packet.out.value];
      const Rate line = Rate::from_bps(port.rate * port.share.den() / port.share.num());
      return wire_time(Bytes::from_count(packet.size), line).ps();
    }
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

std::int64_t ReferencePolicy::leaf(const Tree& tree, const Context& context) {
  const auto of_queue = [&] {
    if (tree.object == kContextObject) return context.queue;
    return tree.object == kFirstOfPair    ? context.first_queue
           : tree.object == kSecondOfPair ? context.second_queue
                                          : tree.object;
  };
  switch (tree.op) {
    case TreeOp::kNow:
      return context.now.ps();
    case TreeOp::kPacket: {
      const PolicyPacket* packet = tree.object == kFirstOfPair    ? context.first
                                   : tree.object == kSecondOfPair ? context.second
                                                                  : context.packet;
      return packet == nullptr ? 0 : field(*packet, PacketField{tree.field});
    }
    case TreeOp::kHead: {
      const std::uint32_t node = head(of_queue());
      return node == kNone ? 0 : field(frames_.at(node).packet, PacketField{tree.field});
    }
    case TreeOp::kQueue: {
      const std::uint32_t number = of_queue();
      const ModelQueue& queue = model_.queues[number];
      switch (QueueField{tree.field}) {
        case QueueField::kSize:
          return queue.size;
        case QueueField::kCurrSize:
          return queue.in_packets ? packets(number) : bytes(number);
        case QueueField::kBytes:
          return bytes(number);
        case QueueField::kPackets:
          return packets(number);
        case QueueField::kIndex:
          return queue.index;
        case QueueField::kStrict:
          return queue.strict;
        case QueueField::kQuantum:
          return queue.quantum;
        case QueueField::kDelay:
          return transfer_time(Bytes::from_count(bytes(number)),
                               Rate::from_bps(model_.ports[queue.port].rate))
              .ps();
        case QueueField::kArrivals:
          return context.packet == nullptr ? 0 : arrivals_[{number, context.packet->in.value}];
        case QueueField::kState:
          return states_[state_name('q', number, tree.slot)];
      }
      return 0;
    }
    case TreeOp::kBuffer: {
      const std::uint32_t number = tree.object == kContextObject ? context.buffer : tree.object;
      const ModelBuffer& buffer = model_.buffers[number];
      std::int64_t all_bytes = 0, all_packets = 0;
      for (const std::uint32_t queue : buffer.queues)
        all_bytes += bytes(queue), all_packets += packets(queue);
      switch (BufferField{tree.field}) {
        case BufferField::kSize:
          return buffer.size;
        case BufferField::kCurrSize:
          return buffer.in_packets ? all_packets : all_bytes;
        case BufferField::kBytes:
          return all_bytes;
        case BufferField::kPackets:
          return all_packets;
        case BufferField::kCurrQueue:
          return lost_last_[number];
        case BufferField::kState:
          return states_[state_name('b', number, tree.slot)];
      }
      return 0;
    }
    default: {
      const std::uint32_t number = tree.object == kContextObject ? context.port : tree.object;
      const ModelPort& port = model_.ports[number];
      switch (PortField{tree.field}) {
        case PortField::kRate:
          return port.rate;
        case PortField::kLineRate:
          return port.rate * port.share.den() / port.share.num();
        case PortField::kIndex:
          return number;
        case PortField::kCurrQueue:
          return ports_[number].current;
        case PortField::kState:
          return states_[state_name('p', number, tree.slot)];
      }
      return 0;
    }
  }
}

ReferencePolicy::Fraction ReferencePolicy::value(const Tree& tree, const Context& context) {
  const auto limited = [](__int128 num, __int128 den) {
    const __int128 most = static_cast<__int128>(kPolicyLimit) * den;
    return Fraction{std::clamp(num, -most, most), den};
  };
  if (tree.op == TreeOp::kNumber) return {tree.number.num(), tree.number.den()};
  if (tree.dim == Dim::kBool) return {holds(tree, context) ? 1 : 0, 1};
  if (tree.kids.empty()) return {leaf(tree, context), 1};
  const Fraction a = value(tree.kids[0], context);
  if (tree.op == TreeOp::kWire) return {a.num / a.den + 24, 1};
  const Fraction b = value(tree.kids[1], context);
  switch (tree.op) {
    case TreeOp::kAdd:
      return limited(a.num * b.den + b.num * a.den, a.den * b.den);
    case TreeOp::kSub:
      return limited(a.num * b.den - b.num * a.den, a.den * b.den);
    case TreeOp::kMul:
      return limited(a.num * b.num, a.den * b.den);
    case TreeOp::kDiv: {
      if (b.num == 0) return {0, 1};
      if (tree.kids[1].op != TreeOp::kNumber) return {a.num * b.den / (a.den * b.num), 1};
      return b.num < 0 ? Fraction{-a.num * b.den, -a.den * b.num} : Fraction{a.num * b.den, a.den * b.num};
    }
    case TreeOp::kMod:
      return {b.num == 0 ? 0 : a.num % b.num, 1};
    case TreeOp::kMin:
      return a.num * b.den < b.num * a.den ? a : b;
    case TreeOp::kMax:
      return a.num * b.den < b.num * a.den ? b : a;
    default:
      return {};
  }
}

std::int64_t ReferencePolicy::whole(const Tree& tree, const Context& context) {
  const Fraction found = value(tree, context);
  return static_cast<std::int64_t>(found.num / found.den);
}

bool ReferencePolicy::draw(Rational share, Rng& rng) {
  if (share == Rational{1}) return true;
  return !share.is_zero() &&
         rng.below(static_cast<std::uint64_t>(share.den())) < static_cast<std::uint64_t>(share.num());
}

// Both sides of `and` and `or` are walked: a draw on the right is made in any case.
bool ReferencePolicy::holds(const Tree& tree, const Context& context) {
  switch (tree.op) {
    case TreeOp::kTrue:
      return true;
    case TreeOp::kFalse:
      return false;
    case TreeOp::kChance:
      return context.rng != nullptr && draw(tree.number, *context.rng);
    case TreeOp::kNot:
      return !holds(tree.kids[0], context);
    case TreeOp::kAnd:
    case TreeOp::kOr: {
      const bool a = holds(tree.kids[0], context), b = holds(tree.kids[1], context);
      return tree.op == TreeOp::kAnd ? a && b : a || b;
    }
    default:
      break;
  }
  // In an order a quotient is exact: f(p1) / g(p1).
  const bool pair = context.first != nullptr || context.first_queue != kNoPolicyObject;
  const auto side = [&](const Tree& of) {
    if (!pair || of.op != TreeOp::kDiv || of.kids[1].op == TreeOp::kNumber) return value(of, context);
    const Fraction x = value(of.kids[0], context), y = value(of.kids[1], context);
    return Fraction{x.num * y.den, x.den * y.num};
  };
  const Fraction a = side(tree.kids[0]), b = side(tree.kids[1]);
  const __int128 left = a.num * b.den, right = b.num * a.den;
  switch (tree.op) {
    case TreeOp::kLess:
      return left < right;
    case TreeOp::kLessEqual:
      return left <= right;
    case TreeOp::kEqual:
      return left == right;
    default:
      return left != right;
  }
}

std::vector<std::uint32_t> ReferencePolicy::in_order(std::uint32_t queue) const {
  std::vector<std::uint32_t> nodes;
  for (const auto& [node, frame] : frames_)
    if (frame.queue == queue && !frame.on_its_way) nodes.push_back(node);
  std::sort(nodes.begin(), nodes.end(),
            [&](std::uint32_t a, std::uint32_t b) { return frames_.at(a).number < frames_.at(b).number; });
  return nodes;
}

// An order by arrival alone is that of admission.
bool ReferencePolicy::before(const ModelOrder& order, std::uint32_t a, std::uint32_t b) {
  const Frame &x = frames_.at(a), &y = frames_.at(b);
  if (order.kind == PolicyOrder::Kind::kOldest) return x.number < y.number;
  if (order.kind == PolicyOrder::Kind::kNewest) return x.number > y.number;
  Context context;
  context.first = &x.packet;
  context.second = &y.packet;
  return holds(order.less, context);
}

std::uint32_t ReferencePolicy::head(std::uint32_t queue) {
  std::uint32_t found = kNone;
  const ModelOrder* order = model_.queues[queue].service.get();
  if (order != nullptr && order->kind == PolicyOrder::Kind::kRoundRobin) {
    // The ports behind the one served last, cyclically; of each the oldest.
    const std::uint32_t last = served_last_.contains(queue) ? served_last_[queue] : kMaxSwitchPorts - 1;
    const auto turn = [&](std::uint32_t node) {
      return (frames_.at(node).packet.in.value + kMaxSwitchPorts - last - 1) % kMaxSwitchPorts;
    };
    for (const std::uint32_t node : in_order(queue))
      if (found == kNone || turn(node) < turn(found)) found = node;
    return found;
  }
  for (const std::uint32_t node : in_order(queue))
    if (found == kNone || (order != nullptr && before(*order, node, found))) found = node;
  return found;
}

std::uint32_t ReferencePolicy::victim(std::uint32_t queue) {
  std::uint32_t found = kNone;
  const ModelOrder* order = model_.queues[queue].drop.get();
  for (const std::uint32_t node : in_order(queue))
    if (found == kNone || order == nullptr || !before(*order, found, node)) found = node;
  return found;
}

bool ReferencePolicy::queue_before(const ModelOrder* order, std::uint32_t a, std::uint32_t b) {
  if (order == nullptr) return false;
  Context context;
  context.first_queue = a;
  context.second_queue = b;
  return holds(order->less, context);
}

std::uint32_t ReferencePolicy::first_queue(const ModelOrder* order,
                                           const std::vector<std::uint32_t>& queues) {
  std::uint32_t found = queues.front();
  for (const std::uint32_t queue : queues)
    if (queue_before(order, queue, found)) found = queue;
  return found;
}

std::uint32_t ReferencePolicy::losing_queue(const ModelBuffer& buffer) {
  std::uint32_t found = kNone;
  const ModelOrder* order = buffer.drop_from.get();
  for (const std::uint32_t queue : buffer.queues) {
    if (in_order(queue).empty() || model_.queues[queue].lossless) continue;
    const bool loses = found == kNone || (buffer.last_loses ? queue_before(order, found, queue)
                                                            : queue_before(order, queue, found));
    if (loses) found = queue;
  }
  return found;
}

}  // namespace rocelab::oq
