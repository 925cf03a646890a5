// Shapes that most programs have, recognised when an instance is made, so that frames cost less.
#include <algorithm>

#include "ovs_patches/switch_model/policy/instance.h"

namespace rocelab {

void PolicyInstance::learn_shapes() {
  for (std::uint32_t q = 0; q < queues_.size(); ++q) {
    const PolicyQueue& spec = program_->queues[q];
    Queue& queue = queues_[q];
    queue.plain = spec.buffer == kNoPolicyObject && spec.post_admission.empty() &&
                  (spec.congestion.empty() || is_tail_drop(q));
    queue.has_ranks =
        spec.service.kind == PolicyOrder::Kind::kKey || spec.drop.kind == PolicyOrder::Kind::kKey;
    const PolicySchedule& schedule = program_->ports[spec.port].schedule;
    const PolicyKey& order = schedule.has_strict && spec.strict > 0 ? schedule.strict_order : schedule.order;
    if (!order.components.empty()) queue.order = &order;
  }
  for (std::uint32_t port = 0; port < program_->select.size(); ++port) {
    if (!only_class_selects(program_->select[port])) continue;
    for (std::uint8_t tc = 0; tc < kTrafficClasses; ++tc) {
      PolicyPacket packet;
      packet.out = PortId{static_cast<std::uint16_t>(port)};
      packet.tc = Tc{tc};
      ports_[port].queue_of[tc] = select_for(packet, Time::zero());
    }
    ports_[port].by_class = true;
  }
}

bool PolicyInstance::only_class_selects(const PolicySelection& selection) const {
  const auto only_class = [&](PolicyCode code) {
    for (std::uint32_t i = 0; i < code.count; ++i) {
      const PolicyInstruction& at = program_->code[code.first + i];
      const bool loads = at.op < PolicyOp::kAdd;
      const bool is_class =
          at.op == PolicyOp::kPacket && at.a == static_cast<std::uint8_t>(PacketField::kClass);
      if (at.op == PolicyOp::kChance || (loads && at.op != PolicyOp::kConstant && !is_class)) return false;
    }
    return true;
  };
  return std::ranges::all_of(selection.cases, [&](const PolicySelection::Case& option) {
    return only_class(option.predicate) && only_class(option.index);
  });
}

// One case, currSize > size, that drops the newest: the arrival is refused where it does not fit, which the
// declared size says anyway.
bool PolicyInstance::is_tail_drop(std::uint32_t number) const {
  const PolicyQueue& queue = program_->queues[number];
  if (queue.lossless || queue.drop.kind != PolicyOrder::Kind::kNewest || queue.congestion.size() != 1)
    return false;
  const PolicyCase& only = queue.congestion.front();
  if (only.actions.size() != 1 || only.actions.front().kind != PolicyAction::Kind::kDrop ||
      only.actions.front().share.part < only.actions.front().share.whole || only.predicate.count != 3)
    return false;
  const PolicyInstruction* code = program_->code.data() + only.predicate.first;
  const auto own = [&](const PolicyInstruction& at, QueueField field) {
    return at.op == PolicyOp::kQueue && at.a == static_cast<std::uint8_t>(field) &&
           (at.operand == kContextObject || at.operand == number);
  };
  const auto is_size = [&](const PolicyInstruction& at) {
    return own(at, QueueField::kSize) ||
           (at.op == PolicyOp::kConstant && program_->constants[at.operand] == queue.size);
  };
  const QueueField counted = queue.in_packets ? QueueField::kPackets : QueueField::kBytes;
  const auto is_length = [&](const PolicyInstruction& at) {
    return own(at, QueueField::kCurrSize) || own(at, counted);
  };
  const auto less = [&](const PolicyInstruction& size, const PolicyInstruction& length) {
    return is_size(size) && is_length(length) && code[2].op == PolicyOp::kLess && code[2].a == size.to &&
           code[2].b == length.to && size.to != length.to;
  };
  return less(code[0], code[1]) || less(code[1], code[0]);
}

}  // namespace rocelab
