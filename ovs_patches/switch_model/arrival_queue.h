// ArrivalQueue: frames on their way to a node, handed out by (due, input port, order of delivery). A link
// delivers in order, so each input port is a FIFO (a list through one slab of entries), and a winner tree
// over their heads says which is next. A frame that is due before others of its port is put in its place, at
// a cost.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/packet.h"
#include "base/units.h"
#include "ovs_patches/switch_model/winner_tree.h"

namespace rocelab {

class ArrivalQueue {
 public:
  struct Arrival {
    PacketRef packet;
    Time due;
    PortId in;
    std::span<const PortId> outs;  // valid until the next push() or pop()
  };

  explicit ArrivalQueue(std::size_t ports) : links_(ports), heads_(ports) {}

  [[gnu::always_inline]] void push(PortId in, std::span<const PortId> outs, PacketRef&& packet, Time due) {
    const std::uint32_t number = new_entry();
    Entry& entry = entries_[number];
    entry.packet = std::move(packet);
    entry.due = due;
    entry.next = kNil;
    entry.out_count = static_cast<std::uint16_t>(outs.size());
    if (outs.size() == 1) entry.out = outs[0];
    if (outs.size() > 1) [[unlikely]]
      keep_many(entry, outs);
    ++size_;
    Link& link = links_[in.value];
    if (link.head == kNil) {
      link.head = link.tail = number;
      heads_.set(in.value, due);
    } else if (Entry& last = entries_[link.tail]; last.due <= due) {
      link.tail = last.next = number;
    } else {
      put_in_place(in, number);
    }
  }
  Time next_due() const { return heads_.min_time(); }  // Time::never() when empty
  // The next arrival, taken out of the queue.
  [[gnu::always_inline]] Arrival pop() {
    const auto in = static_cast<std::uint16_t>(heads_.winner());
    Link& link = links_[in];
    const std::uint32_t number = link.head;
    Entry& entry = entries_[number];
    const Time due = entry.due;
    link.head = std::exchange(entry.next, std::exchange(free_, number));
    if (link.head == kNil) {
      heads_.replace_winner(Time::never());
    } else {
      const Entry& next = entries_[link.head];
      // Needed when all ports have had their turn; the entry behind it then as well. Not by
      // PacketRef::prefetch(), whose call gcc may drop as one without effect.
      __builtin_prefetch(&*next.packet);
      if (next.next != kNil) __builtin_prefetch(&entries_[next.next]);
      heads_.replace_winner(next.due);
    }
    --size_;
    std::span<const PortId> outs{&entry.out, entry.out_count};
    if (entry.out_count > 1) [[unlikely]]
      outs = take_many(entry);
    return {std::move(entry.packet), due, PortId{in}, outs};
  }
  std::size_t size() const { return size_; }

 private:
  static constexpr std::uint32_t kNil = 0xffffffff;
  struct Entry {
    PacketRef packet;
    Time due;
    std::uint32_t next = kNil;  // of the link, or of the free ones
    PortId out;                 // of several outputs: index into many_
    std::uint16_t out_count = 0;
  };
  struct Link {
    std::uint32_t head = kNil, tail = kNil;
  };
  std::uint32_t new_entry() {
    if (free_ == kNil) [[unlikely]]
      return one_more();
    const std::uint32_t number = std::exchange(free_, entries_[free_].next);
    if (free_ != kNil) __builtin_prefetch(&entries_[free_]);  // for the next frame, which may come much later
    return number;
  }
  std::uint32_t one_more();
  void keep_many(Entry& entry, std::span<const PortId> outs);
  std::span<const PortId> take_many(const Entry& entry);
  void put_in_place(PortId in, std::uint32_t number);

  std::vector<Link> links_;  // by input port
  WinnerTree heads_;
  std::vector<Entry> entries_;  // of all links: those used last are used again first
  std::uint32_t free_ = kNil;
  std::vector<PortId> current_;  // outputs of the arrival taken last, when there are several
  std::size_t size_ = 0;
  std::vector<std::vector<PortId>> many_;
  std::vector<std::uint16_t> free_many_;
};

}  // namespace rocelab
