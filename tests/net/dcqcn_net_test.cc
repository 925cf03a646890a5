// DCQCN end to end: the switch marks, the receiver's NIC notifies, the sender's NIC slows down.
#include "tests/net/cc_scene.h"

namespace rocelab {
namespace {

NicConfig nic_config(TransportMode mode = TransportMode::kRoce) { return cc_nic("dcqcn", mode); }

SwitchConfig switch_config(bool pfc = true) {
  SwitchConfig config;
  config.pfc.enabled = pfc;
  for (ClassConfig& c : config.classes) c.lossless = c.lossless && pfc;
  config.classes[3].ecn.enabled = true;
  config.classes[3].ecn.k_min = 5_KB;
  config.classes[3].ecn.k_max = 200_KB;
  config.classes[3].ecn.p_max = 0.01;
  return config;
}

TEST(DcqcnNetTest, ALoneFlowIsNeverMarkedAndKeepsTheLineRate) {
  const auto net = expect_lone_flow_at_line_rate(nic_config(), switch_config());
  EXPECT_EQ(net->counters(1).np_cnp_sent, 0u);
}

TEST(DcqcnNetTest, AnIncastIsNotifiedSlowsDownAndPausesLess) {
  StarNet with(9, nic_config(), switch_config());
  NicConfig none = nic_config();
  none.cc.use_none();
  StarNet without(9, none, switch_config());
  std::uint64_t xoff[2] = {0, 0}, handled = 0;
  for (StarNet* net : {&with, &without}) {
    post_incast(*net, 8, 8'000'000);
    net->run();
    for (std::size_t h = 0; h < 8; ++h) xoff[net == &without] += net->port(h).xoff_sent[3];
  }
  for (std::size_t h = 0; h < 8; ++h) handled += with.counters(h).rp_cnp_handled;
  EXPECT_GT(with.port(8).ecn_marked, 0u);
  EXPECT_GT(with.counters(8).np_ecn_marked_roce_packets, 0u);
  EXPECT_GT(handled, 50u);
  EXPECT_EQ(handled, with.counters(8).np_cnp_sent) << "CNPs are lost nowhere";
  EXPECT_LT(xoff[0] * 4, xoff[1]);
}

// N at the notification point: for one flow at most one CNP per 50 us.
TEST(DcqcnNetTest, CnpsOfAFlowAreFiftyMicrosecondsApartAndTravelInClassSix) {
  StarNet net(3, nic_config(), switch_config());
  std::vector<Time> cnps;
  net.on_delivery = [&](std::size_t port, const Packet& packet, Time due) {
    if (packet.kind != PacketKind::kCnp || port != 0) return;
    EXPECT_EQ(packet.tc, Tc{6});
    EXPECT_EQ(packet.ecn, Ecn::kNotEct);
    EXPECT_EQ(packet.frame_length, 74u);
    EXPECT_TRUE(packet.roce.becn);
    cnps.push_back(due);
  };
  post_incast(net, 2, 40'000'000);
  net.run();
  ASSERT_GT(cnps.size(), 5u);
  for (std::size_t i = 1; i < cnps.size(); ++i) EXPECT_GE((cnps[i] - cnps[i - 1]).ps(), (49_us).ps());
}

// READ responses are paced where they come from.
TEST(DcqcnNetTest, ReadResponsesSlowDownAtTheResponder) {
  StarNet net(3, nic_config(), switch_config());
  post_incast(net, 2, 8'000'000, WrOpcode::kRead);
  net.run();
  EXPECT_GT(net.counters(2).np_cnp_sent, 0u);
  EXPECT_GT(net.counters(0).rp_cnp_handled, 0u);
  EXPECT_EQ(net.counters(0).rp_cnp_handled + net.counters(1).rp_cnp_handled, net.counters(2).np_cnp_sent);
}

// Two flows into one port, the second 2 ms later at line rate: their rates meet (SIGCOMM 2015, figure 8).
TEST(DcqcnNetTest, TwoFlowsConvergeToAFairShare) {
  for (const TransportMode mode : {TransportMode::kRoce, TransportMode::kIrn}) {
    StarNet net(3, nic_config(mode), switch_config(mode == TransportMode::kRoce));
    std::uint64_t bytes[2] = {0, 0}, before[2];
    net.on_delivery = [&](std::size_t port, const Packet& packet, Time) {
      if (port == 2 && packet.payload_length > 0) bytes[(packet.flow >> 12) - 1] += packet.payload_length;
    };
    net.post(net.connect(0, 2), WrOpcode::kWrite, 1'000'000'000);
    net.run_until(Time::zero() + 2_ms);
    net.post(net.connect(1, 2), WrOpcode::kWrite, 1'000'000'000);
    net.run_until(Time::zero() + 20_ms);
    std::copy_n(bytes, 2, before);
    net.run_until(Time::zero() + 60_ms);
    const double a = static_cast<double>(bytes[0] - before[0]), b = static_cast<double>(bytes[1] - before[1]);
    const double jain = (a + b) * (a + b) / (2 * (a * a + b * b));
    EXPECT_GT(jain, 0.95) << "mode " << static_cast<int>(mode) << ": " << a << " and " << b << " bytes";
    EXPECT_GT((a + b) * 8 / 40e-3, 0.85 * 40e9 * 1024 / 1106) << "and the link stays busy";
  }
}

}  // namespace
}  // namespace rocelab
