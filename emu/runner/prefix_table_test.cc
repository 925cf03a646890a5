#include "emu/runner/prefix_table.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace rocelab {
namespace {

constexpr std::uint32_t kAny = kAnyValue;

std::uint32_t value_of(const std::vector<PrefixRule>& rules, std::uint32_t block) {
  for (const PrefixRule& r : rules)
    if (block >> r.bits_free == r.first >> r.bits_free) return r.value;
  return kAny;
}

TEST(PrefixTableTest, OneValueIsOneRule) {
  EXPECT_EQ(aggregate({7, 7, 7}).size(), 1u);
  EXPECT_EQ(aggregate({kAny, 7, kAny, 7, 7}).size(), 1u);
  EXPECT_TRUE(aggregate({kAny, kAny}).empty());
  EXPECT_TRUE(aggregate({}).empty());
}

TEST(PrefixTableTest, RowsOfAPodAreOneRuleEach) {
  const std::vector<PrefixRule> rules = aggregate({1, 1, 1, kAny, 2, 2, 2, kAny, 3, 3, 3, kAny});
  ASSERT_EQ(rules.size(), 3u);
  EXPECT_EQ(rules[2].bits_free, 4u);  // everything
}

TEST(PrefixTableTest, AnExceptionIsOneMoreRule) {
  const std::vector<PrefixRule> rules = aggregate({1, 1, 9, 1, 1, 1, 1, 1});
  ASSERT_EQ(rules.size(), 2u);
  EXPECT_EQ(rules[0].first, 2u);
  EXPECT_EQ(rules[0].bits_free, 0u);
}

TEST(PrefixTableTest, LongestMatchGivesEveryBlockItsValue) {
  Rng rng(5);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::uint32_t> values(1 + rng.below(40));
    for (std::uint32_t& v : values) v = rng.below(4) == 0 ? kAny : static_cast<std::uint32_t>(rng.below(3));
    const std::vector<PrefixRule> rules = aggregate(values);
    for (std::uint32_t b = 0; b < values.size(); ++b)
      ASSERT_TRUE(values[b] == kAny || value_of(rules, b) == values[b]) << "round " << round;
  }
}

}  // namespace
}  // namespace rocelab
