#include "irn_provider/verbs/libc/program_timers.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace rocelab::libc {

ProgramTimers::Id ProgramTimers::create(const Action& action) {
  timers_[next_id_].action = action;
  return next_id_++;
}

bool ProgramTimers::erase(Id id) { return timers_.erase(id) > 0; }

void ProgramTimers::set(Id id, const Setting& setting) {
  timers_.at(id).setting = setting;
  timers_.at(id).overrun = 0;
}

sigset_t ProgramTimers::signals() const {
  sigset_t set;
  sigemptyset(&set);
  for (const auto& [id, timer] : timers_)
    if (const auto* signal = std::get_if<siginfo_t>(&timer.action)) sigaddset(&set, signal->si_signo);
  return set;
}

Time ProgramTimers::next_timeout() const {
  Time next = Time::never();
  for (const auto& [id, timer] : timers_)
    if (timer.acts()) next = std::min(next, timer.setting.due);
  return next;
}

ProgramTimers::Expiry ProgramTimers::take(Time now) {
  Time first = Time::never();
  Id first_id = next_id_;
  for (const auto& [id, timer] : timers_) {
    if (!timer.acts() || timer.setting.due >= first) continue;
    first = timer.setting.due;
    first_id = id;
  }
  RL_CHECK(first_id != next_id_);
  return take(first_id, now);
}

ProgramTimers::Expiry ProgramTimers::take(Id id, Time now) {
  Timer& timer = timers_.at(id);
  Setting& setting = timer.setting;
  RL_CHECK(timer.acts() && setting.due <= now);
  std::int64_t missed = 0;
  if (setting.interval <= Duration()) {
    setting.due = Time::never();
  } else {
    missed = (now - setting.due).ps() / setting.interval.ps();
    setting.due = setting.due + setting.interval * (missed + 1);
  }
  timer.overrun = static_cast<int>(std::min<std::int64_t>(missed, std::numeric_limits<int>::max()));
  Expiry expiry{id, missed + 1, timer.action};
  auto* signal = std::get_if<siginfo_t>(&expiry.action);
  if (signal != nullptr && signal->si_code == SI_TIMER) signal->si_overrun = timer.overrun;
  return expiry;
}

}  // namespace rocelab::libc
