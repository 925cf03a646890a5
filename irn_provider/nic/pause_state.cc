#include "irn_provider/nic/pause_state.h"

#include <algorithm>

namespace rocelab {

std::uint64_t& rx_prio_pause(NicCounters& c, int tc) {
  const std::array<std::uint64_t*, kTrafficClasses> counters = {
      &c.rx_prio0_pause, &c.rx_prio1_pause, &c.rx_prio2_pause, &c.rx_prio3_pause,
      &c.rx_prio4_pause, &c.rx_prio5_pause, &c.rx_prio6_pause, &c.rx_prio7_pause};
  return *counters[static_cast<std::size_t>(tc)];
}

NicPauseState::NicPauseState(Rate link_rate, NicCounters& counters, TraceSink& trace)
    : link_rate_(link_rate), counters_(counters), trace_(trace) {
  until_.fill(Time::never());
}

void NicPauseState::on_pfc(const PfcFrame& frame, Time now) {
  for (int tc = 0; tc < kTrafficClasses; ++tc) {
    if ((frame.class_enable >> tc & 1) == 0) continue;
    const std::uint16_t quanta = frame.time[static_cast<std::size_t>(tc)];
    if (quanta > 0) ++rx_prio_pause(counters_, tc);
    until_[static_cast<std::size_t>(tc)] =
        quanta > 0 ? now + pause_duration(quanta, link_rate_) : Time::never();
    set_paused(tc, quanta > 0, now);
  }
  update_timeout();
}

void NicPauseState::on_timeout(Time now) {
  if (now < next_timeout_) return;
  for (int tc = 0; tc < kTrafficClasses; ++tc) {
    Time& until = until_[static_cast<std::size_t>(tc)];
    if (now < until) continue;
    until = Time::never();
    set_paused(tc, false, now);
  }
  update_timeout();
}

void NicPauseState::set_paused(int tc, bool paused, Time now) {
  const auto bit = static_cast<std::uint8_t>(1u << tc);
  if (((paused_ & bit) != 0) == paused) return;
  if (paused_ == 0) paused_since_ = now;
  paused_ = static_cast<std::uint8_t>(paused_ ^ bit);
  if (paused_ == 0) {
    paused_total_ += now - paused_since_;
    counters_.rx_pause_duration_ns = static_cast<std::uint64_t>(paused_total_ / 1_ns);
  }
  TraceRecord record;
  record.time = now;
  record.kind = paused ? TraceKind::kPaused : TraceKind::kResumed;
  record.mark = static_cast<std::uint8_t>(tc);
  trace_.record(record);
}

void NicPauseState::update_timeout() { next_timeout_ = *std::min_element(until_.begin(), until_.end()); }

}  // namespace rocelab
