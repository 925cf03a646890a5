#include "ovs_patches/openqueue/reference_fixture.h"

#include <algorithm>
#include <utility>

namespace rocelab::oq {

ReferencePolicy::ReferencePolicy(const Model& model, std::uint64_t most_evictions, const Rng& rng)
    : model_(model), most_evictions_(most_evictions) {
  for (const ModelQueue& queue : model.queues) queue_rngs_.push_back(rng.fork("queue/" + queue.name));
  for (const ModelBuffer& buffer : model.buffers) buffer_rngs_.push_back(rng.fork("buffer/" + buffer.name));
  for (const ModelPort& port : model.ports) ports_.push_back({.rng = rng.fork("port/" + port.name)});
  for (std::size_t i = 0; i < model.select.size(); ++i)
    select_rngs_.push_back(rng.fork("select/" + std::to_string(i)));
}

ReferencePolicy::Context ReferencePolicy::context_of(std::uint32_t queue, std::uint32_t node, Time now) {
  Context context;
  context.packet = &frames_.at(node).packet;
  context.queue = queue;
  context.buffer = model_.queues[queue].buffer;
  context.port = model_.queues[queue].port;
  context.now = now;
  context.rng = &queue_rngs_[queue];
  context.node = node;
  return context;
}

std::uint32_t ReferencePolicy::select(const ModelSelection& selection, const Context& context) {
  for (const ModelSelection::Arm& arm : selection.arms) {
    if (arm.predicate && !holds(*arm.predicate, context)) continue;
    return arm.first + (arm.index ? static_cast<std::uint32_t>(whole(*arm.index, context)) : 0);
  }
  return kNone;
}

void ReferencePolicy::arrive(std::uint32_t node, PolicyPacket packet, Time now, PolicyOutcome& outcome) {
  outcome.clear();
  packet.arrival = now.ps();
  join(node, packet, now);
  judge(node, now, outcome);
}

void ReferencePolicy::adopt(std::uint32_t node, PolicyPacket packet, Time now) { join(node, packet, now); }

void ReferencePolicy::join(std::uint32_t node, PolicyPacket packet, Time now) {
  if (model_.value.given) packet.value = model_.value.by_dscp[packet.dscp];
  if (model_.processing.given) packet.processing = model_.processing.by_dscp[packet.dscp];
  if (model_.slack.given && packet.slack == PolicyPacket::kNoSlack)
    packet.slack = model_.slack.by_dscp[packet.dscp];
  Context context;
  context.packet = &packet;
  context.port = packet.out.value;
  context.now = now;
  context.rng = &select_rngs_[packet.out.value];
  const std::uint32_t queue = select(model_.select[packet.out.value], context);
  frames_[node] = {packet, numbers_++, queue};
}

void ReferencePolicy::judge(std::uint32_t node, Time now, PolicyOutcome& outcome) {
  const std::uint32_t queue = frames_.at(node).queue;
  const ModelQueue& spec = model_.queues[queue];
  Context context = context_of(queue, node, now);
  congestion(
      spec.congestion, context, [&] { return victim(queue); }, outcome);
  if (spec.buffer != kNoPolicyObject && !outcome.refused) {
    const ModelBuffer& buffer = model_.buffers[spec.buffer];
    context.rng = &buffer_rngs_[spec.buffer];
    congestion(
        buffer.congestion, context,
        [&] {
          const std::uint32_t from = losing_queue(buffer);
          if (from != kNone)
            lost_last_[spec.buffer] = static_cast<std::uint32_t>(
                std::find(buffer.queues.begin(), buffer.queues.end(), from) - buffer.queues.begin());
          return from == kNone ? kNone : victim(from);
        },
        outcome);
  }
  if (!outcome.refused && exceeds(queue)) drop(node, context, outcome);
  if (outcome.refused) return;
  if (bytes(queue) >= spec.count_above) ++arrivals_[{queue, frames_.at(node).packet.in.value}];
  context.rng = &queue_rngs_[queue];
  act_first(spec.post_admission, context, outcome);
  if (spec.buffer != kNoPolicyObject) act_first(model_.buffers[spec.buffer].post_admission, context, outcome);
}

void ReferencePolicy::congestion(const std::vector<ModelCase>& cases, Context context, const auto& choose,
                                 PolicyOutcome& outcome) {
  PolicyPacket copy = *context.packet;  // it may be dropped while its case still acts
  for (bool again = true; again && !outcome.refused;) {
    again = false;
    const auto first = std::find_if(cases.begin(), cases.end(), [&](const ModelCase& one) {
      return !one.predicate || holds(*one.predicate, context);
    });
    if (first == cases.end()) return;
    for (const ModelAction& action : first->actions) {
      if (action.kind != PolicyAction::Kind::kDrop) {
        act(action, context, outcome);
        continue;
      }
      if (!draw(action.share, *context.rng)) continue;
      const std::uint32_t node = choose();
      if (node == kNone) continue;
      if (node == context.node) {
        copy = *context.packet;
        context.packet = &copy;
      }
      drop(node, context, outcome);
      again = action.share == Rational{1};
    }
    if (again && outcome.evicted.size() >= most_evictions_ && !outcome.refused)
      drop(context.node, context, outcome);
  }
}

void ReferencePolicy::drop(std::uint32_t node, const Context& context, PolicyOutcome& outcome) {
  const std::uint32_t queue = frames_.at(node).queue;
  if (node == context.node) {
    frames_.erase(node);
    left(queue);
    outcome.refused = true;
    return;
  }
  outcome.evicted.push_back(node);
  PolicyPacket packet = frames_.at(node).packet;
  frames_.erase(node);
  left(queue);
  if (!in_order(queue).empty()) return;
  Context of;
  of.packet = &packet;
  of.queue = queue;
  of.buffer = model_.queues[queue].buffer;
  of.port = model_.queues[queue].port;
  of.now = context.now;
  of.node = node;
  emptied(queue, of);
}

void ReferencePolicy::left(std::uint32_t queue) {
  if (bytes(queue) > model_.queues[queue].count_above) return;
  for (auto& [of, count] : arrivals_)
    if (of.first == queue) count = 0;
}

void ReferencePolicy::emptied(std::uint32_t queue, const Context& context) {
  const ModelPort& port = model_.ports[model_.queues[queue].port];
  PolicyOutcome unseen;
  if (port.turn == kNoPolicyObject) return;
  for (const ModelAction& action : model_.turns[port.turn].empty) act(action, context, unseen);
}

bool ReferencePolicy::exceeds(std::uint32_t queue) const {
  const ModelQueue& spec = model_.queues[queue];
  if (spec.lossless) return false;
  if ((spec.in_packets ? packets(queue) : bytes(queue)) > spec.size) return true;
  if (spec.buffer == kNoPolicyObject) return false;
  const ModelBuffer& buffer = model_.buffers[spec.buffer];
  std::int64_t sum = 0;
  for (const std::uint32_t one : buffer.queues) sum += buffer.in_packets ? packets(one) : bytes(one);
  return sum > buffer.size;
}

void ReferencePolicy::act(const ModelAction& action, const Context& context, PolicyOutcome& outcome) {
  switch (action.kind) {
    case PolicyAction::Kind::kDrop:
      return;
    case PolicyAction::Kind::kMark:
      outcome.mark = true;
      return;
    case PolicyAction::Kind::kNotify:
      ++outcome.notified;
      return;
    case PolicyAction::Kind::kPauseUpstream:
      outcome.pause_upstream = true;
      outcome.resume_upstream = false;
      return;
    case PolicyAction::Kind::kResumeUpstream:
      outcome.pause_upstream = false;
      outcome.resume_upstream = true;
      return;
    case PolicyAction::Kind::kModify:
      break;
  }
  const std::int64_t made = whole(action.value, context);
  const auto object = [&](std::uint32_t own) {
    return action.object == kContextObject ? own : action.object;
  };
  switch (action.of) {
    case PolicyAction::Of::kPacketValue:
      context.packet->value = made;
      return;
    case PolicyAction::Of::kQueue:
      states_[state_name('q', object(context.queue), action.slot)] = made;
      return;
    case PolicyAction::Of::kBuffer:
      states_[state_name('b', object(context.buffer), action.slot)] = made;
      return;
    case PolicyAction::Of::kPort:
      states_[state_name('p', object(context.port), action.slot)] = made;
      return;
  }
}

void ReferencePolicy::act_first(const std::vector<ModelCase>& cases, const Context& context,
                                PolicyOutcome& outcome) {
  for (const ModelCase& one : cases) {
    if (one.predicate && !holds(*one.predicate, context)) continue;
    for (const ModelAction& action : one.actions) act(action, context, outcome);
    return;
  }
}

std::optional<std::uint32_t> ReferencePolicy::pick(std::uint32_t number, TcMask paused, Time now) {
  std::vector<std::uint32_t> eligible;
  for (const std::uint32_t queue : model_.ports[number].queues) {
    const ModelQueue& spec = model_.queues[queue];
    if (in_order(queue).empty() || (spec.lossless && (spec.takes & paused) != 0)) continue;
    eligible.push_back(queue);
  }
  if (eligible.empty()) return std::nullopt;
  return head(pick_queue(number, eligible, now));
}

std::uint32_t ReferencePolicy::pick_queue(std::uint32_t number, const std::vector<std::uint32_t>& eligible,
                                          Time now) {
  const ModelPort& spec = model_.ports[number];
  if (spec.has_strict) {
    std::vector<std::uint32_t> strict;
    for (const std::uint32_t queue : eligible)
      if (model_.queues[queue].strict > 0) strict.push_back(queue);
    if (!strict.empty()) return first_queue(spec.strict_order.get(), strict);
  }
  if (spec.turn == kNoPolicyObject) return first_queue(spec.order.get(), eligible);
  if (eligible.size() == 1) return eligible.front();
  Port& port = ports_[number];
  const ModelTurn& turn = model_.turns[spec.turn];
  PolicyOutcome unseen;
  for (;;) {
    const std::uint32_t current = spec.queues[port.current];
    if (std::find(eligible.begin(), eligible.end(), current) != eligible.end()) {
      const Context context = context_of(current, head(current), now);
      if (holds(turn.serve, context)) {
        for (const ModelAction& action : turn.after) act(action, context, unseen);
        return current;
      }
    }
    do {
      port.current = (port.current + 1) % static_cast<std::uint32_t>(spec.queues.size());
    } while (std::find(eligible.begin(), eligible.end(), spec.queues[port.current]) == eligible.end());
    const std::uint32_t entered = spec.queues[port.current];
    for (const ModelAction& action : turn.enter) act(action, context_of(entered, head(entered), now), unseen);
  }
}

void ReferencePolicy::leave(std::uint32_t node, std::int64_t held, Time now, PolicyOutcome& outcome) {
  take_leave(node, held, now, outcome);
}

PolicyPacket ReferencePolicy::take_leave(std::uint32_t node, std::int64_t held, Time now,
                                         PolicyOutcome& outcome) {
  outcome.clear();
  const std::uint32_t queue = frames_.at(node).queue;
  PolicyPacket packet = frames_.at(node).packet;
  packet.held = held;
  Context context = context_of(queue, node, now);
  context.packet = &packet;
  frames_.erase(node);
  left(queue);
  served_last_[queue] = packet.in.value;
  if (model_.ports[context.port].turn == kNoPolicyObject)
    ports_[context.port].current = model_.queues[queue].index;
  context.rng = &ports_[context.port].rng;
  act_first(model_.ports[context.port].post_scheduling, context, outcome);
  if (in_order(queue).empty()) emptied(queue, context);
  return packet;
}

void ReferencePolicy::remove(std::uint32_t node, Time now) {
  Frame frame = frames_.at(node);
  Context context = context_of(frame.queue, node, now);
  context.packet = &frame.packet;
  frames_.erase(node);
  left(frame.queue);
  if (frame.on_its_way)
    ports_[frame.mover].moving = kNone;
  else if (in_order(frame.queue).empty())
    emptied(frame.queue, context);
}

Time ReferencePolicy::next_move() const {
  Time next = Time::never();
  for (const Port& port : ports_)
    if (port.moving != kNone) next = std::min(next, port.arrives);
  return next;
}

bool ReferencePolicy::takes(std::uint32_t queue, std::uint32_t node, Time now) {
  Frame& frame = frames_.at(node);
  const std::uint32_t from = std::exchange(frame.queue, queue);
  const bool was = std::exchange(frame.on_its_way, true);
  const auto drops = [&](const std::vector<ModelCase>& cases) {
    const Context context = context_of(queue, node, now);
    for (const ModelCase& one : cases) {
      if (one.predicate && !holds(*one.predicate, context)) continue;
      return std::any_of(one.actions.begin(), one.actions.end(),
                         [](const ModelAction& action) { return action.kind == PolicyAction::Kind::kDrop; });
    }
    return false;
  };
  const std::uint32_t buffer = model_.queues[queue].buffer;
  const bool stays = !exceeds(queue) && !drops(model_.queues[queue].congestion) &&
                     (buffer == kNoPolicyObject || !drops(model_.buffers[buffer].congestion));
  frame.queue = from;
  frame.on_its_way = was;
  return stays;
}

bool ReferencePolicy::move(Time now, PolicyInstance::Move& what) {
  what.outcome.clear();
  for (Port& port : ports_) {
    if (port.moving == kNone || port.arrives > now) continue;
    what.node = std::exchange(port.moving, kNone);
    what.arrived = true;
    Frame& frame = frames_.at(what.node);
    frame.on_its_way = false;
    frame.packet.arrival = now.ps();
    frame.number = numbers_++;
    judge(what.node, now, what.outcome);
    return true;
  }
  for (std::uint32_t number = 0; number < model_.ports.size(); ++number) {
    const ModelPort& spec = model_.ports[number];
    Port& port = ports_[number];
    if (!spec.internal || port.moving != kNone) continue;
    const auto next = [&](std::uint32_t node) {
      Context context;
      context.packet = &frames_.at(node).packet;
      context.port = number;
      context.now = now;
      context.rng = &port.rng;
      return select(*spec.next, context);
    };
    std::vector<std::uint32_t> eligible;
    for (const std::uint32_t queue : spec.queues) {
      const std::uint32_t node = head(queue);
      if (node != kNone && (spec.drops_ahead || takes(next(node), node, now))) eligible.push_back(queue);
    }
    if (eligible.empty()) continue;
    const std::uint32_t node = head(pick_queue(number, eligible, now));
    const std::uint32_t target = next(node);
    Frame frame = frames_.at(node);
    frame.packet = take_leave(node, frame.packet.held, now, what.outcome);
    frame.queue = target;
    frame.on_its_way = true;
    frame.mover = number;
    frames_[node] = frame;
    port.moving = node;
    port.arrives = now + wire_time(Bytes::from_count(frame.packet.size), Rate::from_bps(spec.rate));
    what.node = node;
    what.arrived = false;
    return true;
  }
  return false;
}

}  // namespace rocelab::oq
