#include "irn_provider/verbs/libc/signal_timers.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace rocelab::libc {

SignalTimers::Id SignalTimers::create(std::optional<siginfo_t> signal) {
  timers_[next_id_].signal = signal;
  return next_id_++;
}

bool SignalTimers::erase(Id id) { return timers_.erase(id) > 0; }

void SignalTimers::set(Id id, const Setting& setting) {
  timers_.at(id).setting = setting;
  timers_.at(id).overrun = 0;
}

sigset_t SignalTimers::signals() const {
  sigset_t set;
  sigemptyset(&set);
  for (const auto& [id, timer] : timers_)
    if (timer.signal) sigaddset(&set, timer.signal->si_signo);
  return set;
}

Time SignalTimers::next_timeout() const {
  Time next = Time::never();
  for (const auto& [id, timer] : timers_)
    if (timer.signal) next = std::min(next, timer.setting.due);
  return next;
}

siginfo_t SignalTimers::take(Time now) {
  Timer* first = nullptr;
  for (auto& [id, timer] : timers_)
    if (timer.signal && (first == nullptr || timer.setting.due < first->setting.due)) first = &timer;
  RL_CHECK(first != nullptr && first->setting.due <= now);
  Setting& setting = first->setting;
  first->overrun = 0;
  if (setting.interval <= Duration()) {
    setting.due = Time::never();
  } else {
    const std::int64_t missed = (now - setting.due).ps() / setting.interval.ps();
    first->overrun = static_cast<int>(std::min<std::int64_t>(missed, std::numeric_limits<int>::max()));
    setting.due = setting.due + setting.interval * (missed + 1);
  }
  siginfo_t signal = *first->signal;
  if (signal.si_code == SI_TIMER) signal.si_overrun = first->overrun;
  return signal;
}

}  // namespace rocelab::libc
