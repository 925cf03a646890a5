// ArrivalQueue: frames on their way to a node, handed out by (due, input port, order of delivery). Batches
// are sorted once, when the first of them is needed: links deliver almost in order, so this costs less than a
// heap.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/packet.h"
#include "base/units.h"

namespace rocelab {

class ArrivalQueue {
 public:
  struct Arrival {
    PacketRef packet;
    PortId in;
    PortId first_out;
    std::uint16_t out_count = 0;
    std::vector<PortId> many;  // the outputs, when there are several
    std::span<const PortId> outs() const {
      return out_count > 1 ? std::span<const PortId>(many) : std::span<const PortId>(&first_out, out_count);
    }
  };

  void push(PortId in, std::span<const PortId> outs, PacketRef packet, Time due);
  Time next_due() const { return next_due_; }  // Time::never() when empty
  // The next arrival, taken out of the queue; valid until the next push().
  Arrival& pop();
  std::size_t size() const { return keys_.size() - head_; }

 private:
  struct Key {
    Time due;
    std::uint64_t order;  // input port, then delivery
    std::uint32_t slot;
    friend bool operator<(const Key& a, const Key& b) {
      return a.due != b.due ? a.due < b.due : a.order < b.order;
    }
  };
  void sort_new();

  std::vector<Key> keys_;  // [head_, sorted_) in order, [sorted_, end) as delivered
  std::size_t head_ = 0, sorted_ = 0;
  std::vector<Arrival> slots_;
  std::vector<std::uint32_t> free_slots_;
  std::uint64_t deliveries_ = 0;
  Time next_due_ = Time::never();
};

}  // namespace rocelab
