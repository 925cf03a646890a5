// RankedOrder: frames of one queue in the order of a rank: the smallest leaves first, equal ranks leave in
// the order of their arrival. The last in that order can be found, too, and any frame can be taken out: O(log
// n) each. Frames are named by their node in the owner's slab; a node is in one queue at a time, so that all
// queues share one block of places. Two heaps; the second exists only where somebody asks for the last.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rocelab {

class RankedOrder {
 public:
  // The place of a node in the two heaps. LevelOrder keeps a node's neighbours and level in it, Lot its
  // place in `level`.
  struct Places {
    std::uint32_t first = 0, last = 0, level = 0;
  };
  struct Key {
    std::int64_t rank = 0;
    std::uint64_t arrival = 0;
    friend auto operator<=>(const Key&, const Key&) = default;
  };

  explicit RankedOrder(bool finds_last) : finds_last_(finds_last) {}

  bool empty() const { return first_.empty(); }
  std::size_t size() const { return first_.size(); }
  void push(std::vector<Places>& places, std::uint32_t node, std::int64_t rank);
  std::uint32_t first() const { return first_.front().node(); }  // must not be empty
  std::uint32_t last() const { return last_.front().node(); }    // must not be empty; needs finds_last
  Key key_of(const std::vector<Places>& places, std::uint32_t node) const {
    return first_[places[node].first].key();
  }
  void erase(std::vector<Places>& places, std::uint32_t node);
  template <class F>
  void for_each(F&& f) const {  // f(node), in no order
    for (const Entry& entry : first_) f(entry.node());
  }

 private:
  // 16 bytes: 2^40 arrivals of 2^24 frames in a switch. The two words as one number are the order, compared
  // without branches; an arrival is of one node, which therefore never decides.
  struct Entry {
    static constexpr int kNodeBits = 24;
    static constexpr std::uint64_t kSign = std::uint64_t{1} << 63,
                                   kNode = (std::uint64_t{1} << kNodeBits) - 1;
    std::uint64_t rank = 0;  // the sign flipped
    std::uint64_t arrival = 0;
    std::uint32_t node() const { return static_cast<std::uint32_t>(arrival & kNode); }
    Key key() const { return {static_cast<std::int64_t>(rank ^ kSign), arrival >> kNodeBits}; }
    unsigned __int128 order() const { return static_cast<unsigned __int128>(rank) << 64 | arrival; }
  };
  using Heap = std::vector<Entry>;
  template <bool kLast>
  static bool before(const Entry& a, const Entry& b) {
    return kLast ? b.order() < a.order() : a.order() < b.order();
  }
  template <bool kLast>
  static void put(Entry* heap, Places* places, std::size_t at, Entry entry);
  template <bool kLast>
  static void rise(Entry* heap, Places* places, std::size_t at, Entry entry);
  template <bool kLast>
  static void sink(Entry* heap, std::size_t size, Places* places, std::size_t at, Entry entry);
  template <bool kLast>
  static void remove(Heap& heap, Places* places, std::size_t at);

  bool finds_last_;
  std::uint64_t arrivals_ = 0;
  Heap first_, last_;
};

}  // namespace rocelab
