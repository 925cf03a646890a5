#include "lockstep/vf_end.h"

#include <gtest/gtest.h>

#include "lockstep/test_segment.h"

namespace rocelab::lockstep {
namespace {

class VfEnd : public ::testing::Test {
 protected:
  TestSegment segment_{plain_plan(2, 2, 4)};
};

TEST_F(VfEnd, ProgramsGetTheVfsOfTheirHostInTurn) {
  EXPECT_EQ(claim_vf(*segment_, 1), 2u);
  EXPECT_EQ(claim_vf(*segment_, 1), 3u);
  EXPECT_EQ(claim_vf(*segment_, 1), kNoSlot);
  EXPECT_EQ(segment_->vfs()[2].hold.load(), 1u);
  EXPECT_EQ(segment_->vfs()[2].state.load(), VfState::kClaimed);
}

TEST_F(VfEnd, AGatewayAndProgramsDoNotShareAHost) {
  EXPECT_EQ(claim_for_gateway(*segment_, 0), 0u);
  EXPECT_EQ(claim_vf(*segment_, 0), kNoSlot);
  EXPECT_EQ(claim_for_gateway(*segment_, 0), kNoSlot);
  EXPECT_EQ(claim_vf(*segment_, 1), 2u);
  EXPECT_EQ(claim_for_gateway(*segment_, 1), kNoSlot);
}

TEST_F(VfEnd, FramesComeHomeThroughTheRefillRing) {
  VfFrames frames(*segment_, 1);
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ(frames.take(), 4 + i);
  EXPECT_EQ(frames.take(), std::nullopt);
  IndexRing refill = segment_->refill(1);
  ASSERT_TRUE(refill.push(6));
  EXPECT_EQ(frames.take(), 6u);
  frames.put_back(5);
  EXPECT_EQ(frames.take(), 5u);
}

}  // namespace
}  // namespace rocelab::lockstep
