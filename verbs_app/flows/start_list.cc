#include "verbs_app/flows/start_list.h"

#include <algorithm>

namespace rocelab::app {

void StartList::add(const Flow& flow, std::uint32_t slot) {
  if (flow.after.empty()) {
    timed_.push_back({flow.start_ns(), slot});
    return;
  }
  for (const std::uint32_t other : flow.after) waiters_of_[other].push_back(waiters_.size());
  waiters_.push_back({slot, flow.after_count, flow.after.size()});
}

void StartList::begin() {
  std::stable_sort(timed_.begin(), timed_.end(), [](const Timed& a, const Timed& b) { return a.ns < b.ns; });
}

void StartList::ended(std::uint32_t flow) {
  const auto found = waiters_of_.find(flow);
  if (found == waiters_of_.end()) return;
  for (const std::size_t index : found->second) {
    Waiter& w = waiters_[index];
    --w.hopes;
    if (w.needed > 0 && --w.needed == 0) ready_.push_back(w.slot);
  }
}

std::vector<std::uint32_t> StartList::failed(std::uint32_t flow) {
  std::vector<std::uint32_t> lost;
  const auto found = waiters_of_.find(flow);
  if (found == waiters_of_.end()) return lost;
  for (const std::size_t index : found->second) {
    Waiter& w = waiters_[index];
    if (w.needed == w.hopes && w.needed > 0) lost.push_back(w.slot);
    --w.hopes;
  }
  return lost;
}

std::optional<std::uint32_t> StartList::take(std::int64_t now_ns) {
  if (next_ < timed_.size() && timed_[next_].ns <= now_ns) return timed_[next_++].slot;
  if (next_ready_ < ready_.size()) return ready_[next_ready_++];
  return std::nullopt;
}

}  // namespace rocelab::app
