#include "irn_provider/verbs/rdma_cm/gsi_waiting.h"

#include <gtest/gtest.h>

namespace rocelab::verbs {
namespace {

cm::OutgoingMad mad(std::size_t number, bool dispensable) {
  cm::OutgoingMad made;
  made.bytes[0] = static_cast<std::byte>(number), made.bytes[1] = static_cast<std::byte>(number >> 8);
  made.dispensable = dispensable;
  return made;
}

TEST(GsiWaitingTest, AnswersThatAreAskedForAgainLeaveRoomForTheRest) {
  GsiWaiting waiting;
  for (std::size_t i = 0; i < GsiWaiting::kMostAnswers; ++i) waiting.push(mad(i, true));
  EXPECT_EQ(waiting.dropped(), 0u);
  waiting.push(mad(0, true));
  EXPECT_EQ(waiting.dropped(), 1u);
  for (std::size_t i = GsiWaiting::kMostAnswers; i < GsiWaiting::kMost; ++i) waiting.push(mad(i, false));
  EXPECT_EQ(waiting.size(), GsiWaiting::kMost);
  EXPECT_EQ(waiting.dropped(), 1u);
  for (const bool dispensable : {false, true}) waiting.push(mad(0, dispensable));
  EXPECT_EQ(waiting.size(), GsiWaiting::kMost);
  EXPECT_EQ(waiting.dropped(), 3u);
}

TEST(GsiWaitingTest, TheNewestIsDroppedAndTheRestKeepsItsOrder) {
  GsiWaiting waiting;
  for (std::size_t i = 0; i < GsiWaiting::kMost + 9; ++i) waiting.push(mad(i, false));
  for (std::size_t i = 0; i < GsiWaiting::kMost; ++i) {
    const auto next = waiting.pop();
    ASSERT_TRUE(next);
    ASSERT_EQ(next->bytes, mad(i, false).bytes) << i;
  }
  EXPECT_FALSE(waiting.pop());
  waiting.push(mad(1, true));
  EXPECT_EQ(waiting.size(), 1u);
  EXPECT_EQ(waiting.dropped(), 9u);
}

}  // namespace
}  // namespace rocelab::verbs
