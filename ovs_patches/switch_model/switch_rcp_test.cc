// RCP in the switch: whose headers a port lowers, what its rate goes by, and when it rests.
#include "base/rcp.h"
#include "ovs_patches/switch_model/mechanisms/rcp.h"
#include "ovs_patches/switch_model/network_facts.h"
#include "ovs_patches/switch_model/test_support.h"

namespace rocelab {
namespace {

using namespace switch_test;

constexpr Bytes kFrame = 1098_B;
constexpr std::uint32_t kAsked = 40'000'000;  // kb/s: the line

// 40 Gb/s, of which 2 at first; slots of 10 us, a mean round trip of 40 us.
SwitchConfig config_on() {
  SwitchConfig config;
  config.max_frame = kFrame;
  config.ingress_buffer = 4_MB;
  RcpParams& rcp = config.mechanisms.of<RcpMechanism>();
  rcp.enabled = true;
  rcp.slot = 10_us, rcp.rtt = 40_us;
  return config;
}

struct RcpBench {
  struct Left {
    Time at;
    PacketKind kind;
    std::optional<RcpHeader> header;
  };
  void send(Time due, std::optional<RcpHeader> header = RcpHeader{kAsked, 0}, int in = 0,
            PacketKind kind = PacketKind::kData, int traffic_class = 3) {
    PacketRef packet = make_packet(pool, kFrame, traffic_class);
    packet->kind = kind;
    if (header) put_rcp(*packet, *header);
    const PortId outs[] = {port(3)};
    node.deliver(port(in), outs, std::move(packet), due);
  }
  // Back to back from `begin`.
  void stream(int in, int frames, Time begin) {
    for (int i = 0; i < frames; ++i) send(begin + wire_time(kFrame, 40_Gbps) * i, RcpHeader{kAsked, 0}, in);
  }
  void run_until(Time limit = Time::never()) {
    node.run_until(limit, [&](PortId, PacketRef packet, Time departed, Time) {
      left.push_back({departed, packet->kind, rcp_of(*packet)});
    });
  }
  std::uint64_t counter(std::string_view name) const {
    const auto names = mechanism_counter_names();
    for (std::size_t i = 0; i < names.size(); ++i)
      if (names[i] == name) return node.model().counters(port(3), Time::zero()).of_mechanisms[i];
    ADD_FAILURE() << name << " is no counter";
    return 0;
  }
  PacketPool pool;
  TraceLog trace;
  SwitchNode node{config_on(), std::vector<PortConfig>(4), Rng(1), pool, trace};
  std::vector<Left> left;
};

TEST(SwitchRcpTest, APortLowersWhatAsksForMoreThanItsRate) {
  RcpBench b;
  b.send(at(1_us));
  b.send(at(2_us), RcpHeader{1'500'000, 77});
  b.send(at(3_us), RcpHeader{kAsked, 55}, 0, PacketKind::kAck);
  b.send(at(4_us), std::nullopt);
  b.run_until();
  ASSERT_EQ(b.left.size(), 4u);
  EXPECT_EQ(b.left[0].header, (RcpHeader{2'000'000, 0}));
  EXPECT_EQ(b.left[1].header, (RcpHeader{1'500'000, 77})) << "another port has allowed less";
  EXPECT_EQ(b.left[2].header, (RcpHeader{kAsked, 55})) << "an acknowledgement brings back what it was told";
  EXPECT_EQ(b.left[3].header, std::nullopt);
  EXPECT_EQ(b.counter("rcp_lowered"), 1u);
}

// 1 + 0.4 / 4 in each slot without traffic: 8 of them have ended at 85 us.
TEST(SwitchRcpTest, WhatAnIdlePortWouldHaveDoneIsMadeUpForWithItsNextFrame) {
  RcpBench b;
  b.send(at(85_us));
  b.send(at(10_s));
  b.run_until();
  ASSERT_EQ(b.left.size(), 2u);
  double rate = 2e6;
  for (int i = 0; i < 8; ++i) rate *= 1.1;
  EXPECT_NEAR(b.left[0].header->kbps, rate, 1);
  EXPECT_EQ(b.left[1].header->kbps, kAsked);
  EXPECT_EQ(b.counter("rcp_updates"), 2u) << "the slots of the two frames";
  EXPECT_TRUE(b.node.next_event().is_never()) << "and no timer is left";
}

// Two inputs at line rate: y is twice the link, and the queue grows by a link's worth in each slot. What
// joins and what waits counts with what a frame has around it on the wire, in every class.
TEST(SwitchRcpTest, TheRateFollowsTheLawAtEachSlotsEnd) {
  for (const int second : {3, 0}) {
    RcpBench b;
    const Duration gap = wire_time(kFrame, 40_Gbps);
    int joined = 0;
    for (Time t = at(10_us) + gap / 2; t < at(20_us); t = t + gap, joined += 2) {
      b.send(t, RcpHeader{kAsked, 0}, 0);
      b.send(t, RcpHeader{kAsked, 0}, 1, PacketKind::kData, second);
    }
    const Duration slot = 10_us;
    b.send(at(20_us) + 1_ns, RcpHeader{kAsked, 0}, 2, PacketKind::kData, 7);  // ahead of what waits
    b.run_until();
    const double frame = static_cast<double>(wire_bytes(kFrame).count()) * 8;
    const double y = joined * frame / slot.seconds();
    const int sent = static_cast<int>((slot - gap / 2) / gap) + 1;  // the last one is on its way
    const double q = (joined - sent) * frame;
    const double want = 2.2e9 * (1 + (0.4 * (40e9 - y) - 0.4 * q / 40e-6) / 40e9 / 4);
    std::uint32_t least = kAsked;
    for (const RcpBench::Left& l : b.left)
      if (l.at >= at(20_us) && l.at < at(20_us) + gap * 2) least = std::min(least, l.header->kbps);
    EXPECT_NEAR(least, want / 1e3, 5) << "second class " << second;
  }
}

TEST(SwitchRcpTest, NotOnTheWallClock) {
  NetworkFacts facts;
  EXPECT_FALSE(RcpMechanism::problem_of_network({}, {}, facts));
  facts.wall_clock = true;
  EXPECT_TRUE(RcpMechanism::problem_of_network({}, {}, facts));
}

}  // namespace
}  // namespace rocelab
