#include "ovs_patches/switch_model/level_order.h"

#include <gtest/gtest.h>

#include <vector>

#include "ovs_patches/switch_model/test_orders.h"

namespace rocelab {
namespace {

TEST(LevelOrderTest, RanksBeyondTheLevelsAreTakenForTheNearest) {
  std::vector<LevelOrder::Places> places(4);
  LevelOrder order(LevelOrder::kMostLevels);
  order.push(places, 0, 63);
  order.push(places, 1, 1'000'000);
  order.push(places, 2, -5);
  order.push(places, 3, 0);
  std::vector<std::uint32_t> left;
  for (; !order.empty(); order.erase(places, left.back())) left.push_back(order.first());
  EXPECT_EQ(left, (std::vector<std::uint32_t>{2, 3, 0, 1}));
}

TEST(LevelOrderTest, AgreesWithASortedMapUnderRandomWork) {
  for (const std::uint32_t levels : {1u, 5u, LevelOrder::kMostLevels}) {
    LevelOrder order(levels);
    std::uint64_t steps = 0;
    switch_test::work_on_order(order, levels, 0, levels, [&](const auto& places, const auto& oracle) {
      ASSERT_EQ(order.last(), oracle.rbegin()->second);
      if (++steps % 1000 != 0) return;
      std::vector<std::uint32_t> walked, sorted;
      order.for_each(places, [&](std::uint32_t node) { walked.push_back(node); });
      for (const auto& [key, node] : oracle) sorted.push_back(node);
      ASSERT_EQ(walked, sorted);
    });
  }
}

}  // namespace
}  // namespace rocelab
