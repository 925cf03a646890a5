#include "emu/link/fault_port.h"

#include <gtest/gtest.h>

#include <vector>

namespace rocelab {
namespace {

using Kind = FaultVerdict::Kind;

FaultConfig by_list(std::vector<std::uint64_t> ordinals) {
  FaultConfig config;
  for (const std::uint64_t n : ordinals) config.drop_list[config.listed++] = n;
  return config;
}

TEST(FaultPortTest, PassesEverythingWithoutFaults) {
  FaultPort port(FaultConfig{}, Rng(1));
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(port.on_frame(true, 1000), FaultVerdict{});
}

TEST(FaultPortTest, ListCountsOnlyFramesWithPayload) {
  FaultPort port(by_list({2, 4}), Rng(1));
  std::vector<Kind> fates;
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(port.on_frame(false, 40).kind, Kind::kPass) << "ACK in front of data frame " << i + 1;
    fates.push_back(port.on_frame(true, 1000).kind);
  }
  EXPECT_EQ(fates, (std::vector{Kind::kPass, Kind::kDrop, Kind::kPass, Kind::kDrop, Kind::kPass}));
  EXPECT_EQ(port.data_frames(), 5u);
}

TEST(FaultPortTest, UnorderedListWithRepetitionsDropsEachOrdinalOnce) {
  FaultPort port(by_list({5, 1, 5}), Rng(1));
  int drops = 0;
  for (int i = 1; i <= 10; ++i) drops += port.on_frame(true, 1000).kind == Kind::kDrop ? 1 : 0;
  EXPECT_EQ(drops, 2);
}

TEST(FaultPortTest, RateDropsThatShareOfAllFrames) {
  FaultConfig config;
  config.drop_rate = 0.01;
  FaultPort port(config, Rng(7));
  int drops = 0;
  for (int i = 0; i < 100'000; ++i) drops += port.on_frame(i % 2 == 0, 1000).kind == Kind::kDrop ? 1 : 0;
  EXPECT_NEAR(drops, 1000, 130);  // 4 standard deviations
}

TEST(FaultPortTest, ListedDropDoesNotShiftTheRandomOnes) {
  FaultConfig rate;
  rate.drop_rate = 0.05;
  FaultConfig both = rate;
  both.drop_list[both.listed++] = 3;
  FaultPort a(rate, Rng(9)), b(both, Rng(9));
  for (int i = 1; i <= 1000; ++i) {
    const Kind without = a.on_frame(true, 1000).kind;
    const Kind with = b.on_frame(true, 1000).kind;
    if (i == 3) continue;
    ASSERT_EQ(without, with) << "frame " << i;
  }
}

TEST(FaultPortTest, CorruptionFlipsABitInsideTheFrame) {
  FaultConfig config;
  config.corrupt_rate = 1;
  FaultPort port(config, Rng(3));
  std::uint32_t highest = 0;
  for (int i = 0; i < 1000; ++i) {
    const FaultVerdict v = port.on_frame(true, 16);
    ASSERT_EQ(v.kind, Kind::kCorrupt);
    ASSERT_LT(v.bit, 128u);
    highest = std::max(highest, v.bit);
  }
  EXPECT_GT(highest, 100u);
  EXPECT_EQ(port.on_frame(true, 0).kind, Kind::kPass) << "nothing to flip";
}

}  // namespace
}  // namespace rocelab
