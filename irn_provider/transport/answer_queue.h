// AnswerQueue: answers that wait for the port, by the level at which they leave: the highest level first,
// within one in the order of arrivals. Without RC3 (two_loops.h) there is one level. Of one that is full,
// since its class is paused for long, the oldest is dropped, as if the network had lost it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/ring.h"
#include "irn_provider/transport/nic_config.h"

namespace rocelab {

template <class Answer>
class AnswerQueue {
 public:
  void start(bool levels) {
    first_.clear();
    low_ = levels ? std::make_unique<Low>() : nullptr;
    waiting_ = 0;
  }
  bool empty() const { return waiting_ == 0; }
  unsigned next_level() const {  // precondition: !empty()
    unsigned level = 0;
    while (of(level).empty()) ++level;
    return level;
  }
  // True: an older one was dropped. `level` above 0 only with levels.
  bool push(const Answer& answer, unsigned level = 0) {
    Ring<Answer>& queue = of(level);
    const bool full = queue.size() >= kMost;
    if (full) queue.pop_front();
    waiting_ += !full;
    queue.push_back(answer);
    return full;
  }
  std::pair<Answer, unsigned> take() {  // with its level; precondition: !empty()
    const unsigned level = next_level();
    --waiting_;
    return {of(level).take_front(), level};
  }

 private:
  static constexpr std::size_t kMost = 4096;
  using Low = std::array<Ring<Answer>, Rc3Config::kMostLevels - 1>;
  Ring<Answer>& of(unsigned level) { return level == 0 ? first_ : (*low_)[level - 1]; }
  const Ring<Answer>& of(unsigned level) const { return level == 0 ? first_ : (*low_)[level - 1]; }

  Ring<Answer> first_;
  std::unique_ptr<Low> low_;  // by level - 1
  std::uint16_t waiting_ = 0;
};

}  // namespace rocelab
