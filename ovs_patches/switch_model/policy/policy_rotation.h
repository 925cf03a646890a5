// PolicyRotation: the frames of one queue by ingress port, served in turn: the next port that has frames
// behind the one served last, its oldest frame. FrameQueues' QueueOrder::kRoundRobin, of which any frame can
// be taken.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "ovs_patches/switch_model/level_order.h"
#include "ovs_patches/switch_model/switch_config.h"

namespace rocelab {

class PolicyRotation {
 public:
  using Places = LevelOrder::Places;

  bool empty() const { return frames_ == 0; }
  void push(std::vector<Places>& places, std::uint32_t node, PortId in) {
    while (inputs_.size() <= in.value) inputs_.emplace_back(1);
    inputs_[in.value].push(places, node, 0);
    waiting_[in.value / 64] |= bit(in);
    ++frames_;
  }
  void erase(std::vector<Places>& places, std::uint32_t node, PortId in) {
    inputs_[in.value].erase(places, node);
    if (inputs_[in.value].empty()) waiting_[in.value / 64] &= ~bit(in);
    --frames_;
  }
  std::uint32_t first() const { return inputs_[next()].first(); }  // must not be empty
  void served(PortId in) { last_ = in.value; }

 private:
  static std::uint64_t bit(PortId in) { return std::uint64_t{1} << (in.value % 64); }
  std::size_t next() const {
    const std::size_t start = (last_ + 1) % kMaxSwitchPorts;
    std::size_t word = start / 64;
    std::uint64_t found = waiting_[word] >> (start % 64) << (start % 64);
    while (found == 0) found = waiting_[word = (word + 1) % waiting_.size()];
    return word * 64 + static_cast<std::size_t>(std::countr_zero(found));
  }

  std::vector<LevelOrder> inputs_;  // by ingress port, up to the last one that has had a frame
  std::array<std::uint64_t, kMaxSwitchPorts / 64> waiting_{};
  std::size_t last_ = kMaxSwitchPorts - 1, frames_ = 0;
};

}  // namespace rocelab
