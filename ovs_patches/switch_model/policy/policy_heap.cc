#include "ovs_patches/switch_model/policy/policy_heap.h"

namespace rocelab {

void PolicyHeap::push(Places& places, std::uint32_t node, const PolicyRanks& ranks, std::uint64_t number) {
  const Entry entry{ranks, number, node};
  entries_.push_back(entry);
  settle(places, entries_.size() - 1, entry);
}

void PolicyHeap::erase(Places& places, std::uint32_t node) {
  const std::size_t at = places[node];
  const Entry last = entries_.back();
  entries_.pop_back();
  if (at < entries_.size()) settle(places, at, last);
}

void PolicyHeap::put(Places& places, std::size_t at, const Entry& entry) {
  entries_[at] = entry;
  places[entry.node] = static_cast<std::uint32_t>(at);
}

void PolicyHeap::settle(Places& places, std::size_t at, const Entry& entry) {
  while (at > 0 && before(entry, entries_[(at - 1) / 2])) {
    put(places, at, entries_[(at - 1) / 2]);
    at = (at - 1) / 2;
  }
  for (;;) {
    std::size_t child = 2 * at + 1;
    if (child >= entries_.size()) break;
    if (child + 1 < entries_.size() && before(entries_[child + 1], entries_[child])) ++child;
    if (!before(entries_[child], entry)) break;
    put(places, at, entries_[child]);
    at = child;
  }
  put(places, at, entry);
}

}  // namespace rocelab
