// Null pointers: the C functions that the library answers itself refuse them as the C library does.
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include "tests/probes/verbs/loopback.h"

namespace rocelab::probe {
namespace {

// As a program calls it, but without its declaration's promise that no pointer is null.
template <class F>
F* function(const char* name) {
  return reinterpret_cast<F*>(dlsym(RTLD_DEFAULT, name));
}

#define EXPECT_FAULT(call)    \
  do {                        \
    errno = 0;                \
    EXPECT_EQ(call, -1);      \
    EXPECT_EQ(errno, EFAULT); \
  } while (false)

TEST(NullProbe, PathsAndWhatIsToldOfThem) {
  Loopback l;
  constexpr char kNode[] = "/dev/infiniband/uverbs0";
  struct stat st {};
  struct stat64 st64 {};
  struct statx stx {};
  EXPECT_FAULT(function<int(const char*, struct stat*)>("stat")(nullptr, &st));
  EXPECT_FAULT(function<int(const char*, struct stat64*)>("stat64")(nullptr, &st64));
  using Statx = int(int, const char*, int, unsigned, struct statx*);
  EXPECT_FAULT(function<Statx>("statx")(AT_FDCWD, nullptr, 0, STATX_BASIC_STATS, &stx));
  EXPECT_FAULT(function<int(const char*, int)>("access")(nullptr, F_OK));
  for (const char* name : {"open", "open64"})
    EXPECT_FAULT(function<int(const char*, int, ...)>(name)(nullptr, O_RDONLY));
  EXPECT_EQ(stat(kNode, &st), 0);
  EXPECT_FAULT(function<int(const char*, struct stat*)>("stat")(kNode, nullptr));
}

TEST(NullProbe, ClocksAndTimers) {
  Loopback l;
  EXPECT_EQ(function<int(timeval*, void*)>("gettimeofday")(nullptr, nullptr), 0) << "asks for nothing";
  EXPECT_GT(time(nullptr), 0);
  EXPECT_FAULT(function<int(const timespec*, timespec*)>("nanosleep")(nullptr, nullptr));
  EXPECT_FAULT(function<int(int, itimerval*)>("getitimer")(ITIMER_REAL, nullptr));
  timer_t timer{};
  ASSERT_EQ(timer_create(CLOCK_MONOTONIC, nullptr, &timer), 0);
  EXPECT_FAULT(function<int(timer_t, itimerspec*)>("timer_gettime")(timer, nullptr));
  using Set = int(timer_t, int, const itimerspec*, itimerspec*);
  EXPECT_EQ(function<Set>("timer_settime")(timer, 0, nullptr, nullptr), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(timer_delete(timer), 0);
  const int fd = timerfd_create(CLOCK_MONOTONIC, 0);
  EXPECT_FAULT(function<int(int, itimerspec*)>("timerfd_gettime")(fd, nullptr));
  using SetFd = int(int, int, const itimerspec*, itimerspec*);
  EXPECT_FAULT(function<SetFd>("timerfd_settime")(fd, 0, nullptr, nullptr));
  EXPECT_EQ(close(fd), 0);
}

TEST(NullProbe, WaitsAndMessages) {
  Loopback l;
  EXPECT_FAULT(function<int(pollfd*, nfds_t, int)>("poll")(nullptr, 1, 0));
  EXPECT_FAULT(function<int(const sigset_t*)>("sigsuspend")(nullptr));
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  msghdr message{};
  message.msg_iovlen = 1;
  EXPECT_FAULT(sendmsg(ends[0], &message, 0));
  EXPECT_FAULT(function<ssize_t(int, const msghdr*, int)>("sendmsg")(ends[0], nullptr, 0));
  EXPECT_FAULT(function<ssize_t(int, const void*, size_t)>("write")(ends[0], nullptr, 1));
  EXPECT_FAULT(function<int(int*)>("pipe")(nullptr));
  close(ends[0]), close(ends[1]);
}

}  // namespace
}  // namespace rocelab::probe
