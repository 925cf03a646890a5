#include "ovs_patches/switch_model/ranked_order.h"

#include <algorithm>

namespace rocelab {

static constexpr std::size_t kChildren = 4;  // of an entry of the heaps

template <bool kLast>
void RankedOrder::put(Heap& heap, std::vector<Places>& places, std::size_t at, const Entry& entry) {
  heap[at] = entry;
  (kLast ? places[entry.node].last : places[entry.node].first) = static_cast<std::uint32_t>(at);
}

template <bool kLast>
void RankedOrder::rise(Heap& heap, std::vector<Places>& places, std::size_t at) {
  const Entry entry = heap[at];
  while (at > 0 && before<kLast>(entry, heap[(at - 1) / kChildren])) {
    put<kLast>(heap, places, at, heap[(at - 1) / kChildren]);
    at = (at - 1) / kChildren;
  }
  put<kLast>(heap, places, at, entry);
}

// The entry comes from the end, where it mostly goes back to: the way down is not compared with it, and it
// rises from there.
template <bool kLast>
void RankedOrder::sink(Heap& heap, std::vector<Places>& places, std::size_t at, const Entry& entry) {
  const Entry* const all = heap.data();
  const std::size_t size = heap.size();
  const auto first_of = [&](std::size_t a, std::size_t b) { return before<kLast>(all[b], all[a]) ? b : a; };
  for (std::size_t child = kChildren * at + 1; child < size; child = kChildren * at + 1) {
    std::size_t next = child;
    if (child + kChildren <= size) [[likely]] {
      next = first_of(first_of(child, child + 1), first_of(child + 2, child + 3));
    } else {
      while (++child < size) next = first_of(next, child);
    }
    put<kLast>(heap, places, at, all[next]);
    at = next;
  }
  heap[at] = entry;
  rise<kLast>(heap, places, at);
}

template <bool kLast>
void RankedOrder::remove(Heap& heap, std::vector<Places>& places, std::size_t at) {
  const Entry moved = heap.back();
  heap.pop_back();
  if (at == heap.size()) return;
  if (at > 0 && before<kLast>(moved, heap[(at - 1) / kChildren])) {
    heap[at] = moved;
    return rise<kLast>(heap, places, at);
  }
  sink<kLast>(heap, places, at, moved);
}

void RankedOrder::push(std::vector<Places>& places, std::uint32_t node, std::int64_t rank) {
  const Entry entry{{rank, arrivals_++}, node};
  first_.push_back(entry);
  rise<false>(first_, places, first_.size() - 1);
  if (!finds_last_) return;
  last_.push_back(entry);
  rise<true>(last_, places, last_.size() - 1);
}

void RankedOrder::erase(std::vector<Places>& places, std::uint32_t node) {
  const Places at = places[node];
  remove<false>(first_, places, at.first);
  if (finds_last_) remove<true>(last_, places, at.last);
}

}  // namespace rocelab
