// Timers of a program behind a descriptor (timerfd), and those that call a function in a thread
// (SIGEV_THREAD): at instants of experiment time.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <thread>

#include "tests/probes/verbs/clock.h"
#include "tests/probes/verbs/loopback.h"

namespace rocelab::probe {
namespace {

constexpr itimerspec after(std::int64_t ns, std::int64_t interval_ns = 0) {
  return {.it_interval = {.tv_sec = interval_ns / 1'000'000'000, .tv_nsec = interval_ns % 1'000'000'000},
          .it_value = {.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000}};
}

class TimerFdProbe : public ::testing::Test {
 protected:
  TimerFdProbe() : context_(open_device()) {
    usleep(1);  // whole nanoseconds from here on
    fd_ = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    EXPECT_GE(fd_, 0);
    begin_ = now_ns();
  }
  ~TimerFdProbe() override {
    close(fd_);
    ibv_close_device(context_);
  }
  void set(const itimerspec& value, int flags = 0) {
    ASSERT_EQ(timerfd_settime(fd_, flags, &value, nullptr), 0);
  }
  // Expirations that a read gives; -1: none, errno says why.
  std::int64_t take() const {
    std::uint64_t count = 0;
    const ssize_t got = read(fd_, &count, sizeof count);
    return got == sizeof count ? static_cast<std::int64_t>(count) : -1;
  }
  void do_not_block() const { ASSERT_EQ(fcntl(fd_, F_SETFL, O_NONBLOCK), 0); }
  std::int64_t passed() const { return now_ns() - begin_; }

