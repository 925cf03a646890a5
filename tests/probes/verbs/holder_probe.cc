// Threads that hold time without a call: those that wait in a loop on memory let it go on, those that compute
// do not.
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "irn_provider/verbs/sanitizer.h"
#include "tests/probes/verbs/clock.h"
#include "tests/probes/verbs/loopback.h"

namespace rocelab::probe {
namespace {

class HolderProbe : public ::testing::Test {
 protected:
  HolderProbe() : context_(open_device()) { usleep(1); }
  void SetUp() override {
    if (kThreadSanitizer) GTEST_SKIP() << "it delivers signals late";
  }
  ~HolderProbe() override { ibv_close_device(context_); }
  // A thread of the program sets the flag after a millisecond.
  std::thread flag_after_a_moment() {
    flag_ = 0;
    return std::thread([this] {
      usleep(1'000);
      flag_ = 1;
    });
  }
  ibv_context* context_;
  std::atomic<int> flag_ = 0;
};

TEST_F(HolderProbe, ALoopOnAFlagLetsTimePass) {
  std::int64_t first = 0;
  for (int i = 0; i < 3; ++i) {
    const std::int64_t begin = now_ns();
    std::thread other = flag_after_a_moment();
    while (flag_ == 0) {
    }
    const std::int64_t waited = now_ns() - begin;
    EXPECT_GE(waited, 1'000'000);
    EXPECT_LE(waited, 1'400'000);
    if (i == 0) first = waited;
    EXPECT_EQ(waited, first) << "the same in every run";
    other.join();
  }
}

TEST_F(HolderProbe, SoDoesOneOfAThreadThatBlocksAllSignals) {
  sigset_t all, old;
  sigfillset(&all);
  ASSERT_EQ(pthread_sigmask(SIG_SETMASK, &all, &old), 0);
  std::thread other = flag_after_a_moment();
  while (flag_ == 0) _mm_pause();
  other.join();
  EXPECT_EQ(pthread_sigmask(SIG_SETMASK, &old, nullptr), 0);
}

// A server of many clients that asks each one's slot in turn.
TEST_F(HolderProbe, SoDoesOneThatGoesRoundSlots) {
  std::vector<std::atomic<int>> slots(100);
  std::thread other([&] {
    usleep(1'000);
    slots[57] = 1;
  });
  std::size_t at = 0;
  while (slots[at] == 0) at = (at + 1) % slots.size();
  EXPECT_EQ(at, 57u);
  other.join();
}

// One that would give up after an hour by the time stamp counter, or by counting.
TEST_F(HolderProbe, SoDoesOneThatCountsAndIsKnownFromThenOn) {
  for (int i = 0; i < 3; ++i) {
    std::thread other = flag_after_a_moment();
    const std::uint64_t begin = __rdtsc();
    while (flag_ == 0 && __rdtsc() - begin < 40'000'000'000'000) {
    }
    EXPECT_EQ(flag_, 1);
    other.join();
  }
  std::thread other = flag_after_a_moment();
  std::uint64_t count = 0;
  while (flag_ == 0) ++count;
  EXPECT_GT(count, 0u);
  other.join();
}

std::int64_t machine_ns(clockid_t clock) {
  timespec t{};
  syscall(SYS_clock_gettime, clock, &t);
  return t.tv_sec * 1'000'000'000 + t.tv_nsec;
}

// So many nanoseconds of that clock of the machine's, with many registers in use.
void compute(clockid_t clock, std::int64_t ns) {
  const std::int64_t end = machine_ns(clock) + ns;
  std::vector<std::uint64_t> values(1 << 12, 1);
  std::uint64_t a = 1, b = 2, c = 3;
  do {
    for (std::size_t round = 0; round < 1'000; ++round)
      for (std::size_t i = 1; i < values.size(); ++i) {
        a = a * 6'364'136'223'846'793'005u + values[i - 1];
        b ^= a >> 29;
        c += b * (a | 1);
        values[i] += c ^ (b << 7);
      }
  } while (machine_ns(clock) < end);
  EXPECT_NE(a + b + c, 0u);
}

TEST_F(HolderProbe, ComputingCostsNoExperimentTime) {
  const std::int64_t begin = now_ns();
  compute(CLOCK_THREAD_CPUTIME_ID, 500'000'000);
  EXPECT_EQ(now_ns(), begin);
}

// Two programs that begin at the same time.
TEST(StandstillProbe, HoldsTime) {
  ibv_context* context = open_device();
  usleep(100);
  compute(CLOCK_MONOTONIC, 1'500'000'000);
  usleep(100);
  ibv_close_device(context);
}
TEST(StandstillProbe, WaitsForIt) {
  ibv_context* context = open_device();
  for (int i = 0; i < 10; ++i) usleep(100);
  ibv_close_device(context);
}

}  // namespace
}  // namespace rocelab::probe
