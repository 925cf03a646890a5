#include "irn_provider/verbs/libc/program.h"

#include <gtest/gtest.h>

#include "irn_provider/verbs/libc/tsc.h"

namespace rocelab::libc {
namespace {

TEST(ProgramNeedsTest, ProgramsAreKnownByName) {
  EXPECT_EQ(needs_of("ib_send_bw", false, nullptr, nullptr), (ProgramNeeds{.tsc = true, .calibrates = true}));
  EXPECT_EQ(needs_of("ib_write_lat", false, nullptr, nullptr),
            (ProgramNeeds{.tsc = true, .calibrates = true, .memory = MemoryWatch::kAlways}));
  EXPECT_EQ(needs_of("ibv_rc_pingpong", false, nullptr, nullptr), ProgramNeeds{});
  EXPECT_EQ(needs_of("riostream", false, nullptr, nullptr), (ProgramNeeds{.memory = MemoryWatch::kAlways}));
}

TEST(ProgramNeedsTest, TheEnvironmentDecidesWhereItSaysSomething) {
  EXPECT_EQ(needs_of("my_program", false, "1", "1"),
            (ProgramNeeds{.tsc = true, .calibrates = true, .memory = MemoryWatch::kAlways}));
  EXPECT_EQ(needs_of("ib_write_lat", true, "0", "0"), ProgramNeeds{.memory = MemoryWatch::kNever});
  EXPECT_EQ(needs_of("ib_write_lat", false, "", ""),
            (ProgramNeeds{.tsc = true, .calibrates = true, .memory = MemoryWatch::kAlways}));
}

TEST(ProgramNeedsTest, UcxReadsTheCounterAndFindsItsRateByItself) {
  EXPECT_EQ(needs_of("any_program", true, nullptr, nullptr), ProgramNeeds{.tsc = true});
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
