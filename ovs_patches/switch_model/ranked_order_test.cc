#include "ovs_patches/switch_model/ranked_order.h"

#include <gtest/gtest.h>

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
