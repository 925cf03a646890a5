// Scheduling: which queue of a port sends next.
#include <bit>

#include "ovs_patches/switch_model/policy/instance.h"

namespace rocelab {
namespace {

// A turn that the compiler has let through ends long before.
constexpr int kMostVisits = 1 << 16;

}  // namespace

std::optional<std::uint32_t> PolicyInstance::pick(std::uint32_t number, TcMask paused, Time now) {
  const Port& port = ports_[number];
  instructions_ = 0;
  std::uint64_t eligible = port.waiting;
  for (TcMask left = paused; left != 0; left &= static_cast<TcMask>(left - 1))
    eligible &= ~port.of_class[static_cast<unsigned>(std::countr_zero(left))];
  if (eligible == 0) return std::nullopt;
  return head(pick_queue(number, eligible, now));
}

std::uint32_t PolicyInstance::pick_queue(std::uint32_t number, std::uint64_t eligible, Time now) {
  const PolicyPort& spec = program_->ports[number];
  Port& port = ports_[number];
  const PolicySchedule& schedule = spec.schedule;
  const std::uint64_t strict = schedule.has_strict ? eligible & port.strict : 0;
  const std::uint32_t index = strict != 0                        ? pick_first(spec, strict)
                              : schedule.turn != kNoPolicyObject ? pick_turn(spec, port, eligible, now)
                                                                 : pick_first(spec, eligible);
  return spec.queues[index];
}

// Of queues that compare equal, the lowest index.
std::uint32_t PolicyInstance::pick_first(const PolicyPort& spec, std::uint64_t eligible) const {
  auto found = static_cast<std::uint32_t>(std::countr_zero(eligible));
  for (std::uint64_t left = eligible & (eligible - 1); left != 0; left &= left - 1) {
    const auto index = static_cast<std::uint32_t>(std::countr_zero(left));
    if (queues_[spec.queues[index]].key < queues_[spec.queues[found]].key) found = index;
  }
  return found;
}

std::uint32_t PolicyInstance::pick_turn(const PolicyPort& spec, Port& port, std::uint64_t eligible,
                                        Time now) {
  if ((eligible & (eligible - 1)) == 0) return static_cast<std::uint32_t>(std::countr_zero(eligible));
  const PolicyTurn& turn = program_->turns[spec.schedule.turn];
  const auto context_at_turn = [&] {
    const std::uint32_t queue = spec.queues[port.current];
    const std::uint32_t node = head(queue);
    Context context = context_of(queue, &waiting_[node].packet, now);
    context.node = node;
    return context;
  };
  for (int visit = 0; visit < kMostVisits; ++visit) {
    if ((eligible >> port.current & 1) != 0) {
      const Context context = context_at_turn();
      if (holds(turn.serve, context)) {
        act(turn.after, context, unseen_);
        return port.current;
      }
    }
    const std::uint64_t behind = port.current < 63 ? eligible >> (port.current + 1) << (port.current + 1) : 0;
    port.current = static_cast<std::uint32_t>(std::countr_zero(behind != 0 ? behind : eligible));
    act(turn.enter, context_at_turn(), unseen_);
  }
  return port.current;
}

}  // namespace rocelab
