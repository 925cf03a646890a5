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

Flow after(std::uint32_t id, std::vector<std::uint32_t> flows, std::uint32_t count) {
  Flow f;
  f.id = id;
  f.after = std::move(flows);
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
  list.ended(1);
  list.ended(9);  // nobody waits for it
  EXPECT_EQ(taken(list, 0), Slots{6});
  list.ended(3);
  EXPECT_EQ(taken(list, 0), Slots{5});
  list.ended(2);
  EXPECT_EQ(taken(list, 1'000), Slots{});
}

TEST(StartListTest, WhoCanNoLongerStartIsNamedOnce) {
  StartList list;
  list.add(after(4, {1, 2, 3}, 2), 5);
  list.begin();
  EXPECT_EQ(list.failed(1), Slots{}) << "two others are left";
  EXPECT_EQ(list.failed(2), Slots{5});
  EXPECT_EQ(list.failed(3), Slots{});
  list.ended(7);
  EXPECT_EQ(taken(list, 0), Slots{});
}

}  // namespace
}  // namespace rocelab::app
