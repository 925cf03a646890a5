#include "ovs_patches/switch_model/ranked_order.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "base/rng.h"

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

// The oracle is a sorted map from (rank, arrival) to the node.
TEST(RankedOrderTest, AgreesWithASortedMapUnderRandomWork) {
  for (const bool finds_last : {false, true}) {
    Rng rng(finds_last ? 2 : 1);
    constexpr std::uint32_t kNodes = 300;
    std::vector<RankedOrder::Places> places(kNodes);
    RankedOrder order(finds_last);
    std::map<std::pair<std::int64_t, std::uint64_t>, std::uint32_t> oracle;
    std::vector<std::uint32_t> free(kNodes);
    std::iota(free.begin(), free.end(), 0u);
    for (std::uint64_t step = 0; step < 20'000; ++step) {
      const bool push = !free.empty() && (oracle.empty() || rng.below(100) < 51);
      if (push) {
        const std::uint32_t node = free.back();
        free.pop_back();
        const auto rank = static_cast<std::int64_t>(rng.below(40)) - 20;
        order.push(places, node, rank);
        oracle.emplace(std::pair{rank, step}, node);
      } else {
        auto at = oracle.begin();
        std::advance(at, static_cast<std::ptrdiff_t>(rng.below(oracle.size())));
        order.erase(places, at->second);
        free.push_back(at->second);
        oracle.erase(at);
      }
      ASSERT_EQ(order.size(), oracle.size());
      if (oracle.empty()) continue;
      ASSERT_EQ(order.first(), oracle.begin()->second) << "step " << step;
      ASSERT_EQ(order.key_of(places, order.first()).rank, oracle.begin()->first.first);
      if (!finds_last) continue;
      ASSERT_EQ(order.last(), oracle.rbegin()->second) << "step " << step;
    }
  }
}

}  // namespace
}  // namespace rocelab
