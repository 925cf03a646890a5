#include "ovs_patches/switch_model/policy/instance.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "base/check.h"

namespace rocelab {
namespace {

constexpr std::uint64_t bit(std::uint32_t index) { return std::uint64_t{1} << index; }

}  // namespace

PolicyInstance::Queue::Queue(const PolicyQueue& queue, const Rng& parent)
    : rng(parent.fork("queue/" + queue.name)) {}

PolicyInstance::Port::Port(const PolicyPort& port, const Rng& parent)
    : line_rate(static_cast<std::int64_t>(static_cast<__int128>(port.rate) * port.share.whole /
                                          std::max(1u, port.share.part))),
      line(Rate::from_bps(std::max<std::int64_t>(1, line_rate))),
      rng(parent.fork("port/" + port.name)) {}

PolicyInstance::PolicyInstance(const PolicyProgram& program, const Rng& rng) : program_(&program) {
  for (const PolicyQueue& queue : program.queues) queues_.emplace_back(queue, rng);
  for (const PolicyBuffer& buffer : program.buffers)
    buffers_.push_back({.rng = rng.fork("buffer/" + buffer.name)});
  for (const PolicyPort& spec : program.ports) {
    Port& port = ports_.emplace_back(spec, rng);
    RL_CHECK(spec.queues.size() <= 64);
    for (std::uint32_t i = 0; i < spec.queues.size(); ++i) {
      const PolicyQueue& queue = program.queues[spec.queues[i]];
      if (queue.strict > 0) port.strict |= bit(i);
      if (queue.lossless) port.of_class[static_cast<unsigned>(std::countr_zero(queue.takes))] |= bit(i);
    }
  }
  for (std::size_t i = 0; i < program.select.size(); ++i)
    select_rngs_.push_back(rng.fork("select/" + std::to_string(i)));
  for (std::uint32_t p = 0; p < program.ports.size(); ++p)
    if (program.ports[p].internal) internal_.push_back(p);
  queue_states_.resize(program.queues.size() * program.state_slots);
  buffer_states_.resize(program.buffers.size() * program.state_slots);
  port_states_.resize(program.ports.size() * program.state_slots);
  buffers_at_.resize(program.select.size());
  for (std::uint32_t b = 0; b < program.buffers.size(); ++b)
    for (const std::uint32_t queue : program.buffers[b].queues) {
      const PolicyPort& port = program.ports[program.queues[queue].port];
      if (port.internal) continue;
      std::vector<std::uint32_t>& there = buffers_at_[port.egress.value];
      if (there.empty() || there.back() != b) there.push_back(b);
    }
  for (std::uint32_t q = 0; q < queues_.size(); ++q) {
    if (program.queues[q].service.kind == PolicyOrder::Kind::kRoundRobin)
      queues_[q].rotation = std::make_unique<PolicyRotation>();
    if (program.counts_arrivals) queues_[q].arrivals_from.resize(program.select.size());
  }
  learn_shapes();
}

PolicyInstance::Context PolicyInstance::context_of(std::uint32_t queue, const PolicyPacket* packet,
                                                   Time now) {
  const PolicyQueue& spec = program_->queues[queue];
  return {packet, queue, spec.buffer, spec.port, now, &queues_[queue].rng};
}

std::uint32_t PolicyInstance::select(const PolicySelection& selection, const Context& context) {
  for (const PolicySelection::Case& option : selection.cases) {
    if (!holds(option.predicate, context)) continue;
    if (!option.index) return option.first;
    const std::int64_t index = value_of(option.index, context);
    return option.first + static_cast<std::uint32_t>(std::clamp<std::int64_t>(index, 0, option.count - 1));
  }
  return selection.cases.back().first;
}

std::uint32_t PolicyInstance::select_for(const PolicyPacket& packet, Time now) {
  const Port& port = ports_[packet.out.value];
  if (port.by_class) return port.queue_of[packet.tc.value];
  Context context{.packet = &packet, .port = packet.out.value, .now = now};
  context.rng = &select_rngs_[packet.out.value];
  return select(program_->select[packet.out.value], context);
}

void PolicyInstance::fill_in(PolicyPacket& packet) const {
  const std::size_t dscp = packet.dscp % kDscps;
  if (program_->value.given) packet.value = program_->value.by_dscp[dscp];
  if (program_->processing.given) packet.processing = program_->processing.by_dscp[dscp];
  if (program_->slack.given && packet.slack == PolicyPacket::kNoSlack)
    packet.slack = program_->slack.by_dscp[dscp];
}

void PolicyInstance::make_room_for(std::uint32_t node) {
  if (node < waiting_.size()) return;
  const std::size_t size = std::max<std::size_t>(node + 1, waiting_.size() + waiting_.size() / 4 + 16);
  waiting_.resize(size);
  places_.resize(size);
  service_places_.resize(size);
  drop_places_.resize(size);
}

void PolicyInstance::arrive(std::uint32_t node, const PolicyPacket& arriving, Time now,
                            PolicyOutcome& outcome) {
  outcome.clear();
  instructions_ = 0;
  make_room_for(node);
  waiting_[node].packet = arriving;
  PolicyPacket& packet = waiting_[node].packet;
  packet.arrival = now.ps();
  fill_in(packet);
  const std::uint32_t queue = select_for(packet, now);
  ++queues_[queue].counts.arrived;
  insert(node, queue, now);

  judge(node, now, outcome);
  costs_.arrival_instructions = std::max(costs_.arrival_instructions, instructions_);
  costs_.evictions = std::max<std::uint64_t>(costs_.evictions, outcome.evicted.size());
}

void PolicyInstance::adopt(std::uint32_t node, const PolicyPacket& packet, Time now) {
  make_room_for(node);
  waiting_[node].packet = packet;
  fill_in(waiting_[node].packet);
  insert(node, select_for(waiting_[node].packet, now), now);
}

void PolicyInstance::insert(std::uint32_t node, std::uint32_t number, Time now) {
  Waiting& waiting = waiting_[node];
  waiting.queue = number;
  waiting.number = numbers_++;
  count(number, waiting.packet.size, 1);
  order(node, now);
}

void PolicyInstance::order(std::uint32_t node, Time now) {
  const std::uint32_t number = waiting_[node].queue;
  const PolicyQueue& spec = program_->queues[number];
  queues_[number].arrivals.push(places_, node, 0);
  rank(node, now);
  ports_[spec.port].waiting |= bit(spec.index);
  touched(number, now);
}

void PolicyInstance::count(std::uint32_t queue, std::int64_t bytes, std::int64_t packets) {
  QueueCounts& counts = queues_[queue].counts;
  counts.bytes += bytes;
  counts.packets += packets;
  counts.peak_bytes = std::max(counts.peak_bytes, static_cast<std::uint64_t>(counts.bytes));
  counts.peak_packets = std::max(counts.peak_packets, static_cast<std::uint64_t>(counts.packets));
  frames_ += static_cast<std::uint64_t>(packets);
  const std::uint32_t buffer = program_->queues[queue].buffer;
  if (buffer == kNoPolicyObject) return;
  buffers_[buffer].bytes += bytes;
  buffers_[buffer].packets += packets;
}

void PolicyInstance::rank(std::uint32_t node, Time now) {
  const Waiting& waiting = waiting_[node];
  Queue& queue = queues_[waiting.queue];
  if (queue.rotation != nullptr) {
    if (rotation_places_.size() < places_.size()) rotation_places_.resize(places_.size());
    queue.rotation->push(rotation_places_, node, waiting.packet.in);
  }
  if (!queue.has_ranks) return;
  const PolicyQueue& spec = program_->queues[waiting.queue];
  const Context context = context_of(waiting.queue, &waiting.packet, now);
  if (spec.service.kind == PolicyOrder::Kind::kKey)
    queue.service.push(service_places_, node, ranks(spec.service.key, context), waiting.number);
  if (spec.drop.kind == PolicyOrder::Kind::kKey)
    queue.drop.push(drop_places_, node, ranks(spec.drop.key, context), waiting.number);
}

void PolicyInstance::unrank(std::uint32_t node) {
  Queue& queue = queues_[waiting_[node].queue];
  if (queue.rotation != nullptr) queue.rotation->erase(rotation_places_, node, waiting_[node].packet.in);
  if (!queue.has_ranks) return;
  const PolicyQueue& spec = program_->queues[waiting_[node].queue];
  if (spec.service.kind == PolicyOrder::Kind::kKey) queue.service.erase(service_places_, node);
  if (spec.drop.kind == PolicyOrder::Kind::kKey) queue.drop.erase(drop_places_, node);
}

void PolicyInstance::take_out(std::uint32_t node, Time now) {
  Waiting& waiting = waiting_[node];
  Queue& queue = queues_[waiting.queue];
  const PolicyQueue& spec = program_->queues[waiting.queue];
  count(waiting.queue, -std::int64_t{waiting.packet.size}, -1);
  if (!queue.arrivals_from.empty() && queue.counts.bytes <= spec.count_above)
    std::ranges::fill(queue.arrivals_from, 0);
  if (waiting.moved_by != kNoPolicyObject) {  // it is in no order yet
    ports_[std::exchange(waiting.moved_by, kNoPolicyObject)].moving = kNoNode;
    return touched(std::exchange(waiting.queue, kNoPolicyObject), now);
  }
  unrank(node);
  queue.arrivals.erase(places_, node);
  if (queue.arrivals.empty()) ports_[spec.port].waiting &= ~bit(spec.index);
  touched(std::exchange(waiting.queue, kNoPolicyObject), now);
}

// pick() named the frame, and it leaves.
void PolicyInstance::note_service(std::uint32_t node) {
  const std::uint32_t queue = waiting_[node].queue;
  if (queues_[queue].rotation != nullptr) queues_[queue].rotation->served(waiting_[node].packet.in);
  const PolicyQueue& spec = program_->queues[queue];
  if (program_->ports[spec.port].schedule.turn == kNoPolicyObject) ports_[spec.port].current = spec.index;
}

void PolicyInstance::count_arrival(std::uint32_t number, PortId in) {
  Queue& queue = queues_[number];
  if (!queue.arrivals_from.empty() && queue.counts.bytes >= program_->queues[number].count_above)
    ++queue.arrivals_from[in.value];
}

std::uint32_t PolicyInstance::head(std::uint32_t number) const {
  const Queue& queue = queues_[number];
  switch (program_->queues[number].service.kind) {
    case PolicyOrder::Kind::kOldest:
      return queue.arrivals.first();
    case PolicyOrder::Kind::kNewest:
      return queue.arrivals.last();
    case PolicyOrder::Kind::kRoundRobin:
      return queue.rotation->first();
    case PolicyOrder::Kind::kKey:
      break;
  }
  return queue.service.first();
}

std::uint32_t PolicyInstance::first_victim(std::uint32_t number) const {
  const Queue& queue = queues_[number];
  if (queue.arrivals.empty()) return kNoNode;
  switch (program_->queues[number].drop.kind) {
    case PolicyOrder::Kind::kOldest:
      return queue.arrivals.first();
    case PolicyOrder::Kind::kNewest:
      return queue.arrivals.last();
    case PolicyOrder::Kind::kKey:
    case PolicyOrder::Kind::kRoundRobin:  // of service alone
      break;
  }
  return queue.drop.first();
}

// Of queues that compare equal, the lowest number loses.
std::uint32_t PolicyInstance::queue_to_drop_from(std::uint32_t number, Time now) {
  const PolicyBuffer& buffer = program_->buffers[number];
  std::uint32_t found = kNoPolicyObject;
  PolicyRanks first;
  for (const std::uint32_t queue : buffer.queues) {
    if (queues_[queue].arrivals.empty() || program_->queues[queue].lossless) continue;
    const PolicyRanks key = ranks(buffer.drop_from, context_of(queue, nullptr, now));
    if (found != kNoPolicyObject && !(key < first)) continue;
    found = queue;
    first = key;
  }
  if (found != kNoPolicyObject)
    buffers_[number].lost_last =
        static_cast<std::uint32_t>(std::ranges::lower_bound(buffer.queues, found) - buffer.queues.begin());
  return found;
}

// The queue's place among those of its port may have changed.
void PolicyInstance::touched(std::uint32_t number, Time now) {
  Queue& queue = queues_[number];
  if (queue.order == nullptr || queue.arrivals.empty()) return;
  queue.key = ranks(*queue.order, context_of(number, nullptr, now));
}

void PolicyInstance::leave(std::uint32_t node, std::int64_t held, Time now, PolicyOutcome& outcome) {
  outcome.clear();
  const std::uint32_t queue = waiting_[node].queue;
  PolicyPacket& packet = waiting_[node].packet;
  note_service(node);
  take_out(node, now);
  packet.held = held;
  const std::uint32_t port = program_->queues[queue].port;
  if (const PolicyCases& cases = program_->ports[port].post_scheduling; !cases.empty()) {
    Context context = context_of(queue, &packet, now);
    context.node = node;
    context.rng = &ports_[port].rng;
    act_first(cases, context, outcome);
  }
  if (queues_[queue].arrivals.empty()) on_empty(queue, node, now);
  costs_.departure_instructions = std::max(costs_.departure_instructions, instructions_);
}

void PolicyInstance::remove(std::uint32_t node, Time now) {
  const std::uint32_t queue = waiting_[node].queue;
  const bool in_order = waiting_[node].moved_by == kNoPolicyObject;
  take_out(node, now);
  ++queues_[queue].counts.dropped;
  if (in_order && queues_[queue].arrivals.empty()) on_empty(queue, node, now);
}

void PolicyInstance::set_processing(std::uint32_t node, std::int64_t processing, Time now) {
  unrank(node);
  waiting_[node].packet.processing = processing;
  rank(node, now);
  touched(waiting_[node].queue, now);
}

std::vector<std::uint32_t> PolicyInstance::in_order() const {
  std::vector<std::uint32_t> nodes;
  for (std::uint32_t node = 0; node < waiting_.size(); ++node)
    if (waits(node)) nodes.push_back(node);
  std::sort(nodes.begin(), nodes.end(),
            [&](std::uint32_t a, std::uint32_t b) { return waiting_[a].number < waiting_[b].number; });
  return nodes;
}

void PolicyInstance::carry(PortId egress, Bytes bytes, std::int64_t packets) {
  for (const std::uint32_t buffer : buffers_at_[egress.value]) {
    buffers_[buffer].bytes += bytes.count();
    buffers_[buffer].packets += packets;
  }
}

}  // namespace rocelab
