// EgressQueues: the frames that wait in a switch, one queue per (egress port, class): FIFO, or round robin,
// packet by packet, over the ingress ports inside it (the papers' virtual output queues), or in the order of
// ranks (ranked_queue.h). Lengths count Packet::frame_length. Nodes live in one slab with a free list; FIFO
// and round robin allocate nothing per frame.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/packet.h"
#include "ovs_patches/switch_model/flow_index.h"
#include "ovs_patches/switch_model/queued_frame.h"
#include "ovs_patches/switch_model/ranked_queue.h"
#include "ovs_patches/switch_model/switch_config.h"

namespace rocelab {

class EgressQueues {
 public:
  static constexpr std::uint32_t kNil = FlowIndex::kNil;
  using Frame = QueuedFrame;

  struct Rules {
    QueueOrder order = QueueOrder::kFifo;
    FullRule full = FullRule::kRefuse;
    std::size_t queues = 8;  // kSpPifo
  };
  EgressQueues(std::size_t ports, QueueOrder order);
  // Bits of SwitchFlow::key() by which flows are told apart: all, unless said otherwise before the first
  // frame.
  void tell_flows_by(std::uint64_t bits) { flow_bits_ = bits; }
  // The rules of one class, before its first frame. Not with round robin, which holds for all queues.
  void set_rules(Tc tc, Rules rules, const Rng& rng);

