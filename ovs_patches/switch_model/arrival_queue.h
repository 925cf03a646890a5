// ArrivalQueue: frames on their way to a node, handed out by (due, input port, order of delivery). A link
// delivers in order, so each input port is a FIFO, and a winner tree over their heads says which is next. A
// frame that is due before others of its port is put in its place, at a cost.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/packet.h"
#include "base/ring.h"
#include "base/units.h"
#include "ovs_patches/switch_model/winner_tree.h"

namespace rocelab {

class ArrivalQueue {
 public:
  struct Arrival {
    PacketRef packet;
    Time due;
    PortId in;
    PortId first_out;
    std::uint16_t out_count = 0;
    std::vector<PortId> many;  // the outputs, when there are several
    std::span<const PortId> outs() const {
      return out_count > 1 ? std::span<const PortId>(many) : std::span<const PortId>(&first_out, out_count);
    }
  };

  explicit ArrivalQueue(std::size_t ports) : links_(ports), heads_(ports) {}

  void push(PortId in, std::span<const PortId> outs, PacketRef&& packet, Time due) {
    Ring<Entry>& link = links_[in.value];
    const bool first = link.empty();
    Entry& entry = link.push_slot();
    entry.packet = std::move(packet);
    entry.due = due;
    entry.out_count = static_cast<std::uint16_t>(outs.size());
    if (outs.size() == 1) entry.out = outs[0];
    if (outs.size() > 1) [[unlikely]]
      keep_many(entry, outs);
    ++size_;
    if (first)
      heads_.set(in.value, due);
    else if (due < link[link.size() - 2].due) [[unlikely]]
      put_in_place(in);
  }
  Time next_due() const { return heads_.min_time(); }  // Time::never() when empty
  // The next arrival, taken out of the queue; valid until the next pop().
  Arrival& pop() {
    const auto in = static_cast<std::uint16_t>(heads_.winner());
    Ring<Entry>& link = links_[in];
    Entry& entry = link.front();
    current_.packet = std::move(entry.packet);
    current_.due = entry.due;
    current_.in = PortId{in};
    current_.first_out = entry.out;
    current_.out_count = entry.out_count;
    if (entry.out_count > 1) [[unlikely]]
      take_many(entry);
    link.pop_front();
    if (link.empty()) {
      heads_.replace_winner(Time::never());
    } else {
      link.front().packet.prefetch();  // needed when all ports have had their turn
      heads_.replace_winner(link.front().due);
    }
    --size_;
    return current_;
  }
  std::size_t size() const { return size_; }

 private:
  struct Entry {
    PacketRef packet;
    Time due;
    PortId out;
    std::uint16_t out_count = 0;
    std::uint32_t many = 0;  // of several outputs: index into many_
  };
  void keep_many(Entry& entry, std::span<const PortId> outs);
  void take_many(const Entry& entry);
  void put_in_place(PortId in);

  std::vector<Ring<Entry>> links_;  // by input port
  WinnerTree heads_;
  Arrival current_;
  std::size_t size_ = 0;
  std::vector<std::vector<PortId>> many_;
  std::vector<std::uint32_t> free_many_;
};

}  // namespace rocelab
