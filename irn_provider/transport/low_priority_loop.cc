#include "irn_provider/transport/low_priority_loop.h"

#include <algorithm>

#include "base/check.h"

namespace rocelab {

LowPriorityLoop::LowPriorityLoop(const Rc3Config& config)
    : packets_(config.packets.begin(), config.packets.begin() + (config.levels - 1)),
      fifos_(config.levels - 1u),
      ready_(config.levels - 1u) {
  RL_CHECK(config.levels >= 2);
}

void LowPriorityLoop::add(UnwrappedPsn first, UnwrappedPsn end) {
  RL_CHECK(first < end && (units_.empty() || units_.back().end <= first));
  fifos_[0].push_back(front_ + units_.size());
  units_.push_back({first, end, end - 1, 1, packets_[0]});
  find_ready();
}

void LowPriorityLoop::pass(UnwrappedPsn next) {
  passed_ = std::max(passed_, next);
  for (; !units_.empty() && units_.front().end <= passed_; ++front_) units_.pop_front();
  find_ready();
}

void LowPriorityLoop::stop() {
  front_ += units_.size();
  units_.clear();
  find_ready();
}

// Units that are over leave the FIFOs when they come to the front.
void LowPriorityLoop::find_ready() {
  for (ready_ = 0; ready_ < fifos_.size(); ++ready_) {
    Fifo& fifo = fifos_[ready_];
    while (!fifo.empty() && (fifo.front() < front_ || over(unit(fifo.front())))) fifo.pop_front();
    if (!fifo.empty()) return;
  }
}

LowPacket LowPriorityLoop::pull() {
  RL_CHECK(has_next());
  const std::uint64_t number = fifos_[ready_].front();
  Unit& u = unit(number);
  const LowPacket packet{u.cursor--, u.level};
  sent_end_ = std::max(sent_end_, packet.psn + 1);
  if (--u.left == 0 && u.level < fifos_.size()) {
    fifos_[ready_].pop_front();
    u.left = packets_[u.level];
    fifos_[u.level++].push_back(number);
  } else if (u.left == 0) {
    u.left = 1;  // the last level takes the rest
  }
  find_ready();
  return packet;
}

bool LowPriorityLoop::has_sent(UnwrappedPsn psn) const {
  for (std::size_t i = 0; i < units_.size() && units_[i].first <= psn; ++i)
    if (psn < units_[i].end) return psn > units_[i].cursor;
  return false;
}

}  // namespace rocelab
