// Switches in a line, hosts that obey PFC: no frame of a lossless class is lost, and the pauses travel back
// to the senders.
#include "ovs_patches/switch_model/test_net.h"

namespace rocelab {
namespace {

using namespace switch_test;

// `senders` hosts on switch 0, one receiver on switch 1; port 0 of either switch is the link between them.
struct Line {
  Line(const SwitchConfig& config, int senders, std::uint32_t frames) {
    std::vector<PortConfig> left(static_cast<std::size_t>(senders) + 1), right(2);
    left[0].peer = right[0].peer = PeerKind::kSwitch;
    net.add_switch(config, left);
    net.add_switch(config, right);
    net.connect(0, 0, 1, 0);
    for (int i = 0; i < senders; ++i) {
      TestHost& host = net.hosts[static_cast<std::size_t>(net.add_host(0, i + 1))];
      host.to = senders;
      host.frames = frames;
      host.start = at(Duration::from_ps(1'000 * i));
    }
    receiver = net.add_host(1, 1);
    net.route(0, receiver, 0);
    net.route(1, receiver, 1);
  }
  std::uint64_t total(std::uint64_t SwitchPortCounters::*counter) const {
    std::uint64_t sum = 0;
    for (int node = 0; node < 2; ++node) {
      for (std::size_t p = 0; p < net.nodes[static_cast<std::size_t>(node)]->model().ports(); ++p) {
        sum += net.counters(node, static_cast<int>(p)).*counter;
      }
    }
    return sum;
  }
  TestNet net;
  int receiver;
};

SwitchConfig config_of() {
  SwitchConfig config;
  config.max_frame = 1098_B;
  return config;
}

TEST(SwitchPairTest, IncastOverTwoSwitchesLosesNothingAndKeepsTheLinkBusy) {
  Line line(config_of(), 8, 2000);
  line.net.run(2_us);
  const TestHost& receiver = line.net.hosts[static_cast<std::size_t>(line.receiver)];
  EXPECT_EQ(receiver.received, 16'000u);
  EXPECT_EQ(line.total(&SwitchPortCounters::drops), 0u);
  EXPECT_GT(line.net.counters(0, 1).xoff_sent[3], 0u);
  // First frame: sender 224.4 ns + 2 us, two hops of the same; then 15,999 frames back to back.
  EXPECT_EQ(receiver.last_received, at(3 * (224'400_ps + 2_us) + 15'999 * 224'400_ps));
  EXPECT_EQ(line.net.pool.in_use(), 0u);
}

TEST(SwitchPairTest, SlowReceiverPausesTheFirstSwitchAndThenTheSenders) {
  Line line(config_of(), 2, 3000);
  // The receiver pauses its port by hand, for 0xffff quanta (838,848 ns).
  line.net.nodes[1]->deliver(port(1), {}, make_pfc(line.net.pool, 3, 0xffff), at(10_us));
  line.net.run(2_us);
  EXPECT_EQ(line.net.hosts[static_cast<std::size_t>(line.receiver)].received, 6000u);
  EXPECT_EQ(line.total(&SwitchPortCounters::drops), 0u);
  EXPECT_GE(line.net.counters(1, 0).xoff_sent[3], 1u) << "switch 1 asks switch 0";
  EXPECT_GE(line.net.counters(0, 0).xoff_received[3], 1u);
  EXPECT_GT(line.net.counters(0, 0).paused_ps[3], 500'000'000u);
  EXPECT_GE(line.net.counters(0, 1).xoff_sent[3], 1u) << "switch 0 asks the senders";
  EXPECT_GE(line.net.counters(0, 2).xoff_sent[3], 1u);
}

TEST(SwitchPairTest, WithoutHeadroomTheSameIncastLosesFrames) {
  SwitchConfig config = config_of();
  config.pfc.headroom = 1098_B;
  Line line(config, 8, 2000);
  line.net.run(2_us);
  EXPECT_GT(line.total(&SwitchPortCounters::lossless_drops), 0u);
  EXPECT_EQ(line.net.hosts[static_cast<std::size_t>(line.receiver)].received +
                line.total(&SwitchPortCounters::drops),
            16'000u);
}

TEST(SwitchPairTest, WithoutPfcTheIncastIsTailDropped) {
  SwitchConfig config = config_of();
  config.pfc.enabled = false;
  Line line(config, 8, 2000);
  line.net.run(2_us);
  EXPECT_GT(line.total(&SwitchPortCounters::drops_egress_limit), 10'000u);
  EXPECT_EQ(line.total(&SwitchPortCounters::lossless_drops), 0u);
  EXPECT_EQ(line.net.hosts[static_cast<std::size_t>(line.receiver)].received +
                line.total(&SwitchPortCounters::drops),
            16'000u);
  EXPECT_LE(line.net.counters(0, 0).queue_peak_bytes[3], 240'000u);
}

TEST(SwitchPairTest, VirtualOutputQueuesShareTheBottleneckEqually) {
  SwitchConfig config = config_of();
  config.queue_order = QueueOrder::kRoundRobin;
  Line line(config, 4, 2000);
  line.net.run(2_us);
  // Every sender is served every fourth slot while all have frames: they finish within a few frames of each
  // other.
  std::vector<std::size_t> last(4);
  std::size_t position = 0;
  for (const TraceRecord& r : line.net.trace.records) {
    if (r.kind == TraceKind::kDeliver && r.port == 0) last[r.flow] = ++position;
  }
  EXPECT_EQ(position, 8000u);
  EXPECT_LE(*std::max_element(last.begin(), last.end()) - *std::min_element(last.begin(), last.end()), 400u);
}

TEST(SwitchPairTest, HowARunIsCutIntoWindowsChangesNothing) {
  const auto run = [](Duration window) {
    Line line(config_of(), 4, 500);
    line.net.run(window);
    std::vector<std::vector<std::int64_t>> result;
    for (int p = 0; p < 5; ++p) {
      const auto values = values_of(line.net.counters(0, p));
      result.emplace_back(values.begin(), values.end());
    }
    result.push_back({line.net.hosts[static_cast<std::size_t>(line.receiver)].last_received.ps()});
    return result;
  };
  const auto whole = run(2_us);
  EXPECT_EQ(run(1_us), whole);
  EXPECT_EQ(run(77'777_ps), whole);
  EXPECT_EQ(run(1_ps), whole);
}

}  // namespace
}  // namespace rocelab
