#include "ovs_patches/switch_model/scheduler.h"

#include <array>

#include "ovs_patches/switch_model/test_support.h"

namespace rocelab {
namespace {

using namespace switch_test;

SwitchConfig ets(std::array<std::uint16_t, kTrafficClasses> weights) {
  SwitchConfig config;
  config.max_frame = 1000_B;
  for (int i = 0; i < kTrafficClasses; ++i) {
    config.classes[i].selection = weights[i] == 0 ? Selection::kStrict : Selection::kEts;
    config.classes[i].weight = weights[i] == 0 ? std::uint16_t{1} : weights[i];
  }
  return config;
}

TEST(SchedulerTest, StrictClassesGoFirstHighestNumberFirst) {
  Scheduler scheduler(ets({1, 1, 1, 1, 1, 0, 0, 1}));
  const auto length = [](Tc) { return 1000_B; };
  EXPECT_EQ(scheduler.pick(0b1110'0001, length), tc(6));
  EXPECT_EQ(scheduler.pick(0b1010'0001, length), tc(5));
  EXPECT_EQ(scheduler.pick(0b1000'0000, length), tc(7)) << "class 7 is an ETS class here";
}

TEST(SchedulerTest, EqualWeightsAlternate) {
  Scheduler scheduler(ets({1, 1, 1, 1, 1, 1, 0, 0}));
  const auto length = [](Tc) { return 1000_B; };
  std::vector<int> order;
  for (int i = 0; i < 6; ++i) order.push_back(scheduler.pick(0b0000'1011, length).value);
  EXPECT_EQ(order, (std::vector<int>{1, 3, 0, 1, 3, 0}));
}

TEST(SchedulerTest, WeightsShareTheWireByBytes) {
  // Weights 1 : 3 : 4, frames of different sizes: after many rounds the wire bytes relate as the weights do,
  // to within one round.
  Scheduler scheduler(ets({1, 3, 4, 1, 1, 1, 0, 0}));
  const std::array<Bytes, 3> lengths{1000_B, 60_B, 321_B};
  std::array<std::int64_t, 3> bytes{};
  for (int i = 0; i < 100'000; ++i) {
    const Tc chosen = scheduler.pick(0b111, [&](Tc c) { return lengths[c.value]; });
    bytes[chosen.value] += wire_bytes(lengths[chosen.value]).count();
  }
  const std::int64_t round = 1024 * 4;  // what the heaviest class gets per turn
  EXPECT_NEAR(static_cast<double>(bytes[1]), 3.0 * static_cast<double>(bytes[0]), 3.0 * round);
  EXPECT_NEAR(static_cast<double>(bytes[2]), 4.0 * static_cast<double>(bytes[0]), 4.0 * round);
}

TEST(SchedulerTest, WeightThreeSendsThreeFramesPerTurn) {
  Scheduler scheduler(ets({1, 3, 1, 1, 1, 1, 0, 0}));
  std::vector<int> order;
  for (int i = 0; i < 8; ++i) order.push_back(scheduler.pick(0b11, [](Tc) { return 1000_B; }).value);
  EXPECT_EQ(order, (std::vector<int>{1, 1, 1, 0, 1, 1, 1, 0}));
}

TEST(SchedulerTest, PausedClassIsSkippedAndKeepsItsDeficit) {
  Scheduler scheduler(ets({1, 3, 1, 1, 1, 1, 0, 0}));
  const auto length = [](Tc) { return 1000_B; };
  EXPECT_EQ(scheduler.pick(0b111, length), tc(1));  // two of its three frames are left
  EXPECT_EQ(scheduler.pick(0b101, length), tc(2));  // class 1 paused
  EXPECT_EQ(scheduler.pick(0b101, length), tc(0));
  std::vector<int> order;
  for (int i = 0; i < 6; ++i) order.push_back(scheduler.pick(0b111, length).value);
  EXPECT_EQ(order, (std::vector<int>{1, 1, 1, 1, 1, 2})) << "two saved and three new";
}

TEST(SchedulerTest, EmptyClassLosesItsDeficit) {
  Scheduler scheduler(ets({1, 3, 1, 1, 1, 1, 0, 0}));
  const auto length = [](Tc) { return 1000_B; };
  EXPECT_EQ(scheduler.pick(0b111, length), tc(1));
  scheduler.on_empty(tc(1));
  EXPECT_EQ(scheduler.pick(0b101, length), tc(2));
  EXPECT_EQ(scheduler.pick(0b101, length), tc(0));
  std::vector<int> order;
  for (int i = 0; i < 4; ++i) order.push_back(scheduler.pick(0b111, length).value);
  EXPECT_EQ(order, (std::vector<int>{1, 1, 1, 2}));
}

}  // namespace
}  // namespace rocelab
