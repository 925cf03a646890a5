// GsiWaiting: datagrams that wait until QP1 can take them, in the order in which they came. A port that is
// paused sends none while the connection manager goes on answering whoever writes to QP1: so many wait and no
// more, and the newest is dropped and counted, as if the network had lost it. Answers that will be asked for
// again leave room for what the process's own connections have to say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "emu/world/world.h"
#include "irn_provider/cm/cm_types.h"

namespace rocelab::verbs {

class GsiWaiting {
 public:
  static constexpr std::size_t kMostAnswers = 1'024;    // from here on no dispensable ones
  static constexpr std::size_t kMost = 2 * kQpnsPerVf;  // two for each QP that the process may have

  void push(const cm::OutgoingMad& mad) {
    if (waiting_.size() >= (mad.dispensable ? kMostAnswers : kMost)) {
      ++dropped_;
    } else {
      waiting_.push_back(mad);
    }
  }
  std::optional<cm::OutgoingMad> pop() {
    if (waiting_.empty()) return std::nullopt;
    const cm::OutgoingMad first = waiting_.front();
    waiting_.pop_front();
    return first;
  }
  std::size_t size() const { return waiting_.size(); }
  std::uint64_t dropped() const { return dropped_; }

 private:
  std::deque<cm::OutgoingMad> waiting_;
  std::uint64_t dropped_ = 0;
};

}  // namespace rocelab::verbs
