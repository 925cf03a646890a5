// SharedLanes: the queue pairs ("lanes") of one connection at one end, which several flows share: whose
// requests are posted next. The requests of a flow go over a lane behind those of the flows that joined
// before it, and all together are no more than the queue holds. They stop together. No I/O and no clock: the
// program (runner.cc) and the virtual-time engine (emu/des) post by it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace rocelab::app {

class SharedLanes {
 public:
  explicit SharedLanes(int depth) : depth_(static_cast<std::uint64_t>(depth)) {}

  void add(std::uint32_t slot, std::int64_t start_ns, std::size_t lanes) {  // a flow of the connection
    starts_.emplace_back(start_ns, slot);
    owner_ = std::min(owner_, slot);
    if (lanes_.size() < lanes) lanes_.resize(lanes);
  }
  std::uint32_t owner() const { return owner_; }  // the flow that creates and connects the lanes
  std::vector<std::uint32_t> members() const {    // in the order in which they start
    auto sorted = starts_;
    std::sort(sorted.begin(), sorted.end());
    std::vector<std::uint32_t> slots;
    for (const auto& [start, slot] : sorted) slots.push_back(slot);
    return slots;
  }
  std::size_t lanes() const { return lanes_.size(); }

  // The flow posts from now on.
  void join(std::uint32_t slot, std::size_t lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) lanes_[lane].turns.push_back(slot);
  }
  // post(slot): posts the flow's next request to this lane; false: all of them are posted.
  template <class Post>
  void fill(std::size_t index, Post&& post) {
    if (stopped_) return;
    Lane& lane = lanes_[index];
    while (lane.posted < depth_ && !lane.turns.empty()) {
      if (post(lane.turns.front()))
        ++lane.posted;
      else
        lane.turns.pop_front();
    }
  }
  // All of its flows fail together: true for the first one that says so.
  bool fail() { return !std::exchange(failed_, true); }
  // Nothing is posted from now on: true for the first flow that says so.
  bool stop() { return !std::exchange(stopped_, true); }
  void completed(std::size_t lane, std::uint64_t requests) { lanes_[lane].posted -= requests; }

 private:
  struct Lane {
    std::deque<std::uint32_t> turns;  // slots, whose turn it is first
    std::uint64_t posted = 0;
  };
  const std::uint64_t depth_;
  std::vector<std::pair<std::int64_t, std::uint32_t>> starts_;
  std::uint32_t owner_ = 0xffffffff;
  std::vector<Lane> lanes_;
  bool failed_ = false, stopped_ = false;
};

}  // namespace rocelab::app
