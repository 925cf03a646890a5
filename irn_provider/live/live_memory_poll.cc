// LockstepProcess: threads that wait in a loop on memory. A timer of its own samples a thread that runs
// (spin_detector.h says what is looked for); one that spins parks here, in the handler of the timer's signal,
// until bytes have come or another thread of the program has run.
//
// A thread is sampled once it has held time for the grace, so a program that never does pays nothing, not
// even a timer. One that was found to spin is sampled from then on whenever it runs. What spins is found at
// the experiment time at which it began to, however long the machine took, so results stay exact.
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "irn_provider/live/lockstep_process.h"
#include "irn_provider/live/program_signals.h"
#include "irn_provider/live/runtime_text.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

namespace rocelab {

namespace {

// Memory may also change by what a peer does outside of verbs, so a thread that was parked looks again, less
// and less often: each look costs the samples that find out that it still spins.
constexpr Duration kFirstRecheck = 100_us, kLongestRecheck = 10_ms;

// The processor's resume flag (RF, Intel SDM volume 3, 17.3.1.1): it is restored with the flags when a
// handler returns, and cleared when an instruction has been executed. A program neither sees nor sets it.
// If it is set, none was; on AMD machines it was found clear although none was, too.
constexpr greg_t kResumeFlag = 1 << 16;

std::int64_t thread_cpu_ns() {
  timespec ts{};
  syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &ts);  // the plain call may be interposed
  return std::int64_t{ts.tv_sec} * 1'000'000'000 + ts.tv_nsec;
}

void set_timer(timer_t timer, std::int64_t ns) {  // once
  const itimerspec spec{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_nsec = ns}};
  timer_settime(timer, 0, &spec, nullptr);
}

// Variables of the function that runs, its red zone included. What lies on the stack's next page may be
// nobody's.
__attribute__((no_sanitize("address", "thread"))) void copy_stack(std::uint64_t top, SpinSample& s) {
  constexpr std::uint64_t kRedZone = 128, kPage = 4'096, kWord = sizeof(std::uint64_t);
  const std::uint64_t page_end = (top | (kPage - 1)) + 1;
  std::uint64_t at = (top - kRedZone) & ~(kWord - 1);
  for (std::size_t i = 0; i < SpinSample::kStack && at + kWord <= page_end; ++i, at += kWord)
    s.words[SpinSample::kRegisters + i] = *reinterpret_cast<const std::uint64_t*>(at);  // NOLINT
}

SpinSample sample(const ucontext_t& context, const ThreadState& t, bool in_library, bool moved) {
  SpinSample s;
  static_assert(REG_RIP == SpinSample::kRegisters, "registers 0 to 15 are the general ones");
  for (std::size_t i = 0; i < SpinSample::kRegisters; ++i)
    s.words[i] = static_cast<std::uint64_t>(context.uc_mcontext.gregs[i]);
  s.at = static_cast<std::uint64_t>(context.uc_mcontext.gregs[REG_RIP]);
  copy_stack(static_cast<std::uint64_t>(context.uc_mcontext.gregs[REG_RSP]), s);
  s.calls = t.calls;
  s.cpu_ns = t.program_cpu_ns;
  s.in_library = in_library;
  s.moved = moved;
  return s;
}

// Made when the process joins, since it takes the loader's lock; never destroyed: a late sample may come
// while the process ends.
const RuntimeText* g_runtime = nullptr;

// Runs on the thread that the timer belongs to, wherever that is. In code of ours it must not touch anything;
// in the program's code it may do what a call of the program may: a spinning loop holds no lock that we take.
void on_sample(int, siginfo_t*, void* context) {
  ++t_own_signals;
  if (t_state == nullptr) return;
  ThreadState& t = *t_state;
  if (!t.sampled)
    return;  // on its way when sampling ended; what another thread made for it is ours from here on
  const int error = errno;
  auto& interrupted = *static_cast<ucontext_t*>(context);
  greg_t& flags = interrupted.uc_mcontext.gregs[REG_EFL];
  const bool moved = (std::exchange(flags, flags | kResumeFlag) & kResumeFlag) == 0;
  // The handler's own time is not the program's.
  const std::int64_t begin_ns = thread_cpu_ns(),
                     progress_ns = t.samples.progress(begin_ns - t.cpu_after_sample_ns);
  t.program_cpu_ns += progress_ns;
  const auto at = static_cast<std::uintptr_t>(interrupted.uc_mcontext.gregs[REG_RIP]);
  SpinDetector::Finding found = SpinDetector::Finding::kNone;
  bool stands = !moved;
  if (t_inside == 0 && !g_runtime->has(at)) {
    found = t.spin->observe(sample(interrupted, t, g_runtime->in_c_library(at), moved));
    stands = t.spin->stands();
  }
  const std::int64_t next_ns = t.samples.next(progress_ns, thread_cpu_ns() - begin_ns, stands);
  if (found != SpinDetector::Finding::kNone)
    if (LiveProcess* process = LiveProcess::attached()) {
      t.counts = found == SpinDetector::Finding::kCounts;
      process->park_memory();
      LiveProcess::deliver_signals();
    }
  if (t.sampled) set_timer(*t.timer, next_ns);
  t.cpu_after_sample_ns = thread_cpu_ns();
  errno = error;
}

}  // namespace

