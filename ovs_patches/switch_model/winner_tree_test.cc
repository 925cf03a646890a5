#include "ovs_patches/switch_model/winner_tree.h"

#include "ovs_patches/switch_model/test_support.h"

namespace rocelab {
namespace {

using namespace switch_test;

TEST(WinnerTreeTest, EarliestWinsAndTiesGoToTheLowestIndex) {
  WinnerTree tree(5);
  EXPECT_TRUE(tree.min_time().is_never());
  tree.set(4, at(10_ns));
  tree.set(2, at(10_ns));
  tree.set(1, at(11_ns));
  EXPECT_EQ(tree.winner(), 2u);
  tree.set(2, Time::never());
  EXPECT_EQ(tree.winner(), 4u);
  tree.set(4, at(12_ns));
  EXPECT_EQ(tree.winner(), 1u);
}

TEST(WinnerTreeTest, AgreesWithAScanOverRandomChanges) {
  for (const std::size_t leaves : {1u, 2u, 3u, 64u, 65u, 512u}) {
    WinnerTree tree(leaves);
    std::vector<Time> times(leaves, Time::never());
    Rng rng(leaves);
    for (int i = 0; i < 2000; ++i) {
      const bool winner = rng.below(2) == 0 && !tree.min_time().is_never();
      const std::size_t leaf = winner ? tree.winner() : rng.below(leaves);
      times[leaf] =
          rng.below(4) == 0 ? Time::never() : Time::from_ps(static_cast<std::int64_t>(rng.below(50)));
      winner ? tree.replace_winner(times[leaf]) : tree.set(leaf, times[leaf]);
      const auto earliest = std::min_element(times.begin(), times.end());
      ASSERT_EQ(tree.min_time(), *earliest) << leaves << " leaves, step " << i;
      if (earliest->is_never()) continue;
      ASSERT_EQ(tree.winner(), static_cast<std::size_t>(earliest - times.begin()));
    }
  }
}

}  // namespace
}  // namespace rocelab
