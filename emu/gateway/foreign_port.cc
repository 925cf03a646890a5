#include "emu/gateway/foreign_port.h"

#include <algorithm>

namespace rocelab {

ForeignPort::ForeignPort(Rate link_rate, Duration link_delay, NicCounters& counters)
    : wire_(link_rate), link_delay_(link_delay), pause_(link_rate, counters, trace_) {}

void ForeignPort::push(std::uint32_t frame, std::uint16_t length, Tc tc, Time ready) {
  queues_[tc.value].push_back({frame, length, ready, arrived_++});
}

// Of the heads that can leave at the earliest instant, the one that came first.
ForeignPort::Next ForeignPort::next() const {
  Next next;
  for (std::size_t tc = 0; tc < queues_.size(); ++tc) {
    if (queues_[tc].empty()) continue;
    const Waiting& head = queues_[tc].front();
    const Time at = std::max({head.ready, free_, pause_.opens(tc)});
    if (at < next.at || (at == next.at && head.order < queues_[next.tc].front().order)) next = {at, tc};
  }
  return next;
}

std::optional<ForeignPort::Departure> ForeignPort::depart(Time limit) {
  const Next n = next();
  if (n.at >= limit) return std::nullopt;
  pause_.on_timeout(n.at);
  const Waiting w = queues_[n.tc].front();
  queues_[n.tc].pop_front();
  free_ = n.at + wire_.wire_time(Bytes::from_count(w.length));
  return Departure{w.frame, w.length, free_ + link_delay_};
}

}  // namespace rocelab
