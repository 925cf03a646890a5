// A program that has looked at clocks and armed timers before it opens the device: clocks never go back, and
// what was to come comes when it was to.
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/times.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "irn_provider/verbs/sanitizer.h"
#include "tests/probes/verbs/loopback.h"

namespace rocelab::probe {
namespace {

constexpr std::array kClocks = {CLOCK_MONOTONIC, CLOCK_MONOTONIC_COARSE, CLOCK_MONOTONIC_RAW,
                                CLOCK_BOOTTIME,  CLOCK_REALTIME,         CLOCK_REALTIME_COARSE,
                                CLOCK_TAI};
constexpr std::int64_t kMs = 1'000'000, kSecond = 1'000 * kMs;

std::int64_t ns_of(const timespec& t) { return t.tv_sec * kSecond + t.tv_nsec; }
timespec timespec_of(std::int64_t ns) { return {.tv_sec = ns / kSecond, .tv_nsec = ns % kSecond}; }
std::int64_t now(clockid_t clock = CLOCK_MONOTONIC) {
  timespec t{};
  EXPECT_EQ(clock_gettime(clock, &t), 0);
  return ns_of(t);
}

// All that tells the time.
struct Looks {
  std::array<std::int64_t, kClocks.size()> clocks{};
  std::int64_t of_day_us = 0, seconds = 0, ticks = 0;
};
Looks look() {
  Looks l;
  for (std::size_t i = 0; i < kClocks.size(); ++i) l.clocks[i] = now(kClocks[i]);
  timeval tv{};
  gettimeofday(&tv, nullptr);
  l.of_day_us = tv.tv_sec * 1'000'000 + tv.tv_usec;
  l.seconds = time(nullptr);
  tms t{};
  l.ticks = times(&t);
  return l;
}
// How many of them show less than before.
int gone_back(const Looks& before, const Looks& after) {
  int back = 0;
  for (std::size_t i = 0; i < kClocks.size(); ++i) back += after.clocks[i] < before.clocks[i] ? 1 : 0;
  back += after.of_day_us < before.of_day_us ? 1 : 0;
  back += after.seconds < before.seconds ? 1 : 0;
  return back + (after.ticks < before.ticks ? 1 : 0);
}

std::atomic<int> g_alarms{0}, g_signals{0};
std::atomic<std::int64_t> g_alarm_at{0}, g_signal_at{0};
void on_alarm(int) { g_alarm_at = now(), ++g_alarms; }
void on_signal(int) { g_signal_at = now(), ++g_signals; }
void handle(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  ASSERT_EQ(sigaction(signal, &action, nullptr), 0);
}

int a_timer_fd(clockid_t clock, std::int64_t ns, int flags, std::int64_t interval_ns = 0) {
  const int fd = timerfd_create(clock, TFD_NONBLOCK | TFD_CLOEXEC);
  const itimerspec value{.it_interval = timespec_of(interval_ns), .it_value = timespec_of(ns)};
  EXPECT_EQ(timerfd_settime(fd, flags, &value, nullptr), 0);
  return fd;
}
std::uint64_t take(int fd) {
  std::uint64_t count = 0;
  return read(fd, &count, sizeof count) == sizeof count ? count : 0;
}

// What was armed 200 ms ahead comes between 150 and 220 ms after the opening, which takes some milliseconds
// of the machine's time: between the two that was experiment time, and no wall time was waited for.
void expect_about(std::int64_t ns, std::int64_t passed) {
  EXPECT_GE(passed, ns - 150 * kMs);
  EXPECT_LE(passed, ns + 20 * kMs);
}

TEST(OpeningProbe, ClocksGoOnAndTimersFromBeforeExpire) {
  handle(SIGALRM, on_alarm);
  handle(SIGUSR1, on_signal);
  const Looks before = look();
  // As an event loop does: a deadline that it compares with the clock, and timers of all kinds.
  const std::int64_t due = now() + 200 * kMs, due_date = now(CLOCK_REALTIME) + 200 * kMs;
  const int relative = a_timer_fd(CLOCK_MONOTONIC, 300 * kMs, 0, 100 * kMs);
  const int absolute = a_timer_fd(CLOCK_BOOTTIME, now(CLOCK_BOOTTIME) + 400 * kMs, TFD_TIMER_ABSTIME);
  const int later = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
  const int epfd = epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{.events = EPOLLIN, .data = {.u64 = 0x1234567890}};
  ASSERT_EQ(epoll_ctl(epfd, EPOLL_CTL_ADD, relative, &event), 0);
  const itimerval alarm_after{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_usec = 700'000}};
  ASSERT_EQ(setitimer(ITIMER_REAL, &alarm_after, nullptr), 0);
  sigevent notify{};
  notify.sigev_notify = SIGEV_SIGNAL;
  notify.sigev_signo = SIGUSR1;
  timer_t timer{};
  ASSERT_EQ(timer_create(CLOCK_MONOTONIC, &notify, &timer), 0);
  const itimerspec signal_at{.it_interval = {}, .it_value = timespec_of(now() + 800 * kMs)};
  ASSERT_EQ(timer_settime(timer, TIMER_ABSTIME, &signal_at, nullptr), 0);

  ibv_context* context = open_device();
  const Looks after = look();
  EXPECT_EQ(gone_back(before, after), 0);
  const std::int64_t opened = now();
  EXPECT_LE(opened - before.clocks[0], 5 * kSecond) << "it goes on from where it was";

  timespec wait = timespec_of(due_date);
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  EXPECT_EQ(sem_timedwait(&semaphore, &wait), -1);
  EXPECT_EQ(errno, ETIMEDOUT);
  expect_about(200 * kMs, now() - opened);
  while (now() < due) poll(nullptr, 0, 10);

  EXPECT_EQ(take(relative), 0u);
  EXPECT_EQ(epoll_wait(epfd, &event, 1, -1), 1);
  EXPECT_EQ(event.data.u64, 0x1234567890u);
  expect_about(300 * kMs, now() - opened);
  EXPECT_EQ(take(relative), 1u);
  const std::int64_t third = now();
  pollfd p{.fd = relative, .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&p, 1, 1'000), 1);
  EXPECT_EQ(now() - third, 100 * kMs) << "it is a timer of the experiment now";
  p.fd = absolute;
  EXPECT_EQ(poll(&p, 1, 1'000), 1);
  expect_about(400 * kMs, now() - opened);
  const itimerspec instant{.it_interval = {}, .it_value = timespec_of(now() + 12'345)};
  const std::int64_t armed = now();
  EXPECT_EQ(timerfd_settime(later, TFD_TIMER_ABSTIME, &instant, nullptr), 0) << "made before, armed now";
  p.fd = later;
  EXPECT_EQ(poll(&p, 1, 1'000), 1);
  EXPECT_EQ(now() - armed, 12'345);

  itimerval left{};
  EXPECT_EQ(getitimer(ITIMER_REAL, &left), 0);
  EXPECT_GT(left.it_value.tv_usec, 0);
  while (g_alarms == 0) pause();
  expect_about(700 * kMs, g_alarm_at - opened);
  while (g_signals == 0) pause();
  expect_about(800 * kMs, g_signal_at - opened);
  EXPECT_EQ(timer_delete(timer), 0);
  EXPECT_EQ(timer_delete(timer), -1);
  for (const int fd : {relative, absolute, later, epfd}) close(fd);
  ibv_close_device(context);
}

// Experiment time may be far ahead of the machine's: whatever its clocks show, a child's go on from there.
TEST(OpeningProbe, ClocksOfChildrenGoOn) {
  if (kThreadSanitizer) GTEST_SKIP() << "it knows no threads of a forked child";
  ibv_context* context = open_device();
  sleep(1'000);
  const Looks before = look();
  const pid_t child = fork();
  if (child == 0) {
    const Looks after = look();
    int wrong = gone_back(before, after);
    wrong += after.clocks[0] - before.clocks[0] > 5 * kSecond ? 100 : 0;  // nor does it jump
    const std::int64_t begin = now();
    const timespec until = timespec_of(begin + 20 * kMs);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    pthread_mutex_lock(&mutex);
    const timespec date = timespec_of(now(CLOCK_REALTIME) + 20 * kMs);
    wrong += pthread_cond_timedwait(&cond, &mutex, &date) == ETIMEDOUT ? 0 : 10;
    const int timer = a_timer_fd(CLOCK_REALTIME, now(CLOCK_REALTIME) + 20 * kMs, TFD_TIMER_ABSTIME);
    pollfd p{.fd = timer, .events = POLLIN, .revents = 0};
    wrong += poll(&p, 1, 2'000) == 1 ? 0 : 20;
    wrong += now() - begin >= 60 * kMs && now() - begin < 2 * kSecond ? 0 : 40;
    const Looks waited = look();
    wrong += open_device() != nullptr ? 0 : 50;
    wrong += gone_back(waited, look());  // in an experiment of its own, too
    _exit(wrong);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(gone_back(before, look()), 0);

  std::FILE* started = popen("date +%s", "r");
  ASSERT_NE(started, nullptr);
  long seconds = 0;
  EXPECT_EQ(std::fscanf(started, "%ld", &seconds), 1);
  pclose(started);
  EXPECT_GE(seconds, before.seconds) << "a program that is started";
  EXPECT_LE(seconds, before.seconds + 60);
  ibv_close_device(context);
}

}  // namespace
}  // namespace rocelab::probe
