// For tests: a segment in a temporary file that goes with it, and the plainest plan: hosts on one switch.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>

#include "emu/world/test_worlds.h"
#include "lockstep/segment.h"

namespace rocelab::lockstep {

inline SegmentPlan plain_plan(std::uint32_t hosts, std::uint32_t vfs_per_host = 1,
                              std::uint32_t frames_per_vf = 16) {
  SegmentPlan plan;
  plan.run_id = "test";
  plan.vfs_per_host = vfs_per_host;
  plan.frames_per_vf = frames_per_vf;
  plan.world = star(hosts);
  return plan;
}

class TestSegment {
 public:
  explicit TestSegment(const SegmentPlan& plan) : segment_(Segment::create(path_, plan)) {}
  ~TestSegment() { std::filesystem::remove(path_); }
  TestSegment(const TestSegment&) = delete;
  TestSegment& operator=(const TestSegment&) = delete;

  Segment& operator*() { return segment_; }
  Segment* operator->() { return &segment_; }

 private:
  static std::filesystem::path unused_path() {
    static std::atomic<int> count{0};
    return std::filesystem::temp_directory_path() /
           ("rocelab-test-segment-" + std::to_string(getpid()) + "-" + std::to_string(count++));
  }
  const std::filesystem::path path_ = unused_path();
  Segment segment_;
};

}  // namespace rocelab::lockstep
