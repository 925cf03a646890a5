// PolicyHeap: frames of one policy queue in the order of a key that its program computes: the first can be
// seen, and any can be taken out, in O(log n). Equal keys stand by admission number, ascending for service
// and descending for drops.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <vector>

namespace rocelab {

// A quotient of integers; `divisor` is at least 1.
struct PolicyRank {
  std::int64_t value = 0, divisor = 1;
  friend std::strong_ordering operator<=>(const PolicyRank& a, const PolicyRank& b) {
    if (a.divisor == b.divisor) return a.value <=> b.value;
    return static_cast<__int128>(a.value) * b.divisor <=> static_cast<__int128>(b.value) * a.divisor;
  }
  friend bool operator==(const PolicyRank& a, const PolicyRank& b) { return (a <=> b) == 0; }
};
inline constexpr std::size_t kMostRankComponents = 3;
using PolicyRanks = std::array<PolicyRank, kMostRankComponents>;  // those that are not used are equal in all

class PolicyHeap {
 public:
  using Places = std::vector<std::uint32_t>;  // by node: its place. Shared by all heaps of a kind

  // Newest first: of equal keys, the one with the largest number is the first.
  explicit PolicyHeap(bool newest_first) : newest_first_(newest_first) {}

  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  std::uint32_t first() const { return entries_.front().node; }  // must not be empty
  void push(Places& places, std::uint32_t node, const PolicyRanks& ranks, std::uint64_t number);
  void erase(Places& places, std::uint32_t node);

 private:
  struct Entry {
    PolicyRanks ranks;
    std::uint64_t number = 0;
    std::uint32_t node = 0;
  };
  bool before(const Entry& a, const Entry& b) const {
    const auto order = a.ranks <=> b.ranks;
    if (order != 0) return order < 0;
    return newest_first_ ? a.number > b.number : a.number < b.number;
  }
  void put(Places& places, std::size_t at, const Entry& entry);
  void settle(Places& places, std::size_t at, const Entry& entry);  // up or down from there

  bool newest_first_;
  std::vector<Entry> entries_;
};

}  // namespace rocelab
