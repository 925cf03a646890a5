#include "irn_provider/verbs/libc/timers_state.h"

#include <mutex>
#include <optional>
#include <variant>

#include "irn_provider/verbs/libc/real.h"

namespace rocelab::libc {
namespace {

Timers* g_timers = nullptr;
LiveProcess* g_owner = nullptr;  // whose they are: a forked child that opens the device has none yet

std::optional<siginfo_t> expire(Timers& t, Time now) {
  const ProgramTimers::Expiry expiry = t.timers.take(now);
  if (const auto* signal = std::get_if<siginfo_t>(&expiry.action)) return *signal;
  make_readable(expiry.id, expiry.count);
  return std::nullopt;
}

}  // namespace

Timers& timers_of(LiveProcess& process) {
  static real::Mutex mutex;
  std::lock_guard lock(mutex);
  if (g_owner == &process) return *g_timers;
  auto* t = new Timers;
  siginfo_t alarm{};
  alarm.si_signo = SIGALRM;
  alarm.si_code = SI_KERNEL;
  t->interval_timer = t->timers.create(alarm);
  g_timers = t;
  g_owner = &process;
  process.set_alarms({.next_timeout = [t] { return t->timers.next_timeout(); },
                      .take = [t](Time now) { return expire(*t, now); }});
  real::on_leaving_runtime([] {
    if (experiment() != nullptr) LiveProcess::deliver_signals();
  });
  return *t;
}

bool have_timers() { return g_timers != nullptr && experiment() != nullptr; }

Duration left(const ProgramTimers::Setting& s, Time now) {
  if (s.due == Time::never()) return Duration();
  if (s.due > now) return s.due - now;
  if (s.interval <= Duration()) return Duration();
  return s.interval - Duration::from_ps((now - s.due).ps() % s.interval.ps());
}

ProgramTimers::Setting setting_of(Time from, Duration value, Duration interval) {
  if (value <= Duration()) return {.due = Time::never(), .interval = interval};
  return {.due = from + value, .interval = interval};
}

itimerspec read_timer(const ProgramTimers::Setting& s, Time now) {
  return {.it_interval = to_timespec(s.interval), .it_value = to_timespec(left(s, now))};
}

ProgramTimers::Setting setting_of(LiveProcess& process, const itimerspec& value, bool absolute, Time now,
                                  clockid_t clock) {
  const bool disarm = value.it_value.tv_sec == 0 && value.it_value.tv_nsec == 0;
  ProgramTimers::Setting setting =
      setting_of(now, to_duration(value.it_value), to_duration(value.it_interval));
  if (!disarm && absolute) setting.due = instant_of(process, clock, value.it_value);
  return setting;
}

}  // namespace rocelab::libc
