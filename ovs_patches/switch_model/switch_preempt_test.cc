// Preemption: a frame with a smaller rank stops the one on the wire, whose rest is sent later.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "ovs_patches/switch_model/mechanisms/mechanisms.h"
#include "ovs_patches/switch_model/switch_core.h"
#include "ovs_patches/switch_model/test_support.h"

namespace rocelab {
namespace {

using namespace switch_test;

constexpr Duration kFrameTime = 204'800_ps;  // 1000 B at 40 Gb/s, 24 more on the wire
constexpr Duration kHalf = 102'400_ps;
constexpr int kBulk = 3, kUrgent = 6, kPlain = 0;

SwitchConfig preempting(bool preempt = true) {
  SwitchConfig config;
  config.pfc.enabled = false;
  config.egress_limit = 10_MB;
  config.classes[kBulk].order = QueueOrder::kRanked;
  config.classes[kBulk].preempt = preempt;
  config.mechanisms.of<SlackMechanism>() = {true, SlackRank::kInitial, {}};
  return config;
}

// One output, port 0; a frame's rank is its slack. What leaves: flow, last bit.
class PreemptBench {
 public:
  using Left = std::vector<std::pair<std::uint32_t, Time>>;
  explicit PreemptBench(const SwitchConfig& config)
      : node_(config, std::vector<PortConfig>(6, PortConfig{40_Gbps, 0_ns, PeerKind::kSwitch}), Rng(1), pool_,
              trace_) {}
  void send(int in, Time due, std::uint32_t flow, std::int64_t rank, int tc = kBulk, Bytes frame = 1000_B) {
    PacketRef packet = make_packet(pool_, frame, tc, flow, 0);
    PacketPool::put_slack(*packet, {rank, rank, 0});
    const PortId out = port(0);
    node_.deliver(port(in), {&out, 1}, std::move(packet), due);
  }
  Left run() {
    Left left;
    node_.run_until(Time::never(), [&](PortId, PacketRef packet, Time, Time due) {
      left.emplace_back(packet->flow, due);
      waited.emplace_back(packet->flow, PacketPool::slack(*packet).used().ps());
    });
    EXPECT_EQ(pool_.in_use(), 0u);
    EXPECT_EQ(node_.model().queued_frames(), 0u);
    return left;
  }
  SwitchPortCounters counters() const { return node_.model().counters(port(0), at(1_ms)); }
  Bytes queued() const { return node_.model().queue_bytes(port(0), tc(kBulk)); }
  void run_until(Time limit) {
    node_.run_until(limit, [](PortId, PacketRef, Time, Time) { FAIL() << "nothing is to leave yet"; });
  }
  std::vector<std::pair<std::uint32_t, std::int64_t>> waited;  // flow, ps

