// RTTs of segments, with and without a congestion control that needs them.
#include "base/wire/opcode.h"
#include "tests/net/cc_scene.h"

namespace rocelab {
namespace {

NicConfig timed_nic(TransportMode mode, std::string_view kind = "none") {
  NicConfig config = cc_nic(kind, mode);
  config.cc.rtt_segment = 16_KB;
  config.link_delay = 2_us;
  config.irn.bdp_cap = 100;
  return config;
}

SwitchConfig pfc_switch() {
  SwitchConfig config;
  config.ingress_buffer = config.egress_limit = 2_MB;
  config.pfc.enabled = true;
  return config;
}

struct Seen {
  std::vector<Duration> rtts;
  std::vector<std::uint32_t> psns;  // of each RTT's last packet
  Bytes frame, ack;                 // of the longest data packet and of an ACK
};

// `post` posts what is to be timed on a net of `hosts`.
template <class Post>
Seen rtts_of(const NicConfig& nic, std::size_t hosts, Post&& post) {
  StarNet net(hosts, nic, pfc_switch());
  Seen seen;
  net.on_rtt = [&](const TraceRecord& r) {
    seen.rtts.push_back(Duration::from_ps(static_cast<std::int64_t>(r.bytes)));
    seen.psns.push_back(r.psn);
  };
  net.on_delivery = [&](std::size_t, const Packet& packet, Time) {
    Bytes& longest = packet.payload_length > 0 ? seen.frame : seen.ack;
    longest = std::max(longest, packet.frame());
  };
  post(net);
  net.run();
  return seen;
}

// Ten segments of 15 packets, each known by its last.
void expect_strides(const Seen& seen) {
  ASSERT_EQ(seen.psns.size(), 10u);
  for (std::size_t i = 1; i < seen.psns.size(); ++i)
    EXPECT_EQ((seen.psns[i] - seen.psns[i - 1]) & 0xffffff, 15u) << i;
}

// A message of ten segments of 15 packets. Its own serialisation is left out of an idle path's RTT: there
// remain one packet on the second link, the ACK's two links, and four delays. That packet is the first of a
// RoCE message, the longest by its RETH: behind it the others leave the switch one after the other.
TEST(RttNetTest, OnAnIdlePathItIsPropagationAndForwarding) {
  for (const TransportMode mode : {TransportMode::kRoce, TransportMode::kIrn}) {
    const NicConfig nic = timed_nic(mode);
    const Seen seen =
        rtts_of(nic, 2, [](StarNet& net) { net.post(net.connect(0, 1), WrOpcode::kWrite, 150 * 1024); });
    const Duration expected = nic.link_delay * 4 + transfer_time(wire_bytes(seen.frame), nic.link_rate) +
                              transfer_time(wire_bytes(seen.ack), nic.link_rate) * 2;
    EXPECT_EQ(seen.rtts, std::vector<Duration>(10, expected))
        << (mode == TransportMode::kIrn ? "irn " : "roce ") << to_string(expected) << ", frames of "
        << seen.frame.count() << " and " << seen.ack.count() << " bytes";
    expect_strides(seen);
  }
}

TEST(RttNetTest, ItIsTheQueueThatEightSendersMake) {
  const Seen seen =
      rtts_of(timed_nic(TransportMode::kRoce), 9, [](StarNet& net) { post_incast(net, 8, 300 * 1024); });
  ASSERT_EQ(seen.rtts.size(), 160u);
  const auto [least, most] = std::minmax_element(seen.rtts.begin(), seen.rtts.end());
  EXPECT_LT(*least, 40_us);  // eight first segments meet: 120 packets
  EXPECT_GT(*most, 100_us);  // 2 MB of buffer are 400 us
}

// Taking RTTs changes nothing else where every packet is acknowledged anyhow.
TEST(RttNetTest, TakingThemDoesNotMoveACompletion) {
  for (const std::string_view kind : {"none", "dcqcn", "aimd", "dctcp"}) {
    std::vector<Time> ends[2];
    for (const bool timed : {false, true}) {
      NicConfig nic = timed_nic(TransportMode::kIrn, kind);
      if (!timed) nic.cc.rtt_segment = 0_B;
      StarNet net(9, nic, pfc_switch());
      std::size_t rtts = 0;
      net.on_rtt = [&](const TraceRecord&) { ++rtts; };
      post_incast(net, 8, 300 * 1024);
      net.run();
      for (std::size_t f = 0; f < 8; ++f) ends[timed].push_back(net.flow(f).completed);
      EXPECT_EQ(rtts, timed ? 160u : 0u) << kind;
    }
    EXPECT_EQ(ends[0], ends[1]) << kind;
  }
}

TEST(RttNetTest, TimelyReportsItsOwnSegmentsAndReads) {
  for (const WrOpcode opcode : {WrOpcode::kWrite, WrOpcode::kRead}) {
    NicConfig nic = timed_nic(TransportMode::kRoce, "timely");
    nic.cc.rtt_segment = 0_B;
    const Seen seen = rtts_of(nic, 2, [&](StarNet& net) { net.post(net.connect(0, 1), opcode, 150 * 1024); });
    expect_strides(seen);
  }
}

}  // namespace
}  // namespace rocelab
