#include "verbs_app/flows/shared_lanes.h"

#include <gtest/gtest.h>

#include <map>

namespace rocelab::app {
namespace {

using Slots = std::vector<std::uint32_t>;

// Posts what the flows have left, and returns whose requests they were.
Slots fill(SharedLanes& lanes, std::size_t lane, std::map<std::uint32_t, int>& left) {
  Slots posted;
  lanes.fill(lane, [&](std::uint32_t slot) {
    if (left[slot] == 0) return false;
    --left[slot];
    posted.push_back(slot);
    return true;
  });
  return posted;
}

TEST(SharedLanesTest, AFlowPostsBehindThoseThatJoinedBeforeItAndWithinTheDepth) {
  SharedLanes lanes(3);
  lanes.add(7, 50, 1);
  lanes.add(4, 90, 2);
  std::map<std::uint32_t, int> left = {{7, 4}, {4, 2}};
  lanes.join(7, 1);
  EXPECT_EQ(fill(lanes, 0, left), (Slots{7, 7, 7})) << "the queue holds three";
  lanes.join(4, 2);
  EXPECT_EQ(fill(lanes, 0, left), Slots{});
  EXPECT_EQ(fill(lanes, 1, left), (Slots{4, 4})) << "nobody else uses this lane";
  left[4] = 2;
  lanes.completed(0, 2);
  EXPECT_EQ(fill(lanes, 0, left), (Slots{7, 4}));
  lanes.completed(0, 3);
  EXPECT_EQ(fill(lanes, 0, left), (Slots{4}));
}

TEST(SharedLanesTest, NothingIsPostedBehindTheStop) {
  SharedLanes lanes(2);
  lanes.add(1, 0, 1);
  lanes.add(2, 10, 1);
  std::map<std::uint32_t, int> left = {{1, 3}, {2, 1}};
  lanes.join(1, 1);
  lanes.join(2, 1);
  EXPECT_EQ(fill(lanes, 0, left), (Slots{1, 1}));
  EXPECT_TRUE(lanes.stop());
  EXPECT_FALSE(lanes.stop()) << "the queue pairs are drained once";
  lanes.completed(0, 2);
  EXPECT_EQ(fill(lanes, 0, left), Slots{});
}

TEST(SharedLanesTest, MembersAreInTheOrderOfTheirStartsAndTheLowestSlotOwnsTheLanes) {
  SharedLanes lanes(1);
  lanes.add(5, 20, 1);
  lanes.add(3, 30, 4);
  lanes.add(8, 10, 2);
  lanes.add(9, 20, 1);
  EXPECT_EQ(lanes.members(), (Slots{8, 5, 9, 3}));
  EXPECT_EQ(lanes.owner(), 3u);
  EXPECT_EQ(lanes.lanes(), 4u);
}

}  // namespace
}  // namespace rocelab::app
