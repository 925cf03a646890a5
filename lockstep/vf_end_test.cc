#include "lockstep/vf_end.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

namespace rocelab::lockstep {
namespace {

class VfEnd : public ::testing::Test {
 protected:
  VfEnd() : path_(std::filesystem::temp_directory_path() / ("rocelab-vf-end-" + std::to_string(getpid()))) {
    std::filesystem::remove(path_);
    SegmentPlan plan;
    plan.vfs_per_host = 2;
    plan.frames_per_vf = 4;
    plan.hosts.resize(2);
    plan.switches.resize(1);
    plan.switches[0].ports = 2;
    plan.ports.resize(2);
    for (std::uint32_t i = 0; i < 2; ++i) {
      plan.hosts[i].port = i;
      plan.ports[i].port_id = i;
      plan.ports[i].peer_host = i;
    }
    segment_ = std::make_unique<Segment>(Segment::create(path_, plan));
  }
  ~VfEnd() override { std::filesystem::remove(path_); }

  std::filesystem::path path_;
  std::unique_ptr<Segment> segment_;
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
