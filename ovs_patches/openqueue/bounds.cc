#include "ovs_patches/openqueue/bounds.h"

#include <algorithm>

namespace rocelab::oq {
namespace {

std::uint64_t cost(const PolicyCode& code) { return code.count; }

std::uint64_t cost(const PolicyKey& key) {
  std::uint64_t sum = 0;
  for (const PolicyKey::Component& component : key.components)
    sum += cost(component.value) + cost(component.divisor);
  return sum;
}

// The dearest case that is taken, after all predicates before it.
template <class Cases>
std::uint64_t dearest(const Cases& cases, const auto& taken) {
  std::uint64_t predicates = 0, most = 0;
  for (const auto& one : cases) {
    predicates += cost(one.predicate);
    most = std::max(most, taken(one));
  }
  return predicates + most;
}

class Costs {
 public:
  Costs(const PolicyProgram& program, std::uint64_t evictions, std::uint64_t visits)
      : program_(program), evictions_(evictions), visits_(visits) {
    for (const PolicyPort& port : program.ports)
      place_ = std::max({place_, cost(port.schedule.strict_order), cost(port.schedule.order)});
    for (const PolicyQueue& queue : program.queues)
      ranks_ = std::max(ranks_, cost(queue.service.key) + cost(queue.drop.key));
    for (const PolicyTurn& turn : program.turns) empty_ = std::max(empty_, of(turn.empty));
  }

  std::uint64_t arrival() const {
    std::uint64_t select = 0, most = 0;
    for (const PolicySelection& one : program_.select) select = std::max(select, of(one));
    for (const PolicyQueue& queue : program_.queues) {
      std::uint64_t sum = of(queue.congestion) * (evictions_ + 1) + of(queue.post_admission);
      if (queue.buffer != kNoPolicyObject) {
        const PolicyBuffer& buffer = program_.buffers[queue.buffer];
        sum += (of(buffer.congestion) + cost(buffer.drop_from) * buffer.queues.size()) * (evictions_ + 1) +
               of(buffer.post_admission);
      }
      most = std::max(most, sum);
    }
    // Each frame that leaves a queue moves the queue among those of its port, and may be its last.
    return select + ranks_ + place_ + most + (place_ + empty_) * (evictions_ + 1);
  }

  std::uint64_t departure() const {
    std::uint64_t ahead = 0, most = 0;
    for (const PolicyQueue& queue : program_.queues) {
      std::uint64_t asked = of(queue.congestion);
      if (queue.buffer != kNoPolicyObject) asked += of(program_.buffers[queue.buffer].congestion);
      ahead = std::max(ahead, asked);
    }
    for (const PolicyPort& port : program_.ports) {
      std::uint64_t sum = of(port.post_scheduling) + place_ + empty_;
      // An internal port asks of each head where it would go, and whether it would be dropped there; a queue
      // at another port counts the frame.
      if (port.internal) sum += (of(port.next) + ahead) * port.queues.size() + of(port.next) + place_;
      if (port.schedule.turn != kNoPolicyObject) {
        const PolicyTurn& turn = program_.turns[port.schedule.turn];
        sum += visits_ * (cost(turn.serve) + of(turn.enter)) + of(turn.after);
      }
      most = std::max(most, sum);
    }
    return most;
  }

  std::uint64_t heaps() const {
    std::uint64_t most = 0;
    for (const PolicyQueue& queue : program_.queues)
      most = std::max<std::uint64_t>(most, (queue.service.kind == PolicyOrder::Kind::kKey ? 1u : 0u) +
                                               (queue.drop.kind == PolicyOrder::Kind::kKey ? 1u : 0u));
    return most;
  }

 private:
  std::uint64_t of(const std::vector<PolicyAction>& actions) const {
    std::uint64_t sum = 0;
    for (const PolicyAction& action : actions) {
      sum += cost(action.value);
      if (action.kind != PolicyAction::Kind::kModify) continue;
      sum += place_ + (action.of == PolicyAction::Of::kPacketValue ? ranks_ : 0);
    }
    return sum;
  }
  std::uint64_t of(const PolicyCases& cases) const {
    return dearest(cases, [&](const PolicyCase& one) { return of(one.actions); });
  }
  std::uint64_t of(const PolicySelection& selection) const {
    return dearest(selection.cases, [](const PolicySelection::Case& one) { return cost(one.index); });
  }

  const PolicyProgram& program_;
  std::uint64_t evictions_, visits_;
  std::uint64_t place_ = 0;  // of a queue among those of its port
  std::uint64_t ranks_ = 0;  // of a frame in its queue
  std::uint64_t empty_ = 0;
};

}  // namespace

PolicyBounds bounds_of(const PolicyProgram& program, const SwitchConfig& config, std::int64_t visits) {
  PolicyBounds bounds;
  // As many frames as an arrival can need the room of.
  const std::int64_t longest = config.longest_frame().count(), shortest = kMinFrameBytes.count();
  bounds.evictions = static_cast<std::uint64_t>((longest + shortest - 1) / shortest + 1);
  const Costs costs(program, bounds.evictions, static_cast<std::uint64_t>(visits));
  bounds.arrival_instructions = costs.arrival();
  bounds.departure_instructions = costs.departure();
  bounds.arrival_heap_steps = costs.heaps() * (bounds.evictions + 1);
  bounds.departure_heap_steps = costs.heaps();
  return bounds;
}

}  // namespace rocelab::oq
