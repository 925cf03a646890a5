// WinnerTree: the earliest of a fixed set of times, ties to the lowest index. One leaf per port; changing a
// leaf costs at most log2(ports) minima of two words, asking costs nothing. A node is one word: the time
// above the leaf's index, so that the smaller word is the earlier time and, at equal times, the lower leaf.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/units.h"

namespace rocelab {

class WinnerTree {
 public:
  explicit WinnerTree(std::size_t leaves)
      : width_(std::bit_ceil(leaves < 2 ? std::size_t{2} : leaves)),
        shift_(static_cast<unsigned>(std::bit_width(width_ - 1))),
        last_(kNever >> shift_),
        nodes_(2 * width_, kNever) {}
  Time min_time() const { return min_time_; }
  std::size_t winner() const { return nodes_[1] & (width_ - 1); }
  Time time_of(std::size_t leaf) const { return time_in(nodes_[leaf + width_]); }

  // `time` is not negative, and below 2^64 ps / width (10 hours for 512 ports) unless it is never().
  void set(std::size_t leaf, Time time) {
    std::uint64_t* const nodes = nodes_.data();
    std::size_t node = leaf + width_;
    std::uint64_t word = nodes[node] = word_of(leaf, time);
    do {
      word = std::min(word, nodes[node ^ 1]);
      node /= 2;
      if (nodes[node] == word) return;  // nothing changes above
      nodes[node] = word;
    } while (node > 1);
    min_time_ = time_in(word);
  }
  // set(winner(), time), which changes all nodes above that leaf: none of them needs to be looked at before.
  [[gnu::always_inline]] void replace_winner(Time time) {
    std::uint64_t* const nodes = nodes_.data();
    const std::size_t leaf = winner();
    std::size_t node = leaf + width_;
    std::uint64_t word = nodes[node] = word_of(leaf, time);
    const auto climb = [&] {
      word = std::min(word, nodes[node ^ 1]);
      node /= 2;
      nodes[node] = word;
    };
    switch (shift_) {  // as many levels: the loop, unrolled
      default:
        while (node >= 128) climb();
        [[fallthrough]];
      case 6:
        climb();
        [[fallthrough]];
      case 5:
        climb();
        [[fallthrough]];
      case 4:
        climb();
        [[fallthrough]];
      case 3:
        climb();
        [[fallthrough]];
      case 2:
        climb();
        [[fallthrough]];
      case 1:
        climb();
    }
    min_time_ = time_in(word);
  }

 private:
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};
  std::uint64_t word_of(std::size_t leaf, Time time) const {
    const auto ps = static_cast<std::uint64_t>(time.ps());
    if (ps < last_) return ps << shift_ | leaf;
    RL_CHECK(time.is_never());
    return kNever;
  }
  Time time_in(std::uint64_t word) const {
    return word == kNever ? Time::never() : Time::from_ps(static_cast<std::int64_t>(word >> shift_));
  }
  std::size_t width_;
  unsigned shift_;
  std::uint64_t last_;                // times end here
  std::vector<std::uint64_t> nodes_;  // heap order, root at 1, leaves from width_
  Time min_time_ = Time::never();     // of the root
};

}  // namespace rocelab
