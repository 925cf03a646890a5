#include "ovs_patches/switch_model/level_order.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "base/rng.h"

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

// The oracle is a sorted map from (level, arrival) to the node.
TEST(LevelOrderTest, AgreesWithASortedMapUnderRandomWork) {
  for (const std::uint32_t levels : {1u, 5u, LevelOrder::kMostLevels}) {
    Rng rng(levels);
    constexpr std::uint32_t kNodes = 300;
    std::vector<LevelOrder::Places> places(kNodes);
    LevelOrder order(levels);
    std::map<std::pair<std::int64_t, std::uint64_t>, std::uint32_t> oracle;
    std::vector<std::uint32_t> free(kNodes);
    std::iota(free.begin(), free.end(), 0u);
    for (std::uint64_t step = 0; step < 20'000; ++step) {
      const bool push = !free.empty() && (oracle.empty() || rng.below(100) < 51);
      if (push) {
        const std::uint32_t node = free.back();
        free.pop_back();
        const auto rank = static_cast<std::int64_t>(rng.below(levels));
        order.push(places, node, rank);
        oracle.emplace(std::pair{rank, step}, node);
      } else {
        auto at = oracle.begin();
        std::advance(at, static_cast<std::ptrdiff_t>(rng.below(oracle.size())));
        order.erase(places, at->second);
        free.push_back(at->second);
        oracle.erase(at);
      }
      ASSERT_EQ(order.empty(), oracle.empty());
      if (oracle.empty()) continue;
      ASSERT_EQ(order.first(), oracle.begin()->second) << "step " << step;
      ASSERT_EQ(order.last(), oracle.rbegin()->second) << "step " << step;
      if (step % 1000 != 0) continue;
      std::vector<std::uint32_t> walked, sorted;
      order.for_each(places, [&](std::uint32_t node) { walked.push_back(node); });
      for (const auto& [key, node] : oracle) sorted.push_back(node);
      ASSERT_EQ(walked, sorted);
    }
  }
}

}  // namespace
}  // namespace rocelab