  // A queue, for what a frame asks of it in one go.
  struct Fifo {
    std::uint32_t head = kNil, tail = kNil;
    std::unique_ptr<FlowIndex> index;  // null until somebody extracts
  };
  struct Queue {
    Fifo fifo;
    Bytes bytes, peak;
    std::uint64_t frames = 0;
    std::unique_ptr<RankedQueue> ranked;  // null: FIFO or round robin
  };
  Queue& at(PortId out, Tc tc) { return queues_[index(out, tc)]; }
  [[gnu::always_inline]] void push(Queue& queue, PortId in, std::uint32_t share, Bytes length,
                                   PacketRef&& packet, std::int64_t rank = 0) {
    push_as(new_node(), queue, in, share, length, std::move(packet), rank);
  }
  [[gnu::always_inline]] void push_as(std::uint32_t number, Queue& queue, PortId in, std::uint32_t share,
                                      Bytes length, PacketRef&& packet, std::int64_t rank) {
    queue.bytes += length;
    queue.peak = std::max(queue.peak, queue.bytes);
    ++queue.frames;
    ++frames_;
    Node& node = nodes_[number];
    node.frame.packet = std::move(packet);
    node.frame.in = in;
    node.frame.share = share;
    node.next = kNil;
    node.length = static_cast<std::uint32_t>(length.count());
    if (queue.ranked != nullptr) [[unlikely]]
      return rank_node(queue, number, rank);
    append(rotations_.empty() ? queue.fifo : turn_of(queue, in), number);
  }
  // push() and pop() of a frame that is alone in its queue and stays no time there.
  void pass(Queue& queue, PortId in, Bytes length) {
    queue.peak = std::max(queue.peak, length);
    if (!rotations_.empty()) rotation_of(queue).last = in.value;
  }
  void push(PortId out, Tc tc, Frame frame) {
    const Bytes length = frame.packet->frame();
    push(at(out, tc), frame.in, frame.share, length, std::move(frame.packet));
  }
  Frame pop(PortId out, Tc tc) { return pop(at(out, tc)); }
  [[gnu::always_inline]] Frame pop(Queue& queue) {  // must not be empty
    std::uint32_t number;
    if (queue.ranked != nullptr) [[unlikely]] {
      return pop_node(queue, queue.ranked->first());
    } else if (rotations_.empty()) {
      number = take_head(queue.fifo);
      if (queue.fifo.head != kNil) fetch_ahead(queue.fifo.head);
    } else {
      number = take_turn(queue);
    }
    return take_out(queue, number);
  }
  // The frame that gives way where the queue is full, which its rule must allow; must not be empty.
  Frame push_out(Queue& queue);
  Bytes head_length(PortId out, Tc tc) const;  // of the frame that pop() would return
  // A place for a frame that a policy is asked about, and what becomes of it.
  std::uint32_t reserve() { return new_node(); }
  void release(std::uint32_t number) { nodes_[number].next = std::exchange(free_, number); }
  // Preemption, of queues by rank: which frame pop() would return, the time for which it has been on the
  // wire, and any frame in its turn.
  std::uint32_t first(const Queue& queue) const { return queue.ranked->first(); }
  Frame& frame(std::uint32_t number) { return nodes_[number].frame; }
  Bytes length(std::uint32_t number) const { return Bytes::from_count(nodes_[number].length); }
  Duration& sent(std::uint32_t number) {
    if (number >= sent_.size()) sent_.resize(nodes_.capacity());
    return sent_[number];
  }
  Frame pop_node(Queue& queue, std::uint32_t number) {
    if (number < sent_.size()) sent_[number] = {};
    unrank_node(queue, number, true);
    return take_out(queue, number);
  }
  Bytes bytes(PortId out, Tc tc) const { return queues_[index(out, tc)].bytes; }
  Bytes peak_bytes(PortId out, Tc tc) const { return queues_[index(out, tc)].peak; }  // so far
  std::uint64_t frames(PortId out, Tc tc) const { return queues_[index(out, tc)].frames; }
  bool empty(PortId out, Tc tc) const { return frames(out, tc) == 0; }
  // Takes out the first data frame of a flow (SwitchFlow::key()); round robin: ingress by ingress. Null:
  // there is none. O(1) amortised: each frame is looked at once, by whoever first asks for something behind
  // it.
  std::optional<Frame> extract(PortId out, Tc tc, std::uint64_t flow);
  // The first data frame of the flow whose turn it is among those that wait (FlowIndex::next_turn()); round
  // robin: ingress by ingress. Null: none waits. Valid until the queue changes.
  const Packet* next_in_turn(PortId out, Tc tc);
  // f(const Packet&, PortId in) of every frame that waits, from the head; round robin: ingress by ingress;
  // by rank: in no order (by level in its order).
  template <class F>
  void for_each(PortId out, Tc tc, F&& f) const {
    const std::size_t at = index(out, tc);
    if (queues_[at].ranked != nullptr)
      return queues_[at].ranked->for_each(places_, [&](std::uint32_t n) {
        f(static_cast<const Packet&>(*nodes_[n].frame.packet), nodes_[n].frame.in);
      });
    const auto walk = [&](const Fifo& fifo) {
      for (std::uint32_t n = fifo.head; n != kNil; n = nodes_[n].next)
        f(static_cast<const Packet&>(*nodes_[n].frame.packet), nodes_[n].frame.in);
    };
    if (rotations_.empty()) return walk(queues_[at].fifo);
    for (const Fifo& fifo : rotations_[at].by_ingress) walk(fifo);
  }
  bool holds_from(PortId out, Tc tc, PortId in) const {  // a frame that came in there; looks at all of them
    bool found = false;
    for_each(out, tc, [&](const Packet&, PortId from) { found |= from == in; });
    return found;
  }
  std::uint64_t frames() const { return frames_; }  // over all queues

 private:
  struct Node {
    Frame frame;
    std::uint32_t next = kNil;
    std::uint32_t length = 0;
  };
  // Round robin: a FIFO per ingress port, and which of them have frames. Made when a queue is first used.
  struct Rotation {
    std::vector<Fifo> by_ingress;
    std::array<std::uint64_t, kMaxSwitchPorts / 64> waiting{};
    std::uint16_t last = kMaxSwitchPorts - 1;  // served last; the next one follows it
    std::uint16_t turn = 0;                    // of next_in_turn()
    bool many = false;                         // more ingress ports than a word has bits
    std::uint16_t next() const {               // some port must wait
      if (many) [[unlikely]]
        return next_of_many();
      const unsigned start = last + 1u;  // past the word at first, and behind its last port
      const std::uint64_t behind = start < 64 ? waiting[0] >> start << start : 0;
      return static_cast<std::uint16_t>(std::countr_zero(behind != 0 ? behind : waiting[0]));
    }
    std::uint16_t next_of_many() const;
  };

