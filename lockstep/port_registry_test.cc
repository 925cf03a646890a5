#include "lockstep/port_registry.h"

#include <gtest/gtest.h>

#include "lockstep/test_segment.h"
#include "lockstep/vf_end.h"

namespace rocelab::lockstep {
namespace {

class PortRegistryTest : public ::testing::Test {
 protected:
  PortRegistryTest() {
    for (const std::uint32_t host : {0, 0, 1, 1}) claim_vf(*segment_, host);
  }

  PortRegistry of(std::uint32_t vf) { return {segment_->share_of(vf / 2), vf % 2}; }

  TestSegment segment_{plain_plan(2, 2)};
};

TEST_F(PortRegistryTest, PortOfOneProcessIsInUseForTheOthersOfItsHostOnly) {
  EXPECT_TRUE(of(0).claim(0, 7174));
  EXPECT_FALSE(of(1).claim(0, 7174));
  EXPECT_FALSE(of(0).claim(0, 7174));
  EXPECT_TRUE(of(1).claim(1, 7174));  // another port space
  EXPECT_TRUE(of(2).claim(0, 7174));  // another host
  EXPECT_EQ(of(1).owner(0, 7174), 0u);
  EXPECT_EQ(of(0).owner(1, 7174), 1u);
  EXPECT_EQ(of(0).owner(0, 7175), std::nullopt);
}

TEST_F(PortRegistryTest, OnlyItsOwnerReleasesAPort) {
  EXPECT_TRUE(of(0).claim(0, 65'535));
  of(1).release(0, 65'535);
  EXPECT_EQ(of(1).owner(0, 65'535), 0u);
  of(0).release(0, 65'535);
  EXPECT_TRUE(of(1).claim(0, 65'535));
}

TEST_F(PortRegistryTest, ProcessThatEndedHasReleasedItsPorts) {
  EXPECT_TRUE(of(0).claim(0, 1));
  of(0).open();
  EXPECT_EQ(of(1).open_vfs(), 1u);
  segment_->vfs()[0].state.store(VfState::kDead);
  EXPECT_EQ(of(1).owner(0, 1), std::nullopt);
  EXPECT_EQ(of(1).open_vfs(), 0u);
  EXPECT_TRUE(of(1).claim(0, 1));
}

TEST_F(PortRegistryTest, NextOwnerOfTheVfHasNotItsPredecessorsPorts) {
  EXPECT_TRUE(of(0).claim(0, 1));
  segment_->vfs()[0].state.store(VfState::kFree);
  segment_->vfs()[0].pid.store(0);
  ASSERT_EQ(claim_vf(*segment_, 0), 0u);  // by a process with the same ID
  EXPECT_EQ(of(1).owner(0, 1), std::nullopt);
  EXPECT_TRUE(of(0).claim(0, 1));
  EXPECT_EQ(of(1).owner(0, 1), 0u);
}

TEST_F(PortRegistryTest, GarbageInAnEntryIsNobody) {
  segment_->share_of(0).service_ports[5].store(0xffffffffffffffff);
  EXPECT_EQ(of(0).owner(0, 5), std::nullopt);
  EXPECT_TRUE(of(0).claim(0, 5));
}

}  // namespace
}  // namespace rocelab::lockstep
