#include "ovs_patches/switch_model/ranked_order.h"

#include "base/check.h"

namespace rocelab {

static constexpr std::size_t kChildren = 4;  // of an entry of the heaps

template <bool kLast>
inline void RankedOrder::put(Entry* heap, Places* places, std::size_t at, Entry entry) {
  heap[at] = entry;
  (kLast ? places[entry.node()].last : places[entry.node()].first) = static_cast<std::uint32_t>(at);
}

template <bool kLast>
inline void RankedOrder::rise(Entry* heap, Places* places, std::size_t at, Entry entry) {
  while (at > 0) {
    const std::size_t parent = (at - 1) / kChildren;
    if (!before<kLast>(entry, heap[parent])) break;
    put<kLast>(heap, places, at, heap[parent]);
    at = parent;
  }
  put<kLast>(heap, places, at, entry);
}

// The entry comes from the end, where it mostly goes back to: the way down is not compared with it, and it
// rises from there.
template <bool kLast>
inline void RankedOrder::sink(Entry* heap, std::size_t size, Places* places, std::size_t at, Entry entry) {
  for (std::size_t child = kChildren * at + 1; child < size; child = kChildren * at + 1) {
    const Entry* next = heap + child;
    if (child + kChildren <= size) [[likely]] {  // which of two is as good as drawn: no branches
      const Entry* const one = next + before<kLast>(next[1], next[0]);
      const Entry* const other = next + 2 + before<kLast>(next[3], next[2]);
      next = before<kLast>(*other, *one) ? other : one;
    } else {
      while (++child < size) next = before<kLast>(heap[child], *next) ? heap + child : next;
    }
    put<kLast>(heap, places, at, *next);
    at = static_cast<std::size_t>(next - heap);
  }
  rise<kLast>(heap, places, at, entry);
}

template <bool kLast>
inline void RankedOrder::remove(Heap& heap, Places* places, std::size_t at) {
  const Entry moved = heap.back();
  heap.pop_back();
  if (at == heap.size()) return;
  if (at > 0 && before<kLast>(moved, heap[(at - 1) / kChildren]))
    return rise<kLast>(heap.data(), places, at, moved);
  sink<kLast>(heap.data(), heap.size(), places, at, moved);
}

void RankedOrder::push(std::vector<Places>& places, std::uint32_t node, std::int64_t rank) {
  RL_CHECK(node <= Entry::kNode && arrivals_ >> (64 - Entry::kNodeBits) == 0);
  const Entry entry{static_cast<std::uint64_t>(rank) ^ Entry::kSign, arrivals_++ << Entry::kNodeBits | node};
  first_.push_back(entry);
  rise<false>(first_.data(), places.data(), first_.size() - 1, entry);
  if (!finds_last_) return;
  last_.push_back(entry);
  rise<true>(last_.data(), places.data(), last_.size() - 1, entry);
}

void RankedOrder::erase(std::vector<Places>& places, std::uint32_t node) {
  const Places at = places[node];
  remove<false>(first_, places.data(), at.first);
  if (finds_last_) remove<true>(last_, places.data(), at.last);
}

}  // namespace rocelab
