// Interposed: setitimer and getitimer of ITIMER_REAL, alarm, ualarm; timer_create and its family, of timers
// on a clock of experiment time that signal the process, or call a function in a thread (timer_threads.h).
// What such a timer sends arrives at its instant of experiment time, and the thread that takes it is known
// (LiveProcess::Alarms): the same in every run. Those from before the device was opened expire in experiment
// time from then on, by what was left of them. The C library's: ITIMER_VIRTUAL and ITIMER_PROF, CPU-time
// clocks, SIGEV_THREAD_ID, and SIGEV_THREAD from before. exec ends ours; the kernel keeps ITIMER_REAL.
#include "irn_provider/verbs/libc/timers.h"

#include <errno.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>

#include "irn_provider/verbs/exports.h"
#include "irn_provider/verbs/libc/experiment.h"
#include "irn_provider/verbs/libc/real.h"
#include "irn_provider/verbs/libc/timer_threads.h"
#include "irn_provider/verbs/libc/timers_state.h"
#include "irn_provider/verbs/libc/without_nonnull.h"

namespace rocelab::libc {
namespace {

constexpr std::int64_t kPsPerUs = 1'000'000, kPsPerSecond = 1'000'000'000'000;

bool valid(const timeval& tv) {
  return libc::valid(timespec{.tv_sec = tv.tv_sec, .tv_nsec = 0}) && tv.tv_usec >= 0 &&
         tv.tv_usec < 1'000'000;
}
Duration to_duration(const timeval& tv) {
  return libc::to_duration(timespec{.tv_sec = tv.tv_sec, .tv_nsec = tv.tv_usec * 1'000});
}
// An armed timer never shows 0 (Linux: itimer_get_remtime).
timeval to_timeval(Duration d) {
  const std::int64_t us = d > Duration() ? std::max<std::int64_t>(1, d.ps() / kPsPerUs) : 0;
  return {.tv_sec = us / 1'000'000, .tv_usec = us % 1'000'000};
}

itimerval read_interval_timer(const Timers& t, Time now) {
  const ProgramTimers::Setting s = t.timers.setting(t.interval_timer);
  return {.it_interval = to_timeval(s.interval), .it_value = to_timeval(left(s, now))};
}

bool armed(const itimerval& value) { return value.it_value.tv_sec != 0 || value.it_value.tv_usec != 0; }

// What it was set to.
itimerval exchange_interval_timer(LiveProcess& process, const itimerval& value) {
  return with_timers(process, [&](Timers& t, Time now) {
    const itimerval old = read_interval_timer(t, now);
    t.timers.set(t.interval_timer,
                 setting_of(now, to_duration(value.it_value), to_duration(value.it_interval)));
    return old;
  });
}

// --- timer_create: a handle that the C library, whose handles are small numbers or addresses, does not give
constexpr std::uintptr_t kHandles = 0x5a00'0000;
timer_t handle_of(ProgramTimers::Id id) {
  return reinterpret_cast<timer_t>(kHandles + id);  // NOLINT(performance-no-int-to-ptr)
}

// The kernel's, made before the device was opened or outside of an experiment. Never destroyed: programs
// delete timers in exit handlers.
struct KernelTimer {
  clockid_t clock;
  std::optional<sigevent> event;         // nullopt: none was given
  std::optional<ProgramTimers::Id> now;  // it is this one of ours by now
};
struct KernelTimers {
  real::Mutex mutex;
  std::map<timer_t, KernelTimer> by_handle;
};
KernelTimers& kernel_timers() {
  static auto* k = new KernelTimers;
  return *k;
}
std::optional<KernelTimer> find_kernel_timer(timer_t timer) {
  std::lock_guard lock(kernel_timers().mutex);
  const auto found = kernel_timers().by_handle.find(timer);
  return found != kernel_timers().by_handle.end() ? std::optional(found->second) : std::nullopt;
}

std::optional<ProgramTimers::Id> ours(timer_t timer) {
  if (!have_timers()) return std::nullopt;
  const auto handle = reinterpret_cast<std::uintptr_t>(timer);
  if (handle >= kHandles && handle < kHandles + 0x100'0000)
    return static_cast<ProgramTimers::Id>(handle - kHandles);
  const std::optional<KernelTimer> adopted = find_kernel_timer(timer);
  return adopted ? adopted->now : std::nullopt;
}

// 0, or -1 with EINVAL: `f(Timers&, Id, Time now)` of a timer that there is.
template <class F>
int of_timer(ProgramTimers::Id id, F&& f) {
  LiveProcess& process = *experiment();
  const int result =
      with_timers(process, [&](Timers& t, Time now) { return t.clock.contains(id) ? f(t, id, now) : -1; });
  if (result < 0) errno = EINVAL;
  return result;
}

// What a timer of this event does; nullopt: it is the C library's.
std::optional<ProgramTimers::Action> action_of(const sigevent* event, ProgramTimers::Id id) {
  siginfo_t info{};
  info.si_code = SI_TIMER;
  info.si_timerid = static_cast<int>(id);
  if (event == nullptr) {
    info.si_signo = SIGALRM;
    info.si_value.sival_int = static_cast<int>(id);
    return info;
  }
  if (event->sigev_notify == SIGEV_NONE) return ProgramTimers::Action();
  if (event->sigev_notify != SIGEV_SIGNAL || event->sigev_signo < 1 || event->sigev_signo > SIGRTMAX)
    return std::nullopt;
  info.si_signo = event->sigev_signo;
  info.si_value = event->sigev_value;
  return info;
}

// A timer of the kernel's goes on by what is left of it, in experiment time.
void adopt(LiveProcess& process, timer_t handle, KernelTimer& timer) {
  itimerspec left{};
  const itimerspec none{};
  if (timer.now || !is_of_experiment(timer.clock) || real::timer_gettime(handle, &left) != 0) return;
  const sigevent* event = timer.event ? &*timer.event : nullptr;
  if (!action_of(event, 0) || real::timer_settime(handle, 0, &none, nullptr) != 0) return;
  timer.now = with_timers(process, [&](Timers& t, Time now) {
    const ProgramTimers::Id id = t.timers.create(*action_of(event, t.timers.next_id()));
    t.clock[id] = timer.clock;
    t.timers.set(id, setting_of(process, left, false, now, timer.clock));
    return id;
  });
}

// As timer_create: one of the kernel's that may be adopted later.
int create_kernel_timer(clockid_t clock, sigevent* event, timer_t* timer) {
  const int result = real::timer_create(clock, event, timer);
  if (result != 0 || real::in_runtime() || LiveProcess::inside()) return result;
  std::lock_guard lock(kernel_timers().mutex);
  kernel_timers().by_handle[*timer] = {
      .clock = clock, .event = event != nullptr ? std::optional(*event) : std::nullopt, .now = std::nullopt};
  return result;
}

// As timer_settime, of one of the kernel's: deadlines of the program's clocks are translated.
int set_kernel_timer(timer_t timer, int flags, const itimerspec* value, itimerspec* old) {
  const std::optional<KernelTimer> known =
      (flags & TIMER_ABSTIME) != 0 && value != nullptr ? find_kernel_timer(timer) : std::nullopt;
  if (!known || !is_of_experiment(known->clock)) return real::timer_settime(timer, flags, value, old);
  itimerspec translated = *value;
  timespec buffer;
  LiveProcess* process = experiment();
  const bool armed = value->it_value.tv_sec != 0 || value->it_value.tv_nsec != 0;
  if (armed && libc::valid(value->it_value))
    translated.it_value = process != nullptr ? outside_deadline(*process, known->clock, value->it_value)
                                             : *machine_deadline(known->clock, &value->it_value, buffer);
  return real::timer_settime(timer, flags, &translated, old);
}

}  // namespace

void adopt_timers(LiveProcess& process) {
  const itimerval none{};
  itimerval left{};
  real::setitimer(ITIMER_REAL, &none, &left);
  if (armed(left)) exchange_interval_timer(process, left);
  std::lock_guard lock(kernel_timers().mutex);
  for (auto& [handle, timer] : kernel_timers().by_handle) adopt(process, handle, timer);
}

sigset_t timer_signals() {
  if (LiveProcess* process = experiment())
    return with_timers(*process, [](const Timers& t, Time) { return t.timers.signals(); });
  return ProgramTimers().signals();
}

}  // namespace rocelab::libc

using namespace rocelab;
using namespace rocelab::libc;

RL_EXPORT int setitimer(__itimer_which_t which, const itimerval* value, itimerval* old) noexcept {
  LiveProcess* process = which == ITIMER_REAL ? experiment() : nullptr;
  if (process == nullptr) return real::setitimer(which, value, old);
  const itimerval wanted = value != nullptr ? *value : itimerval{};  // Linux: a null pointer disarms
  if (!valid(wanted.it_value) || !valid(wanted.it_interval)) {
    errno = EINVAL;
    return -1;
  }
  const itimerval before = exchange_interval_timer(*process, wanted);
  if (old != nullptr) *old = before;
  return 0;
}

RL_EXPORT int getitimer(__itimer_which_t which, itimerval* value) noexcept {
  const int result = real::getitimer(which, value);
  LiveProcess* process = which == ITIMER_REAL ? experiment() : nullptr;
  if (result != 0 || process == nullptr) return result;
  *value = with_timers(*process, [](const Timers& t, Time now) { return read_interval_timer(t, now); });
  return 0;
}

RL_EXPORT unsigned alarm(unsigned seconds) noexcept {
  const itimerval value{.it_interval = {}, .it_value = {.tv_sec = seconds, .tv_usec = 0}};
  itimerval old{};
  setitimer(ITIMER_REAL, &value, &old);
  // To the nearest second, but never 0 of an armed one (Linux: alarm_setitimer).
  const bool up = old.it_value.tv_usec >= 500'000 || (old.it_value.tv_sec == 0 && old.it_value.tv_usec > 0);
  return static_cast<unsigned>(old.it_value.tv_sec) + (up ? 1 : 0);
}

RL_EXPORT useconds_t ualarm(useconds_t value_us, useconds_t interval_us) noexcept {
  const auto as_timeval = [](useconds_t us) {
    return timeval{.tv_sec = us / 1'000'000, .tv_usec = us % 1'000'000};
  };
  const itimerval value{.it_interval = as_timeval(interval_us), .it_value = as_timeval(value_us)};
  itimerval old{};
  setitimer(ITIMER_REAL, &value, &old);
  return static_cast<useconds_t>(old.it_value.tv_sec * 1'000'000 + old.it_value.tv_usec);
}

RL_EXPORT int timer_create(clockid_t clock, sigevent* event, timer_t* timer) noexcept {
  LiveProcess* process = experiment();
  const bool of_experiment = process != nullptr && is_of_experiment(clock);
  if (of_experiment && event != nullptr && event->sigev_notify == SIGEV_THREAD)
    return TimerThreads::create(clock, *event, timer);
  if (!of_experiment || !action_of(event, 0)) return create_kernel_timer(clock, event, timer);
  *timer = with_timers(*process, [&](Timers& t, Time) {
    const ProgramTimers::Id id = t.timers.next_id();
    t.timers.create(*action_of(event, id));
    t.clock[id] = clock;
    return handle_of(id);
  });
  return 0;
}

RL_EXPORT int timer_settime(timer_t timer, int flags, const itimerspec* value, itimerspec* old) noexcept {
  if (TimerThreads::has(timer)) return TimerThreads::set(timer, flags, value, old);
  const std::optional<ProgramTimers::Id> of_ours = ours(timer);
  if (!of_ours) return set_kernel_timer(timer, flags, value, old);
  LiveProcess& process = *experiment();
  return of_timer(*of_ours, [&](Timers& t, ProgramTimers::Id id, Time now) {
    if (value == nullptr || !valid(*value)) return -1;
    if (old != nullptr) *old = read_timer(t.timers.setting(id), now);
    t.timers.set(id, setting_of(process, *value, (flags & TIMER_ABSTIME) != 0, now, t.clock[id]));
    return 0;
  });
}

RL_EXPORT int timer_gettime(timer_t timer, itimerspec* value) noexcept {
  if (TimerThreads::has(timer)) return TimerThreads::get(timer, value);
  const std::optional<ProgramTimers::Id> of_ours = ours(timer);
  if (!of_ours) return real::timer_gettime(timer, value);
  if (without_nonnull(value) == nullptr) {
    errno = EFAULT;
    return -1;
  }
  return of_timer(*of_ours, [&](Timers& t, ProgramTimers::Id id, Time now) {
    *value = read_timer(t.timers.setting(id), now);
    return 0;
  });
}

RL_EXPORT int timer_getoverrun(timer_t timer) noexcept {
  if (TimerThreads::has(timer)) return TimerThreads::overrun(timer);
  const std::optional<ProgramTimers::Id> of_ours = ours(timer);
  if (!of_ours) return real::timer_getoverrun(timer);
  return of_timer(*of_ours, [](Timers& t, ProgramTimers::Id id, Time) { return t.timers.overrun(id); });
}

RL_EXPORT int timer_delete(timer_t timer) noexcept {
  if (TimerThreads::has(timer)) return TimerThreads::erase(timer);
  const std::optional<ProgramTimers::Id> of_ours = ours(timer);
  const bool kernels = find_kernel_timer(timer).has_value();
  if (kernels) {
    std::lock_guard lock(kernel_timers().mutex);
    kernel_timers().by_handle.erase(timer);
  }
  const int result = kernels || !of_ours ? real::timer_delete(timer) : 0;
  if (!of_ours) return result;
  return of_timer(*of_ours, [](Timers& t, ProgramTimers::Id id, Time) {
    t.clock.erase(id);
    return t.timers.erase(id) ? 0 : -1;
  });
}
