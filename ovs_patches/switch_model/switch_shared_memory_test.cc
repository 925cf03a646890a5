// A pipeline between two memories of static bounds, in a whole switch: Avci et al., IV-C7.
#include "ovs_patches/switch_model/mechanisms/capfc.h"
#include "ovs_patches/switch_model/mechanisms/pipeline.h"
#include "ovs_patches/switch_model/mechanisms/shared_memory.h"
#include "ovs_patches/switch_model/switch_core.h"
#include "ovs_patches/switch_model/test_net.h"

namespace rocelab {
namespace {

using namespace switch_test;

constexpr int kIngressQueue = 0, kIngressPort = 1, kIngressPool = 2, kEgressQueue = 3, kEgressPort = 4;

SwitchConfig table_of_the_paper(PipelineFull full = PipelineFull::kDrop) {
  SwitchConfig config;
  config.max_frame = 1514_B;
  config.ingress_buffer = 88_KB;
  config.pfc.xoff = 30_KB;
  config.pfc.xon = 20_KB;
  for (const std::size_t n : {3, 4, 5}) {
    config.classes[n].lossless = true;
    config.classes[n].egress_max = 88_KB;
  }
  config.mechanisms.of<PipelineMechanism>() = {.enabled = true, .service = 100_ns, .full = full};
  config.mechanisms.of<SharedMemoryMechanism>().enabled = true;
  return config;
}

std::uint64_t refused(Bench& bench, int port_number, int limit) {
  const auto& counters = bench.node.model().mechanism<SharedMemoryMechanism>()->counters(port(port_number));
  return limit < kEgressQueue ? counters.ingress[limit] : counters.egress[limit - kEgressQueue];
}

// Frames of 1,000 bytes for port 1, whose classes are paused.
void fill(Bench& bench, int in, int traffic_class, std::uint32_t frames, Time from) {
  for (std::uint32_t i = 0; i < frames; ++i)
    bench.send(in, 1, from + 300_ns * i, 1000_B, traffic_class, 7, i);
}

TEST(SwitchSharedMemoryTest, AnEgressQueueHolds88KBAndAPortOneHundredOfThePool) {
  Bench bench(table_of_the_paper(), std::vector<PortConfig>(4));
  for (const int n : {3, 4, 5}) bench.send_pfc(1, at(0_ps), n, 0xffff);
  fill(bench, 0, 3, 100, at(1_us));
  bench.run_until(at(60_us));
  EXPECT_EQ(bench.node.model().queue_bytes(port(1), tc(3)), 88_KB);
  EXPECT_EQ(refused(bench, 1, kEgressQueue), 12u);
  fill(bench, 2, 4, 40, at(61_us));
  bench.run_until(at(100_us));
  EXPECT_EQ(bench.node.model().queue_bytes(port(1), tc(4)), 28_KB) << "8 of its own and the port's last 20";
  EXPECT_EQ(refused(bench, 1, kEgressPort), 12u);
  fill(bench, 3, 5, 10, at(101_us));
  bench.run_until(at(110_us));
  EXPECT_EQ(bench.node.model().queue_bytes(port(1), tc(5)), 8_KB) << "its own";
  EXPECT_EQ(bench.counters(1).drops_egress_max, 26u);
  EXPECT_EQ(bench.counters(1).lossless_drops, 0u) << "those are declared";
  EXPECT_EQ(bench.counters(0).xoff_sent[3], 0u) << "ingress queues were never long";
}

// Peers that do not obey: what PFC asks for too late is dropped before the processor.
TEST(SwitchSharedMemoryTest, AnIngressQueueHolds88KBBeforeTheProcessor) {
  SwitchConfig config = table_of_the_paper();
  config.mechanisms.of<PipelineMechanism>().latency = 1_ms;
  Bench bench(config, std::vector<PortConfig>(4));
  fill(bench, 0, 3, 100, at(1_us));
  fill(bench, 0, 4, 40, at(1_us) + 10_ps);
  bench.run_until(at(500_us));
  EXPECT_EQ(
      bench.node.model().ingress_bytes(port(0), tc(3)) + bench.node.model().ingress_bytes(port(0), tc(4)),
      116_KB);
  EXPECT_EQ(refused(bench, 0, kIngressQueue) + refused(bench, 0, kIngressPort), 24u);
  EXPECT_GT(refused(bench, 0, kIngressPort), 0u);
  EXPECT_EQ(bench.counters(0).drops_mechanism, 24u);
  EXPECT_EQ(bench.counters(0).lossless_drops, 0u);
  EXPECT_TRUE(bench.node.model().is_pausing(port(0), tc(3)));
  bench.run_until(at(10_ms));
  EXPECT_FALSE(bench.node.model().is_pausing(port(0), tc(3)));
  EXPECT_EQ(bench.node.model().mechanism<SharedMemoryMechanism>()->ingress().pool_used(), 0_B);
}

// The paper's numbers: 22 KB of the pool of each of 24 ingress queues are 528 KB of 350, before any of them
// is at its XOFF of 30 KB.
TEST(SwitchSharedMemoryTest, ThePoolIsEmptyBeforeAnybodyIsPaused) {
  SwitchConfig config = table_of_the_paper();
  config.mechanisms.of<PipelineMechanism>().latency = 1_ms;
  Bench bench(config, std::vector<PortConfig>(8));
  for (int in = 0; in < 8; ++in)
    for (const int n : {3, 4, 5}) fill(bench, in, n, 29, at(1_us) + Duration::from_ps(in * 10 + n));
  bench.run_until(at(500_us));
  std::uint64_t dropped = 0;
  for (int in = 0; in < 8; ++in) {
    dropped += refused(bench, in, kIngressPool);
    for (const int n : {3, 4, 5}) EXPECT_EQ(bench.counters(in).xoff_sent[n], 0u);
  }
  EXPECT_EQ(dropped, 24u * 29 - 24 * 8 - 350);
  EXPECT_EQ(bench.node.model().mechanism<SharedMemoryMechanism>()->ingress().pool_used(), 350_KB);
}

// A processor that waits asks the same limits, and nothing is dropped behind it.
TEST(SwitchSharedMemoryTest, AProcessorThatWaitsDropsNothingBehindIt) {
  Bench bench(table_of_the_paper(PipelineFull::kSkipPort), std::vector<PortConfig>(4));
  for (const int n : {3, 4}) bench.send_pfc(1, at(0_ps), n, 0xffff);
  fill(bench, 0, 3, 95, at(1_us));
  fill(bench, 2, 4, 35, at(50_us));
  bench.run_until(at(90_us));
  EXPECT_EQ(bench.node.model().queue_bytes(port(1), tc(3)), 88_KB);
  EXPECT_EQ(bench.node.model().queue_bytes(port(1), tc(4)), 28_KB);
  EXPECT_EQ(bench.node.model().ingress_bytes(port(0), tc(3)), 7_KB);
  bench.run_until(at(5_ms));
  EXPECT_EQ(bench.node.model().queued_frames(), 0u);
  EXPECT_EQ(bench.counters(1).tx_frames, 130u);
  for (int p = 0; p < 4; ++p) EXPECT_EQ(bench.counters(p).drops, 0u);
}

// A frame with several outputs is counted once before the processor and in each queue behind it.
TEST(SwitchSharedMemoryTest, CopiesCountInEachQueue) {
  Bench bench(table_of_the_paper(), std::vector<PortConfig>(4));
  for (const int out : {1, 2}) bench.send_pfc(out, at(0_ps), 3, 0xffff);
  const std::array outs = {port(1), port(2)};
  for (std::uint32_t i = 0; i < 90; ++i)
    bench.node.deliver(port(0), outs, make_packet(bench.pool, 1000_B, 3, 7, i), at(1_us) + 300_ns * i);
  bench.run_until(at(60_us));
  const SharedMemoryMechanism& memory = *bench.node.model().mechanism<SharedMemoryMechanism>();
  for (const int out : {1, 2}) {
    EXPECT_EQ(memory.egress().held(port(out), tc(3)), 88_KB);
    EXPECT_EQ(refused(bench, out, kEgressQueue), 2u);
  }
  EXPECT_EQ(memory.ingress().held(port(0), tc(3)), 0_B);
  bench.run_until(at(5_ms));
  EXPECT_EQ(memory.egress().pool_used(), 0_B);
}

TEST(SwitchSharedMemoryTest, WhatItNeedsIsNamed) {
  const auto problem = [](auto change) {
    SwitchConfig config = table_of_the_paper();
    change(config);
    return problem_of(config, std::vector<PortConfig>(4));
  };
  EXPECT_EQ(problem([](SwitchConfig&) {}), "");
  EXPECT_NE(problem([](SwitchConfig& c) {
              c.mechanisms.of<PipelineMechanism>().enabled = false;
            }).find("set switch.pipeline.enabled"),
            std::string::npos);
  EXPECT_NE(
      problem([](SwitchConfig& c) { c.classes[4].egress_max = 87_KB; }).find("class 4: egress_max 87KB"),
      std::string::npos);
  EXPECT_NE(problem([](SwitchConfig& c) { c.ingress_buffer = 60_KB; }).find("lossless_buffer holds 60KB"),
            std::string::npos);
  EXPECT_NE(problem([](SwitchConfig& c) {
              c.mechanisms.of<SharedMemoryMechanism>().dedicated = 1_KB;
              c.mechanisms.of<SharedMemoryMechanism>().queue = 0_B;
            }).find("hold no frame"),
            std::string::npos);
}

}  // namespace
}  // namespace rocelab
