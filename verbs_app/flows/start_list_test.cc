#include "verbs_app/flows/start_list.h"

#include <gtest/gtest.h>

namespace rocelab::app {
namespace {

Flow at(std::uint32_t id, std::int64_t ns) {
  Flow f;
  f.id = id;
  f.start_ps = ns * 1'000;
  return f;
}

Flow after(std::uint32_t id, const std::vector<std::uint32_t>& flows, std::uint32_t count) {
  Flow f;
  f.id = id;
  for (const std::uint32_t other : flows) f.after.push_back({other, 0});
  f.after_count = count;
  return f;
}

std::vector<std::uint32_t> taken(StartList& list, std::int64_t ns) {
  std::vector<std::uint32_t> slots;
  while (const auto slot = list.take(ns)) slots.push_back(*slot);
  return slots;
}

using Slots = std::vector<std::uint32_t>;

TEST(StartListTest, TimesComeInOrderAndEqualOnesAsTheyWereAdded) {
  StartList list;
  list.add(at(1, 50), 7);
  list.add(at(2, 10), 8);
  list.add(at(3, 50), 9);
  list.begin();
  EXPECT_EQ(list.timed_left(), 3u);
  EXPECT_EQ(list.next_ns(), 10);
  EXPECT_EQ(taken(list, 9), Slots{});
  EXPECT_EQ(taken(list, 10), Slots{8});
  EXPECT_EQ(list.next_ns(), 50);
  EXPECT_EQ(taken(list, 60), (Slots{7, 9}));
  EXPECT_EQ(list.timed_left(), 0u);
}

TEST(StartListTest, AFlowStartsOnceWhenEnoughOthersHaveEnded) {
  StartList list;
  list.add(at(1, 0), 0);
  list.add(after(4, {1, 2, 3}, 2), 5);
  list.add(after(5, {1}, 1), 6);
  list.begin();
  EXPECT_EQ(taken(list, 0), Slots{0});
  EXPECT_EQ(list.timed_left(), 0u) << "the others have no time";
  list.ended(1, 0);
  list.ended(9, 0);  // nobody waits for it
  EXPECT_EQ(taken(list, 0), Slots{6});
  list.ended(3, 0);
  EXPECT_EQ(taken(list, 0), Slots{5});
  list.ended(2, 0);
  EXPECT_EQ(taken(list, 1'000), Slots{});
}

TEST(StartListTest, WhoCanNoLongerStartIsNamedOnce) {
  StartList list;
  list.add(after(4, {1, 2, 3}, 2), 5);
  list.begin();
  EXPECT_EQ(list.failed(1), Slots{}) << "two others are left";
  EXPECT_EQ(list.failed(2), Slots{5});
  EXPECT_EQ(list.failed(3), Slots{});
  list.ended(7, 0);
  EXPECT_EQ(taken(list, 0), Slots{});
}

TEST(StartListTest, AFlowStartsWhenTheDelaysBehindTheEndsAreOverAndNotBeforeItsTime) {
  StartList list;
  Flow delayed = after(3, {1, 2}, 2), early = after(4, {1}, 1);
  delayed.after[0].delay_ns = 110;
  delayed.after[1].delay_ns = 30;
  early.start_ps = 75'000;
  list.add(delayed, 0);
  list.add(early, 1);
  list.begin();
  list.ended(1, 40);
  EXPECT_EQ(list.timed_left(), 1u);
  EXPECT_EQ(list.next_ns(), 75);
  list.ended(2, 50);
  EXPECT_EQ(taken(list, 74), Slots{});
  EXPECT_EQ(taken(list, 75), Slots{1});
  EXPECT_EQ(list.next_ns(), 150);
  EXPECT_EQ(taken(list, 149), Slots{});
  EXPECT_EQ(taken(list, 150), Slots{0});
  EXPECT_EQ(list.timed_left(), 0u);
}

TEST(StartListTest, FlowsOfAConnectionKeepTheirOrderWhereSomeWait) {
  StartList list;
  std::vector<Flow> flows = {at(10, 0), after(11, {1}, 1), after(12, {2}, 1), at(13, 20), at(14, 10)};
  for (std::uint32_t slot = 0; slot < 4; ++slot) flows[slot].connection = 7;
  flows[2].start_ps = 5'000;
  flows[1].start_ps = 4'000;
  for (std::uint32_t slot = 0; slot < 5; ++slot) list.add(flows[slot], slot);
  list.begin();
  EXPECT_EQ(taken(list, 0), Slots{0});
  list.ended(2, 8);
  EXPECT_EQ(taken(list, 8), Slots{}) << "slot 1 of the connection is before slot 2";
  EXPECT_EQ(taken(list, 10), Slots{4}) << "another connection";
  EXPECT_EQ(taken(list, 20), Slots{});
  list.ended(1, 30);
  EXPECT_EQ(taken(list, 30), (Slots{1, 2, 3}));
}

}  // namespace
}  // namespace rocelab::app
