// WinnerTree: the earliest of a fixed set of times, ties to the lowest index. One leaf per port; changing a
// leaf costs log2(ports), asking costs nothing.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "base/units.h"

namespace rocelab {

class WinnerTree {
 public:
  explicit WinnerTree(std::size_t leaves)
      : width_(std::bit_ceil(leaves < 2 ? std::size_t{2} : leaves)),
        times_(width_, Time::never()),
        winners_(width_) {
    for (std::size_t node = width_; node-- > 1;) winners_[node] = better(node);
  }
  Time min_time() const { return times_[winners_[1]]; }
  std::size_t winner() const { return winners_[1]; }
  Time time_of(std::size_t leaf) const { return times_[leaf]; }

  void set(std::size_t leaf, Time time) {
    times_[leaf] = time;
    for (std::size_t node = (leaf + width_) / 2; node >= 1; node /= 2) winners_[node] = better(node);
  }

 private:
  std::uint32_t winner_of(std::size_t node) const {
    return node >= width_ ? static_cast<std::uint32_t>(node - width_) : winners_[node];
  }
  std::uint32_t better(std::size_t node) const {
    const std::uint32_t left = winner_of(2 * node), right = winner_of(2 * node + 1);
    return times_[right] < times_[left] ? right : left;
  }
  std::size_t width_;
  std::vector<Time> times_;             // by leaf
  std::vector<std::uint32_t> winners_;  // heap order, root at 1
};

}  // namespace rocelab
