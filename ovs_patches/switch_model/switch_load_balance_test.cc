// Adaptive load balancing in a switch: which port frames take, and what is left to routes.
#include "ovs_patches/switch_model/mechanisms/load_balance.h"
#include "ovs_patches/switch_model/mechanisms/pipeline.h"
#include "ovs_patches/switch_model/test_support.h"

namespace rocelab {
namespace {

using namespace switch_test;

// Ports 2, 3 and 4 lead to the same hosts.
std::vector<PortConfig> uplinks() {
  std::vector<PortConfig> ports(5);
  for (int p = 2; p < 5; ++p) ports[static_cast<std::size_t>(p)].equal_cost = 1;
  return ports;
}

SwitchConfig balanced() {
  SwitchConfig config;
  LoadBalanceParams params;
  params.enabled = true;
  config.mechanisms.of<LoadBalanceMechanism>() = params;
  return config;
}

TEST(SwitchLoadBalanceTest, FramesOfOneRouteShareTheEqualCostPorts) {
  Bench bench(balanced(), uplinks());
  for (int i = 0; i < 300; ++i) bench.send(0, 2, at(1_us * i), 1000_B);
  bench.run();
  std::size_t sum = 0;
  for (int p = 2; p < 5; ++p) {
    EXPECT_GT(bench.sent_by(p).size(), 70u) << "drawn evenly among empty queues";
    sum += bench.sent_by(p).size();
  }
  EXPECT_EQ(sum, 300u);
}

TEST(SwitchLoadBalanceTest, APortWithALongQueueGetsNothing) {
  SwitchConfig config = balanced();
  Bench bench(config, uplinks());
  bench.send_pfc(2, at(0_ps), 3, 0xffff);  // it fills to the lower threshold, then the others are better
  for (int i = 0; i < 300; ++i) bench.send(0, 2, at(1_us + 1_us * i), 1000_B);
  bench.run_until(at(400_us));
  EXPECT_EQ(bench.node.model().queue_bytes(port(2), tc(3)), 16_KB);
  EXPECT_EQ(bench.sent_by(3).size() + bench.sent_by(4).size(), 284u);
}

TEST(SwitchLoadBalanceTest, AheadOfAFrameAreItsOwnClassAndThoseServedBefore) {
  Bench bench(balanced(), uplinks());
  // Class 4 shares the link with class 3, class 6 is served before both.
  bench.send_pfc(3, at(0_ps), 3, 0xffff);
  bench.send_pfc(4, at(0_ps), 3, 0xffff);
  for (int i = 0; i < 120; ++i) bench.send(0, 3, at(1_us + 500_ns * i), 1000_B);
  bench.run_until(at(100_us));
  const Bytes long3 = bench.node.model().queue_bytes(port(3), tc(3));
  const Bytes long4 = bench.node.model().queue_bytes(port(4), tc(3));
  EXPECT_EQ(long3, 16_KB);
  EXPECT_EQ(long4, 16_KB);
  const std::size_t before = bench.sent_by(3).size();
  for (int i = 0; i < 60; ++i) bench.send(0, 3, at(100_us + 1_us * i), 1000_B, 4);
  bench.run_until(at(200_us));
  EXPECT_GT(bench.sent_by(3).size(), before + 8) << "the queues of class 3 are not ahead of class 4";
}

SwitchConfig balanced(LoadBalancePolicy policy) {
  SwitchConfig config = balanced();
  config.mechanisms.of<LoadBalanceMechanism>().policy = policy;
  return config;
}

TEST(SwitchLoadBalanceTest, RoundRobinTakesThePortsInTurn) {
  Bench bench(balanced(LoadBalancePolicy::kRoundRobin), uplinks());
  for (int i = 0; i < 300; ++i) bench.send(0, i % 2 == 0 ? 2 : 3, at(1_us * i), 1000_B);
  bench.run();
  for (int p = 2; p < 5; ++p) EXPECT_EQ(bench.sent_by(p).size(), 100u);
}

// A port that stands still gets its share nevertheless, which a look at the queues would spare it.
TEST(SwitchLoadBalanceTest, RandomLooksAtNoQueue) {
  Bench bench(balanced(LoadBalancePolicy::kRandom), uplinks());
  bench.send_pfc(2, at(0_ps), 3, 0xffff);
  for (int i = 0; i < 300; ++i) bench.send(0, 2, at(1_us + 1_us * i), 1000_B);
  bench.run_until(at(400_us));
  EXPECT_GT(bench.node.model().queue_bytes(port(2), tc(3)), 70_KB);
  EXPECT_GT(bench.sent_by(3).size(), 70u);
  EXPECT_GT(bench.sent_by(4).size(), 70u);
}

TEST(SwitchLoadBalanceTest, TheShortestQueueIsTaken) {
  Bench bench(balanced(LoadBalancePolicy::kLeastQueue), uplinks());
  for (const int p : {2, 3, 4}) bench.send_pfc(p, at(0_ps), 3, 0xffff);
  for (int i = 0; i < 90; ++i) bench.send(0, 2, at(1_us + 500_ns * i), 1000_B);
  bench.run_until(at(100_us));
  for (const int p : {2, 3, 4}) EXPECT_EQ(bench.node.model().queue_bytes(port(p), tc(3)), 30_KB);
}

TEST(SwitchLoadBalanceTest, AFlowletKeepsItsPortUntilAGap) {
  SwitchConfig config = balanced(LoadBalancePolicy::kFlowlet);
  config.mechanisms.of<LoadBalanceMechanism>().flowlet_gap = 10_us;
  Bench bench(config, uplinks());
  constexpr int kFlowlets = 60, kFrames = 5;
  for (int i = 0; i < kFlowlets; ++i)
    for (int f = 0; f < kFrames; ++f) bench.send(0, 2, at(100_us * i + 10_us * f), 1000_B);
  bench.run();
  std::size_t used = 0;
  for (const int p : {2, 3, 4}) {
    EXPECT_EQ(bench.sent_by(p).size() % kFrames, 0u) << "a flowlet is not divided";
    used += bench.sent_by(p).size() > 0;
  }
  EXPECT_EQ(used, 3u) << "flowlets of one flow take all ports";
}

TEST(SwitchLoadBalanceTest, OtherPortsKeepTheirFrames) {
  Bench bench(balanced(), uplinks());
  for (int i = 0; i < 50; ++i) bench.send(0, 1, at(100_ns * i), 1000_B);
  bench.run();
  EXPECT_EQ(bench.sent_by(1).size(), 50u);
}

// Behind a pipeline that waits, a frame goes on while any of its ports has room.
TEST(SwitchLoadBalanceTest, APipelineWaitsOnlyWhileAllEqualPortsAreFull) {
  SwitchConfig config = balanced();
  config.classes[3].egress_max = 20_KB;
  PipelineParams pipeline;
  pipeline.enabled = true;
  pipeline.service = 100_ns;
  pipeline.full = PipelineFull::kStop;
  config.mechanisms.of<PipelineMechanism>() = pipeline;
  Bench bench(config, uplinks());
  for (const int p : {2, 3, 4}) bench.send_pfc(p, at(0_ps), 3, 0xffff);
  for (int i = 0; i < 70; ++i) bench.send(0, 2, at(1_us + 500_ns * i), 1000_B);
  bench.run_until(at(200_us));
  for (const int p : {2, 3, 4}) EXPECT_EQ(bench.node.model().queue_bytes(port(p), tc(3)), 20_KB);
  EXPECT_EQ(bench.node.model().ingress_bytes(port(0), tc(3)), 10_KB);
  bench.send_pfc(4, at(200_us), 3, 0);
  bench.run_until(at(300_us));
  EXPECT_EQ(bench.sent_by(4).size(), 30u);
  EXPECT_EQ(bench.node.model().ingress_bytes(port(0), tc(3)), 0_B);
}

}  // namespace
}  // namespace rocelab