  FlowIndex::Key flow_key(const Packet& packet) const;
  FlowIndex& index_of(Fifo& fifo);
  std::uint32_t first_of(Fifo& fifo, std::uint64_t flow);  // kNil: none
  void learn_all(Fifo& fifo);                              // the index knows every frame
  std::optional<Frame> extract_from(Fifo& fifo, Queue& queue, std::uint64_t flow);
  void forget(Fifo& fifo, std::uint32_t head);  // it leaves; the index is to know
  Frame take_out(Queue& queue, std::uint32_t number) {
    Node& node = nodes_[number];
    queue.bytes -= Bytes::from_count(node.length);
    --queue.frames;
    --frames_;
    node.next = free_;
    free_ = number;
    return std::move(node.frame);
  }
  void rank_node(Queue& queue, std::uint32_t number, std::int64_t rank);
  void unrank_node(Queue& queue, std::uint32_t number, bool served);
  std::uint64_t flow_of_node(std::uint32_t number) const;
  static std::size_t index(PortId out, Tc tc) { return out.value * std::size_t{kTrafficClasses} + tc.value; }
  std::uint32_t new_node() {
    if (free_ == kNil) [[unlikely]]
      return one_more();
    const std::uint32_t number = std::exchange(free_, nodes_[free_].next);
    if (free_ != kNil) __builtin_prefetch(&nodes_[free_]);
    return number;
  }
  std::uint32_t one_more();
  Rotation& rotation_of(const Queue& queue) {
    return rotations_[static_cast<std::size_t>(&queue - queues_.data())];
  }
  Fifo& turn_of(const Queue& queue, PortId in) {  // round robin: the ingress port's FIFO, which now waits
    Rotation& rotation = rotation_of(queue);
    if (rotation.by_ingress.empty()) [[unlikely]] {
      rotation.by_ingress.resize(ports_);
      rotation.many = ports_ > 64;
    }
    rotation.waiting[in.value / 64] |= std::uint64_t{1} << (in.value % 64);
    return rotation.by_ingress[in.value];
  }
  std::uint32_t take_turn(const Queue& queue) {  // round robin: the next node
    Rotation& rotation = rotation_of(queue);
    rotation.last = rotation.next();
    Fifo& fifo = rotation.by_ingress[rotation.last];
    const std::uint32_t node = take_head(fifo);
    if (fifo.head == kNil) {
      rotation.waiting[rotation.last / 64] &= ~(std::uint64_t{1} << (rotation.last % 64));
      if (queue.frames == 1) return node;  // the last of the queue
    }
    fetch_ahead(rotation.by_ingress[rotation.next()].head);
    return node;
  }
  void append(Fifo& fifo, std::uint32_t node) {
    if (fifo.tail == kNil) {
      fifo.head = node;
    } else {
      nodes_[fifo.tail].next = node;
    }
    fifo.tail = node;
  }
  // The packet that leaves next, and the node of the one behind it.
  [[gnu::always_inline]] void fetch_ahead(std::uint32_t head) const {
    const Node& next = nodes_[head];
    __builtin_prefetch(&*next.frame.packet);
    if (next.next != kNil) __builtin_prefetch(&nodes_[next.next]);
  }
  std::uint32_t take_head(Fifo& fifo) {
    const std::uint32_t node = fifo.head;
    if (fifo.index != nullptr) [[unlikely]]
      forget(fifo, node);
    fifo.head = nodes_[node].next;
    if (fifo.head == kNil) fifo.tail = kNil;
    return node;
  }

  std::size_t ports_;
  std::uint64_t flow_bits_ = ~std::uint64_t{0};
  std::vector<Queue> queues_;
  std::vector<Rotation> rotations_;  // empty with FIFO order
  std::vector<Node> nodes_;
  std::vector<FlowIndex::Links> links_;      // by node; empty until somebody extracts
  std::vector<RankedOrder::Places> places_;  // by node; empty without queues by rank
  std::vector<Duration> sent_;               // by node; empty until a frame is preempted
  std::uint32_t free_ = kNil;
  std::uint32_t placed_ = 0;  // places
  std::uint64_t frames_ = 0;
};

}  // namespace rocelab
