// RCP end to end: data asks, switches lower, the receiver's NIC answers, the sender's NIC paces.
#include "irn_provider/cc/rcp.h"
#include "ovs_patches/switch_model/mechanisms/rcp.h"
#include "tests/net/cc_scene.h"

namespace rocelab {
namespace {

NicConfig nic_config(TransportMode mode = TransportMode::kIrn) {
  NicConfig config = cc_nic("rcp", mode);
  config.irn.bdp_cap = 400;
  config.ack_interval = 1;
  return config;
}
SwitchConfig switch_config() {
  SwitchConfig config;
  config.mechanisms.of<RcpMechanism>().enabled = true;
  config.mechanisms.of<RcpMechanism>().rtt = 9_us;
  return config;
}
std::uint64_t counter(const StarNet& net, std::size_t port, std::string_view name) {
  const auto names = mechanism_counter_names();
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return net.port(port).of_mechanisms[i];
  ADD_FAILURE() << name << " is no counter";
  return 0;
}

// The first packet alone, the others a round trip later; each with the header, twelve bytes more.
TEST(RcpNetTest, TheFirstPacketAsksForThoseBehindIt) {
  StarNet net(2, nic_config(), switch_config());
  std::vector<std::pair<Time, std::uint32_t>> data;
  std::vector<RcpHeader> answers;
  net.on_delivery = [&](std::size_t port, const Packet& packet, Time due) {
    if (port == 1) data.emplace_back(due, packet.frame_length);
    if (port == 0) answers.push_back(rcp_of(packet).value_or(RcpHeader{}));
  };
  net.run_until(Time::zero() + 1_ms);
  net.post(net.connect(0, 1), WrOpcode::kWrite, 5 * 1024);
  net.run();
  ASSERT_EQ(data.size(), 5u);
  ASSERT_EQ(answers.size(), 5u);
  EXPECT_EQ(data[0].second, 1024u + 74 + 12);
  EXPECT_GT(data[1].first - data[0].first, 8_us) << "of links there and back";
  EXPECT_LT(data[4].first - data[1].first, 1_us) << "an idle path answers the line";
  for (const RcpHeader& answer : answers) EXPECT_EQ(answer.rate(), 40_Gbps);
  EXPECT_EQ(answers[0].rtt(), Duration{}) << "nothing had been measured";
  EXPECT_GE(net.counters(0).tx_packets, 5u);
}

// Processor sharing: N flows get a link's Nth each, those that come later at once.
TEST(RcpNetTest, FlowsShareALinkAndItsQueueDrains) {
  StarNet net(5, nic_config(), switch_config());
  std::array<double, 4> bytes{};
  Time from = Time::never();
  net.on_delivery = [&](std::size_t port, const Packet& packet, Time due) {
    if (port == 4 && packet.payload_length > 0 && due >= from)
      bytes[(packet.flow >> 12) - 1] += packet.payload_length;
  };
  for (std::size_t h = 0; h < 4; ++h) {
    net.post(net.connect(h, 4), WrOpcode::kWrite, 400'000'000);
    net.run_until(net.now() + 2_ms);
  }
  from = net.now();
  double queue = 0;
  for (int i = 0; i < 1'000; ++i) {
    net.run_until(from + i * 10_us);
    queue += static_cast<double>(net.queue(4).count()) / 1'000;
  }
  double sum = 0, squares = 0;
  for (const double b : bytes) sum += b, squares += b * b;
  EXPECT_GT(sum * sum / (4 * squares), 0.999) << bytes[0] << ' ' << bytes[3];
  EXPECT_GT(sum * 8 / 10e-3, 0.97 * 40e9 * 1024 / (1024 + 82 + 24)) << "and the link is full";
  EXPECT_LT(queue, 20'000) << "bytes, mean";
  EXPECT_GT(counter(net, 4, "rcp_updates"), 500u);
  EXPECT_GT(counter(net, 4, "rcp_lowered"), 1'000u);
  EXPECT_EQ(counter(net, 0, "rcp_lowered"), 0u) << "acknowledgements ask for nothing";
}

// Round trips of the star are 9 us; the switch was told ten times that.
TEST(RcpNetTest, SwitchesLearnTheRoundTripFromData) {
  SwitchConfig switches = switch_config();
  switches.mechanisms.of<RcpMechanism>().rtt = 90_us;
  StarNet net(2, nic_config(), switches);
  net.post(net.connect(0, 1), WrOpcode::kWrite, 100'000'000);
  const auto slots_until = [&](Duration time) {
    const std::uint64_t before = counter(net, 1, "rcp_updates");
    net.run_until(Time::zero() + time);
    return counter(net, 1, "rcp_updates") - before;
  };
  EXPECT_LE(slots_until(500_us), 8u);
  slots_until(9_ms);
  EXPECT_GT(slots_until(10_ms), 80u) << "slots have become as short as round trips";
}

TEST(RcpNetTest, ReadResponsesAskWhereTheyComeFrom) {
  StarNet net(5, nic_config(), switch_config());
  post_incast(net, 4, 20'000'000, WrOpcode::kRead);
  net.run_until(Time::zero() + 10_ms);
  Bytes longest;
  for (int i = 0; i < 100; ++i) {
    net.run_until(net.now() + 10_us);
    longest = std::max(longest, net.queue(4));
  }
  EXPECT_GT(counter(net, 4, "rcp_lowered"), 1'000u);
  EXPECT_LT(longest, 100_KB);
  net.run();
  for (std::size_t f = 0; f < 4; ++f) EXPECT_FALSE(net.flow(f).completed.is_never()) << f;
}

// Over go-back-N and IRN, where frames are lost: answers of what was sent again bring rates, too.
TEST(RcpNetTest, LossesAreRepairedAndTheRateGoesOn) {
  for (const TransportMode mode : {TransportMode::kRoce, TransportMode::kIrn}) {
    NicConfig nic = nic_config(mode);
    nic.roce_rto = 320_us;
    SwitchConfig lossy = switch_config();
    lossy.pfc.enabled = false;
    lossy.egress_limit = 20_KB;
    lossy.mechanisms.of<RcpMechanism>().initial = 1;
    StarNet net(9, nic, lossy);
    post_incast(net, 8, 2'000'000);
    net.run();
    EXPECT_GT(net.port(8).drops, 0u);
    Time last = Time::zero();
    for (std::size_t f = 0; f < 8; ++f) {
      ASSERT_FALSE(net.flow(f).completed.is_never()) << f;
      last = std::max(last, net.flow(f).completed);
    }
    EXPECT_LT(last.seconds(), 3 * 16e6 * 8 / 40e9) << "not a timeout after the other";
  }
}

}  // namespace
}  // namespace rocelab
