#include "ovs_patches/switch_model/ranked_order.h"

#include <utility>

namespace rocelab {

template <bool kLast>
void RankedOrder::put(Heap& heap, std::vector<Places>& places, std::size_t at, const Entry& entry) {
  heap[at] = entry;
  (kLast ? places[entry.node].last : places[entry.node].first) = static_cast<std::uint32_t>(at);
}

template <bool kLast>
void RankedOrder::rise(Heap& heap, std::vector<Places>& places, std::size_t at) {
  const Entry entry = heap[at];
  while (at > 0 && before<kLast>(entry, heap[(at - 1) / 2])) {
    put<kLast>(heap, places, at, heap[(at - 1) / 2]);
    at = (at - 1) / 2;
  }
  put<kLast>(heap, places, at, entry);
}

template <bool kLast>
void RankedOrder::sink(Heap& heap, std::vector<Places>& places, std::size_t at) {
  const Entry entry = heap[at];
  for (std::size_t child = 2 * at + 1; child < heap.size(); child = 2 * at + 1) {
    if (child + 1 < heap.size() && before<kLast>(heap[child + 1], heap[child])) ++child;
    if (!before<kLast>(heap[child], entry)) break;
    put<kLast>(heap, places, at, heap[child]);
    at = child;
  }
  put<kLast>(heap, places, at, entry);
}

template <bool kLast>
void RankedOrder::remove(Heap& heap, std::vector<Places>& places, std::size_t at) {
  const Entry moved = heap.back();
  heap.pop_back();
  if (at == heap.size()) return;
  put<kLast>(heap, places, at, moved);
  rise<kLast>(heap, places, at);
  sink<kLast>(heap, places, kLast ? places[moved.node].last : places[moved.node].first);
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
