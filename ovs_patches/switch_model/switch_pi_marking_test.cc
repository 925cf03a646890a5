// DCQCN+PI's controller in the switch: which frames are marked, and when the probability follows the queue.
#include <algorithm>

#include "base/wire/cnm.h"
#include "ovs_patches/switch_model/mechanisms/pi_marking.h"
#include "ovs_patches/switch_model/test_feedback.h"

namespace rocelab {
namespace {

using namespace switch_test;
using Bench = FeedbackBench<Cnm>;

SwitchConfig config_of(PiMarkingParams params = {}) {
  params.enabled = true;
  SwitchConfig config = feedback_config();
  config.mechanisms.of<PiMarkingMechanism>() = params;
  return config;
}

std::vector<Time> marks(const Bench& b) {
  std::vector<Time> times;
  for (const TraceRecord& r : b.trace.records)
    if (r.kind == TraceKind::kMark) times.push_back(r.time);
  return times;
}

// The queue grows by 45 frames of 1.76 units in the first 10 us: beta alone gives 0.79, more than p_max.
TEST(SwitchPiMarkingTest, TheLengthAtAPeriodIsWhatFramesAreMarkedByUntilTheNext) {
  Bench b(config_of());
  for (const int in : {0, 1}) b.stream(in, 400, at(1_ns * in));
  b.run_until(at(1_ms));
  EXPECT_EQ(b.others, 800);
  const std::vector<Time> times = marks(b);
  ASSERT_FALSE(times.empty());
  EXPECT_GT(times.front(), at(10_us)) << "before the first period nothing is";
  // Both streams last for 400 frame times; of those that join from 10 us on half are marked.
  const std::int64_t joined = 800 - 2 * (10_us / Bench::gap());
  EXPECT_NEAR(static_cast<double>(times.size()), static_cast<double>(joined) / 2, 60);
  EXPECT_EQ(b.counters(Bench::kSink).ecn_marked, times.size());
}

TEST(SwitchPiMarkingTest, AQueueThatStaysShortMarksNothing) {
  Bench b(config_of());
  b.stream(0, 2000, at(0_us));  // as fast as it leaves
  b.run_until(at(1_ms));
  EXPECT_EQ(b.others, 2000);
  EXPECT_TRUE(marks(b).empty());
}

TEST(SwitchPiMarkingTest, OnlyFramesThatCanBeMarkedAre) {
  Bench b(config_of());
  for (const int in : {0, 1, 2})
    for (int i = 1; i <= 200; ++i) {
      PacketRef packet = b.frame(in);
      packet->ecn = in == 0 ? Ecn::kNotEct : in == 1 ? Ecn::kCe : Ecn::kEct1;
      b.arrive(std::move(packet), in, at(Bench::gap() * i));
    }
  b.run_until(at(1_ms));
  EXPECT_FALSE(marks(b).empty());
  EXPECT_TRUE(std::ranges::all_of(b.trace.records, [](const TraceRecord& r) {
    return r.kind != TraceKind::kMark || r.peer == 2;  // by which they came in
  }));
}

// A queue that has drained: the probability falls by alpha q_ref = 0.1 each period, and then the timer rests.
TEST(SwitchPiMarkingTest, TheTimerRestsOnceTheQueueIsEmptyAndNothingIsMarked) {
  Bench b(config_of());
  for (const int in : {0, 1}) b.stream(in, 60, at(0_us));
  b.run_until(at(28_us));  // all have left, at 121 frame times
  EXPECT_EQ(b.others, 120);
  EXPECT_EQ(b.node.model().next_timeout(), at(30_us));
  b.run_until(at(1_ms));
  EXPECT_TRUE(b.node.model().next_timeout().is_never());
}

}  // namespace
}  // namespace rocelab
