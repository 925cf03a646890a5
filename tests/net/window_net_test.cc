// Window-based congestion control with IRN, end to end: Mittal, 4.3.4, last paragraph.
#include "tests/net/cc_scene.h"

namespace rocelab {
namespace {

NicConfig nic_config(std::string_view kind) {
  NicConfig config = cc_nic(kind, TransportMode::kIrn);
  config.irn.bdp_cap = 110;
  return config;
}

SwitchConfig switch_config(Bytes buffer, Bytes mark_at) {
  SwitchConfig config;
  config.pfc.enabled = false;
  for (ClassConfig& c : config.classes) c.lossless = false;
  config.egress_limit = buffer;
  config.classes[3].ecn = {mark_at.count() > 0, mark_at, mark_at, 1};
  return config;
}

// Payload that each of two flows into port 2 brings in [from, from + span), the second having started 1 ms
// late.
std::array<double, 2> shares(StarNet& net, WrOpcode opcode, Duration from, Duration span) {
  std::array<double, 2> bytes{};
  const bool read = opcode == WrOpcode::kRead;
  net.on_delivery = [&](std::size_t port, const Packet& packet, Time due) {
    if (port == 2 && packet.payload_length > 0 && due >= Time::zero() + from)
      bytes[(packet.flow >> 12) - 1] += packet.payload_length;
  };
  for (std::size_t h = 0; h < 2; ++h) {
    net.run_until(Time::zero() + 1_ms * static_cast<std::int64_t>(h));
    net.post(read ? net.connect(2, h) : net.connect(h, 2), opcode, 1'000'000'000);
  }
  net.run_until(Time::zero() + from + span);
  return bytes;
}

void expect_busy(const std::array<double, 2>& bytes, Duration span) {
  EXPECT_GT((bytes[0] + bytes[1]) * 8 / span.seconds(), 0.85 * 40e9 * 1024 / 1122);
}
void expect_fair(const std::array<double, 2>& bytes) {
  const auto [a, b] = bytes;
  EXPECT_GT((a + b) * (a + b) / (2 * (a * a + b * b)), 0.95) << a << " and " << b << " bytes";
}

class DctcpNetTest : public testing::TestWithParam<WrOpcode> {};

// A step at 20 KB of a 240 KB buffer: marks hold the queue near the step, nothing is lost, the flows share.
TEST_P(DctcpNetTest, MarksKeepTheQueueAtTheStepAndTheFlowsFair) {
  StarNet net(3, nic_config("dctcp"), switch_config(240_KB, 20_KB));
  const auto bytes = shares(net, GetParam(), 20_ms, 20_ms);
  expect_busy(bytes, 20_ms);
  expect_fair(bytes);
  EXPECT_GT(net.port(2).ecn_marked, 0u);
  EXPECT_EQ(net.counters(0).retransmitted_packets + net.counters(1).retransmitted_packets, 0u);
  EXPECT_LT(net.port(2).queue_peak_bytes[3], 200'000u) << "two BDP-capped flows alone would fill 240 KB";
  EXPECT_EQ(net.counters(2).np_cnp_sent, 0u) << "marks are echoed in ACKs, not by CNPs";
}

INSTANTIATE_TEST_SUITE_P(Operations, DctcpNetTest, testing::Values(WrOpcode::kWrite, WrOpcode::kRead));

class AimdNetTest : public testing::TestWithParam<WrOpcode> {};

// The paper's switch: a buffer per input. How the two share it is not claimed: without any randomness the
// loss of a resent packet, which only a timer repairs, keeps hitting the same one (phase effects).
TEST_P(AimdNetTest, DropsHalveTheWindowsSoThatFewAreDropped) {
  SwitchConfig config = switch_config(0_B, 0_B);
  config.input_buffered = true;
  config.input_buffer = 30_KB;
  config.queue_order = QueueOrder::kRoundRobin;
  StarNet net(3, nic_config("aimd"), config), plain(3, nic_config("none"), config);
  expect_busy(shares(net, GetParam(), 20_ms, 20_ms), 20_ms);
  shares(plain, GetParam(), 20_ms, 20_ms);
  EXPECT_GT(net.port(2).drops + net.port(0).drops, 0u) << "losses are its signal";
  EXPECT_LT((net.port(2).drops + net.port(0).drops) * 4, plain.port(2).drops + plain.port(0).drops)
      << "without it both keep a BDP in flight";
}

INSTANTIATE_TEST_SUITE_P(Operations, AimdNetTest, testing::Values(WrOpcode::kWrite, WrOpcode::kRead));

}  // namespace
}  // namespace rocelab
