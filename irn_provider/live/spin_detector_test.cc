#include "irn_provider/live/spin_detector.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <utility>

namespace rocelab {
namespace {

SpinSample at(std::uint64_t instruction, std::uint64_t counter, std::int64_t cpu_us,
              std::uint64_t calls = 1) {
  SpinSample s;
  s.at = instruction, s.words[0] = counter;
  s.cpu_ns = cpu_us * 1'000, s.calls = calls;
  return s;
}

using Finding = SpinDetector::Finding;

// Observes samples at the given instructions, 20 us after one another, and says what the last one led to; the
// ones before lead to nothing.
Finding observed(SpinDetector& law, std::initializer_list<std::uint64_t> instructions) {
  Finding found = Finding::kNone;
  std::int64_t us = 0;
  for (const std::uint64_t instruction : instructions) {
    EXPECT_EQ(found, Finding::kNone) << "before the sample at " << us << " us";
    found = law.observe(at(instruction, 7, us));
    us += 20;
  }
  return found;
}

TEST(SpinDetectorTest, AStateThreeTimesIsASpinIfTheThreadCameBackToIt) {
  SpinDetector first, last, late;
  EXPECT_EQ(observed(first, {0x1000, 0x1004, 0x1000, 0x1000}), Finding::kSpins);
  EXPECT_EQ(observed(last, {0x1000, 0x1000, 0x1004, 0x1000}), Finding::kSpins);
  EXPECT_EQ(observed(late, {0x1000, 0x1000, 0x1000, 0x1004, 0x1008, 0x1000}), Finding::kSpins);
}

TEST(SpinDetectorTest, TheOnlyStateSixTimesIsASpin) {
  SpinDetector law, other;
  EXPECT_EQ(observed(law, {0x1000, 0x1000, 0x1000, 0x1000, 0x1000, 0x1000}), Finding::kSpins);
  EXPECT_EQ(observed(other, {0x0ff0, 0x1000, 0x1000, 0x1000, 0x1000, 0x1000, 0x1000}), Finding::kSpins)
      << "one that it did not come back to tells nothing";
}

TEST(SpinDetectorTest, ASampleInTheStateOfTheOneBeforeDoesNotTellThatTheThreadGotOn) {
  SpinDetector law;
  SpinSample held = at(0x1004, 7, 60);
  held.moved = false;
  for (const auto& [sample, stands] : {std::pair{at(0x1000, 7, 0), false},
                                       {at(0x1000, 7, 20), true},
                                       {at(0x1004, 7, 40), false},
                                       {held, true}}) {
    law.observe(sample);
    EXPECT_EQ(law.stands(), stands) << sample.cpu_ns;
  }
}

TEST(SpinDetectorTest, ALoopOfManyInstructionsIsFoundWhereverTheSamplesFall) {
  SpinDetector law;
  for (int i = 0; i < 200; ++i)
    EXPECT_EQ(law.observe(at(0x1000 + static_cast<std::uint64_t>(i % 100), 7, 20 * i)), Finding::kNone);
  EXPECT_EQ(law.observe(at(0x1003, 7, 5'000)), Finding::kSpins);
}

// Slots of a ring, or clients, one after the other: the thread comes back to each.
TEST(SpinDetectorTest, ALoopThatGoesRoundManySlotsIsASpin) {
  SpinDetector law;
  int i = 0;
  while (law.observe(at(0x1000, static_cast<std::uint64_t>(i * 37 % 100), 20 * i)) == Finding::kNone) ++i;
  EXPECT_EQ(i, 200) << "the first slot for the third time";
}

TEST(SpinDetectorTest, ALoopThatCountsInARegisterOrOnItsStackIsNone) {
  SpinDetector registers, stack;
  for (int i = 0; i < 1'000; ++i) {
    EXPECT_EQ(registers.observe(at(0x1000, static_cast<std::uint64_t>(i), 20 * i)), Finding::kNone);
    SpinSample s = at(0x1000, 7, 20 * i);
    s.words[SpinSample::kRegisters + 10] = static_cast<std::uint64_t>(i);
    EXPECT_EQ(stack.observe(s), Finding::kNone);
  }
}

TEST(SpinDetectorTest, AThreadThatCalledInBeginsAnew) {
  SpinDetector law;
  for (std::uint64_t calls = 1; calls < 100; ++calls)
    EXPECT_EQ(law.observe(at(0x1000, 7, static_cast<std::int64_t>(20 * calls), calls)), Finding::kNone);
}

TEST(SpinDetectorTest, AThreadThatUsesNoProcessorIsBlockedAndDoesNotSpin) {
  SpinDetector law;
  EXPECT_EQ(law.observe(at(0x1000, 7, 0)), Finding::kNone);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(law.observe(at(0x1000, 7, 4)), Finding::kNone);
}

TEST(SpinDetectorTest, AThreadThatExecutedNoInstructionBetweenTwoSamplesIsNotFoundToSpin) {
  SpinDetector law;
  SpinSample s = at(0x1000, 7, 0);
  EXPECT_EQ(law.observe(s), Finding::kNone);
  s.moved = false;  // processor time passes all the same: interruptions take it
  for (int i = 1; i < 100'000; ++i, s.cpu_ns += 20'000) ASSERT_EQ(law.observe(s), Finding::kNone);
  s.moved = true;
  for (int i = 0; i < 4; ++i, s.cpu_ns += 20'000) EXPECT_EQ(law.observe(s), Finding::kNone);
  EXPECT_EQ(law.observe(s), Finding::kSpins);
}

TEST(SpinDetectorTest, AfterASpinTheNextOneIsFoundByNewSamplesOnly) {
  SpinDetector law;
  for (int i = 0; i < 2; ++i) ASSERT_EQ(observed(law, {0x1000, 0x1004, 0x1000, 0x1000}), Finding::kSpins);
}

TEST(SpinDetectorTest, TheCLibraryComputes) {
  SpinDetector law;
  for (int i = 0; i < 10; ++i) {
    SpinSample s = at(0x1000, 7, 20 * i);
    s.in_library = true;
    EXPECT_EQ(law.observe(s), Finding::kNone);
  }
}

// A loop of four instructions in which so many registers differ each time it is looked at, every millisecond.
// How many milliseconds until it is found; -1: not within ten seconds.
int counted_after(SpinDetector& law, int registers, int begin_ms = 0, std::uint64_t calls = 1) {
  for (int ms = 0; ms < 10'000; ++ms) {
    SpinSample s = at(0x1000 + static_cast<std::uint64_t>(ms % 4), 0, 1'000ll * (begin_ms + ms), calls);
    for (int r = 0; r < registers; ++r)
      s.words[static_cast<std::size_t>(r)] = static_cast<std::uint64_t>(begin_ms + ms + 1);
    if (law.observe(s) == Finding::kCounts) return ms;
  }
  return -1;
}

TEST(SpinDetectorTest, AShortLoopInWhichFewRegistersDifferMayWait) {
  SpinDetector one, four, five, on_the_stack;
  EXPECT_EQ(counted_after(one, 1), 250);
  EXPECT_EQ(counted_after(four, 4), 250);
  EXPECT_EQ(counted_after(five, 5), -1) << "it computes";
  EXPECT_EQ(counted_after(on_the_stack, 20), -1) << "as code does that is not optimized";
}

TEST(SpinDetectorTest, CodeOfManyInstructionsComputes) {
  SpinDetector law;
  for (int ms = 0; ms < 10'000; ++ms)
    EXPECT_EQ(law.observe(at(0x1000 + static_cast<std::uint64_t>(ms % 500), static_cast<std::uint64_t>(ms),
                             1'000ll * ms)),
              Finding::kNone);
}

TEST(SpinDetectorTest, ALoopThatGoesOnIsLookedAtAgainSoonAndOneThatHasWaitedIsKnown) {
  SpinDetector law;
  int now = counted_after(law, 1);
  now += 1 + counted_after(law, 1, now + 1);
  EXPECT_LT(now, 250 + 30) << "it still waits";
  const int next = counted_after(law, 1, now + 1, 2);  // it has called in soon after: it had waited
  EXPECT_GE(next, 5);
  EXPECT_LT(next, 30);
}

TEST(SpinDetectorTest, ALoopThatDidNotEndSoonIsNotKnown) {
  SpinDetector law;
  const int now = counted_after(law, 1);
  EXPECT_EQ(counted_after(law, 1, now + 100, 2), 250);
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

TEST(SampleClockTest, OneThatOnlyComputesIsLookedAtLessOften) {
  SampleClock clock;
  clock.progress(1'000);
  for (int i = 0; i < SampleClock::kOften; ++i) EXPECT_EQ(clock.next(20'000, 0), SampleClock::kLeastNs);
  EXPECT_EQ(clock.next(20'000, 0), SampleClock::kMostNs);
  clock.first();
  EXPECT_EQ(clock.next(20'000, 0), SampleClock::kLeastNs);
}

TEST(SampleClockTest, OneThatDoesNotGetOnIsLookedAtLessAndLessOften) {
  SampleClock clock;
  clock.progress(1'000);
  EXPECT_EQ(clock.first(), 20'000);
  EXPECT_EQ(clock.next(0, 0), 40'000);
  EXPECT_EQ(clock.next(SpinDetector::kMinCpuNs - 1, 0), 80'000);
  for (int i = 0; i < 10; ++i) clock.next(100, 0);
  EXPECT_EQ(clock.next(100, 0), SampleClock::kMostNs);
  EXPECT_EQ(clock.next(SpinDetector::kMinCpuNs, 0), 20'000);
  EXPECT_EQ(clock.next(SpinDetector::kMinCpuNs, 0, /*stands=*/true), 40'000) << "it may not have got on";
  EXPECT_EQ(clock.next(SpinDetector::kMinCpuNs, 0, /*stands=*/true), 80'000);
  EXPECT_EQ(clock.next(SpinDetector::kMinCpuNs, 0), 20'000);
  clock.next(0, 0);
  EXPECT_EQ(clock.first(), 20'000) << "one that goes on after a wait begins anew";
}

}  // namespace
}  // namespace rocelab
