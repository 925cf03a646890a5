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
  void start() {
    first_.clear();
    low_.reset();
    waiting_ = 0;
  }
  bool empty() const { return waiting_ == 0; }
  unsigned next_level() const {  // precondition: !empty()
    if (!first_.empty()) return 0;
    unsigned level = 1;
    while ((*low_)[level - 1].empty()) ++level;
    return level;
  }
  // True: an older one was dropped.
  bool push(const Answer& answer, unsigned level = 0) {
    if (level == 0) return push_to(first_, answer);
    if (!low_) low_ = std::make_unique<Low>();
    return push_to((*low_)[level - 1], answer);
  }
  std::pair<Answer, unsigned> take() {  // with its level; precondition: !empty()
    const unsigned level = next_level();
    --waiting_;
    return {level == 0 ? first_.take_front() : (*low_)[level - 1].take_front(), level};
  }

 private:
  static constexpr std::size_t kMost = 4096;
  // Of a lower level mostly one waits, and each queue pair has queues of all.
  using Low = std::array<Ring<Answer, 2>, Rc3Config::kMostLevels - 1>;

  template <class Queue>
  bool push_to(Queue& queue, const Answer& answer) {
    const bool full = queue.size() >= kMost;
    if (full) queue.pop_front();
    waiting_ += !full;
    queue.push_back(answer);
    return full;
  }

  Ring<Answer> first_;
  std::unique_ptr<Low> low_;  // by level - 1; since the first one of a lower level, of which most have none
  std::uint16_t waiting_ = 0;
};

}  // namespace rocelab
