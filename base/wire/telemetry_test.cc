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
