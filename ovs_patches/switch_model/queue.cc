#include "ovs_patches/switch_model/queue.h"

#include <bit>

#include "base/check.h"
#include "ovs_patches/switch_model/slab.h"

namespace rocelab {

EgressQueues::EgressQueues(std::size_t ports, QueueOrder order)
    : ports_(ports),
      queues_(ports * kTrafficClasses),
      rotations_(order == QueueOrder::kRoundRobin ? ports * kTrafficClasses : 0) {}

std::uint16_t EgressQueues::Rotation::next() const {
  const unsigned start = (last + 1u) % kMaxSwitchPorts;
  constexpr unsigned kWords = kMaxSwitchPorts / 64;
  std::uint64_t word = waiting[start / 64] & (~std::uint64_t{0} << (start % 64));
  for (unsigned i = start / 64, looked = 0; looked <= kWords; i = (i + 1) % kWords, ++looked) {
    if (looked != 0) word = waiting[i];
    if (word != 0) return static_cast<std::uint16_t>(i * 64 + static_cast<unsigned>(std::countr_zero(word)));
  }
  RL_CHECK(false && "round robin over an empty queue");
}

std::uint32_t EgressQueues::one_more() { return add_to_slab(nodes_); }

EgressQueues::Fifo& EgressQueues::turn_of(std::size_t at, PortId in) {
  Rotation& rotation = rotations_[at];
  if (rotation.by_ingress.empty()) rotation.by_ingress.resize(ports_);
  rotation.waiting[in.value / 64] |= std::uint64_t{1} << (in.value % 64);
  return rotation.by_ingress[in.value];
}

std::uint32_t EgressQueues::take_turn(std::size_t at) {
  Rotation& rotation = rotations_[at];
  rotation.last = rotation.next();
  Fifo& fifo = rotation.by_ingress[rotation.last];
  const std::uint32_t node = take_head(fifo);
  if (fifo.head == kNil) rotation.waiting[rotation.last / 64] &= ~(std::uint64_t{1} << (rotation.last % 64));
  return node;
}

Bytes EgressQueues::head_length(PortId out, Tc tc) const {
  const std::size_t at = index(out, tc);
  const std::uint32_t node =
      rotations_.empty() ? queues_[at].fifo.head : rotations_[at].by_ingress[rotations_[at].next()].head;
  return Bytes::from_count(nodes_[node].length);
}

}  // namespace rocelab
