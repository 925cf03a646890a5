// Timers of a program that signal, in experiment time: when they do, and what becomes of the calls that they
// find the program in.
#include <netinet/in.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csetjmp>
#include <thread>

#include "irn_provider/verbs/sanitizer.h"
#include "tests/probes/verbs/clock.h"
#include "tests/probes/verbs/loopback.h"

namespace rocelab::probe {
namespace {

// What the handler has seen.
std::atomic<int> g_calls{0}, g_overrun{0}, g_value{0}, g_code{0};
std::atomic<std::int64_t> g_first{0}, g_last{0};
std::atomic<pid_t> g_thread{0};
void note(int, siginfo_t* info, void*) {
  g_last = now_ns();
  if (g_calls++ == 0) g_first = g_last.load();
  g_thread = gettid();
  g_code = info->si_code;
  if (info->si_code == SI_TIMER) g_overrun = info->si_overrun, g_value = info->si_value.sival_int;
  if (!kThreadSanitizer) errno = EDOM;  // no call may say this
}

class TimerProbe : public ::testing::Test {
 protected:
  TimerProbe() : context_(open_device()) {
    handle(SIGALRM, 0);
    usleep(1);  // whole nanoseconds from here on
    g_calls = 0;
    begin_ = now_ns();
  }
  ~TimerProbe() override {
    const itimerval none{};
    setitimer(ITIMER_REAL, &none, nullptr);
    ibv_close_device(context_);
  }
  static void handle(int signal, int flags) {
    struct sigaction action {};
    action.sa_sigaction = note;
    action.sa_flags = SA_SIGINFO | flags;
    ASSERT_EQ(sigaction(signal, &action, nullptr), 0);
  }
  static void set(std::int64_t us, std::int64_t interval_us = 0) {
    const itimerval value{
        .it_interval = {.tv_sec = interval_us / 1'000'000, .tv_usec = interval_us % 1'000'000},
        .it_value = {.tv_sec = us / 1'000'000, .tv_usec = us % 1'000'000}};
    ASSERT_EQ(setitimer(ITIMER_REAL, &value, nullptr), 0);
  }
  std::int64_t passed() const { return now_ns() - begin_; }
  void expect_once_at(std::int64_t ns) const {
    EXPECT_EQ(g_calls, 1);
    EXPECT_EQ(g_last - begin_, ns);
    EXPECT_EQ(passed(), ns);
  }
  ibv_context* context_;
  std::int64_t begin_ = 0;
};

TEST_F(TimerProbe, EndsSleepsAtItsInstant) {
  set(300);
  timespec ts{.tv_sec = 1, .tv_nsec = 0};
  EXPECT_EQ(nanosleep(&ts, &ts), -1);
  EXPECT_EQ(errno, EINTR);
  EXPECT_EQ(ts.tv_sec * 1'000'000'000 + ts.tv_nsec, 999'700'000);
  expect_once_at(300'000);
  EXPECT_EQ(g_code, SI_KERNEL);
  EXPECT_EQ(g_thread, getpid());
  EXPECT_EQ(alarm(2), 0u);
  EXPECT_EQ(sleep(5), 3u) << "the rest";
  EXPECT_EQ(passed(), 2'000'300'000);
  set(10);
  EXPECT_EQ(usleep(20), -1);
  EXPECT_EQ(errno, EINTR);
  ts = {.tv_sec = 100'000, .tv_nsec = 0};
  set(10);
  EXPECT_EQ(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, nullptr), EINTR);
  EXPECT_EQ(g_calls, 4);
}

TEST_F(TimerProbe, EndsPauseAndWaitsWhateverItsHandlerAllows) {
  handle(SIGALRM, SA_RESTART);
  set(50);
  EXPECT_EQ(pause(), -1);
  EXPECT_EQ(errno, EINTR);
  expect_once_at(50'000);
  set(50);
  EXPECT_EQ(poll(nullptr, 0, -1), -1);
  EXPECT_EQ(errno, EINTR);
  EXPECT_EQ(passed(), 100'000);
  ibv_comp_channel* channel = ibv_create_comp_channel(context_);
  pollfd p{.fd = channel->fd, .events = POLLIN, .revents = 0};
  set(50);
  EXPECT_EQ(poll(&p, 1, 1'000), -1);
  EXPECT_EQ(errno, EINTR);
  EXPECT_EQ(passed(), 150'000);
  ibv_destroy_comp_channel(channel);
  EXPECT_EQ(g_calls, 3);
}

TEST_F(TimerProbe, EndsReadsUnlessTheyAreToBeRestarted) {
  ibv_comp_channel* channel = ibv_create_comp_channel(context_);
  ibv_cq* cq = nullptr;
  void* of_cq = nullptr;
  set(70);
  EXPECT_EQ(ibv_get_cq_event(channel, &cq, &of_cq), -1);
  EXPECT_EQ(errno, EINTR);
  expect_once_at(70'000);
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  set(70);
  EXPECT_EQ(sem_wait(&semaphore), -1);
  EXPECT_EQ(errno, EINTR);
  EXPECT_EQ(passed(), 140'000);
  handle(SIGALRM, SA_RESTART);
  set(70);
  const timespec until{.tv_sec = time(nullptr) + 3'600, .tv_nsec = 0};
  EXPECT_EQ(sem_timedwait(&semaphore, &until), -1);
  EXPECT_EQ(errno, ETIMEDOUT);
  EXPECT_EQ(g_last - begin_, 210'000);
  EXPECT_EQ(g_calls, 3);
  sem_destroy(&semaphore);
  ibv_destroy_comp_channel(channel);
}

TEST_F(TimerProbe, FindsAProgramThatPolls) {
  ibv_cq* cq = ibv_create_cq(context_, 4, nullptr, nullptr, 0);
  set(1'234);
  ibv_wc wc;
  while (g_calls == 0) EXPECT_EQ(ibv_poll_cq(cq, 1, &wc), 0);
  expect_once_at(1'234'000);
  ibv_destroy_cq(cq);
}

TEST_F(TimerProbe, FindsAProgramThatWaitsForAnotherThread) {
  std::atomic<bool> stop{false};
  std::thread sleeper([&] {
    while (g_calls == 0) usleep(100);
    stop = true;
  });
  set(950);
  sleeper.join();
  EXPECT_TRUE(stop);
  EXPECT_EQ(g_last - begin_, 950'000);
  EXPECT_EQ(g_thread, getpid()) << "the main thread takes it, in pthread_join";
  EXPECT_EQ(passed(), 1'000'000);
}

TEST_F(TimerProbe, GoesToAThreadThatDoesNotBlockIt) {
  sigset_t alarms;
  sigemptyset(&alarms);
  sigaddset(&alarms, SIGALRM);
  std::atomic<pid_t> other{0};
  std::atomic<int> result{0};
  std::thread taker([&] {
    other = gettid();
    timespec ts{.tv_sec = 1, .tv_nsec = 0};
    result = nanosleep(&ts, nullptr);
  });
  pthread_sigmask(SIG_BLOCK, &alarms, nullptr);
  set(300);
  taker.join();
  EXPECT_EQ(result, -1);
  EXPECT_EQ(g_thread, other);
  EXPECT_EQ(passed(), 300'000);
  set(10);
  usleep(50);
  EXPECT_EQ(g_calls, 1) << "all block it";
  sigset_t none;
  sigemptyset(&none);
  EXPECT_EQ(ppoll(nullptr, 0, nullptr, &none), -1) << "lets it in";
  EXPECT_EQ(errno, EINTR);
  EXPECT_EQ(g_calls, 2);
  set(10);
  EXPECT_EQ(sigsuspend(&none), -1);
  EXPECT_EQ(g_calls, 3);
  EXPECT_EQ(passed(), 360'000);
  pthread_sigmask(SIG_UNBLOCK, &alarms, nullptr);
}

TEST_F(TimerProbe, RepeatsToTheNanosecondUntilItIsStopped) {
  set(100, 250);
  itimerval value{};
  EXPECT_EQ(getitimer(ITIMER_REAL, &value), 0);
  EXPECT_EQ(value.it_value.tv_usec, 100);
  EXPECT_EQ(value.it_interval.tv_usec, 250);
  while (g_calls < 5) pause();
  EXPECT_EQ(g_first - begin_, 100'000);
  EXPECT_EQ(g_last - begin_, 1'100'000);
  const itimerval none{};
  EXPECT_EQ(setitimer(ITIMER_REAL, &none, &value), 0);
  EXPECT_EQ(value.it_value.tv_usec, 250);
  EXPECT_EQ(usleep(10'000), 0);
  EXPECT_EQ(g_calls, 5);
  value.it_value.tv_usec = 1'000'000;
  EXPECT_EQ(setitimer(ITIMER_REAL, &value, nullptr), -1);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(TimerProbe, WhatIsIgnoredEndsNothing) {
  signal(SIGALRM, SIG_IGN);
  set(20);
  EXPECT_EQ(usleep(100), 0);
  EXPECT_EQ(passed(), 100'000);
}

sigjmp_buf g_out;
TEST_F(TimerProbe, AHandlerMayJumpOutOfTheCall) {
  signal(SIGALRM, [](int) { siglongjmp(g_out, 1); });
  if (sigsetjmp(g_out, 1) == 0) {
    set(40);
    sleep(1);
    ADD_FAILURE() << "not interrupted";
  }
  EXPECT_EQ(passed(), 40'000);
  usleep(5);
  EXPECT_EQ(passed(), 45'000) << "time goes on as before";
}

TEST_F(TimerProbe, TimersOfTheProgramsOwnMakingSignalAsTold) {
  handle(SIGUSR1, 0);
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGUSR1;
  event.sigev_value.sival_int = 42;
  timer_t timer{};
  ASSERT_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
  itimerspec value{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_nsec = 12'345}};
  EXPECT_EQ(timer_settime(timer, 0, &value, nullptr), 0);
  EXPECT_EQ(pause(), -1);
  expect_once_at(12'345);
  EXPECT_EQ(g_code, SI_TIMER);
  EXPECT_EQ(g_value, 42);
  const std::int64_t until = now_ns() + 5'000;
  value.it_value = {.tv_sec = until / 1'000'000'000, .tv_nsec = until % 1'000'000'000};
  EXPECT_EQ(timer_settime(timer, TIMER_ABSTIME, &value, nullptr), 0);
  EXPECT_EQ(timer_gettime(timer, &value), 0);
  EXPECT_EQ(value.it_value.tv_nsec, 5'000);
  EXPECT_EQ(pause(), -1);
  EXPECT_EQ(now_ns(), until);
  EXPECT_EQ(timer_getoverrun(timer), 0);
  EXPECT_EQ(timer_delete(timer), 0);
  EXPECT_EQ(timer_delete(timer), -1);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(TimerProbe, TicksCountExperimentTime) {
  const clock_t ticks = times(nullptr);
  EXPECT_GT(ticks, 0);
  usleep(70'000);
  EXPECT_EQ(times(nullptr) - ticks, 7);
}

// alarm() as a timeout of what comes from outside: the thread does not ring it itself.
TEST_F(TimerProbe, AnAlarmEndsAWaitForTheOutside) {
  const int fd = socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&here), sizeof here), 0);
  set(2'000);
  char c;
  EXPECT_EQ(recv(fd, &c, 1, 0), -1);
  EXPECT_EQ(errno, EINTR);
  EXPECT_EQ(g_calls, 1);
  close(fd);
}

TEST_F(TimerProbe, AnAlarmThatAllThreadsBlockIsTakenFromADescriptor) {
  sigset_t mine, before;
  sigemptyset(&mine);
  sigaddset(&mine, SIGALRM);
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &mine, &before), 0);
  const int fd = signalfd(-1, &mine, 0);
  set(2'000);
  signalfd_siginfo info{};
  EXPECT_EQ(read(fd, &info, sizeof info), static_cast<ssize_t>(sizeof info));
  EXPECT_EQ(info.ssi_signo, static_cast<unsigned>(SIGALRM));
  close(fd);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace
}  // namespace rocelab::probe
