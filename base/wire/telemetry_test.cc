#include "base/wire/telemetry.h"

#include <gtest/gtest.h>

#include "base/packet.h"
#include "base/wire/test_frames.h"

namespace rocelab {
namespace {

TEST(TelemetryTest, AHopIsPackedAsTheDiagramSays) {
  const TelemetryHop hop{10, 0x123456, 0xabcde, 0x9876};
  EXPECT_EQ(hop.packed(), 0xa123456abcde9876u);
  EXPECT_EQ(TelemetryHop::unpacked(hop.packed()), hop);
  EXPECT_EQ(hop.rate(), 100_Gbps);
  EXPECT_EQ(hop.queue_length(), Bytes::from_count(0x9876 * 80));
}

TEST(TelemetryTest, DifferencesHoldAcrossTheWrap) {
  const TelemetryHop before{10, 0xfffff0, 0xffffe, 0}, after{10, 0x10, 0x2, 0};
  EXPECT_EQ(after.since(before), 32_ns);
  EXPECT_EQ(after.sent_since(before), 512_B);
}

TEST(TelemetryTest, EveryRateHasOneCodeAndOthersHaveNone) {
  for (std::size_t i = 0; i < TelemetryHop::kRates.size(); ++i)
    EXPECT_EQ(telemetry_rate_code(1_Mbps * TelemetryHop::kRates[i]), i);
  EXPECT_EQ(telemetry_rate_code(13_Gbps), std::nullopt);
}

Telemetry two_hops() {
  Telemetry t;
  t.push(0x1234, {8, 1000, 17, 3});
  t.push(0x00ff, {10, 2000, 18, 4});
  return t;
}

TEST(TelemetryTest, GoesIntoAFrameAndOutAndLeavesItAsItWas) {
  for (const test::NamedFrame& frame : test::made_frames()) {
    SCOPED_TRACE(frame.name);
    std::vector<std::byte> bytes = frame.bytes;
    bytes.resize(bytes.size() + Telemetry::kMaxShimBytes);
    const auto grown = insert_telemetry(bytes, frame.bytes.size(), two_hops(), true);
    if (!grown) continue;  // not a RoCEv2 frame, or it has a shim
    ASSERT_EQ(*grown, frame.bytes.size() + Telemetry::shim_bytes(2));
    const auto place = find_shim(std::span(bytes).first(*grown));
    ASSERT_TRUE(place);
    EXPECT_EQ(place->header.type, kTelemetryEchoShim);
    const auto found = telemetry_of(bytes, *place);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->path, 0x1234 ^ 0x00ff);
    ASSERT_EQ(found->hops, 2);
    EXPECT_EQ(found->hop(1), (TelemetryHop{10, 2000, 18, 4}));
    EXPECT_EQ(remove_shim(std::span(bytes).first(*grown)), frame.bytes.size());
    bytes.resize(frame.bytes.size());
    EXPECT_EQ(bytes, frame.bytes);
  }
}

TEST(TelemetryTest, AFrameThatClaimsMoreHopsThanThereIsRoomForIsCutOff) {
  const std::vector<std::byte> value(8 * 60);
  EXPECT_EQ(Telemetry::read(0, value).hops, Telemetry::kMaxHops);
  EXPECT_EQ(Telemetry::read(0, std::span(value).first(12)).hops, 1);
}

TEST(TelemetryTest, APacketOfAPoolCarriesItBesideItself) {
  PacketPool pool;
  PacketRef plain = pool.make(), stamped = pool.make();
  EXPECT_EQ(PacketPool::telemetry_of(*plain), nullptr);
  PacketPool::telemetry(*stamped) = two_hops();
  stamped->roce.telemetry_hops = 2;
  PacketRef copy = pool.clone(*stamped);
  PacketPool::telemetry(*stamped).words[0] = 0;
  ASSERT_NE(PacketPool::telemetry_of(*copy), nullptr);
  EXPECT_EQ(PacketPool::telemetry_of(*copy)->hop(0), (TelemetryHop{8, 1000, 17, 3}));
  EXPECT_EQ(PacketPool::telemetry_of(*plain), nullptr);
}

}  // namespace
}  // namespace rocelab
