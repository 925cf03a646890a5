#include "ovs_patches/switch_model/arrival_queue.h"

#include "base/check.h"
#include "ovs_patches/switch_model/slab.h"

namespace rocelab {

std::uint32_t ArrivalQueue::one_more() { return add_to_slab(entries_); }

void ArrivalQueue::keep_many(Entry& entry, std::span<const PortId> outs) {
  if (free_many_.empty()) {
    RL_CHECK(many_.size() < 0xffff);
    free_many_.push_back(static_cast<std::uint16_t>(many_.size()));
    many_.emplace_back();
  }
  entry.out = PortId{free_many_.back()};
  free_many_.pop_back();
  many_[entry.out.value].assign(outs.begin(), outs.end());
}

std::span<const PortId> ArrivalQueue::take_many(const Entry& entry) {
  current_.swap(many_[entry.out.value]);
  free_many_.push_back(entry.out.value);
  return current_;
}

// The frame is due before the last one of its link, which stays the last.
void ArrivalQueue::put_in_place(PortId in, std::uint32_t number) {
  Link& link = links_[in.value];
  const Time due = entries_[number].due;
  std::uint32_t* place = &link.head;
  while (entries_[*place].due <= due) place = &entries_[*place].next;
  entries_[number].next = std::exchange(*place, number);
  heads_.set(in.value, entries_[link.head].due);
}

}  // namespace rocelab
