// Loops that ask without ever waiting, and waits that are over before they begin: time passes for them, too.
#include <pthread.h>
#include <semaphore.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "tests/probes/verbs/clock.h"
#include "tests/probes/verbs/loopback.h"

namespace rocelab::probe {
namespace {

using namespace std::chrono_literals;

class SpinProbe : public ::testing::Test {
 protected:
  SpinProbe() : context_(open_device()) { usleep(1); }
  ~SpinProbe() override { ibv_close_device(context_); }
  // Somebody else has it done after a millisecond.
  template <class F>
  std::thread after_a_moment(F&& f) {
    return std::thread([f = std::forward<F>(f)] {
      usleep(1'000);
      f();
    });
  }
  ibv_context* context_;
};

TEST_F(SpinProbe, SleepsOfNothing) {
  std::atomic<bool> done = false;
  std::thread other = after_a_moment([&] { done = true; });
  while (!done) usleep(0);
  other.join();
  other = after_a_moment([&] { done = false; });
  const timespec nothing{};
  while (done) nanosleep(&nothing, nullptr);
  other.join();
}

TEST_F(SpinProbe, WaitsWhoseDeadlineHasPassed) {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  std::thread other = after_a_moment([&] {
    std::lock_guard lock(mutex);
    done = true;
  });
  for (std::unique_lock lock(mutex); !done;) changed.wait_until(lock, std::chrono::steady_clock::now());
  other.join();
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  other = after_a_moment([&] { sem_post(&semaphore); });
  const timespec past{};
  while (sem_timedwait(&semaphore, &past) != 0) EXPECT_EQ(errno, ETIMEDOUT);
  other.join();
}

TEST_F(SpinProbe, Tries) {
  std::mutex mutex;
  std::shared_mutex shared;
  pthread_spinlock_t spin;
  pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  std::atomic<bool> taken = false;
  std::thread other([&] {
    std::lock_guard one(mutex);
    std::unique_lock two(shared);
    pthread_spin_lock(&spin);
    taken = true;
    usleep(1'000);
    pthread_spin_unlock(&spin);
    sem_post(&semaphore);
  });
  while (!taken) thrd_yield();
  while (pthread_spin_trylock(&spin) != 0) {
  }
  pthread_spin_unlock(&spin);
  while (sem_trywait(&semaphore) != 0) EXPECT_EQ(errno, EAGAIN);
  while (!mutex.try_lock()) {
  }
  mutex.unlock();
  while (!shared.try_lock()) {
  }
  shared.unlock();
  other.join();
}

TEST_F(SpinProbe, LocksAreWaitedForUntilADeadlineOfTheProgramsClocks) {
  std::timed_mutex mutex;
  std::shared_timed_mutex shared;
  std::atomic<bool> taken = false;
  std::thread other([&] {
    std::lock_guard one(mutex);
    std::unique_lock two(shared);
    taken = true;
    usleep(5'000);
  });
  while (!taken) sched_yield();
  std::int64_t begin = now_ns();
  EXPECT_FALSE(mutex.try_lock_for(1ms));
  EXPECT_EQ((now_ns() - begin) / 1'000'000, 1);
  begin = now_ns();
  EXPECT_FALSE(shared.try_lock_shared_for(1ms));
  EXPECT_EQ((now_ns() - begin) / 1'000'000, 1);
  EXPECT_TRUE(mutex.try_lock_for(1s));
  EXPECT_TRUE(shared.try_lock_for(1s));
  EXPECT_LT(now_ns() - begin, 10'000'000);
  mutex.unlock();
  shared.unlock();
  other.join();
}

// The thread lives for a millisecond.
pthread_t a_thread() {
  pthread_t thread{};
  const auto sleep = [](void*) -> void* {
    usleep(1'000);
    return nullptr;
  };
  EXPECT_EQ(pthread_create(&thread, nullptr, sleep, nullptr), 0);
  return thread;
}

TEST_F(SpinProbe, JoinsAreTriedAndWaitedForUntilADeadline) {
  const pthread_t first = a_thread();
  while (pthread_tryjoin_np(first, nullptr) == EBUSY) {
  }
  const pthread_t second = a_thread();
  timespec end{};
  clock_gettime(CLOCK_MONOTONIC, &end);
  EXPECT_EQ(pthread_clockjoin_np(second, nullptr, CLOCK_MONOTONIC, &end), ETIMEDOUT);
  end.tv_sec += 1;
  const std::int64_t begin = now_ns();
  EXPECT_EQ(pthread_clockjoin_np(second, nullptr, CLOCK_MONOTONIC, &end), 0);
  EXPECT_LE(now_ns() - begin, 1'100'000);
}

TEST_F(SpinProbe, C11sClocksAndSleepsAreTheOthers) {
  timespec a{}, b{};
  clock_gettime(CLOCK_REALTIME, &a);
  EXPECT_EQ(timespec_get(&b, TIME_UTC), TIME_UTC);
  EXPECT_LE(b.tv_sec - a.tv_sec, 1);
  const std::int64_t begin = now_ns();
  const timespec two_ms{0, 2'000'000};
  EXPECT_EQ(thrd_sleep(&two_ms, nullptr), 0);
  EXPECT_EQ((now_ns() - begin) / 1'000'000, 2);
}

// Nobody else would ever write: the wait is over by what the socket was told.
TEST_F(SpinProbe, ASocketOfTheProgramToItselfHasItsTimeout) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  const timeval longest{0, 20'000};  // a multiple of any kernel's tick
  ASSERT_EQ(setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof longest), 0);
  const std::int64_t begin = now_ns();
  char c;
  EXPECT_EQ(recv(ends[0], &c, 1, 0), -1);
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_GE(now_ns() - begin, 20'000'000);
  for (const int end : ends) close(end);
}

// A program that asks over and over for what nobody sends yet, as rsockets' raccept does whose client's
// request was lost: the time until it comes is let pass in few steps, and its end is exact.
TEST_F(SpinProbe, AWaitOfSecondsByAskingTakesFewAsks) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
  std::atomic<std::int64_t> written{0};
  std::thread other([&] {
    sleep(1);
    written = now_ns();
    EXPECT_EQ(write(ends[1], "x", 1), 1);
  });
  std::uint64_t asks = 0;
  char c;
  while (read(ends[0], &c, 1) < 0) {
    ASSERT_EQ(errno, EAGAIN);
    ++asks;
  }
  EXPECT_EQ(now_ns(), written);
  EXPECT_LT(asks, 1'000'000u) << "a thousand for each 10 us would be a hundred million";
  other.join();
  for (const int end : ends) close(end);
}

TEST_F(SpinProbe, WhatIsWrittenByOtherCallsAndNumbersIsSeen) {
  const int event = eventfd(0, 0);
  std::thread other = after_a_moment([&] { EXPECT_EQ(eventfd_write(event, 3), 0); });
  eventfd_t value = 0;
  EXPECT_EQ(eventfd_read(event, &value), 0);
  EXPECT_EQ(value, 3u);
  other.join();
  const int second = dup(event);
  other = after_a_moment([&] { EXPECT_EQ(eventfd_write(second, 4), 0); });
  EXPECT_EQ(eventfd_read(event, &value), 0);
  EXPECT_EQ(value, 4u);
  other.join();
  close(second);
  close(event);
}

TEST_F(SpinProbe, SelectTakesSetsThatAreLongerThanItsType) {
  constexpr int kHigh = 4'000;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  if (dup2(ends[0], kHigh) != kHigh) GTEST_SKIP() << "no descriptor of that number";
  std::vector<unsigned long> bits(kHigh / (8 * sizeof(unsigned long)) + 1);
  const auto set = [&] { bits[kHigh / 64] |= 1ul << kHigh % 64; };
  set();
  timeval wait{0, 1'000};
  EXPECT_EQ(select(kHigh + 1, reinterpret_cast<fd_set*>(bits.data()), nullptr, nullptr, &wait), 0);
  EXPECT_EQ(bits[kHigh / 64], 0u);
  set();
  ASSERT_EQ(write(ends[1], "x", 1), 1);
  wait = {1, 0};
  EXPECT_EQ(select(kHigh + 1, reinterpret_cast<fd_set*>(bits.data()), nullptr, nullptr, &wait), 1);
  EXPECT_NE(bits[kHigh / 64], 0u);
  close(kHigh);
  for (const int end : ends) close(end);
}

}  // namespace
}  // namespace rocelab::probe
