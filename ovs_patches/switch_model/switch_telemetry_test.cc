// INT: which frames are stamped, with what, and what it costs on the wire.
#include "base/wire/controls.h"
#include "base/wire/telemetry.h"
#include "ovs_patches/switch_model/mechanisms/escape.h"
#include "ovs_patches/switch_model/mechanisms/telemetry.h"
#include "ovs_patches/switch_model/test_support.h"

namespace rocelab {
namespace {

using namespace switch_test;

constexpr Bytes kFrame = 1098_B;

SwitchConfig config_on() {
  SwitchConfig config;
  config.max_frame = kFrame + Bytes::from_count(Telemetry::kMaxShimBytes);
  config.mechanisms.of<TelemetryMechanism>().enabled = true;
  return config;
}
std::vector<PortConfig> ports() {
  std::vector<PortConfig> p(3);
  for (std::size_t i = 0; i < p.size(); ++i) p[i].cp_address = 0xac100001 + static_cast<std::uint32_t>(i);
  return p;
}

struct Stamped {
  Time departed;
  Telemetry telemetry;
  std::uint32_t length;
  PacketKind kind;
};

struct TelemetryBench {
  void send(Time due, PacketKind kind = PacketKind::kData, std::uint8_t hops = 0) {
    PacketRef packet = make_packet(pool, kFrame);
    packet->kind = kind;
    if (kind != PacketKind::kData) packet->payload_length = 0;
    if (hops > 0) PacketPool::telemetry(*packet).hops = packet->roce.telemetry_hops = hops;
    const PortId outs[] = {port(2)};
    node.deliver(port(0), outs, std::move(packet), due);
  }
  void run() {
    node.run_until(Time::never(), [&](PortId, PacketRef packet, Time departed, Time) {
      const Telemetry* found = PacketPool::telemetry_of(*packet);
      left.push_back({departed, found ? *found : Telemetry{}, packet->frame_length, packet->kind});
    });
  }
  PacketPool pool;
  TraceLog trace;
  SwitchNode node{config_on(), ports(), Rng(1), pool, trace};
  std::vector<Stamped> left;
};

TEST(SwitchTelemetryTest, EachDataFrameSaysRateTimeBytesAndQueueAtItsDeparture) {
  TelemetryBench b;
  for (int i = 0; i < 4; ++i) b.send(at(3_us));
  b.run();
  ASSERT_EQ(b.left.size(), 4u);
  std::int64_t sent = 0;
  for (int i = 0; i < 4; ++i) {
    SCOPED_TRACE(i);
    const Stamped& s = b.left[static_cast<std::size_t>(i)];
    ASSERT_EQ(s.telemetry.hops, 1);
    EXPECT_EQ(s.telemetry.path, 3) << "the port's address";
    const TelemetryHop hop = s.telemetry.hop(0);
    EXPECT_EQ(hop.rate(), 40_Gbps);
    EXPECT_EQ(hop.time, s.departed.ps() / 1000);
    EXPECT_EQ(hop.sent, sent / 128);
    EXPECT_EQ(hop.queue, static_cast<std::uint32_t>((3 - i) * 1098 / 80)) << "behind it";
    EXPECT_EQ(s.length, 1098u + 12);
    sent += 1098 + 12 + 24;
  }
  EXPECT_EQ(b.left[1].departed - b.left[0].departed, wire_time(kFrame + 12_B, 40_Gbps)) << "the shim is sent";
}

TEST(SwitchTelemetryTest, ASecondSwitchAddsEightBytes) {
  TelemetryBench b;
  b.send(at(1_us), PacketKind::kData, 1);
  b.run();
  EXPECT_EQ(b.left[0].telemetry.hops, 2);
  EXPECT_EQ(b.left[0].length, 1098u + 8);
}

TEST(SwitchTelemetryTest, AcknowledgementsCarryWhatTheyBringBackUntouched) {
  TelemetryBench b;
  b.send(at(1_us), PacketKind::kAck, 2);
  b.run();
  EXPECT_EQ(b.left[0].telemetry.hops, 2);
  EXPECT_EQ(b.left[0].length, 1098u);
}

TEST(SwitchTelemetryTest, AFullSlotIsLeftAsItIs) {
  TelemetryBench b;
  b.send(at(1_us), PacketKind::kData, Telemetry::kMaxHops);
  b.run();
  EXPECT_EQ(b.left[0].telemetry.hops, Telemetry::kMaxHops);
  EXPECT_EQ(b.left[0].length, 1098u);
}

// The buffer gives back what it charged, though the frame leaves longer than it came.
TEST(SwitchTelemetryTest, BuffersCountFramesAsTheyCame) {
  TelemetryBench b;
  for (int i = 0; i < 50; ++i) b.send(at(1_us));
  b.run();
  EXPECT_EQ(b.node.model().ingress_bytes(port(0), tc(3)), 0_B);
  EXPECT_EQ(b.node.model().counters(port(2), at(1_ms)).tx_bytes, 50u * 1098);
}

TEST(SwitchTelemetryTest, RatesWithoutACodeAreNamed) {
  std::vector<PortConfig> p = ports();
  EXPECT_EQ(problem_of(config_on(), p), "");
  p[1].rate = 13_Gbps;
  EXPECT_NE(problem_of(config_on(), p).find("port 1: rate 13Gbps has no code"), std::string::npos);
}

// A frame that is too long for what drivers have room for is not made longer.
TEST(SwitchTelemetryTest, NoFrameGrowsBeyondTheLongest) {
  TelemetryBench b;
  const Bytes length = config_on().longest_frame() - 8_B;
  const PortId outs[] = {port(2)};
  b.node.deliver(port(0), outs, make_packet(b.pool, length), at(1_us));
  b.run();
  ASSERT_EQ(b.left.size(), 1u);
  EXPECT_EQ(b.left[0].telemetry.hops, 0);
  EXPECT_EQ(b.left[0].length, length.count());
}

// With Escape: a frame that escapes is stamped like any other, and counts in what the port has sent.
TEST(SwitchTelemetryTest, EscapingFramesAreStampedAndCounted) {
  std::vector<PortConfig> three = ports();
  three[2].peer = PeerKind::kSwitch;
  SwitchConfig config = config_on();
  config.mechanisms.of<EscapeMechanism>().enabled = true;
  ASSERT_EQ(problem_of(config, three), "");
  Bench b(config, three);
  b.send_pfc(2, at(0_us), 3, 0xffff);
  const PortId outs[] = {port(2)};
  for (std::uint32_t psn = 0; psn < 3; ++psn) {
    PacketRef packet = make_packet(b.pool, kFrame, 3, 0, psn);
    packet->src = NodeId{1};
    packet->dst = NodeId{7};
    packet->roce.dest = Qpn{5};
    b.node.deliver(port(0), outs, std::move(packet), at(1_us) + Duration::from_ps(psn));
  }
  for (int i = 0; i < 2; ++i) {
    PacketRef token = b.pool.make();
    put_control(*token, EscapeToken{tc(3), 1, NodeId{1}, NodeId{7}, Qpn{5}});
    b.node.deliver(port(2), {}, std::move(token), at(2_us) + 1_us * i);
  }
  std::vector<Stamped> left;
  std::vector<std::uint8_t> hops;
  b.node.run_until(at(10_us), [&](PortId from, PacketRef packet, Time departed, Time) {
    if (from != port(2)) return;
    const Telemetry* found = PacketPool::telemetry_of(*packet);
    left.push_back({departed, found ? *found : Telemetry{}, packet->frame_length, packet->kind});
    hops.push_back(packet->roce.shim_hops);
  });
  ASSERT_EQ(left.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(left[i].kind, PacketKind::kEscaping);
    EXPECT_EQ(hops[i], 1);
    EXPECT_EQ(left[i].length, 1098u + 12 + 4);
    ASSERT_EQ(left[i].telemetry.hops, 1);
    EXPECT_EQ(left[i].telemetry.hop(0).sent, i * (1098 + 16 + 24) / 128);
    EXPECT_EQ(left[i].telemetry.hop(0).queue, (2 - i) * 1098 / 80) << "what it went past";
  }
}

}  // namespace
}  // namespace rocelab