void remember_runtime_text() {
  if (g_runtime == nullptr) g_runtime = new RuntimeText;
}

// False: there is no timer, or the signal is the program's. The thread is detached when it is stuck, then.
bool LockstepProcess::Impl::make_timer(ThreadState& t) {
  static const bool handled = [] {
    struct sigaction action {};
    if (sigaction(spin_signal(), nullptr, &action) != 0 || action.sa_handler != SIG_DFL) return false;
    action.sa_sigaction = on_sample;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    return sigaction(spin_signal(), &action, nullptr) == 0;
  }();
  if (t.timer || !handled) return handled;
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = spin_signal();
  event.sigev_notify_thread_id = t.tid;
  timer_t timer{};
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) return false;
  t.timer = timer;
  t.spin = std::make_unique<SpinDetector>();
  return true;
}

void LockstepProcess::Impl::watch(ThreadState& t) {
  if (watch_memory != MemoryWatch::kAlways || leaving || t.timer) return;
  if (make_timer(t) && t.mode == ThreadMode::kRunning) start_samples(t);
}

// The thread has held time for the grace. Any thread may call.
void LockstepProcess::Impl::look_at(ThreadState& t) {
  if (watch_memory == MemoryWatch::kNever || leaving || t.sampled || !make_timer(t)) return;
  const std::int64_t first_ns = t.samples.first();
  t.sampled = true;  // after all that the handler uses
  set_timer(*t.timer, first_ns);
}

void LockstepProcess::Impl::unwatch(ThreadState& t) {
  t.sampled = false;
  if (t.timer) timer_delete(*t.timer);
  t.timer.reset();
}

void LockstepProcess::Impl::start_samples(ThreadState& t) {
  if (!t.timer || (watch_memory != MemoryWatch::kAlways && !t.spun)) return;
  const std::int64_t first_ns = t.samples.first();
  t.sampled = true;  // after all that the handler uses
  set_timer(*t.timer, first_ns);
}

void LockstepProcess::Impl::stop_samples(ThreadState& t) {
  if (!t.sampled) return;
  t.sampled = false;
  set_timer(*t.timer, 0);
}

void LockstepProcess::Impl::wake_memory_pollers() {
  for (const auto& t : threads)
    if (t->mode == ThreadMode::kParked && t->polls_memory) t->due = true;
}

void LockstepProcess::watch_memory(MemoryWatch wanted) {
  Inside inside;
  Impl::Lock lock(impl_->mutex);
  impl_->watch_memory = wanted;
  if (wanted != MemoryWatch::kAlways) return;
  impl_->nics.stop_at_messages();
  for (const auto& t : impl_->threads)
    if (t->mode != ThreadMode::kDetached) impl_->watch(*t);
}

void LockstepProcess::park_memory() {
  Inside inside;
  Impl::Lock lock(impl_->mutex);
  if (impl_->leaving) return;  // a sample that was on its way
  ThreadState& t = impl_->me();
  if (!std::exchange(t.spun, true)) impl_->nics.stop_at_messages();
  if (std::exchange(t.counts, false) && impl_->segment.header().state.load() != lockstep::RunState::kSetup)
    note_detach(impl_->segment.header(), impl_->nics.now());  // it may have computed
  struct {
    const LiveNics& nics;
    std::uint64_t placed;
  } seen{impl_->nics, impl_->nics.messages_placed()};
  const std::function<bool()> ready = [&seen] { return seen.nics.messages_placed() != seen.placed; };
  t.ready = &ready;
  const bool still = t.timed_out && t.calls == t.memory_calls + 1;  // nothing has happened since it looked
  t.recheck_after = still ? std::min(2 * t.recheck_after, kLongestRecheck) : kFirstRecheck;
  t.memory_calls = t.calls;
  t.deadline = impl_->nics.now() + t.recheck_after;
  t.polls_memory = true;
  impl_->park(lock, t);
  t.polls_memory = false;
  t.ready = nullptr;
}

}  // namespace rocelab
