#include "ovs_patches/switch_model/ranked_order.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "ovs_patches/switch_model/test_orders.h"

namespace rocelab {
namespace {

TEST(RankedOrderTest, EqualRanksLeaveInTheOrderOfTheirArrival) {
  std::vector<RankedOrder::Places> places(8);
  RankedOrder order(true);
  for (std::uint32_t node = 0; node < 8; ++node) order.push(places, node, node % 2);
  EXPECT_EQ(order.last(), 7u);
  std::vector<std::uint32_t> left;
  for (; !order.empty(); order.erase(places, left.back())) left.push_back(order.first());
  EXPECT_EQ(left, (std::vector<std::uint32_t>{0, 2, 4, 6, 1, 3, 5, 7}));
}

TEST(RankedOrderTest, TheLeastAndTheLargestRankAreTheEnds) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  std::vector<RankedOrder::Places> places(4);
  RankedOrder order(true);
  const std::int64_t ranks[] = {0, std::numeric_limits<std::int64_t>::max(), kLeast, -1};
  for (std::uint32_t node = 0; node < 4; ++node) order.push(places, node, ranks[node]);
  EXPECT_EQ(order.key_of(places, 2), (RankedOrder::Key{kLeast, 2}));
  EXPECT_EQ(order.last(), 1u);
  std::vector<std::uint32_t> left;
  for (; !order.empty(); order.erase(places, left.back())) left.push_back(order.first());
  EXPECT_EQ(left, (std::vector<std::uint32_t>{2, 3, 0, 1}));
}

TEST(RankedOrderTest, ANodeBeyondItsBitsAborts) {
  std::vector<RankedOrder::Places> places;
  RankedOrder order(false);
  EXPECT_DEATH(order.push(places, 1u << 24, 0), "");
}

TEST(RankedOrderTest, AgreesWithASortedMapUnderRandomWork) {
  for (const bool finds_last : {false, true}) {
    RankedOrder order(finds_last);
    switch_test::work_on_order(
        order, finds_last ? 2 : 1, -20, 40, [&](const auto& places, const auto& oracle) {
          ASSERT_EQ(order.size(), oracle.size());
          ASSERT_EQ(order.key_of(places, order.first()).rank, oracle.begin()->first.first);
          if (!finds_last) return;
          ASSERT_EQ(order.last(), oracle.rbegin()->second);
        });
  }
}

}  // namespace
}  // namespace rocelab
