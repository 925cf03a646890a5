#include "irn_provider/verbs/libc/program.h"

#include <gtest/gtest.h>

#include "irn_provider/verbs/libc/tsc.h"

namespace rocelab::libc {
namespace {

TEST(ProgramNeedsTest, ProgramsAreKnownByName) {
  EXPECT_EQ(needs_of("ib_send_bw", false, nullptr, nullptr), (ProgramNeeds{.tsc = true, .calibrates = true}));
  EXPECT_EQ(needs_of("ib_write_lat", false, nullptr, nullptr),
            (ProgramNeeds{.tsc = true, .calibrates = true, .memory_poll = true}));
  EXPECT_EQ(needs_of("ibv_rc_pingpong", false, nullptr, nullptr), ProgramNeeds{});
  EXPECT_EQ(needs_of("riostream", false, nullptr, nullptr), (ProgramNeeds{.memory_poll = true}));
}

TEST(ProgramNeedsTest, TheEnvironmentDecidesWhereItSaysSomething) {
  EXPECT_EQ(needs_of("my_program", false, "1", "1"),
            (ProgramNeeds{.tsc = true, .calibrates = true, .memory_poll = true}));
  EXPECT_EQ(needs_of("ib_write_lat", true, "0", "0"), ProgramNeeds{});
  EXPECT_EQ(needs_of("ib_write_lat", false, "", ""),
            (ProgramNeeds{.tsc = true, .calibrates = true, .memory_poll = true}));
}

TEST(ProgramNeedsTest, UcxReadsTheCounterAndFindsItsRateByItself) {
  EXPECT_EQ(needs_of("any_program", true, nullptr, nullptr), ProgramNeeds{.tsc = true});
}

TEST(TscTest, CountsTenthsOfNanosecondsFromAThousandSeconds) {
  EXPECT_EQ(tsc_at(Time::zero()), 10'000'000'000'000u);
  EXPECT_EQ(tsc_at(Time::from_ps(100)) - tsc_at(Time::zero()), 1u);
  EXPECT_EQ(tsc_at(Time::from_ps(99)), tsc_at(Time::zero()));
}

}  // namespace
}  // namespace rocelab::libc
