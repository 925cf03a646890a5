// The pipeline's law on hand-computed times: whom it serves, when, and what a full queue does.
#include "ovs_patches/switch_model/pipeline.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace rocelab {
namespace {

Time at(Duration since_start) { return Time::zero() + since_start; }

// Runs a pipeline up to `end`; what it places, as (port, time), and who has to wait.
struct Served {
  explicit Served(Pipeline p) : pipeline(std::move(p)) {}
  void run(Time end) {
    while (pipeline.next_event() <= end) {
      const Time now = pipeline.next_event();
      pipeline.run(
          now, [&](std::uint16_t port) { return full.count(port) == 0; },
          [&](std::uint16_t port) { placed.emplace_back(port, now); },
          [&](std::uint16_t port) { waits.emplace_back(port, now); });
    }
  }
  using Events = std::vector<std::pair<std::uint16_t, Time>>;
  Pipeline pipeline;
  std::set<std::uint16_t> full;  // ports whose heads have no room
  Events placed, waits;
};

TEST(PipelineTest, AFrameIsPlacedAfterItsLatencyAndOneService) {
  Served s(Pipeline(1_us, 25_us, PipelineFull::kDrop, 2));
  s.pipeline.on_arrival(1, at(3_us));
  s.run(at(29_us - 1_ps));
  EXPECT_TRUE(s.placed.empty());
  s.run(at(29_us));
  EXPECT_EQ(s.placed, (Served::Events{{1, at(29_us)}}));
  EXPECT_TRUE(s.pipeline.next_event().is_never());
}

TEST(PipelineTest, PortsAreServedInTurnOneFrameAtATime) {
  Served s(Pipeline(1_us, 0_ps, PipelineFull::kDrop, 3));
  for (int i = 0; i < 3; ++i) s.pipeline.on_arrival(0, at(0_ps));
  s.pipeline.on_arrival(2, at(0_ps));
  s.pipeline.on_arrival(1, at(500_ns));
  s.run(at(10_us));
  // The turn begins behind port 0: 2 comes first.
  EXPECT_EQ(s.placed,
            (Served::Events{{2, at(1_us)}, {0, at(2_us)}, {1, at(3_us)}, {0, at(4_us)}, {0, at(5_us)}}));
}

TEST(PipelineTest, ServesAtItsRateAndNoFaster) {
  Served s(Pipeline(2_us, 0_ps, PipelineFull::kDrop, 4));
  for (int i = 0; i < 100; ++i)
    for (std::uint16_t port = 0; port < 4; ++port) s.pipeline.on_arrival(port, at(1_us * i));
  s.run(at(1_ms));
  ASSERT_EQ(s.placed.size(), 400u);
  for (std::size_t i = 0; i < s.placed.size(); ++i)
    ASSERT_EQ(s.placed[i].second, at(2_us * static_cast<std::int64_t>(i + 1)));
}

TEST(PipelineTest, StopHoldsOneFrameAndServesNobodyUntilThereIsRoom) {
  Served s(Pipeline(1_us, 0_ps, PipelineFull::kStop, 2));
  s.full = {1};
  s.pipeline.on_arrival(1, at(0_ps));
  s.pipeline.on_arrival(0, at(100_ns));
  s.run(at(50_us));
  EXPECT_TRUE(s.placed.empty());
  EXPECT_TRUE(s.pipeline.is_stopped());
  EXPECT_EQ(s.waits, (Served::Events{{1, at(1_us)}}));
  s.pipeline.on_room(at(60_us));  // somewhere else
  s.run(at(70_us));
  EXPECT_TRUE(s.placed.empty());
  EXPECT_EQ(s.waits.size(), 1u) << "it waits once";
  s.full.clear();
  s.pipeline.on_room(at(80_us));
  s.run(at(90_us));
  EXPECT_EQ(s.placed, (Served::Events{{1, at(80_us)}, {0, at(81_us)}}));
  EXPECT_FALSE(s.pipeline.is_stopped());
}

TEST(PipelineTest, SkipPortLeavesOtherPortsAlone) {
  Served s(Pipeline(1_us, 0_ps, PipelineFull::kSkipPort, 3));
  s.full = {1};
  s.pipeline.on_arrival(1, at(0_ps));
  s.pipeline.on_arrival(2, at(0_ps));
  s.pipeline.on_arrival(0, at(10_us));
  s.run(at(50_us));
  EXPECT_EQ(s.placed, (Served::Events{{2, at(1_us)}, {0, at(11_us)}}));
  EXPECT_TRUE(s.pipeline.next_event().is_never()) << "nobody is asked again without reason";
  s.full.clear();
  s.pipeline.on_room(at(60_us));
  s.run(at(70_us));
  EXPECT_EQ(s.placed.back(), (std::pair<std::uint16_t, Time>{1, at(61_us)}));
}

TEST(PipelineTest, RoomWithinAServiceIsSeenAtItsEnd) {
  Served s(Pipeline(1_us, 0_ps, PipelineFull::kSkipPort, 2));
  s.full = {1};
  s.pipeline.on_arrival(1, at(0_ps));
  s.run(at(0_ps));
  s.pipeline.on_arrival(0, at(0_ps));
  s.run(at(0_ps));
  s.full.clear();
  s.pipeline.on_room(at(500_ns));
  s.run(at(10_us));
  EXPECT_EQ(s.placed, (Served::Events{{0, at(1_us)}, {1, at(2_us)}}));
}

}  // namespace
}  // namespace rocelab
