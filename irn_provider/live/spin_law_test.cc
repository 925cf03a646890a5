#include "irn_provider/live/spin_law.h"

#include <gtest/gtest.h>

namespace rocelab {
namespace {

SpinSample at(std::uint64_t instruction, std::uint64_t counter, std::int64_t cpu_us,
              std::uint64_t calls = 1) {
  SpinSample s;
  s.registers[16] = instruction, s.registers[0] = counter;
  s.cpu_ns = cpu_us * 1'000, s.calls = calls;
  return s;
}

TEST(SpinLawTest, TheSameInstructionWithTheSameRegistersThreeTimesIsASpin) {
  SpinLaw law;
  EXPECT_FALSE(law.observe(at(0x1000, 7, 0)));
  EXPECT_FALSE(law.observe(at(0x1000, 7, 20))) << "it may have waited for its page";
  EXPECT_TRUE(law.observe(at(0x1000, 7, 40)));
}

TEST(SpinLawTest, ALoopOfSeveralInstructionsIsFoundWhereverTheSamplesFall) {
  SpinLaw law;
  for (int i = 0; i < 10; ++i)
    EXPECT_FALSE(law.observe(at(0x1000 + static_cast<std::uint64_t>(i % 5), 7, 20 * i)));
  EXPECT_TRUE(law.observe(at(0x1003, 7, 200)));
}

TEST(SpinLawTest, ALoopThatCountsIsNone) {
  SpinLaw law;
  for (int i = 0; i < 1'000; ++i)
    EXPECT_FALSE(law.observe(at(0x1000, static_cast<std::uint64_t>(i), 20 * i)));
}

TEST(SpinLawTest, AThreadThatCalledInBeginsAnew) {
  SpinLaw law;
  for (std::uint64_t calls = 1; calls < 100; ++calls)
    EXPECT_FALSE(law.observe(at(0x1000, 7, static_cast<std::int64_t>(20 * calls), calls)));
}

TEST(SpinLawTest, AThreadThatUsesNoProcessorIsBlockedAndDoesNotSpin) {
  SpinLaw law;
  EXPECT_FALSE(law.observe(at(0x1000, 7, 0)));
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(law.observe(at(0x1000, 7, 4)));
}

TEST(SpinLawTest, AfterASpinTheNextOneIsFoundByNewSamplesOnly) {
  SpinLaw law;
  for (int i = 0; i < 2; ++i) law.observe(at(0x1000, 7, 20 * i));
  ASSERT_TRUE(law.observe(at(0x1000, 7, 40)));
  EXPECT_FALSE(law.observe(at(0x1000, 7, 60)));
  EXPECT_FALSE(law.observe(at(0x1000, 7, 80)));
  EXPECT_TRUE(law.observe(at(0x1000, 7, 100)));
}

// An interruption of 1 us on a fast machine: every 20 us. Of 30 us, and 10 us to look at the thread: every
// 160 us.
TEST(SampleClockTest, SamplesTakeAFifthOfTheTimeAtMost) {
  SampleClock fast, slow;
  fast.progress(1'000);
  EXPECT_EQ(fast.next(fast.progress(15'000), 500), 20'000);
  slow.progress(30'000);
  EXPECT_EQ(slow.next(slow.progress(60'000), 10'000), 160'000);
}

TEST(SampleClockTest, TheInterruptionIsNoProgress) {
  SampleClock clock;
  EXPECT_EQ(clock.progress(8'000), 0);
  EXPECT_EQ(clock.progress(8'500), 500);
  EXPECT_EQ(clock.progress(7'000), 0);
  EXPECT_EQ(clock.progress(27'000), 20'000);
}

TEST(SampleClockTest, OneThatDoesNotGetOnIsLookedAtLessAndLessOften) {
  SampleClock clock;
  clock.progress(1'000);
  EXPECT_EQ(clock.first(), 20'000);
  EXPECT_EQ(clock.next(0, 0), 40'000);
  EXPECT_EQ(clock.next(SpinLaw::kMinCpuNs - 1, 0), 80'000);
  for (int i = 0; i < 10; ++i) clock.next(100, 0);
  EXPECT_EQ(clock.next(100, 0), SampleClock::kMostNs);
  EXPECT_EQ(clock.next(SpinLaw::kMinCpuNs, 0), 20'000);
  clock.next(0, 0);
  EXPECT_EQ(clock.first(), 20'000) << "one that goes on after a wait begins anew";
}

}  // namespace
}  // namespace rocelab
