// HPCC end to end: switches stamp, the receiver's NIC echoes, the sender's NIC sets its window.
#include "irn_provider/cc/hpcc.h"
#include "ovs_patches/switch_model/mechanisms/telemetry.h"
#include "tests/net/cc_scene.h"

namespace rocelab {
namespace {

NicConfig nic_config() {
  NicConfig config = cc_nic("hpcc", TransportMode::kIrn);
  config.irn.bdp_cap = 200;
  config.cc.get<Hpcc>()->base_rtt = 9_us;  // of the star: 8 us of links and two serialisations
  return config;
}
SwitchConfig switch_config() {
  SwitchConfig config;
  config.mechanisms.of<TelemetryMechanism>().enabled = true;
  return config;
}

TEST(HpccNetTest, ALoneFlowRunsAtEta) {
  StarNet net(2, nic_config(), switch_config());
  post_incast(net, 1, 20'000'000);
  net.run();
  // 20 MB at 40 Gb/s, 118 B around 1,024 of payload, shim included: 4.46 ms at line rate, 4.70 ms at 95 %.
  EXPECT_GT(net.flow(0).completed.seconds(), 0.95 * 20e6 * 8 / 40e9 * (1024 + 118) / 1024 / 0.95);
  EXPECT_LT(net.flow(0).completed.seconds(), 1.05 * 20e6 * 8 / 40e9 * (1024 + 118) / 1024 / 0.95);
}

// SIGCOMM 2019, 5.3: near-zero queues, and flows that come later get their share.
TEST(HpccNetTest, TwoFlowsConvergeAndTheQueueIsNearlyEmpty) {
  StarNet net(3, nic_config(), switch_config());
  std::array<double, 2> bytes{};
  Time from = Time::never();
  net.on_delivery = [&](std::size_t port, const Packet& packet, Time due) {
    if (port == 2 && packet.payload_length > 0 && due >= from)
      bytes[(packet.flow >> 12) - 1] += packet.payload_length;
  };
  net.post(net.connect(0, 2), WrOpcode::kWrite, 400'000'000);
  net.run_until(Time::zero() + 2_ms);
  net.post(net.connect(1, 2), WrOpcode::kWrite, 400'000'000);
  net.run_until(Time::zero() + 20_ms);
  from = net.now();
  Bytes longest;
  double sum = 0;
  for (int i = 0; i < 2000; ++i) {
    net.run_until(from + i * 10_us);
    longest = std::max(longest, net.queue(2));
    sum += static_cast<double>(net.queue(2).count());
  }
  const auto [a, b] = bytes;
  EXPECT_GT((a + b) * (a + b) / (2 * (a * a + b * b)), 0.98) << a << " and " << b << " bytes";
  EXPECT_GT((a + b) * 8 / 20e-3, 0.88 * 40e9 * 1024 / (1024 + 118)) << "busy";
  EXPECT_LT((a + b) * 8 / 20e-3, 0.97 * 40e9 * 1024 / (1024 + 118)) << "with its headroom";
  EXPECT_LT(sum / 2000, 5'000) << "bytes, mean";
  EXPECT_LT(longest, 20_KB);
}

TEST(HpccNetTest, AnIncastPausesNobodyOnceItsFirstRoundIsOver) {
  NicConfig nic = nic_config();
  nic.cc.get<Hpcc>()->flows = 8;  // W_AI: how fast shares become equal
  StarNet net(9, nic, switch_config());
  post_incast(net, 8, 5'000'000);
  net.run_until(Time::zero() + 1_ms);
  std::uint64_t before = 0, after = 0;
  for (std::size_t h = 0; h < 8; ++h) before += net.port(h).xoff_sent[3];
  net.run();
  for (std::size_t h = 0; h < 8; ++h) after += net.port(h).xoff_sent[3];
  EXPECT_EQ(after, before);
  Time first = Time::never(), last = Time::zero();
  for (std::size_t f = 0; f < 8; ++f) {
    first = std::min(first, net.flow(f).completed);
    last = std::max(last, net.flow(f).completed);
  }
  EXPECT_LT((last - first).seconds(), 0.25 * last.seconds());
  EXPECT_EQ(net.port(8).drops, 0u);
}

// As the HPCC paper and its simulator run it: go-back-N that acknowledges every packet. In IRN a WRITE's
// packets have a RETH each, 16 bytes more.
TEST(HpccNetTest, OverRoceItIsTheSameWhereEveryPacketIsAcknowledged) {
  NicConfig nic = nic_config();
  nic.mode = TransportMode::kRoce;
  nic.ack_interval = 1;
  StarNet alone(2, nic, switch_config());
  post_incast(alone, 1, 20'000'000);
  alone.run();
  const double at_eta = 20e6 * 8 / 40e9 * (1024 + 102) / 1024 / 0.95;
  EXPECT_GT(alone.flow(0).completed.seconds(), 0.95 * at_eta);
  EXPECT_LT(alone.flow(0).completed.seconds(), 1.05 * at_eta);

  nic.cc.get<Hpcc>()->flows = 4;
  StarNet net(5, nic, switch_config());
  post_incast(net, 4, 5'000'000);
  net.run_until(Time::zero() + 1_ms);
  Bytes longest;
  for (int i = 0; i < 200; ++i) {
    net.run_until(net.now() + 10_us);
    longest = std::max(longest, net.queue(4));
  }
  EXPECT_LT(longest, 30_KB) << "without windows: up to XOFF of four ports";
  net.run();
  EXPECT_EQ(net.port(4).drops, 0u);
}

// A NAK brings INT back, too, and the window goes on from there.
TEST(HpccNetTest, OverRoceALossIsRecoveredWithinTheWindow) {
  NicConfig nic = nic_config();
  nic.mode = TransportMode::kRoce;
  nic.ack_interval = 1;
  nic.roce_rto = 320_us;
  SwitchConfig lossy = switch_config();
  lossy.pfc.enabled = false;
  lossy.egress_limit = 20_KB;
  StarNet net(9, nic, lossy);
  post_incast(net, 8, 1'000'000);
  net.run();
  EXPECT_GT(net.port(8).drops, 0u);
  for (std::size_t f = 0; f < 8; ++f) EXPECT_FALSE(net.flow(f).completed.is_never()) << f;
}

TEST(HpccNetTest, ReadResponsesAreWindowedWhereTheyComeFrom) {
  StarNet net(5, nic_config(), switch_config());
  post_incast(net, 4, 5'000'000, WrOpcode::kRead);
  net.run_until(Time::zero() + 2_ms);
  Bytes longest;
  for (int i = 0; i < 100; ++i) {
    net.run_until(net.now() + 10_us);
    longest = std::max(longest, net.queue(4));
  }
  EXPECT_LT(longest, 30_KB);
  net.run();
}

}  // namespace
}  // namespace rocelab
