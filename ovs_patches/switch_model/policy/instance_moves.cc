// Internal ports: from queue to queue within the switch.
//
// Source: D. Menikkumbura, OpenQueue, figure 2.12: a buffered crossbar. The chapter does not say what moves a
// frame on, nor what a full queue ahead does: a port takes a frame's time for it, and does not take one that
// would be dropped ahead, unless the program says so.
#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"
#include "ovs_patches/switch_model/policy/instance.h"

namespace rocelab {

Time PolicyInstance::next_move() const {
  Time next = Time::never();
  for (const std::uint32_t port : internal_)
    if (ports_[port].moving != kNoNode) next = std::min(next, ports_[port].arrives);
  return next;
}

// Ports in their order: first frames that arrive, then ports that are free.
bool PolicyInstance::move(Time now, Move& what) {
  for (const std::uint32_t port : internal_)
    if (ports_[port].moving != kNoNode && ports_[port].arrives <= now) return end_move(port, now, what), true;
  for (const std::uint32_t port : internal_)
    if (ports_[port].moving == kNoNode && begin_move(port, now, what)) return true;
  return false;
}

std::uint32_t PolicyInstance::next_queue(std::uint32_t port, std::uint32_t node, Time now) {
  Context context{.packet = &waiting_[node].packet, .port = port, .now = now, .rng = &ports_[port].rng};
  return select(program_->ports[port].next, context);
}

// Whether the frame, gone from its present queue, would stay in the other, and nothing would leave that for
// it: a trial, which changes nothing.
bool PolicyInstance::takes(std::uint32_t queue, std::uint32_t node, Time now) {
  const PolicyQueue& spec = program_->queues[queue];
  const PolicyPacket& packet = waiting_[node].packet;
  const std::uint32_t from = waiting_[node].queue;
  const QueueCounts before = queues_[queue].counts;
  count(from, -std::int64_t{packet.size}, -1);
  count(queue, packet.size, 1);
  const auto drops = [&](const PolicyCases& cases) {
    const Context context = context_of(queue, &packet, now);
    const auto first = std::find_if(cases.begin(), cases.end(),
                                    [&](const PolicyCase& c) { return holds(c.predicate, context); });
    return first != cases.end() &&
           std::ranges::count(first->actions, PolicyAction::Kind::kDrop, &PolicyAction::kind) > 0;
  };
  const bool stays = !exceeds(queue) && !drops(spec.congestion) &&
                     (spec.buffer == kNoPolicyObject || !drops(program_->buffers[spec.buffer].congestion));
  count(queue, -std::int64_t{packet.size}, -1);
  count(from, packet.size, 1);
  queues_[queue].counts = before;
  return stays;
}

bool PolicyInstance::begin_move(std::uint32_t number, Time now, Move& what) {
  const PolicyPort& spec = program_->ports[number];
  Port& port = ports_[number];
  instructions_ = 0;
  std::uint64_t eligible = port.waiting;
  if (!spec.drops_ahead)
    for (std::uint64_t left = port.waiting; left != 0; left &= left - 1) {
      const std::uint32_t node = head(spec.queues[static_cast<unsigned>(std::countr_zero(left))]);
      if (!takes(next_queue(number, node, now), node, now)) eligible &= ~(left & (~left + 1));
    }
  if (eligible == 0) return false;
  const std::uint32_t node = head(pick_queue(number, eligible, now));
  const std::uint32_t target = next_queue(number, node, now);
  what.node = node;
  what.arrived = false;
  leave(node, waiting_[node].packet.held, now, what.outcome);
  waiting_[node].queue = target;  // its place there is taken from now on
  waiting_[node].moved_by = number;
  count(target, waiting_[node].packet.size, 1);
  touched(target, now);
  port.moving = node;
  port.arrives = now + wire_time(Bytes::from_count(waiting_[node].packet.size), Rate::from_bps(spec.rate));
  return true;
}

void PolicyInstance::end_move(std::uint32_t number, Time now, Move& what) {
  Port& port = ports_[number];
  instructions_ = 0;
  const std::uint32_t node = std::exchange(port.moving, kNoNode);
  what.node = node;
  what.arrived = true;
  what.outcome.clear();
  Waiting& waiting = waiting_[node];
  waiting.moved_by = kNoPolicyObject;
  waiting.packet.arrival = now.ps();
  waiting.number = numbers_++;
  ++queues_[waiting.queue].counts.arrived;
  order(node, now);
  judge(node, now, what.outcome);
  costs_.arrival_instructions = std::max(costs_.arrival_instructions, instructions_);
  costs_.evictions = std::max<std::uint64_t>(costs_.evictions, what.outcome.evicted.size());
}

}  // namespace rocelab
