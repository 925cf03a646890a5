// Random work on an order of frames (RankedOrder, LevelOrder), held against a sorted map from (rank, arrival)
// to the node: pushes, and frames that are taken out wherever they stand.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "ovs_patches/switch_model/ranked_order.h"

namespace rocelab::switch_test {

using OrderOracle = std::map<std::pair<std::int64_t, std::uint64_t>, std::uint32_t>;

// Ranks are `least` to `least` + `ranks` - 1. check(places, oracle) is called after each step that leaves a
// frame.
template <class Order, class Check>
void work_on_order(Order& order, std::uint64_t seed, std::int64_t least, std::uint64_t ranks, Check&& check) {
  Rng rng(seed);
  constexpr std::uint32_t kNodes = 300;
  std::vector<RankedOrder::Places> places(kNodes);
  OrderOracle oracle;
  std::vector<std::uint32_t> free(kNodes);
  std::iota(free.begin(), free.end(), 0u);
  for (std::uint64_t step = 0; step < 20'000; ++step) {
    const bool push = !free.empty() && (oracle.empty() || rng.below(100) < 51);
    if (push) {
      const std::uint32_t node = free.back();
      free.pop_back();
      const std::int64_t rank = least + static_cast<std::int64_t>(rng.below(ranks));
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
    check(places, oracle);
    if (testing::Test::HasFatalFailure()) FAIL() << "step " << step;
  }
}

}  // namespace rocelab::switch_test
