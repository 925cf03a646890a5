#include "ovs_patches/netdev/port_arbiter.h"

#include <algorithm>

namespace rocelab {

void PortArbiter::on_pfc(const PfcFrame& pfc, Time arrival) { coming_.emplace_back(arrival, pfc); }

void PortArbiter::apply(Pauses& until, const PfcFrame& pfc, Time at, Rate rate) {
  for (std::size_t tc = 0; tc < until.size(); ++tc)
    if ((pfc.class_enable >> tc & 1) != 0) until[tc] = at + pause_duration(pfc.time[tc], rate);
}

// The next sender in turn whose head may leave at `t`.
std::optional<std::size_t> PortArbiter::eligible(Time t, const Pauses& until) const {
  for (std::size_t i = 1; i <= heads_.size(); ++i) {
    const std::size_t sender = (last_ + i) % heads_.size();
    const auto& head = heads_[sender];
    if (!head || head->start > t) continue;
    if (head->start >= free_ || until[head->tc.value] <= t) return sender;
  }
  return std::nullopt;
}

// The first instant after `t` in which another head may become eligible.
Time PortArbiter::next_change(Time t, const Pauses& until) const {
  Time next = Time::never();
  for (const auto& head : heads_) {
    if (!head) continue;
    const Time when = head->start > t ? head->start : until[head->tc.value];
    if (when > t) next = std::min(next, when);
  }
  const auto pause = std::ranges::find_if(coming_, [t](const auto& p) { return p.first > t; });
  return pause != coming_.end() ? std::min(next, pause->first) : next;
}

std::optional<PortArbiter::Choice> PortArbiter::choose() const {
  Time t = Time::never();
  for (const auto& head : heads_)
    if (head) t = std::min(t, std::max(head->start, free_));
  Pauses until = paused_until_;
  auto pause = coming_.begin();
  while (!t.is_never()) {
    for (; pause != coming_.end() && pause->first <= t; ++pause)
      apply(until, pause->second, pause->first, rate_);
    if (const auto sender = eligible(t, until)) return Choice{*sender, t};
    t = next_change(t, until);
  }
  return std::nullopt;
}

void PortArbiter::commit(const Choice& choice) {
  while (!coming_.empty() && coming_.front().first <= choice.start) {
    apply(paused_until_, coming_.front().second, coming_.front().first, rate_);
    coming_.pop_front();
  }
  free_ = choice.start + heads_[choice.sender]->duration;
  last_ = choice.sender;
  heads_[choice.sender].reset();
}

}  // namespace rocelab
