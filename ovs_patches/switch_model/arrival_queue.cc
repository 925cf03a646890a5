#include "ovs_patches/switch_model/arrival_queue.h"

namespace rocelab {

void ArrivalQueue::keep_many(Entry& entry, std::span<const PortId> outs) {
  if (free_many_.empty()) {
    free_many_.push_back(static_cast<std::uint32_t>(many_.size()));
    many_.emplace_back();
  }
  entry.many = free_many_.back();
  free_many_.pop_back();
  many_[entry.many].assign(outs.begin(), outs.end());
}

void ArrivalQueue::take_many(const Entry& entry) {
  current_.many.swap(many_[entry.many]);
  free_many_.push_back(entry.many);
}

// The last of the link's frames is due before others of them.
void ArrivalQueue::put_in_place(PortId in) {
  Ring<Entry>& link = links_[in.value];
  for (std::size_t i = link.size() - 1; i > 0 && link[i].due < link[i - 1].due; --i)
    std::swap(link[i], link[i - 1]);
  heads_.set(in.value, link.front().due);
}

}  // namespace rocelab