  ibv_context* context_;
  int fd_ = -1;
  std::int64_t begin_ = 0;
};

TEST_F(TimerFdProbe, ReadsWaitForTheInstant) {
  set(after(12'345));
  EXPECT_EQ(take(), 1);
  EXPECT_EQ(passed(), 12'345);
  set(after(10'000, 30'000));
  EXPECT_EQ(take(), 1);
  EXPECT_EQ(passed(), 22'345);
  EXPECT_EQ(take(), 1);
  EXPECT_EQ(passed(), 52'345);
}

TEST_F(TimerFdProbe, PollSelectAndEpollWakeAtTheInstant) {
  set(after(5'000, 5'000));
  pollfd p{.fd = fd_, .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&p, 1, -1), 1);
  EXPECT_EQ(passed(), 5'000);
  EXPECT_EQ(take(), 1);
  fd_set set;
  FD_ZERO(&set);
  FD_SET(fd_, &set);
  EXPECT_EQ(select(fd_ + 1, &set, nullptr, nullptr, nullptr), 1);
  EXPECT_EQ(passed(), 10'000);
  EXPECT_EQ(take(), 1);
  const int epfd = epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{.events = EPOLLIN | EPOLLET, .data = {.u64 = 7}};
  ASSERT_EQ(epoll_ctl(epfd, EPOLL_CTL_ADD, fd_, &event), 0);
  EXPECT_EQ(epoll_wait(epfd, &event, 1, -1), 1);
  EXPECT_EQ(event.data.u64, 7u);
  EXPECT_EQ(passed(), 15'000);
  EXPECT_EQ(epoll_wait(epfd, &event, 1, -1), 1) << "an edge for each expiration, read or not";
  EXPECT_EQ(passed(), 20'000);
  EXPECT_EQ(take(), 2);
  close(epfd);
}

TEST_F(TimerFdProbe, ATimeoutThatIsSoonerEndsTheWait) {
  set(after(2'000'000));
  pollfd p{.fd = fd_, .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&p, 1, 1), 0);
  EXPECT_EQ(passed(), 1'000'000);
  EXPECT_EQ(poll(&p, 1, 5), 1);
  EXPECT_EQ(passed(), 2'000'000);
}

TEST_F(TimerFdProbe, ExpirationsAddUpUntilTheyAreRead) {
  do_not_block();
  EXPECT_EQ(take(), -1);
  EXPECT_EQ(errno, EAGAIN);
  set(after(10'000, 20'000));
  usleep(100);
  EXPECT_EQ(take(), 5) << "10, 30, 50, 70, 90 us";
  EXPECT_EQ(take(), -1);
  EXPECT_EQ(errno, EAGAIN);
}

TEST_F(TimerFdProbe, SettingItAnewForgetsWhatHasExpired) {
  do_not_block();
  set(after(10'000));
  usleep(20);
  itimerspec old{};
  const itimerspec later = after(50'000, 40'000), never{};
  EXPECT_EQ(timerfd_settime(fd_, 0, &later, &old), 0);
  EXPECT_EQ(old.it_value.tv_nsec, 0) << "it had expired";
  EXPECT_EQ(take(), -1);
  usleep(20);
  EXPECT_EQ(timerfd_gettime(fd_, &old), 0);
  EXPECT_EQ(old.it_value.tv_nsec, 30'000);
  EXPECT_EQ(old.it_interval.tv_nsec, 40'000);
  EXPECT_EQ(timerfd_settime(fd_, 0, &never, &old), 0);
  EXPECT_EQ(old.it_value.tv_nsec, 30'000);
  usleep(1'000);
  EXPECT_EQ(take(), -1);
}

TEST_F(TimerFdProbe, InstantsOfTheClockMayBeGivenAndOnesThatHavePassed) {
  const std::int64_t until = now_ns() + 7'000;
  set(after(until), TFD_TIMER_ABSTIME);
  EXPECT_EQ(take(), 1);
  EXPECT_EQ(now_ns(), until);
  set(after(until - 1'000), TFD_TIMER_ABSTIME);
  EXPECT_EQ(take(), 1);
  EXPECT_EQ(now_ns(), until) << "at once";
}

TEST_F(TimerFdProbe, AnEventLoopWaitsForItBesideACompletionChannel) {
  ibv_comp_channel* channel = ibv_create_comp_channel(context_);
  pollfd p[2] = {{.fd = channel->fd, .events = POLLIN, .revents = 0},
                 {.fd = fd_, .events = POLLIN, .revents = 0}};
  set(after(3'000));
  EXPECT_EQ(poll(p, 2, -1), 1);
  EXPECT_EQ(p[1].revents, POLLIN);
  EXPECT_EQ(passed(), 3'000);
  ibv_destroy_comp_channel(channel);
}

TEST_F(TimerFdProbe, WhatIsWrongIsRefused) {
  EXPECT_EQ(timerfd_create(CLOCK_MONOTONIC, 1), -1);
  EXPECT_EQ(errno, EINVAL);
  itimerspec value = after(1'000);
  EXPECT_EQ(timerfd_settime(fd_, 8, &value, nullptr), -1);
  EXPECT_EQ(errno, EINVAL);
  value.it_value.tv_nsec = 1'000'000'000;
  EXPECT_EQ(timerfd_settime(fd_, 0, &value, nullptr), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(timerfd_gettime(-1, &value), -1);
  EXPECT_EQ(errno, EBADF);
  EXPECT_EQ(timerfd_settime(STDERR_FILENO, 0, &value, nullptr), -1);
}

// The next descriptor has its number, and is another's.
TEST_F(TimerFdProbe, ItEndsWithItsDescriptor) {
  set(after(1'000, 1'000));
  close(fd_);
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_NONBLOCK), 0);
  usleep(100);
  char byte = 0;
  EXPECT_EQ(read(ends[0], &byte, 1), -1);
  EXPECT_EQ(errno, EAGAIN);
  itimerspec value{};
  EXPECT_EQ(timerfd_gettime(fd_, &value), -1);
  EXPECT_EQ(errno, EINVAL);
  close(ends[0]), close(ends[1]);
  fd_ = timerfd_create(CLOCK_REALTIME, 0);
  set(after(1'000));
  EXPECT_EQ(take(), 1);
}

std::atomic<int> g_calls{0}, g_value{0};
std::atomic<std::int64_t> g_last{0};
std::atomic<bool> g_other_thread{false};
std::atomic<std::thread::id> g_main;
void note(sigval value) {
  g_last = now_ns();
  g_value = value.sival_int;
  g_other_thread = std::this_thread::get_id() != g_main.load();
  ++g_calls;
}

TEST_F(TimerFdProbe, TimersCallFunctionsInThreads) {
  g_calls = 0;
  g_main = std::this_thread::get_id();
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD;
  event.sigev_notify_function = note;
  event.sigev_value.sival_int = 42;
  timer_t timer{};
  ASSERT_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
  itimerspec value = after(20'000, 50'000);
  EXPECT_EQ(timer_settime(timer, 0, &value, nullptr), 0);
  usleep(25);
  EXPECT_EQ(g_calls, 1);
  EXPECT_EQ(g_last - begin_, 20'000);
  EXPECT_EQ(g_value, 42);
  EXPECT_TRUE(g_other_thread);
  EXPECT_EQ(timer_gettime(timer, &value), 0);
  EXPECT_EQ(value.it_value.tv_nsec, 45'000);
  usleep(100);
  EXPECT_EQ(g_calls, 3);
  EXPECT_EQ(g_last - begin_, 120'000);
  EXPECT_EQ(timer_getoverrun(timer), 0);
  EXPECT_EQ(timer_delete(timer), 0);
  usleep(1'000);
  EXPECT_EQ(g_calls, 3);
  EXPECT_EQ(timer_delete(timer), -1);
  EXPECT_EQ(errno, EINVAL);
}

}  // namespace
}  // namespace rocelab::probe
