// CoDel in the switch: whom it judges together, what it leaves alone, and where its drops are counted.
#include <gtest/gtest.h>

#include <map>

#include "ovs_patches/switch_model/mechanisms/mechanisms.h"
#include "ovs_patches/switch_model/switch_core.h"
#include "ovs_patches/switch_model/test_support.h"

namespace rocelab {
namespace {

using namespace switch_test;

constexpr Duration kFrameTime = 1'024_us;  // 1000 B at 8 Mb/s, 24 more on the wire

SwitchConfig codel_config(bool per_flow, QueueOrder order) {
  SwitchConfig config;
  config.pfc.enabled = false;
  config.egress_limit = 10_MB;
  config.max_frame = 1'500_B;
  config.classes[3].order = order;
  config.mechanisms.of<CodelMechanism>() = {true, per_flow, 5_ms, 100_ms};
  return config;
}

struct Outcome {
  std::map<std::uint32_t, int> sent;  // by flow
  Duration longest;                   // in the switch
  std::uint64_t drops = 0, codel = 0;
};
// Frames of flow 1 by port 1 every `gap` of 1 s, and of flow 2 by port 2 every 20 ms.
Outcome run(const SwitchConfig& config, Duration gap) {
  PacketPool pool;
  TraceLog trace;
  SwitchNode node(config, std::vector<PortConfig>(3, PortConfig{8_Mbps, 0_ns}), Rng(1), pool, trace);
  std::vector<Time> due_of;  // by PSN
  const auto send = [&](int in, Time due) {
    const PortId out = port(0);
    PacketRef packet = make_packet(pool, 1000_B, 3, static_cast<std::uint32_t>(in),
                                   static_cast<std::uint32_t>(due_of.size()));
    packet->roce.dest = Qpn{static_cast<std::uint32_t>(in)};
    due_of.push_back(due);
    node.deliver(port(in), {&out, 1}, std::move(packet), due);
  };
  for (Duration t; t < 1'000_ms; t = t + gap) send(1, at(t));
  for (Duration t; t < 1'000_ms; t = t + 20_ms) send(2, at(t));
  Outcome outcome;
  node.run_until(Time::never(), [&](PortId, PacketRef packet, Time now, Time) {
    ++outcome.sent[packet->flow];
    outcome.longest = std::max(outcome.longest, now - due_of[packet->roce.psn.value()]);
  });
  const SwitchPortCounters counters = node.model().counters(port(0), at(2'000_ms));
  outcome.drops = counters.drops;
  EXPECT_EQ(counters.drops, counters.drops_mechanism);
  outcome.codel = node.model().mechanism<CodelMechanism>()->counters(port(0)).drops;
  EXPECT_EQ(pool.in_use(), 0u);
  EXPECT_EQ(node.model().queued_frames(), 0u);
  return outcome;
}

TEST(SwitchCodelTest, AQueueThatDoesNotEmptyLosesFramesAndOneThatDoesLosesNone) {
  const Outcome calm = run(codel_config(false, QueueOrder::kFifo), 1'100_us);
  EXPECT_EQ(calm.drops, 0u);
  EXPECT_EQ(calm.sent.at(1), 910);
  const Outcome standing = run(codel_config(false, QueueOrder::kFifo), 900_us);
  EXPECT_GT(standing.codel, 10u);
  EXPECT_EQ(standing.codel, standing.drops);
  SwitchConfig without = codel_config(false, QueueOrder::kFifo);
  without.mechanisms.of<CodelMechanism>().target = 100_s;
  EXPECT_LT(standing.longest.ps(), run(without, 900_us).longest.ps() * 9 / 10);
}

// FQ-CoDel: the flow that fills its queue loses; the other, which never waits for itself, does not.
TEST(SwitchCodelTest, ByFlowOnlyTheFlowThatStandsLoses) {
  const Outcome by_flow = run(codel_config(true, QueueOrder::kFair), 900_us);
  EXPECT_GT(by_flow.codel, 10u);
  EXPECT_EQ(by_flow.sent.at(2), 50);
  const Outcome by_queue = run(codel_config(false, QueueOrder::kFifo), 900_us);
  EXPECT_EQ(by_queue.sent.at(1) + by_queue.sent.at(2) + static_cast<int>(by_queue.codel), 1112 + 50);
}

TEST(SwitchCodelTest, LosslessClassesAreLeftAlone) {
  SwitchConfig config = codel_config(false, QueueOrder::kFifo);
  config.pfc.enabled = true;
  config.ingress_buffer = 10_MB;
  EXPECT_EQ(run(config, 900_us).drops, 0u);
}

}  // namespace
}  // namespace rocelab
