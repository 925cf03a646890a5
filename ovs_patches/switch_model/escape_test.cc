#include "ovs_patches/switch_model/escape.h"

#include <gtest/gtest.h>

namespace rocelab {
namespace {

SwitchFlow flow(int n, int in = 0) {
  return {NodeId{static_cast<std::uint16_t>(n)}, NodeId{9}, Qpn{17}, PortId{static_cast<std::uint16_t>(in)}};
}

TEST(EscapeTest, APoolNeverHoldsMoreThanItsQueueHasPlaces) {
  EscapePool pool(2, false);
  pool.take();
  pool.take();
  EXPECT_EQ(pool.size(), 0u);
  for (int i = 0; i < 3; ++i) pool.give();
  EXPECT_EQ(pool.size(), 2u);
  EXPECT_TRUE(pool.whole());
  EscapePool letter(2, true);
  letter.give();
  EXPECT_EQ(letter.size(), 3u) << "line 31 has no bound";
}

TEST(EscapeTest, ATokenThatWasNotUsedComesBackAfterAnIntervalWithoutChange) {
  EscapePool pool(3, false);
  pool.take();
  pool.take();
  pool.reclaim();  // saves 1
  EXPECT_EQ(pool.size(), 1u);
  pool.reclaim();
  EXPECT_EQ(pool.size(), 2u);
  pool.take();
  pool.reclaim();  // it changed
  EXPECT_EQ(pool.size(), 1u);
  pool.reclaim();
  pool.reclaim();
  EXPECT_TRUE(pool.whole());
}

TEST(EscapeTest, TheTableHasTheLastFlowsEachOnce) {
  EscapeFlows flows(3);
  for (const int n : {1, 1, 2, 1, 3, 3}) flows.note(flow(n));
  EXPECT_EQ(flows.all().size(), 3u);
  flows.note(flow(4));  // in place of 1
  EXPECT_EQ(flows.find(flow(1).key()), nullptr);
  for (const int n : {2, 3, 4}) EXPECT_NE(flows.find(flow(n).key()), nullptr) << n;
}

}  // namespace
}  // namespace rocelab
