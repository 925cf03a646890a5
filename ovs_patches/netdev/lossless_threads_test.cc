// The rule of lossless.h for threads: one drives the fabric, and any other asks it and changes policies
// meanwhile. Under ThreadSanitizer the same test finds what they share without a lock.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "emu/world/switch_policies.h"
#include "ovs_patches/netdev/lossless.h"
#include "ovs_patches/netdev/test_hosts.h"

namespace rocelab {
namespace {

namespace fs = std::filesystem;

constexpr int kFrames = 4000;  // from each of the two senders
constexpr std::size_t kBurst = 32;

lockstep::SegmentPlan plan_of_switch() {
  lockstep::SegmentPlan plan = TestPlan::make({.switches = 1, .hosts_each = 3, .frames_per_vf = 16384});
  for (SwitchEntry& entry : plan.world.switches) {
    entry.config.pfc.enabled = false;
    entry.config.egress_limit = 10_MB;
  }
  plan.world.policies = packed({.sources = {{}}, .events = {{}}});
  plan.expected_participants = 3;
  return plan;
}

// Two hosts send to a third, as fast as the switch's thread grants them windows.
class LosslessThreadsTest : public testing::Test {
 protected:
  LosslessThreadsTest()
      : folder_(fs::temp_directory_path() / ("rocelab-threads-test-" + std::to_string(getpid()))) {
    fs::create_directory(folder_);
    segment_ =
        std::make_unique<lockstep::Segment>(lockstep::Segment::create(folder_ / "segment", plan_of_switch()));
    for (std::uint32_t vf = 0; vf < 3; ++vf) vfs_.push_back(std::make_unique<FakeVf>(*segment_, vf));
    for (int i = 0; i < kFrames; ++i)
      for (const std::uint32_t vf : {0u, 1u}) vfs_[vf]->send(Time::zero(), segment_->hosts()[2]);
    std::array<char, 256> error{};
    fabric_ = lossless_attach((folder_ / "segment").c_str(), error.data(), error.size());
    EXPECT_NE(fabric_, nullptr) << error.data();
  }
  ~LosslessThreadsTest() override {
    segment_.reset();
    fs::remove_all(folder_);
  }

  // The polling thread and the hosts, until nothing moves any more.
  void drive() {
    std::array<lossless_frame, kBurst> frames;
    for (int idle = 0; idle < 100;) {
      const lossless_state state = lossless_turn(fabric_);
      for (std::size_t port = 0; port < lossless_n_ports(fabric_); ++port)
        for (std::size_t n = 1; n > 0;) {
          n = lossless_receive(fabric_, port, frames.data(), frames.size());
          for (const lossless_frame& frame : std::span(frames).first(n))
            lossless_forwarded(fabric_, frame.slot, segment_->hosts()[2].port, frame.data, frame.length);
        }
      for (auto& vf : vfs_) vf->run();
      idle = state == LOSSLESS_IDLE ? idle + 1 : 0;
    }
  }

  std::string openqueue(std::vector<const char*> words, bool& ok) {
    const std::unique_ptr<char, decltype(&std::free)> text(
        lossless_openqueue(fabric_, words.data(), words.size(), &ok), &std::free);
    return text.get();
  }

  fs::path folder_;
  std::unique_ptr<lockstep::Segment> segment_;
  std::vector<std::unique_ptr<FakeVf>> vfs_;
  lossless_fabric* fabric_ = nullptr;
};

TEST_F(LosslessThreadsTest, PoliciesChangeAndAreAskedForWhileFramesPass) {
  const std::string policy = ROCELAB_SOURCE_DIR "/scenarios/openqueue/fifo.oq";
  const fs::path bad = folder_ / "bad.oq";
  std::ofstream(bad) << "queue q { size = 64 apples; }\n";
  std::atomic<bool> over{false};
  int loads = 0, refused = 0, shown = 0;
  std::uint64_t seen = 0;
  std::thread visitor([&] {
    do {
      bool ok = false;
      const std::string answer = openqueue({"load", "all", loads % 2 == 0 ? policy.c_str() : "builtin",
                                            loads % 3 == 0 ? "change=requeue" : "change=drain"},
                                           ok);
      EXPECT_TRUE(ok) << answer;
      ++loads;
      const std::string error = openqueue({"load", "all", bad.c_str()}, ok);
      refused += !ok && error.find("bad.oq:1:") != std::string::npos ? 1 : 0;
      shown += openqueue({"show"}, ok).find("s1 at ") != std::string::npos ? 1 : 0;
      std::vector<std::uint64_t> values(lossless_n_counters());
      lossless_get_counters(fabric_, 2, values.data());
      lossless_port_stats stats{};
      lossless_get_stats(fabric_, 2, &stats);
      EXPECT_GE(stats.tx_packets, seen) << "counters only grow";
      seen = stats.tx_packets;
      std::free(lossless_show(fabric_, nullptr));
      std::free(lossless_counters_json(fabric_));
    } while (!over.load());
  });
  drive();
  over.store(true);
  visitor.join();

  EXPECT_GT(loads, 1);
  EXPECT_EQ(refused, loads) << "a bad file is refused at its place, whenever it comes";
  EXPECT_EQ(shown, loads);
  lossless_port_stats stats{};
  lossless_get_stats(fabric_, segment_->hosts()[2].port, &stats);
  EXPECT_EQ(vfs_[2]->data_received(), stats.tx_packets);
  EXPECT_EQ(stats.tx_packets + stats.tx_dropped, 2u * kFrames) << "each frame was sent or counted";
  EXPECT_EQ(stats.rx_packets + stats.rx_dropped, 0u) << "the receiver sends nothing";
  std::array<char, 256> error{};
  EXPECT_TRUE(lossless_detach(fabric_, error.data(), error.size())) << error.data();
}

}  // namespace
}  // namespace rocelab
