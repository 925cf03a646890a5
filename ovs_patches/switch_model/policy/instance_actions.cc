// What an arrival draws: conditions, drops, and actions of every kind.
#include <algorithm>

#include "ovs_patches/switch_model/policy/instance.h"

namespace rocelab {

template <class Victim>
void PolicyInstance::congestion(const PolicyCases& cases, const Context& context, Victim&& victim,
                                PolicyOutcome& outcome) {
  for (bool again = true; again && !outcome.refused;) {
    again = false;
    const auto first = std::find_if(cases.begin(), cases.end(),
                                    [&](const PolicyCase& c) { return holds(c.predicate, context); });
    if (first == cases.end()) return;
    for (const PolicyAction& action : first->actions) {
      if (action.kind != PolicyAction::Kind::kDrop) {
        act(action, context, outcome);
        continue;
      }
      const bool certain = action.share.part >= action.share.whole;
      if (!certain && !draw(action.share, *context.rng)) continue;
      const std::uint32_t node = victim();
      if (node == kNoNode) continue;
      drop(node, context, outcome);
      again = certain;
    }
    if (again && outcome.evicted.size() >= program_->bounds.evictions && !outcome.refused)
      drop(context.node, context, outcome);
  }
}

void PolicyInstance::drop(std::uint32_t node, const Context& context, PolicyOutcome& outcome) {
  const std::uint32_t queue = waiting_[node].queue;
  take_out(node, context.now);
  ++queues_[queue].counts.dropped;
  if (node == context.node) {
    outcome.refused = true;
    return;
  }
  outcome.evicted.push_back(node);
  if (queues_[queue].arrivals.empty()) on_empty(queue, node, context.now);
}

// The conditions of the frame's queue and of its buffer, then their sizes; then what is done about a frame
// that stays.
void PolicyInstance::judge(std::uint32_t node, Time now, PolicyOutcome& outcome) {
  const std::uint32_t queue = waiting_[node].queue;
  if (queues_[queue].plain) {
    if (exceeds(queue)) drop(node, {.now = now, .node = node}, outcome);
    return;
  }
  const PolicyQueue& spec = program_->queues[queue];
  Context context = context_of(queue, &waiting_[node].packet, now);
  context.node = node;
  congestion(
      spec.congestion, context, [&] { return first_victim(queue); }, outcome);
  if (spec.buffer != kNoPolicyObject && !outcome.refused) {
    context.rng = &buffers_[spec.buffer].rng;
    const PolicyBuffer& buffer = program_->buffers[spec.buffer];
    congestion(
        buffer.congestion, context,
        [&] {
          const std::uint32_t from = queue_to_drop_from(spec.buffer, now);
          return from == kNoPolicyObject ? kNoNode : first_victim(from);
        },
        outcome);
  }
  if (!outcome.refused && exceeds(queue)) drop(node, context, outcome);
  if (!outcome.refused) {
    count_arrival(queue, waiting_[node].packet.in);
    context.rng = &queues_[queue].rng;
    act_first(spec.post_admission, context, outcome);
    if (spec.buffer != kNoPolicyObject)
      act_first(program_->buffers[spec.buffer].post_admission, context, outcome);
  }
}

bool PolicyInstance::exceeds(std::uint32_t queue) const {
  const PolicyQueue& spec = program_->queues[queue];
  if (spec.lossless) return false;
  if (queue_field(queue, QueueField::kCurrSize, 0, nullptr) > spec.size) return true;
  return spec.buffer != kNoPolicyObject &&
         buffer_field(spec.buffer, BufferField::kCurrSize, 0) > program_->buffers[spec.buffer].size;
}

void PolicyInstance::act(const PolicyAction& action, const Context& context, PolicyOutcome& outcome) {
  switch (action.kind) {
    case PolicyAction::Kind::kDrop:  // of conditions only
      return;
    case PolicyAction::Kind::kMark:
      outcome.mark = true;
      return;
    case PolicyAction::Kind::kNotify:
      ++outcome.notified;
      return;
    case PolicyAction::Kind::kPauseUpstream:
    case PolicyAction::Kind::kResumeUpstream:
      outcome.pause_upstream = action.kind == PolicyAction::Kind::kPauseUpstream;
      outcome.resume_upstream = !outcome.pause_upstream;
      return;
    case PolicyAction::Kind::kModify:
      break;
  }
  const std::int64_t value = value_of(action.value, context);
  const auto object = [&](std::uint32_t own) {
    return action.object == kContextObject ? own : action.object;
  };
  switch (action.of) {
    case PolicyAction::Of::kPacketValue:
      waiting_[context.node].packet.value = value;
      if (waits(context.node)) {
        unrank(context.node);
        rank(context.node, context.now);
        touched(waiting_[context.node].queue, context.now);
      }
      return;
    case PolicyAction::Of::kQueue:
      state(action.of, object(context.queue), action.slot) = value;
      return touched(object(context.queue), context.now);
    case PolicyAction::Of::kBuffer:
      state(action.of, object(context.buffer), action.slot) = value;
      return;
    case PolicyAction::Of::kPort:
      state(action.of, object(context.port), action.slot) = value;
      return;
  }
}

void PolicyInstance::act(const std::vector<PolicyAction>& actions, const Context& context,
                         PolicyOutcome& outcome) {
  for (const PolicyAction& action : actions) act(action, context, outcome);
}

void PolicyInstance::act_first(const PolicyCases& cases, const Context& context, PolicyOutcome& outcome) {
  for (const PolicyCase& option : cases)
    if (holds(option.predicate, context)) return act(option.actions, context, outcome);
}

void PolicyInstance::on_empty(std::uint32_t queue, std::uint32_t node, Time now) {
  const PolicyPort& port = program_->ports[program_->queues[queue].port];
  if (port.schedule.turn == kNoPolicyObject) return;
  Context context = context_of(queue, &waiting_[node].packet, now);
  context.node = node;
  act(program_->turns[port.schedule.turn].empty, context, unseen_);
}

}  // namespace rocelab
