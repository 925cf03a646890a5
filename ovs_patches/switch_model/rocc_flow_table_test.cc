#include "ovs_patches/switch_model/rocc_flow_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

namespace rocelab {
namespace {

SwitchFlow flow(int n, int in = 0) {
  return {NodeId{static_cast<std::uint16_t>(n)}, NodeId{99}, Qpn{static_cast<std::uint32_t>(4096 + n)},
          PortId{static_cast<std::uint16_t>(in)}};
}
std::vector<int> sources(const std::vector<SwitchFlow>& flows) {
  std::vector<int> result;
  for (const SwitchFlow& f : flows) result.push_back(f.source.value);
  return result;
}
Time at(Duration since) { return Time::zero() + since; }

TEST(RoccFlowTableTest, DefaultTellsEachFlowOfTheQueueOnceInTheOrderOfItsFirstFrame) {
  const auto table = make_rocc_flow_table({}, 400, Rng(1));
  EXPECT_FALSE(table->wants_frames()) << "it costs nothing while frames pass";
  for (const int n : {5, 3, 5, 7, 3}) table->on_queued(flow(n));
  EXPECT_EQ(sources(table->take(Time::zero())), (std::vector{5, 3, 7}));
  EXPECT_TRUE(table->take(Time::zero()).empty()) << "each period looks anew";
}

TEST(RoccFlowTableTest, AFlowIsItsTwoEndsAndItsQpn) {
  const auto table = make_rocc_flow_table({}, 400, Rng(1));
  for (const std::uint16_t source : std::array<std::uint16_t, 2>{1, 2})
    for (const std::uint16_t destination : std::array<std::uint16_t, 2>{3, 4})
      for (const std::uint32_t qpn : {17u, 18u})
        table->on_queued({NodeId{source}, NodeId{destination}, Qpn{qpn}, PortId{0}});
  EXPECT_EQ(table->take(Time::zero()).size(), 8u);
}

TEST(RoccFlowTableTest, SetHoldsWhatWasPutInThroughGrowthAndReuse) {
  RoccFlowSet set;
  Rng rng(3);
  for (int round = 0; round < 50; ++round) {
    std::set<std::uint64_t> model;
    set.clear();
    for (std::uint64_t n = rng.below(500); n > 0; --n) {
      const std::uint64_t key = rng.below(300) << rng.below(40);
      ASSERT_EQ(set.insert(key), model.insert(key).second) << "round " << round << " key " << key;
    }
  }
}

TEST(RoccFlowTableTest, ByAgeAFlowLeavesAfterItsSilence) {
  const auto table = make_rocc_flow_table({.kind = RoccFlowTableKind::kAge, .max_age = 100_us}, 400, Rng(1));
  table->on_frame(flow(1), at(0_us));
  table->on_frame(flow(2), at(50_us));
  EXPECT_EQ(sources(table->take(at(100_us))), (std::vector{1, 2}));
  EXPECT_EQ(sources(table->take(at(100_us) + Duration::from_ps(1))), (std::vector{2}));
}

TEST(RoccFlowTableTest, ByAgeAFullTableGivesUpTheFlowThatWasSilentLongest) {
  const auto table = make_rocc_flow_table({.kind = RoccFlowTableKind::kAge}, 3, Rng(1));
  for (const int n : {1, 2, 3}) table->on_frame(flow(n), at(n * 1_us));
  table->on_frame(flow(1, 7), at(4_us));  // by another way now
  table->on_frame(flow(4), at(5_us));     // in place of 2
  const std::vector<SwitchFlow>& told = table->take(at(6_us));
  EXPECT_EQ(sources(told), (std::vector{1, 4, 3}));
  EXPECT_EQ(told[0].in.value, 7);
}

TEST(RoccFlowTableTest, ElephantTrapKeepsElephantsAndLetsMiceGo) {
  const auto table = make_rocc_flow_table(
      {.kind = RoccFlowTableKind::kElephantTrap, .entries = 4, .sampling = 0.25}, 400, Rng(9));
  for (int i = 0; i < 4000; ++i) {
    table->on_frame(flow(1), Time::zero());
    table->on_frame(flow(2), Time::zero());
    if (i % 4 == 0) table->on_frame(flow(100 + i), Time::zero());  // one frame each
  }
  const std::vector<int> trapped = sources(table->take(Time::zero()));
  EXPECT_LE(trapped.size(), 4u);
  for (const int elephant : {1, 2}) EXPECT_EQ(std::ranges::count(trapped, elephant), 1) << elephant;
}

TEST(RoccFlowTableTest, ElephantTrapLooksAtTheShareItIsToldTo) {
  const auto table = make_rocc_flow_table(
      {.kind = RoccFlowTableKind::kElephantTrap, .entries = 1000, .sampling = 0.1}, 400, Rng(9));
  for (int i = 0; i < 5000; ++i) table->on_frame(flow(i), Time::zero());
  EXPECT_NEAR(static_cast<double>(table->take(Time::zero()).size()), 500, 64);  // three deviations
}

}  // namespace
}  // namespace rocelab
