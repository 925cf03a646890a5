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

// Entries 0 and 1 are the NICs of one host, 2 of another.
SegmentPlan two_nics() {
  SegmentPlan plan = plain_plan(3, 2, 4);
  for (std::uint8_t nic = 0; nic < 2; ++nic)
    plan.world.hosts[nic].nics = 2, plan.world.hosts[nic].nic_number = nic;
  return plan;
}

TEST(VfEndOfSeveralNics, AProcessHasOneVfOfEachAndHoldsTimeByTheFirst) {
  TestSegment segment(two_nics());
  EXPECT_EQ(claim_vf(*segment, 0), 0u);
  EXPECT_EQ(segment->slots_of(0), (std::vector<std::uint32_t>{0, 2}));
  EXPECT_EQ(segment->vfs()[2].pid.load(), segment->vfs()[0].pid.load());
  EXPECT_EQ(segment->vfs()[2].lead, 0u);
  EXPECT_TRUE(holds_time(segment->vfs()[0]));
  EXPECT_FALSE(holds_time(segment->vfs()[2]));
  EXPECT_EQ(segment->vfs()[2].state.load(), VfState::kClaimed);
  EXPECT_EQ(segment->slots_of(4), (std::vector<std::uint32_t>{4}));
}

// The frames of a process that has ended may be home at one NIC and not yet at the other.
TEST(VfEndOfSeveralNics, AVfIsFreeWhenItIsAtAllNics) {
  TestSegment segment(two_nics());
  segment->vfs()[2].pid.store(1);
  EXPECT_EQ(claim_vf(*segment, 0), 1u);
  EXPECT_EQ(segment->vfs()[0].pid.load(), 0u);
  EXPECT_EQ(claim_vf(*segment, 0), kNoSlot);
}

TEST(VfEndOfSeveralNics, EachNicHasAGatewayOfItsOwnAndTheHostNoPrograms) {
  TestSegment segment(two_nics());
  EXPECT_EQ(claim_for_gateway(*segment, 1), 2u);
  EXPECT_TRUE(holds_time(segment->vfs()[2])) << "by its own slot";
  EXPECT_TRUE(has_gateway(*segment, 0));
  EXPECT_EQ(claim_vf(*segment, 0), kNoSlot) << "neither with VF 0 nor with VF 1";
  EXPECT_EQ(segment->vfs()[0].pid.load(), 0u);
  EXPECT_EQ(claim_for_gateway(*segment, 1), kNoSlot);
  EXPECT_EQ(claim_for_gateway(*segment, 0), 0u);
  EXPECT_FALSE(has_gateway(*segment, 2));
  EXPECT_EQ(claim_vf(*segment, 2), 4u);
}

TEST(VfEndOfSeveralNics, AProgramKeepsGatewaysFromAllNics) {
  TestSegment segment(two_nics());
  segment->vfs()[1].pid.store(1);  // its VF 1 at NIC 0: at NIC 1 it is home already
  EXPECT_EQ(claim_for_gateway(*segment, 1), kNoSlot);
  EXPECT_EQ(segment->vfs()[2].pid.load(), 0u);
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
