#include "verbs_app/flows/start_list.h"

#include <algorithm>

namespace rocelab::app {

void StartList::add(const Flow& flow, std::uint32_t slot) {
  if (flow.connection != 0) {
    Line& line = lines_[flow.connection];
    line.members.push_back({flow.start_ns(), slot});
    line.waits = line.waits || !flow.after.empty();
  }
  if (flow.after.empty()) {
    timed_.push_back({flow.start_ns(), slot});
    return;
  }
  for (const After& after : flow.after) waits_for_[after.flow].push_back({waiters_.size(), after.delay_ns});
  waiters_.push_back({slot, flow.after_count, flow.after.size(), flow.start_ns()});
}

void StartList::begin() {
  std::stable_sort(timed_.begin(), timed_.end(), [](const Timed& a, const Timed& b) { return a.ns < b.ns; });
  for (auto& [connection, line] : lines_) {
    if (!line.waits) continue;  // its flows have their times' order
    std::sort(line.members.begin(), line.members.end());
    for (const Timed& member : line.members) line_of_[member.slot] = &line;
  }
}

void StartList::ended(std::uint32_t flow, std::int64_t now_ns) {
  const auto found = waits_for_.find(flow);
  if (found == waits_for_.end()) return;
  for (const Wait& wait : found->second) {
    Waiter& w = waiters_[wait.waiter];
    --w.hopes;
    if (w.needed == 0) continue;
    w.earliest_ns = std::max(w.earliest_ns, now_ns + wait.delay_ns);
    if (--w.needed > 0) continue;
    if (w.earliest_ns <= now_ns)
      ready_.push_back(w.slot);
    else
      delayed_.insert({w.earliest_ns, w.slot});
  }
}

std::vector<std::uint32_t> StartList::failed(std::uint32_t flow) {
  std::vector<std::uint32_t> lost;
  const auto found = waits_for_.find(flow);
  if (found == waits_for_.end()) return lost;
  for (const Wait& wait : found->second) {
    Waiter& w = waiters_[wait.waiter];
    if (w.needed == w.hopes && w.needed > 0) lost.push_back(w.slot);
    --w.hopes;
  }
  return lost;
}

std::optional<std::uint32_t> StartList::due(std::int64_t now_ns) {
  if (!delayed_.empty() && delayed_.begin()->ns <= now_ns && delayed_.begin()->ns <= next_ns())
    return delayed_.extract(delayed_.begin()).value().slot;
  if (next_ < timed_.size() && timed_[next_].ns <= now_ns) return timed_[next_++].slot;
  if (next_ready_ < ready_.size()) return ready_[next_ready_++];
  return std::nullopt;
}

bool StartList::has_turn(std::uint32_t slot) {
  const auto found = line_of_.find(slot);
  if (found == line_of_.end()) return true;
  Line& line = *found->second;
  if (line.members[line.next].slot != slot) {
    line.held.insert(slot);
    return false;
  }
  ++line.next;
  if (line.next < line.members.size() && line.held.erase(line.members[line.next].slot) > 0)
    ready_.push_back(line.members[line.next].slot);
  return true;
}

std::optional<std::uint32_t> StartList::take(std::int64_t now_ns) {
  for (;;) {
    const std::optional<std::uint32_t> slot = due(now_ns);
    if (!slot || has_turn(*slot)) return slot;
  }
}

}  // namespace rocelab::app
