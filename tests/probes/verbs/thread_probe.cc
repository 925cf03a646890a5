// Threads of a program that wait for one another: locks, condition variables, joins, pipes to itself. All of
// it in experiment time, and nobody is left behind. And the files by which programs look at the device.
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>

#include "irn_provider/verbs/sanitizer.h"
#include "tests/probes/verbs/clock.h"
#include "tests/probes/verbs/loopback.h"

namespace rocelab::probe {
namespace {

std::int64_t now_us() { return now_ns() / 1'000; }

void make_mutex(pthread_mutex_t& mutex, int kind) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, kind);
  pthread_mutex_init(&mutex, &attributes);
}

class ThreadProbe : public ::testing::Test {
 protected:
  ThreadProbe() : context_(open_device()) { usleep(1), begin_ = now_us(); }
  ~ThreadProbe() override { ibv_close_device(context_); }
  std::int64_t passed() const { return now_us() - begin_; }
  ibv_context* context_;
  std::int64_t begin_;
};

// The holder sleeps inside: were the other one to wait as the C library does, time would stand for both.
TEST_F(ThreadProbe, WhoFindsALockTakenRunsAtTheInstantAtWhichItIsFreed) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::int64_t got = -1;
  std::thread other([&] {
    std::lock_guard inner(mutex);
    got = passed();
  });
  usleep(500);
  lock.unlock();
  usleep(1);
  EXPECT_EQ(got, 500);
  other.join();

  pthread_spinlock_t spin;
  pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
  pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
  pthread_spin_lock(&spin);
  pthread_rwlock_wrlock(&rw);
  std::array<std::int64_t, 3> at{};
  std::thread spinner([&] { pthread_spin_lock(&spin), at[0] = passed(), pthread_spin_unlock(&spin); });
  std::thread reader([&] { pthread_rwlock_rdlock(&rw), at[1] = passed(), pthread_rwlock_unlock(&rw); });
  std::thread writer([&] { pthread_rwlock_wrlock(&rw), at[2] = passed(), pthread_rwlock_unlock(&rw); });
  usleep(100);
  pthread_spin_unlock(&spin);
  usleep(100);
  pthread_rwlock_unlock(&rw);
  for (std::thread* t : {&spinner, &reader, &writer}) t->join();
  EXPECT_EQ(at, (std::array<std::int64_t, 3>{601, 701, 701}));
}

// Whoever else runs while it waits must not become the owner.
TEST_F(ThreadProbe, WhoHasWaitedForAMutexOwnsIt) {
  for (const int kind : {PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_RECURSIVE}) {
    pthread_mutex_t mutex;
    make_mutex(mutex, kind);
    EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
    std::thread waiter([&] {
      EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
      if (kind == PTHREAD_MUTEX_RECURSIVE) {
        EXPECT_EQ(pthread_mutex_trylock(&mutex), 0);
        EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
      }
      EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
    });
    usleep(100);
    EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
    usleep(100);
    waiter.join();
    EXPECT_EQ(pthread_mutex_destroy(&mutex), 0);
  }
}

TEST_F(ThreadProbe, AMutexThatChecksForErrorsStillDoes) {
  pthread_mutex_t mutex;
  make_mutex(mutex, PTHREAD_MUTEX_ERRORCHECK);
  EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
  EXPECT_EQ(pthread_mutex_lock(&mutex), EDEADLK);
  EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
  if (!kThreadSanitizer) {
    EXPECT_EQ(pthread_mutex_unlock(&mutex), EPERM);
  }
}

TEST_F(ThreadProbe, ConditionVariablesWakeAtTheInstantOfTheSignalAndTimeOutExactly) {
  std::mutex mutex;
  std::condition_variable changed;
  int told = 0;
  std::array<std::int64_t, 2> at{};
  const auto wait = [&](std::size_t i) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return told > static_cast<int>(i); });
    at[i] = passed();
  };
  std::thread first(wait, 0), second(wait, 1);
  for (int i = 1; i <= 2; ++i) {
    usleep(300);
    std::lock_guard lock(mutex);
    told = i;
    changed.notify_all();
  }
  first.join();
  second.join();
  EXPECT_EQ(at, (std::array<std::int64_t, 2>{300, 600}));

  std::unique_lock lock(mutex);
  EXPECT_EQ(changed.wait_for(lock, std::chrono::microseconds(250)), std::cv_status::timeout);
  EXPECT_EQ(passed(), 850);
  EXPECT_TRUE(lock.owns_lock());
  pthread_cond_t real_time = PTHREAD_COND_INITIALIZER;
  timespec deadline{};
  clock_gettime(CLOCK_REALTIME, &deadline);
  deadline.tv_nsec += 50'000;
  EXPECT_EQ(pthread_cond_timedwait(&real_time, mutex.native_handle(), &deadline), ETIMEDOUT);
  EXPECT_EQ(passed(), 900);
  deadline.tv_nsec = -1;
  EXPECT_EQ(pthread_cond_timedwait(&real_time, mutex.native_handle(), &deadline), EINVAL);
}

