#include "irn_provider/verbs/libc/program.h"

#include <gtest/gtest.h>

#include "irn_provider/verbs/libc/tsc.h"

namespace rocelab::libc {
namespace {

TEST(ProgramNeedsTest, TheCounterIsForThoseThatMeasureWithIt) {
  EXPECT_EQ(needs_of({.name = "my_latency", .measures_clock = true}, nullptr, nullptr),
            (ProgramNeeds{.tsc = true, .calibrates = true}));
  EXPECT_EQ(needs_of({.name = "ibv_rc_pingpong"}, nullptr, nullptr), ProgramNeeds{});
}

TEST(ProgramNeedsTest, ThoseThatPollMemoryAreFoundAndTwoAreKnown) {
  EXPECT_EQ(needs_of({.name = "my_program"}, nullptr, nullptr).memory, MemoryWatch::kOfHolders);
  EXPECT_EQ(needs_of({.name = "ib_write_lat"}, nullptr, nullptr).memory, MemoryWatch::kAlways);
  EXPECT_EQ(needs_of({.name = "riostream"}, nullptr, nullptr).memory, MemoryWatch::kAlways);
}

TEST(ProgramNeedsTest, TheEnvironmentDecidesWhereItSaysSomething) {
  EXPECT_EQ(needs_of({.name = "my_program"}, "1", "1"),
            (ProgramNeeds{.tsc = true, .calibrates = true, .memory = MemoryWatch::kAlways}));
  const ProgramTraits known{.name = "ib_write_lat", .measures_clock = true};
  EXPECT_EQ(needs_of(known, "0", "0"), ProgramNeeds{.memory = MemoryWatch::kNever});
  EXPECT_EQ(needs_of(known, "", ""), needs_of(known, nullptr, nullptr));
}

TEST(ProgramNeedsTest, UcxReadsTheCounterAndFindsItsRateByItself) {
  EXPECT_EQ(needs_of({.name = "any_program", .ucx = true}, nullptr, nullptr), ProgramNeeds{.tsc = true});
}

TEST(TscTest, CountsTenthsOfNanosecondsFromWhatIsHigherThanTheMachines) {
  EXPECT_EQ(tsc_zero(1'000'000'000'000), kTscAtZero);
  const std::uint64_t late = kTscAtZero + 123'456'789;
  EXPECT_GT(tsc_zero(late), late);
  EXPECT_EQ(tsc_zero(late) % 100'000'000, 0u);
  EXPECT_EQ(tsc_at(Time::zero(), kTscAtZero), kTscAtZero);
  EXPECT_EQ(tsc_at(Time::from_ps(100), kTscAtZero) - kTscAtZero, 1u);
  EXPECT_EQ(tsc_at(Time::from_ps(99), kTscAtZero), kTscAtZero);
}

}  // namespace
}  // namespace rocelab::libc
