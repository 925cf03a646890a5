// TIMELY end to end: RTTs that the sender's NIC takes from ACKs and READ responses, segments as bursts.
#include "base/wire/opcode.h"
#include "irn_provider/cc/cc_algorithm.h"
#include "tests/net/star_net.h"

namespace rocelab {
namespace {

NicConfig nic_config(TransportMode mode, std::string_view kind = "timely") {
  NicConfig config;
  config.mode = mode;
  config.active_mtu = 1024;
  config.cc = cc_config(kind);
  config.link_rate = 10_Gbps;
  config.link_delay = 5_us;  // minRTT 20 us and a little, as in the paper
  config.irn.bdp_cap = 40;
  config.irn.rto_low = config.irn.rto_high = 10_ms;  // far above what the buffer below delays
  return config;
}

SwitchConfig switch_config(TransportMode mode) {
  SwitchConfig config;
  config.ingress_buffer = config.egress_limit = 2_MB;
  config.pfc.enabled = mode == TransportMode::kRoce;
  return config;
}

struct Result {
  double throughput = 0;  // bit/s of payload at the sink
  double mean_queue = 0;  // bytes at the bottleneck, sampled every 100 us
  std::uint64_t retransmitted = 0;
};

// Eight flows into one port at 10 Gb/s; measured from 200 to 300 ms, when the burst of the start is long
// gone.
Result incast(TransportMode mode, std::string_view kind, WrOpcode opcode) {
  StarNet net(9, nic_config(mode, kind), switch_config(mode));
  std::uint64_t bytes = 0;
  net.on_delivery = [&](std::size_t port, const Packet& packet, Time) {
    if (port == 8) bytes += packet.payload_length;
  };
  const bool read = opcode == WrOpcode::kRead;
  for (std::size_t h = 0; h < 8; ++h)
    net.post(read ? net.connect(8, h) : net.connect(h, 8), opcode, 1'000'000'000);
  net.run_until(Time::zero() + 200_ms);
  bytes = 0;
  Result result;
  for (int sample = 1; sample <= 1000; ++sample) {
    net.run_until(Time::zero() + 200_ms + 100_us * sample);
    result.mean_queue += static_cast<double>(net.queue(8).count()) / 1000;
  }
  result.throughput = static_cast<double>(bytes) * 8 / 100e-3;
  for (std::size_t h = 0; h < 9; ++h) result.retransmitted += net.counters(h).retransmitted_packets;
  return result;
}

class TimelyIncastTest : public testing::TestWithParam<std::tuple<TransportMode, WrOpcode>> {};

// Table 3.1's shape: about the throughput of PFC alone, with a queue far below it.
TEST_P(TimelyIncastTest, KeepsTheBottleneckBusyWithAShortQueue) {
  const auto [mode, opcode] = GetParam();
  const Result timely = incast(mode, "timely", opcode);
  const Result pfc = incast(TransportMode::kRoce, "none", opcode);
  EXPECT_EQ(timely.retransmitted, 0u);
  EXPECT_GT(timely.throughput, 0.9 * pfc.throughput);
  EXPECT_LT(timely.mean_queue * 5, pfc.mean_queue);
}

INSTANTIATE_TEST_SUITE_P(ModesAndOperations, TimelyIncastTest,
                         testing::Combine(testing::Values(TransportMode::kRoce, TransportMode::kIrn),
                                          testing::Values(WrOpcode::kWrite, WrOpcode::kRead)));

// A lone flow sees no queue: it keeps line rate, and its segments follow each other without gaps.
TEST(TimelyNetTest, ALoneFlowEndsWhenItWouldWithoutTimely) {
  for (const TransportMode mode : {TransportMode::kRoce, TransportMode::kIrn}) {
    Time ends[2];
    for (const std::string_view kind : {"none", "timely"}) {
      StarNet net(2, nic_config(mode, kind), switch_config(mode));
      net.post(net.connect(0, 1), WrOpcode::kWrite, 10'000'000);
      net.run();
      ends[kind == "timely"] = net.flow(0).completed;
    }
    EXPECT_EQ(ends[0], ends[1]);
  }
}

// RoCE asks for an ACK at the end of each segment: 16 KB are 15 packets of 1,024 bytes.
TEST(TimelyNetTest, RoceAcknowledgesSegments) {
  StarNet net(2, nic_config(TransportMode::kRoce), switch_config(TransportMode::kRoce));
  std::vector<int> asked;
  int packets = 0;
  net.on_delivery = [&](std::size_t port, const Packet& packet, Time) {
    if (port != 1 || packet.payload_length == 0) return;
    ++packets;
    if (packet.roce.ack_req) asked.push_back(packets);
  };
  net.post(net.connect(0, 1), WrOpcode::kWrite, 40 * 1024);
  net.run();
  EXPECT_EQ(asked, (std::vector<int>{15, 30, 40}));
}

// 3.4: READs are requested segment by segment, and are one work request to the program.
TEST(TimelyNetTest, AReadIsRequestedInSegmentsAndCompletesOnce) {
  for (const TransportMode mode : {TransportMode::kRoce, TransportMode::kIrn}) {
    StarNet net(2, nic_config(mode), switch_config(mode));
    std::vector<std::uint32_t> requested;
    std::vector<std::uint64_t> from;
    net.on_delivery = [&](std::size_t port, const Packet& packet, Time) {
      if (port != 1 || opcode_info(packet.roce.opcode).operation != Operation::kReadRequest) return;
      requested.push_back(packet.roce.dma_length);
      from.push_back(packet.roce.va);
    };
    net.post(net.connect(0, 1), WrOpcode::kRead, 40'000);
    net.run();
    EXPECT_EQ(requested, (std::vector<std::uint32_t>{15'360, 15'360, 9'280}));
    EXPECT_EQ(from, (std::vector<std::uint64_t>{0, 15'360, 30'720}));
    EXPECT_EQ(net.host(0).nic.completions(), 1u);
  }
}

}  // namespace
}  // namespace rocelab
