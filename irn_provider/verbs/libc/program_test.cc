#include "irn_provider/verbs/libc/program.h"

#include <gtest/gtest.h>

#include "irn_provider/verbs/libc/tsc.h"

namespace rocelab::libc {
namespace {

TEST(ProgramNeedsTest, ProgramsAreKnownByName) {
  EXPECT_EQ(needs_of("ib_send_bw", nullptr, nullptr), (ProgramNeeds{.tsc = true, .memory_poll = false}));
  EXPECT_EQ(needs_of("ib_write_lat", nullptr, nullptr), (ProgramNeeds{.tsc = true, .memory_poll = true}));
  EXPECT_EQ(needs_of("ibv_rc_pingpong", nullptr, nullptr), ProgramNeeds{});
  EXPECT_EQ(needs_of("riostream", nullptr, nullptr), (ProgramNeeds{.tsc = false, .memory_poll = true}));
}

TEST(ProgramNeedsTest, TheEnvironmentDecidesWhereItSaysSomething) {
  EXPECT_EQ(needs_of("my_program", "1", "1"), (ProgramNeeds{.tsc = true, .memory_poll = true}));
  EXPECT_EQ(needs_of("ib_write_lat", "0", "0"), ProgramNeeds{});
  EXPECT_EQ(needs_of("ib_write_lat", "", ""), (ProgramNeeds{.tsc = true, .memory_poll = true}));
}

TEST(TscTest, CountsTenthsOfNanosecondsFromAThousandSeconds) {
  EXPECT_EQ(tsc_at(Time::zero()), 10'000'000'000'000u);
  EXPECT_EQ(tsc_at(Time::from_ps(100)) - tsc_at(Time::zero()), 1u);
  EXPECT_EQ(tsc_at(Time::from_ps(99)), tsc_at(Time::zero()));
}

}  // namespace
}  // namespace rocelab::libc
