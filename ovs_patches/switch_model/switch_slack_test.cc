// Slack in the switch: what is charged for waiting, and how queues rank by it.
#include <gtest/gtest.h>

#include <map>
#include <optional>

#include "ovs_patches/switch_model/mechanisms/mechanisms.h"
#include "ovs_patches/switch_model/switch_core.h"
#include "ovs_patches/switch_model/test_support.h"

namespace rocelab {
namespace {

using namespace switch_test;

constexpr Duration kFrameTime = 204'800_ps;  // 1000 B at 40 Gb/s, 24 more on the wire

SwitchConfig slack_config(QueueOrder order, SlackRank rank = SlackRank::kLeastSlack) {
  SwitchConfig config;
  config.pfc.enabled = false;
  config.classes[3].order = order;
  config.mechanisms.of<SlackMechanism>() = {true, rank, 5_us};
  return config;
}

class SlackBench {
 public:
  explicit SlackBench(const SwitchConfig& config)
      : node_(config, std::vector<PortConfig>(5), Rng(1), pool_, trace_) {}
  void send(int in, Time due, std::uint32_t flow, std::optional<Duration> slack, Bytes frame = 1000_B) {
    PacketRef packet = make_packet(pool_, frame, 3, flow, 0);
    if (slack) PacketPool::put_slack(*packet, {slack->ps(), slack->ps(), 0});
    const PortId out = port(0);
    node_.deliver(port(in), {&out, 1}, std::move(packet), due);
  }
  void pause(Time due, std::uint16_t quanta) { node_.deliver(port(0), {}, make_pfc(pool_, 3, quanta), due); }
  std::vector<std::uint32_t> run() {
    std::vector<std::uint32_t> order;
    node_.run_until(Time::never(), [&](PortId, PacketRef packet, Time, Time) {
      if (packet->kind != PacketKind::kData) return;
      order.push_back(packet->flow);
      if (packet->roce.has_slack) left[packet->flow] = PacketPool::slack(*packet);
    });
    return order;
  }
  const SlackMechanism::Counters& counters() const {
    return node_.model().mechanism<SlackMechanism>()->counters(port(0));
  }
  std::map<std::uint32_t, Slack> left;  // by flow

 private:
  PacketPool pool_;
  TraceLog trace_;
  SwitchNode node_;
};

// 1.2: rank = slack + arrival + T.
TEST(SwitchSlackTest, TheLeastSlackLeavesFirstAndEqualRanksInOrderOfArrival) {
  SlackBench bench(slack_config(QueueOrder::kRanked));
  bench.send(1, at(0_us), 1, 0_us);
  bench.send(2, at(10_ns), 2, 3_us);
  bench.send(3, at(20_ns), 3, 1_us);
  bench.send(4, at(30_ns), 4, 3_us - 20_ns);  // the rank of flow 2, and later
  EXPECT_EQ(bench.run(), (std::vector<std::uint32_t>{1, 3, 2, 4}));
}

TEST(SwitchSlackTest, OfFramesWithEqualSlackTheShorterHasTheEarlierLastBit) {
  SlackBench bench(slack_config(QueueOrder::kRanked));
  bench.send(1, at(0_us), 1, 0_us);
  bench.send(2, at(10_ns), 2, 1_us, 1000_B);
  bench.send(3, at(20_ns), 3, 1_us, 500_B);
  EXPECT_EQ(bench.run(), (std::vector<std::uint32_t>{1, 3, 2}));
}

TEST(SwitchSlackTest, WaitingIsChargedToThePicosecondWhateverTheOrder) {
  for (const QueueOrder order :
       {QueueOrder::kFifo, QueueOrder::kRanked, QueueOrder::kLifo, QueueOrder::kFair}) {
    SlackBench bench(slack_config(order));
    bench.send(1, at(0_us), 1, 1_us);
    bench.send(2, at(100_ns), 2, 1_us);
    bench.run();
    EXPECT_EQ(bench.left[1], (Slack{1'000'000, 1'000'000, 0})) << "it met an idle port";
    EXPECT_EQ(bench.left[2], (Slack{1'000'000, (1_us - (kFrameTime - 100_ns)).ps(), 1}));
    EXPECT_EQ(bench.counters().waited, 1u);
    EXPECT_EQ(bench.counters().overdue, 0u);
  }
}

TEST(SwitchSlackTest, APauseIsWaitingAndTheRestIsNotClamped) {
  SwitchConfig config = slack_config(QueueOrder::kFifo);
  config.pfc.enabled = true;
  SlackBench bench(config);
  bench.pause(at(0_us), 1000);  // 12.8 us at 40 Gb/s
  bench.send(1, at(1_us), 1, 2_us);
  bench.run();
  EXPECT_EQ(bench.left[1].used(), 12'800_ns - 1_us);
  EXPECT_LT(bench.left[1].current, 0);
  EXPECT_EQ(bench.counters().overdue, 1u);
}

TEST(SwitchSlackTest, AFrameWithoutSlackIsRankedByWhatTheScenarioSays) {
  SlackBench bench(slack_config(QueueOrder::kRanked));  // 5 us
  bench.send(1, at(0_us), 1, 0_us);
  bench.send(2, at(10_ns), 2, std::nullopt);
  bench.send(3, at(20_ns), 3, 6_us);
  bench.send(4, at(30_ns), 4, 4_us);
  EXPECT_EQ(bench.run(), (std::vector<std::uint32_t>{1, 4, 2, 3}));
  EXPECT_FALSE(bench.left.contains(2)) << "and it gets none";
}

TEST(SwitchSlackTest, TheSendersValueCanBeAStaticPriority) {
  SlackBench bench(slack_config(QueueOrder::kRanked, SlackRank::kInitial));
  bench.send(1, at(0_us), 1, 0_us);
  bench.send(2, at(10_ns), 2, 2_us);
  bench.send(3, at(200_ns), 3, 2_us - 1_ns);  // by least slack it would come behind flow 2
  EXPECT_EQ(bench.run(), (std::vector<std::uint32_t>{1, 3, 2}));
}

}  // namespace
}  // namespace rocelab