TEST_F(ThreadProbe, AJoinLastsAsLongAsTheThread) {
  std::int64_t begun = -1;
  std::thread sleeper([&] { begun = passed(), usleep(2'000); });
  sleeper.join();
  EXPECT_EQ(begun, 0) << "time stands until a new thread has begun";
  EXPECT_EQ(passed(), 2'000);
  std::thread quick([] {});
  usleep(10);
  quick.join();
  EXPECT_EQ(passed(), 2'010);
}

// Its end is ours to see twice: a library's destructor of a thread's data may read a clock after ours has
// run. Else time would stand for the grace, and somebody be left behind.
TEST_F(ThreadProbe, AThreadThatReadsAClockAtItsVeryEndDoesNotHoldTime) {
  if (kThreadSanitizer) GTEST_SKIP() << "its own data of the thread is gone by then";
  static pthread_key_t key;
  static int reads;
  reads = 0;
  ASSERT_EQ(pthread_key_create(&key,
                               [](void* value) {
                                 now_us();
                                 if (++reads < 3) pthread_setspecific(key, value);
                               }),
            0);
  std::thread thread([] { pthread_setspecific(key, &key); });
  usleep(10);
  thread.join();
  usleep(10);
  EXPECT_EQ(passed(), 20);
  EXPECT_EQ(reads, 3);
  EXPECT_EQ(pthread_key_delete(key), 0);
}

TEST_F(ThreadProbe, APipeOfTheProgramToItselfIsNotTheOutside) {
  std::array<int, 2> pipe_fds{};
  ASSERT_EQ(pipe(pipe_fds.data()), 0);
  const int event = eventfd(0, 0), epfd = epoll_create1(0);
  epoll_event watch{.events = EPOLLIN | EPOLLET, .data = {}};
  ASSERT_EQ(epoll_ctl(epfd, EPOLL_CTL_ADD, event, &watch), 0);
  std::thread writer([&] {
    usleep(100);
    EXPECT_EQ(write(pipe_fds[1], "a", 1), 1);
    usleep(100);
    EXPECT_EQ(write(pipe_fds[1], "b", 1), 1);
    usleep(100);
    const std::uint64_t one = 1;
    EXPECT_EQ(write(event, &one, sizeof one), 8);
  });
  pollfd p{.fd = pipe_fds[0], .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&p, 1, -1), 1);
  EXPECT_EQ(passed(), 100);
  std::array<char, 2> text{};
  EXPECT_EQ(read(pipe_fds[0], text.data(), 1), 1);
  EXPECT_EQ(read(pipe_fds[0], text.data() + 1, 1), 1) << "waits for the second one";
  EXPECT_EQ(passed(), 200);
  EXPECT_EQ(epoll_wait(epfd, &watch, 1, 50), 1);
  EXPECT_EQ(passed(), 300);
  EXPECT_EQ(epoll_wait(epfd, &watch, 1, 2), 0) << "an edge is told once";
  EXPECT_EQ(passed(), 2'300);
  watch.data.u32 = 0;
  const int outer = epoll_create1(0);
  ASSERT_EQ(epoll_ctl(outer, EPOLL_CTL_ADD, epfd, &watch), 0) << "one that watches another one";
  p = {.fd = outer, .events = POLLIN, .revents = 0};
  std::thread late([&] {
    usleep(700);
    const std::uint64_t one = 1;
    EXPECT_EQ(write(event, &one, sizeof one), 8);
  });
  EXPECT_EQ(poll(&p, 1, -1), 1);
  EXPECT_EQ(passed(), 3'000);
  late.join();
  close(outer);
  writer.join();
  for (int fd : {pipe_fds[0], pipe_fds[1], event, epfd}) close(fd);
}

TEST_F(ThreadProbe, TheFilesThatProgramsReadOfADeviceAreThere) {
  for (const char* index : {"0", "1", "2"}) {
    const int fd = open(
        (std::string("/sys/class/infiniband/rocelab0/ports/1/gid_attrs/types/") + index).c_str(), O_RDONLY);
    ASSERT_GE(fd, 0);
    std::array<char, 32> text{};
    EXPECT_EQ(read(fd, text.data(), text.size()), 8);
    EXPECT_STREQ(text.data(), "RoCE v2\n");
    close(fd);
  }
  EXPECT_LT(open("/sys/class/infiniband/rocelab0/ports/1/gid_attrs/types/3", O_RDONLY), 0);
  EXPECT_EQ(errno, ENOENT);
  struct stat st {};
  ASSERT_EQ(stat("/dev/infiniband/uverbs0", &st), 0);
  EXPECT_TRUE(S_ISCHR(st.st_mode));
  EXPECT_EQ(access("/dev/infiniband/uverbs0", R_OK | W_OK), 0);
  EXPECT_NE(stat("/dev/infiniband/uverbs1", &st), 0);
}

}  // namespace
}  // namespace rocelab::probe
