#include "base/wire/switch_shim.h"

#include <gtest/gtest.h>

#include "base/wire/frame.h"
#include "base/wire/frame_view.h"
#include "base/wire/test_frames.h"

namespace rocelab {
namespace {

using test::ByteVector;

Telemetry stamped(std::size_t hops) {
  Telemetry t;
  for (std::size_t i = 0; i < hops; ++i)
    t.push(static_cast<std::uint16_t>(0x1100 + i), {8, 1000 + static_cast<std::uint32_t>(i), 17, 3});
  return t;
}

// The frame with the shim, or empty: not a RoCEv2 frame.
ByteVector with(const SwitchShim& shim, const ByteVector& frame) {
  ByteVector bytes = frame;
  bytes.resize(frame.size() + SwitchShim::bytes(Telemetry::kMaxHops, true));
  const auto grown = insert_switch_shim(bytes, frame.size(), shim);
  bytes.resize(grown.value_or(0));
  return bytes;
}

TEST(SwitchShimTest, HopsAndTelemetryShareOneShimAsTheDiagramSays) {
  const ByteVector bytes = with({0x12, stamped(1)}, test::made_frames().front().bytes);
  const auto place = find_shim(bytes);
  ASSERT_TRUE(place);
  EXPECT_EQ(place->header, (ShimHeader{kEscapeTelemetryShim, 3, 0x1100}));
  const ByteVector shim(bytes.begin() + static_cast<std::ptrdiff_t>(place->offset),
                        bytes.begin() + static_cast<std::ptrdiff_t>(place->offset + 16));
  EXPECT_EQ(shim, test::from_hex("e4031100"
                                 "00000012"
                                 "80003e8000110003"));
}

TEST(SwitchShimTest, EveryCombinationGoesIntoAFrameAndOutAndLeavesItAsItWas) {
  int frames = 0;
  for (const test::NamedFrame& frame : test::made_frames()) {
    if (with({1, {}}, frame.bytes).empty()) continue;
    ++frames;
    const auto plain = view_frame(frame.bytes);
    for (const std::uint8_t hops : {std::uint8_t{0}, std::uint8_t{1}, std::uint8_t{200}})
      for (const std::size_t records : {0u, 1u, 3u, 7u}) {
        SCOPED_TRACE(frame.name + ", hops " + std::to_string(hops) + ", records " + std::to_string(records));
        const SwitchShim shim{hops, stamped(records)};
        ByteVector bytes = with(shim, frame.bytes);
        ASSERT_EQ(bytes.size(), frame.bytes.size() + shim.bytes());
        ASSERT_EQ(shim.bytes(), (hops != 0 ? 4u : 0u) + (records != 0 ? 4 + 8 * records : 0));
        const auto seen = view_frame(bytes);
        ASSERT_TRUE(plain && seen);
        EXPECT_EQ(seen->psn, plain->psn) << "a switch sees what stands behind it";
        EXPECT_EQ(seen->kind, plain->kind);
        EXPECT_EQ(seen->flow_hash, plain->flow_hash);
        if (shim.bytes() == 0) continue;
        const auto place = find_shim(bytes);
        ASSERT_TRUE(place);
        EXPECT_EQ(switch_shim_of(bytes, *place), shim);
        ASSERT_EQ(remove_shim(bytes), frame.bytes.size());
        bytes.resize(frame.bytes.size());
        EXPECT_EQ(bytes, frame.bytes);
      }
  }
  EXPECT_GT(frames, 10);
}

// The headers of a frame, without its payload, are one as well to whoever looks where it goes.
TEST(SwitchShimTest, AnAnnouncementHasAShimOfItsOwn) {
  for (const test::NamedFrame& frame : test::made_frames()) {
    const SwitchShim shim{7, {}, true};
    ByteVector bytes = with(shim, frame.bytes);
    if (bytes.empty()) continue;
    ASSERT_EQ(bytes.size(), frame.bytes.size() + 4) << frame.name;
    const auto place = find_shim(bytes);
    ASSERT_TRUE(place);
    EXPECT_EQ(place->header, (ShimHeader{kEscapeAnnouncementShim, 0, 7}));
    EXPECT_EQ(switch_shim_of(bytes, *place), shim);
    EXPECT_EQ(view_frame(bytes)->flow_hash, view_frame(frame.bytes)->flow_hash);
    FrameError why{};
    EXPECT_FALSE(parse_frame(bytes, IcrcCheck::kVerify, &why));
    EXPECT_EQ(why, FrameError::kShim) << "no NIC takes it for data";
  }
}

TEST(SwitchShimTest, AcknowledgementsShimsAndThoseThatAreTooShortAreNone) {
  const ByteVector frame = test::made_frames().front().bytes;
  for (const std::uint8_t type : {kTelemetryEchoShim, kEscapeTelemetryShim, std::uint8_t{9}}) {
    ByteVector bytes = frame;
    bytes.resize(frame.size() + ShimHeader::kSize);
    ASSERT_TRUE(insert_shim(bytes, frame.size(), type, 7, {}));
    EXPECT_EQ(switch_shim_of(bytes, find_shim(bytes).value()), std::nullopt) << int{type};
  }
}

// Both in a packet: what the engines count is what the bytes have.
TEST(SwitchShimTest, APacketCountsBoth) {
  PacketPool pool;
  PacketRef packet = pool.make();
  EXPECT_EQ(shim_bytes_of(*packet), 0u);
  PacketPool::telemetry(*packet) = stamped(2);
  packet->roce.telemetry_hops = 2;
  EXPECT_EQ(shim_bytes_of(*packet), 20u);
  packet->kind = PacketKind::kEscaping;
  packet->roce.shim_hops = 3;
  EXPECT_EQ(shim_bytes_of(*packet), 24u);
  EXPECT_EQ(switch_shim_of(*packet), (SwitchShim{3, stamped(2)}));
  packet->kind = PacketKind::kEscapeAnnouncement;
  packet->roce.telemetry_hops = 0;
  EXPECT_EQ(shim_bytes_of(*packet), 4u);
  EXPECT_EQ(switch_shim_of(*packet), (SwitchShim{3, {}, true}));
  packet->roce.telemetry_hops = 2;
  packet->kind = PacketKind::kData;
  packet->roce.shim_hops = kShimToRemove;
  EXPECT_EQ(switch_shim_of(*packet), (SwitchShim{0, stamped(2)}));
}

}  // namespace
}  // namespace rocelab
