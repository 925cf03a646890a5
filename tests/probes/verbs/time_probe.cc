// Clocks, sleeps and waits of a program that has opened the device.
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <thread>

#include "tests/probes/verbs/loopback.h"

namespace rocelab::probe {
namespace {

std::int64_t ns_of(const timespec& t) { return t.tv_sec * 1'000'000'000 + t.tv_nsec; }
std::int64_t now(clockid_t clock = CLOCK_MONOTONIC) {
  timespec t{};
  EXPECT_EQ(clock_gettime(clock, &t), 0);
  return ns_of(t);
}

class TimeProbe : public ::testing::Test {
 protected:
  TimeProbe() : context_(open_device()) { usleep(1); }  // whole nanoseconds from here on
  ~TimeProbe() override { ibv_close_device(context_); }
  ibv_context* context_;
};

TEST_F(TimeProbe, ClocksStandWhileTheProgramComputesAndAgreeWithOneAnother) {
  const std::int64_t begin = now();
  volatile unsigned x = 0;
  for (unsigned i = 0; i < 20'000'000; ++i) x = x + i;
  EXPECT_EQ(now(), begin);
  // Each began, in whole hundredths of a second, where the machine's was; the date with the experiment.
  const std::int64_t real = now(CLOCK_REALTIME), date = 2'051'222'400ll * 1'000'000'000;
  for (const clockid_t clock : {CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, CLOCK_BOOTTIME})
    EXPECT_EQ((now(clock) - (real - date)) % 10'000'000, 0) << clock;
  EXPECT_LT(real - date, 3'600ll * 1'000'000'000) << "2035-01-01 at experiment time 0";
  timeval tv{};
  gettimeofday(&tv, nullptr);
  EXPECT_EQ(tv.tv_sec * 1'000'000 + tv.tv_usec, real / 1'000);
  EXPECT_EQ(time(nullptr), real / 1'000'000'000);
  EXPECT_GT(now(CLOCK_THREAD_CPUTIME_ID), 0);
  timespec t{};
  EXPECT_EQ(clock_gettime(static_cast<clockid_t>(12'345), &t), -1);
}

TEST_F(TimeProbe, AThreadThatYieldsLetsTimePass) {
  const std::int64_t begin = now();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(sched_yield(), 0);
  EXPECT_GT(now(), begin);
}

TEST_F(TimeProbe, SleepsLastExactlyAsLongAsTheySay) {
  std::int64_t t = now();
  const auto passed = [&t] { return now() - std::exchange(t, now()); };
  timespec ts{.tv_sec = 0, .tv_nsec = 12'345};
  EXPECT_EQ(nanosleep(&ts, nullptr), 0);
  EXPECT_EQ(passed(), 12'345);
  usleep(77);
  EXPECT_EQ(passed(), 77'000);
  EXPECT_EQ(sleep(2), 0u);
  EXPECT_EQ(passed(), 2'000'000'000);
  std::this_thread::sleep_for(std::chrono::microseconds(3));
  EXPECT_EQ(passed(), 3'000);
  const std::int64_t until = now() + 1'001;
  ts = {.tv_sec = until / 1'000'000'000, .tv_nsec = until % 1'000'000'000};
  EXPECT_EQ(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, nullptr), 0);
  EXPECT_EQ(now(), until);
  EXPECT_EQ(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, nullptr), 0) << "a point in the past";
  EXPECT_EQ(now(), until);
  ts.tv_nsec = 1'000'000'000;
  EXPECT_EQ(nanosleep(&ts, nullptr), -1);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(TimeProbe, WaitsForNothingTimeOutToTheNanosecond) {
  ibv_comp_channel* channel = ibv_create_comp_channel(context_);
  std::int64_t t = now();
  const auto passed = [&t] { return now() - std::exchange(t, now()); };
  EXPECT_EQ(poll(nullptr, 0, 3), 0);
  EXPECT_EQ(passed(), 3'000'000);
  pollfd p{.fd = channel->fd, .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&p, 1, 2), 0);
  EXPECT_EQ(passed(), 2'000'000);
  timespec ts{.tv_sec = 0, .tv_nsec = 1'234};
  EXPECT_EQ(ppoll(&p, 1, &ts, nullptr), 0);
  EXPECT_EQ(passed(), 1'234);
  fd_set set;
  FD_ZERO(&set);
  FD_SET(channel->fd, &set);
  timeval tv{.tv_sec = 0, .tv_usec = 55};
  EXPECT_EQ(select(channel->fd + 1, &set, nullptr, nullptr, &tv), 0);
  EXPECT_EQ(passed(), 55'000);
  EXPECT_FALSE(FD_ISSET(channel->fd, &set));
  const int epfd = epoll_create1(0);
  epoll_event event{.events = EPOLLIN, .data = {}};
  ASSERT_EQ(epoll_ctl(epfd, EPOLL_CTL_ADD, channel->fd, &event), 0);
  EXPECT_EQ(epoll_wait(epfd, &event, 1, 4), 0);
  EXPECT_EQ(passed(), 4'000'000);
  close(epfd);
  ibv_destroy_comp_channel(channel);
}

TEST_F(TimeProbe, ProgramsThatOnlyAskDoNotStopTime) {
  const std::int64_t begin = now();
  while (now() < begin + 100'000) {
  }
  const std::int64_t polled = now();
  while (now() < polled + 100'000) poll(nullptr, 0, 0);
  SUCCEED();
}

TEST_F(TimeProbe, AWaitForTheOutsideLetsTheOutsideAnswerWhileTimeStands) {
  int fds[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
  const pid_t child = fork();
  if (child == 0) {  // its clocks are real: the device is its parent's
    usleep(5'000);
    _exit(write(fds[1], "x", 1) == 1 ? 0 : 1);
  }
  const std::int64_t begin = now();
  char c = 0;
  EXPECT_EQ(read(fds[0], &c, 1), 1);
  EXPECT_EQ(now(), begin);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(TimeProbe, ATimeoutBesideASocketPassesInExperimentTime) {
  int fds[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
  pollfd p{.fd = fds[0], .events = POLLIN, .revents = 0};
  const std::int64_t begin = now();
  EXPECT_EQ(poll(&p, 1, 7), 0);
  EXPECT_EQ(now() - begin, 7'000'000);
  ASSERT_EQ(write(fds[1], "x", 1), 1);
  EXPECT_EQ(poll(&p, 1, 7), 1);
  close(fds[0]);
  close(fds[1]);
}

TEST(TimeBeforeTheDevice, IsReal) {
  const std::time_t year_2020 = 1'577'836'800;
  std::FILE* boot = std::fopen("/proc/uptime", "r");
  double uptime = 0;
  ASSERT_EQ(std::fscanf(boot, "%lf", &uptime), 1);
  std::fclose(boot);
  EXPECT_NEAR(static_cast<double>(now(CLOCK_BOOTTIME)) / 1e9, uptime, 1);
  EXPECT_GT(time(nullptr), year_2020);
  const std::int64_t begin = now();
  usleep(2'000);
  EXPECT_GE(now() - begin, 2'000'000);
}

}  // namespace
}  // namespace rocelab::probe
