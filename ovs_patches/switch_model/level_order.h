// LevelOrder: frames of one queue by level: the lowest level leaves first, equal levels leave in the order of
// their arrival. RankedOrder's law for few ranks, in O(1): a list per level, and a word that says which have
// frames. One level is a FIFO whose last frame can be found and out of which any frame can be taken.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ovs_patches/switch_model/ranked_order.h"

namespace rocelab {

class LevelOrder {
 public:
  static constexpr std::uint32_t kMostLevels = 64;
  using Places = RankedOrder::Places;  // first, last: the nodes before and behind in its list

  explicit LevelOrder(std::uint32_t levels) : lists_(levels) {}  // 1 to kMostLevels

  bool empty() const { return waiting_ == 0; }
  void push(std::vector<Places>& places, std::uint32_t node, std::int64_t rank) {
    const auto level = static_cast<std::uint32_t>(
        std::clamp<std::int64_t>(rank, 0, static_cast<std::int64_t>(lists_.size()) - 1));
    List& list = lists_[level];
    places[node] = {list.tail, kNil, level};
    (list.tail == kNil ? list.head : places[list.tail].last) = node;
    list.tail = node;
    waiting_ |= std::uint64_t{1} << level;
  }
  std::uint32_t first() const { return lists_[std::countr_zero(waiting_)].head; }      // must not be empty
  std::uint32_t first_of(std::uint32_t level) const { return lists_[level].head; }     // must have frames
  std::uint64_t waiting() const { return waiting_; }                                   // a bit per level
  std::uint32_t last() const { return lists_[63 - std::countl_zero(waiting_)].tail; }  // must not be empty
  void erase(std::vector<Places>& places, std::uint32_t node) {
    const auto [before, behind, level] = places[node];
    List& list = lists_[level];
    (before == kNil ? list.head : places[before].last) = behind;
    (behind == kNil ? list.tail : places[behind].first) = before;
    if (list.head == kNil) waiting_ &= ~(std::uint64_t{1} << level);
  }
  template <class F>
  void for_each(const std::vector<Places>& places, F&& f) const {  // f(node), in the order of departure
    for (const List& list : lists_)
      for (std::uint32_t node = list.head; node != kNil; node = places[node].last) f(node);
  }

 private:
  static constexpr std::uint32_t kNil = 0xffffffff;
  struct List {
    std::uint32_t head = kNil, tail = kNil;
  };
  std::vector<List> lists_;
  std::uint64_t waiting_ = 0;  // bit per level
};

}  // namespace rocelab
