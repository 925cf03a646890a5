#include "irn_provider/verbs/libc/timer_threads.h"

#include <errno.h>
#include <pthread.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "irn_provider/verbs/libc/real.h"

namespace rocelab::libc {
namespace {

// Handles that neither the C library nor timers.cc gives.
constexpr std::uintptr_t kHandles = 0x5b00'0000;

struct ThreadTimer {
  int fd = -1;
  void (*function)(sigval) = nullptr;
  sigval value{};
  pthread_attr_t attributes;
  std::atomic<int> overrun{0};
  std::atomic<bool> ended{false};

  ThreadTimer() {
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  }
  ~ThreadTimer() {
    pthread_attr_destroy(&attributes);
    ::close(fd);
  }
  ThreadTimer(const ThreadTimer&) = delete;
  ThreadTimer& operator=(const ThreadTimer&) = delete;
};
using Shared = std::shared_ptr<ThreadTimer>;

// Never destroyed: programs delete timers in exit handlers.
struct Registry {
  real::Mutex mutex;
  std::map<std::uintptr_t, Shared> by_handle;
  std::uintptr_t next = kHandles;
};
Registry& registry() {
  static auto* r = new Registry;
  return *r;
}

Shared find(timer_t timer) {
  std::lock_guard lock(registry().mutex);
  const auto found = registry().by_handle.find(reinterpret_cast<std::uintptr_t>(timer));
  return found != registry().by_handle.end() ? found->second : nullptr;
}

struct Call {
  void (*function)(sigval);
  sigval value;
};
void* call(void* argument) {
  const std::unique_ptr<Call> c(static_cast<Call*>(argument));
  sigset_t none;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, nullptr);
  c->function(c->value);
  return nullptr;
}

// The thread that waits for expirations. Its calls are those of a thread of the program: in experiment time.
void* wait_for_expirations(void* argument) {
  const std::unique_ptr<Shared> timer(static_cast<Shared*>(argument));
  ThreadTimer& t = **timer;
  while (true) {
    std::uint64_t expirations = 0;
    const ssize_t got = ::read(t.fd, &expirations, sizeof expirations);
    if (t.ended || (got != sizeof expirations && errno != EINTR)) return nullptr;
    if (got != sizeof expirations) continue;
    t.overrun = static_cast<int>(expirations - 1);
    auto c = std::make_unique<Call>(Call{t.function, t.value});
    pthread_t thread{};
    if (pthread_create(&thread, &t.attributes, call, c.get()) == 0) static_cast<void>(c.release());
  }
}

// No signal of the program's is for it.
int start_waiting(const Shared& timer) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  auto argument = std::make_unique<Shared>(timer);
  pthread_attr_t detached;
  pthread_attr_init(&detached);
  pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
  pthread_t thread{};
  const int error = pthread_create(&thread, &detached, wait_for_expirations, argument.get());
  if (error == 0) static_cast<void>(argument.release());
  pthread_attr_destroy(&detached);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return error;
}

int fail(int error) {
  errno = error;
  return -1;
}

}  // namespace

int TimerThreads::create(clockid_t clock, const sigevent& event, timer_t* timer) {
  const Shared t = std::make_shared<ThreadTimer>();
  t->fd = timerfd_create(clock, TFD_CLOEXEC);
  if (t->fd < 0) return fail(EAGAIN);
  t->function = event.sigev_notify_function;
  t->value = event.sigev_value;
  if (const pthread_attr_t* wanted = event.sigev_notify_attributes) {
    std::size_t stack = 0, guard = 0;
    if (pthread_attr_getstacksize(wanted, &stack) == 0) pthread_attr_setstacksize(&t->attributes, stack);
    if (pthread_attr_getguardsize(wanted, &guard) == 0) pthread_attr_setguardsize(&t->attributes, guard);
  }
  if (start_waiting(t) != 0) return fail(EAGAIN);
  std::lock_guard lock(registry().mutex);
  registry().by_handle[++registry().next] = t;
  *timer = reinterpret_cast<timer_t>(registry().next);  // NOLINT(performance-no-int-to-ptr)
  return 0;
}

bool TimerThreads::has(timer_t timer) { return find(timer) != nullptr; }

int TimerThreads::set(timer_t timer, int flags, const itimerspec* value, itimerspec* old) {
  const Shared t = find(timer);
  if (t == nullptr || value == nullptr) return fail(EINVAL);
  t->overrun = 0;
  return timerfd_settime(t->fd, (flags & TIMER_ABSTIME) != 0 ? TFD_TIMER_ABSTIME : 0, value, old);
}

int TimerThreads::get(timer_t timer, itimerspec* value) {
  const Shared t = find(timer);
  return t != nullptr ? timerfd_gettime(t->fd, value) : fail(EINVAL);
}

int TimerThreads::overrun(timer_t timer) {
  const Shared t = find(timer);
  return t != nullptr ? t->overrun.load() : fail(EINVAL);
}

// The thread that waits finds it ended at the expiration that this makes.
int TimerThreads::erase(timer_t timer) {
  const Shared t = find(timer);
  if (t == nullptr) return fail(EINVAL);
  t->ended = true;
  const itimerspec at_once{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_nsec = 1}};
  timerfd_settime(t->fd, TFD_TIMER_ABSTIME, &at_once, nullptr);
  std::lock_guard lock(registry().mutex);
  registry().by_handle.erase(reinterpret_cast<std::uintptr_t>(timer));
  return 0;
}

}  // namespace rocelab::libc
