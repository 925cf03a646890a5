#include "irn_provider/live/standstill.h"

#include <gtest/gtest.h>

namespace rocelab {
namespace {

constexpr std::int64_t kMs = 1'000'000;

TEST(StandstillTest, AHolderIsToldOfOnceAfterASecond) {
  Standstill s;
  EXPECT_FALSE(s.observe(3, Time::zero() + 1_ms, 0));
  EXPECT_FALSE(s.observe(3, Time::zero() + 1_ms, 999 * kMs));
  EXPECT_TRUE(s.observe(3, Time::zero() + 1_ms, 1'000 * kMs));
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(s.observe(3, Time::zero() + 1_ms, (2'000 + 1'500 * i) * kMs));
}

TEST(StandstillTest, TimeThatMovesOrAnotherHolderBeginsAnew) {
  Standstill s;
  s.observe(3, Time::zero(), 0);
  EXPECT_FALSE(s.observe(3, Time::zero() + 1_us, 1'500 * kMs));
  EXPECT_FALSE(s.observe(4, Time::zero() + 1_us, 2'400 * kMs));
  EXPECT_FALSE(s.observe(4, Time::zero() + 1_us, 3'300 * kMs));
  EXPECT_TRUE(s.observe(4, Time::zero() + 1_us, 3'400 * kMs));
}

TEST(StandstillTest, WhereNobodyHoldsTimeThereIsNothingToSay) {
  Standstill s;
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(s.observe(std::nullopt, Time::zero(), i * 500 * kMs));
}

}  // namespace
}  // namespace rocelab
