#include "ovs_patches/switch_model/queue.h"

#include <bit>
#include <string>

#include "base/check.h"
#include "ovs_patches/switch_model/slab.h"
#include "ovs_patches/switch_model/switch_flow.h"

namespace rocelab {

EgressQueues::EgressQueues(std::size_t ports, QueueOrder order)
    : ports_(ports),
      queues_(ports * kTrafficClasses),
      rotations_(order == QueueOrder::kRoundRobin ? ports * kTrafficClasses : 0) {}

void EgressQueues::set_rules(Tc tc, Rules rules, const Rng& rng) {
  if (rules.order == QueueOrder::kFifo && rules.full == FullRule::kRefuse) return;
  RL_CHECK(rotations_.empty() && rules.order != QueueOrder::kRoundRobin);
  for (std::uint16_t port = 0; port < ports_; ++port)
    at(PortId{port}, tc).ranked =
        std::make_unique<RankedQueue>(rules.order, rules.full, rng.fork(std::to_string(port)), rules.queues);
}

std::uint64_t EgressQueues::flow_of_node(std::uint32_t number) const {
  return flow_of(*nodes_[number].frame.packet, PortId{0}).key() & flow_bits_;
}

void EgressQueues::rank_node(Queue& queue, std::uint32_t number, std::int64_t rank) {
  if (number >= placed_) [[unlikely]] {
    places_.resize(nodes_.capacity());
    placed_ = static_cast<std::uint32_t>(places_.size());
  }
  if (RankedOrder* heap = queue.ranked->heap_alone()) return heap->push(places_, number, rank);
  queue.ranked->push(places_, number, queue.ranked->tells_flows() ? flow_of_node(number) : 0,
                     Bytes::from_count(nodes_[number].length), rank);
}

void EgressQueues::unrank_node(Queue& queue, std::uint32_t number, bool served) {
  if (RankedOrder* heap = queue.ranked->heap_alone()) return heap->erase(places_, number);
  queue.ranked->erase(places_, number, queue.ranked->tells_flows() ? flow_of_node(number) : 0,
                      Bytes::from_count(nodes_[number].length), served);
}

EgressQueues::Frame EgressQueues::push_out(Queue& queue) {
  const std::uint32_t number = queue.ranked->victim();
  if (number < sent_.size()) sent_[number] = {};
  unrank_node(queue, number, false);
  return take_out(queue, number);
}

std::uint16_t EgressQueues::Rotation::next_of_many() const {
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

FlowIndex::Key EgressQueues::flow_key(const Packet& packet) const {
  if (packet.kind != PacketKind::kData) return std::nullopt;
  return flow_of(packet, PortId{0}).key() & flow_bits_;
}

std::optional<EgressQueues::Frame> EgressQueues::extract(PortId out, Tc tc, std::uint64_t flow) {
  const std::size_t at = index(out, tc);
  flow &= flow_bits_;
  if (rotations_.empty()) return extract_from(queues_[at].fifo, queues_[at], flow);
  Rotation& rotation = rotations_[at];
  for (std::size_t word = 0; word < rotation.waiting.size(); ++word) {
    for (std::uint64_t left = rotation.waiting[word]; left != 0; left &= left - 1) {
      const auto bit = static_cast<std::size_t>(std::countr_zero(left));
      Fifo& fifo = rotation.by_ingress[word * 64 + bit];
      std::optional<Frame> frame = extract_from(fifo, queues_[at], flow);
      if (!frame) continue;
      if (fifo.head == kNil) rotation.waiting[word] &= ~(std::uint64_t{1} << bit);
      return frame;
    }
  }
  return std::nullopt;
}

std::optional<EgressQueues::Frame> EgressQueues::extract_from(Fifo& fifo, Queue& queue, std::uint64_t flow) {
  const std::uint32_t node = first_of(fifo, flow);
  if (node == kNil) return std::nullopt;
  const std::uint32_t next = nodes_[node].next;
  const std::uint32_t before = fifo.index->remove(links_, node, next, flow);
  (before == kNil ? fifo.head : nodes_[before].next) = next;
  if (fifo.tail == node) fifo.tail = before;
  return take_out(queue, node);
}

FlowIndex& EgressQueues::index_of(Fifo& fifo) {
  if (fifo.index == nullptr) fifo.index = std::make_unique<FlowIndex>();
  return *fifo.index;
}

std::uint32_t EgressQueues::first_of(Fifo& fifo, std::uint64_t flow) {
  FlowIndex& index = index_of(fifo);
  if (const std::uint32_t known = index.first(flow); known != kNil) return known;
  if (links_.size() < nodes_.size()) links_.resize(nodes_.capacity());
  const std::uint32_t last = index.known_to();
  for (std::uint32_t n = last == kNil ? fifo.head : nodes_[last].next; n != kNil; n = nodes_[n].next) {
    const FlowIndex::Key key = flow_key(*nodes_[n].frame.packet);
    index.add(links_, n, key);
    if (key == flow) return n;
  }
  return kNil;
}

void EgressQueues::learn_all(Fifo& fifo) {
  FlowIndex& index = index_of(fifo);
  if (links_.size() < nodes_.size()) links_.resize(nodes_.capacity());
  const std::uint32_t last = index.known_to();
  for (std::uint32_t n = last == kNil ? fifo.head : nodes_[last].next; n != kNil; n = nodes_[n].next)
    index.add(links_, n, flow_key(*nodes_[n].frame.packet));
}

const Packet* EgressQueues::next_in_turn(PortId out, Tc tc) {
  const std::size_t at = index(out, tc);
  const auto next_of = [&](Fifo& fifo) -> const Packet* {
    if (fifo.head == kNil) return nullptr;
    learn_all(fifo);
    const std::uint32_t node = index_of(fifo).next_turn();
    return node == kNil ? nullptr : &*nodes_[node].frame.packet;
  };
  if (rotations_.empty()) return next_of(queues_[at].fifo);
  Rotation& rotation = rotations_[at];
  const std::size_t ports = rotation.by_ingress.size();  // 0: nothing has come yet
  for (std::size_t i = 0; i < ports; ++i) {
    rotation.turn = static_cast<std::uint16_t>(rotation.turn + 1u < ports ? rotation.turn + 1u : 0);
    if (const Packet* found = next_of(rotation.by_ingress[rotation.turn])) return found;
  }
  return nullptr;
}

void EgressQueues::forget(Fifo& fifo, std::uint32_t head) {
  if (fifo.index->known_to() == kNil) return;
  fifo.index->remove(links_, head, nodes_[head].next, flow_key(*nodes_[head].frame.packet));
}

Bytes EgressQueues::head_length(PortId out, Tc tc) const {
  const std::size_t at = index(out, tc);
  if (queues_[at].ranked != nullptr) return Bytes::from_count(nodes_[queues_[at].ranked->first()].length);
  const std::uint32_t node =
      rotations_.empty() ? queues_[at].fifo.head : rotations_[at].by_ingress[rotations_[at].next()].head;
  return Bytes::from_count(nodes_[node].length);
}

}  // namespace rocelab
