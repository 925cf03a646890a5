#include "ovs_patches/switch_model/queue.h"

#include <bit>
#include <utility>

#include "base/check.h"

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

std::uint32_t EgressQueues::new_node(Frame&& frame) {
  const std::uint32_t length = frame.packet->frame_length;
  std::uint32_t node = free_;
  if (node == kNil) {
    node = static_cast<std::uint32_t>(nodes_.size());
    nodes_.push_back(Node{std::move(frame), kNil, length});
    return node;
  }
  free_ = nodes_[node].next;
  nodes_[node].frame = std::move(frame);
  nodes_[node].next = kNil;
  nodes_[node].length = length;
  return node;
}

void EgressQueues::append(Fifo& fifo, std::uint32_t node) {
  if (fifo.tail == kNil) {
    fifo.head = node;
  } else {
    nodes_[fifo.tail].next = node;
  }
  fifo.tail = node;
}

std::uint32_t EgressQueues::take_head(Fifo& fifo) {
  const std::uint32_t node = fifo.head;
  fifo.head = nodes_[node].next;
  if (fifo.head == kNil) fifo.tail = kNil;
  return node;
}

void EgressQueues::push(PortId out, Tc tc, Frame frame) {
  Queue& queue = queues_[index(out, tc)];
  const PortId in = frame.in;
  queue.bytes += frame.packet->frame();
  ++queue.frames;
  ++frames_;
  const std::uint32_t node = new_node(std::move(frame));
  if (rotations_.empty()) return append(queue.fifo, node);
  Rotation& rotation = rotations_[index(out, tc)];
  if (rotation.by_ingress.empty()) rotation.by_ingress.resize(ports_);
  append(rotation.by_ingress[in.value], node);
  rotation.waiting[in.value / 64] |= std::uint64_t{1} << (in.value % 64);
}

EgressQueues::Frame EgressQueues::pop(PortId out, Tc tc) {
  Queue& queue = queues_[index(out, tc)];
  std::uint32_t node;
  if (rotations_.empty()) {
    node = take_head(queue.fifo);
    if (queue.fifo.head != kNil)
      __builtin_prefetch(&*nodes_[queue.fifo.head].frame.packet);  // the next to leave
  } else {
    Rotation& rotation = rotations_[index(out, tc)];
    rotation.last = rotation.next();
    Fifo& fifo = rotation.by_ingress[rotation.last];
    node = take_head(fifo);
    if (fifo.head == kNil)
      rotation.waiting[rotation.last / 64] &= ~(std::uint64_t{1} << (rotation.last % 64));
  }
  Frame frame = std::move(nodes_[node].frame);
  queue.bytes -= Bytes::from_count(nodes_[node].length);
  --queue.frames;
  --frames_;
  nodes_[node].next = free_;
  free_ = node;
  return frame;
}

Bytes EgressQueues::head_length(PortId out, Tc tc) const {
  const std::size_t at = index(out, tc);
  const std::uint32_t node =
      rotations_.empty() ? queues_[at].fifo.head : rotations_[at].by_ingress[rotations_[at].next()].head;
  return Bytes::from_count(nodes_[node].length);
}

}  // namespace rocelab