 private:
  PacketPool pool_;
  TraceLog trace_;
  SwitchNode node_;
};

TEST(SwitchPreemptTest, ASmallerRankStopsTheFrameOnTheWireAndTheRestIsSentLater) {
  PreemptBench bench(preempting());
  bench.send(1, at(0_ns), 1, 100);
  bench.send(2, at(kHalf), 2, 50);
  EXPECT_EQ(bench.run(), (PreemptBench::Left{{2, at(kHalf + kFrameTime)}, {1, at(2 * kFrameTime)}}));
  EXPECT_EQ(bench.waited, (std::vector<std::pair<std::uint32_t, std::int64_t>>{{2, 0}, {1, kFrameTime.ps()}}))
      << "A.3: all but the transmission is waiting";
}

TEST(SwitchPreemptTest, AFrameCanBeStoppedTwiceAndInTurnStopNone) {
  PreemptBench bench(preempting());
  bench.send(1, at(0_ns), 1, 100);
  bench.send(2, at(kHalf), 2, 50);
  bench.send(3, at(kHalf + kHalf), 3, 10);  // stops 2, not 1
  bench.send(4, at(kHalf), 4, 100);         // as 1, which came first
  EXPECT_EQ(bench.run(), (PreemptBench::Left{{3, at(2 * kHalf + kFrameTime)},
                                             {2, at(kHalf + 2 * kFrameTime)},
                                             {1, at(3 * kFrameTime)},
                                             {4, at(4 * kFrameTime)}}));
}

// Strictly smaller, and before the last bit.
TEST(SwitchPreemptTest, EqualRanksAndFramesAtTheLastBitStopNothing) {
  PreemptBench bench(preempting());
  bench.send(1, at(0_ns), 1, 100);
  bench.send(2, at(kHalf), 2, 100);
  bench.send(3, at(kFrameTime), 3, 50);
  EXPECT_EQ(bench.run(),
            (PreemptBench::Left{{1, at(kFrameTime)}, {3, at(2 * kFrameTime)}, {2, at(3 * kFrameTime)}}));
}

// Only the class's own frames stop it. A stopped frame has no claim against higher classes.
TEST(SwitchPreemptTest, HigherClassesWaitForTheEndOfAPieceOnly) {
  PreemptBench bench(preempting());
  bench.send(1, at(0_ns), 1, 100);
  bench.send(2, at(kHalf), 2, 0, kUrgent);
  EXPECT_EQ(bench.run(), (PreemptBench::Left{{1, at(kFrameTime)}, {2, at(2 * kFrameTime)}}));
  PreemptBench stopped(preempting());
  stopped.send(1, at(0_ns), 1, 100);
  stopped.send(2, at(kHalf), 2, 0, kUrgent);
  stopped.send(3, at(kHalf), 3, 50);
  EXPECT_EQ(stopped.run(),
            (PreemptBench::Left{
                {2, at(kHalf + kFrameTime)}, {3, at(kHalf + 2 * kFrameTime)}, {1, at(3 * kFrameTime)}}));
}

TEST(SwitchPreemptTest, FramesOfOtherClassesAreNotStopped) {
  PreemptBench bench(preempting());
  bench.send(1, at(0_ns), 1, 0, kPlain);
  bench.send(2, at(kHalf), 2, -100);
  EXPECT_EQ(bench.run(), (PreemptBench::Left{{1, at(kFrameTime)}, {2, at(2 * kFrameTime)}}));
}

// A frame holds its place in the buffer until its last bit.
TEST(SwitchPreemptTest, AFrameIsInItsQueueUntilItsLastBit) {
  PreemptBench bench(preempting());
  bench.send(1, at(0_ns), 1, 100);
  bench.run_until(at(kFrameTime));
  EXPECT_EQ(bench.queued(), 1000_B);
  EXPECT_EQ(bench.counters().tx_frames, 0u);
  EXPECT_EQ(bench.run().size(), 1u);
  EXPECT_EQ(bench.counters().tx_frames, 1u);
  EXPECT_EQ(bench.queued(), 0_B);
}

// 5.2: the frame with most slack gives way, also where part of it has left. The next in its place is sent as
// a whole.
TEST(SwitchPreemptTest, AStoppedFrameCanBePushedOut) {
  SwitchConfig config = preempting();
  config.egress_limit = 1000_B;
  config.classes[kBulk].full = FullRule::kPushOutLast;
  PreemptBench bench(config);
  bench.send(1, at(0_ns), 1, 100);
  bench.send(2, at(kHalf), 2, 50);
  bench.send(3, at(kHalf + kFrameTime + 1_ps), 3, 70);  // behind the last bit of 2
  EXPECT_EQ(bench.run(),
            (PreemptBench::Left{{2, at(kHalf + kFrameTime)}, {3, at(kHalf + 2 * kFrameTime + 1_ps)}}));
  EXPECT_EQ(bench.counters().drops, 1u);
}

// Preemption moves no work: over random traffic the port is busy for the same times, each frame leaves once,
// and with equal ranks every last bit is where it is without.
TEST(SwitchPreemptTest, ItChangesWhoWaitsAndNotHowMuchIsSent) {
  int changed = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    const bool equal = seed % 4 == 0;
    const auto left = [&](bool preempt) {
      Rng rng(seed);
      PreemptBench bench(preempting(preempt));
      for (std::uint32_t flow = 0; flow < 60; ++flow) {
        const Time due = at(Duration::from_ps(static_cast<std::int64_t>(rng.below(50) * 51'200)));
        const auto frame = Bytes::from_count(static_cast<std::int64_t>(64 + rng.below(1400)));
        const auto rank = equal ? 0 : static_cast<std::int64_t>(rng.below(8));
        const int classes[] = {kBulk, kBulk, kBulk, kBulk, kUrgent, kPlain};
        bench.send(static_cast<int>(1 + flow % 5), due, flow, rank, equal ? kBulk : classes[rng.below(6)],
                   frame);
      }
      return bench.run();
    };
    const auto with = left(true), without = left(false);
    ASSERT_EQ(with.size(), 60u);
    ASSERT_EQ(with.back().second, without.back().second);
    if (equal) {
      ASSERT_EQ(with, without);
    }
    changed += with != without;
  }
  EXPECT_GT(changed, 100);
}

TEST(SwitchPreemptTest, ConfigurationsThatCannotPreemptAreRefused) {
  const std::vector<PortConfig> ports(2);
  const auto problem = [&](auto&& change) {
    SwitchConfig config = preempting();
    change(config);
    return problem_of(config, ports);
  };
  EXPECT_EQ(problem([](SwitchConfig&) {}), "");
  EXPECT_NE(problem([](SwitchConfig& c) { c.classes[kBulk].order = QueueOrder::kFifo; }).find("by ranks"),
            std::string::npos);
  EXPECT_NE(problem([](SwitchConfig& c) { c.pfc.enabled = true; }).find("lossy"), std::string::npos);
  EXPECT_NE(problem([](SwitchConfig& c) { c.port_buffer = 1_MB; }).find("port_buffer"), std::string::npos);
}

}  // namespace
}  // namespace rocelab
