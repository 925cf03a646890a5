#include "base/wire/p4qcn_fbp.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/wire/bytes.h"
#include "base/wire/controls.h"
#include "base/wire/test_frames.h"

namespace rocelab {
namespace {

// tshark: Ethernet II, Dst 02:00:0a:00:00:01, Src 02:72:6c:00:00:02; Internet Protocol Version 4, Src
// 172.16.0.3, Dst 10.0.0.1, DSCP CS6, ECN CE; Internet Control Message Protocol, Type 253 (RFC3692-style
// experiment 1), Code 3, checksum correct
const char* const kFbp =
    "02000a000001 02726c000002 0800"
    "45c3 0024 0000 4000 4001 8402 ac100003 0a000001"
    "fd03 e8dc 0000000c 0a000002 00001011"
    "00000000000000000000";

class OneFlow final : public ControlAddresses, public ControlNodes {
 public:
  MacAddress sender() const override { return {}; }
  MacAddress point(std::uint32_t /*address*/) const override { return {2, 'r', 'l', 0, 0, 2}; }
  MacAddress mac(NodeId host) const override {
    return {2, 0, 10, 0, 0, static_cast<std::uint8_t>(host.value)};
  }
  std::uint32_t ipv4(NodeId host) const override { return 0x0a000000u + host.value; }
  Gid gid(NodeId /*host*/, bool /*ipv6*/) const override { return {}; }
  NodeId node_of(std::uint32_t ipv4) const override {
    return NodeId{static_cast<std::uint16_t>(ipv4 - 0x0a000000)};
  }
};

std::optional<Packet> read(std::span<const std::byte> bytes) {
  Packet packet;
  if (!read_control(bytes, kind_of<P4qcnFbp>, packet, OneFlow())) return std::nullopt;
  return packet;
}

TEST(P4qcnFbpTest, FieldsStandAsTheDiagramSays) {
  const auto bytes = test::from_hex(kFbp);
  ASSERT_EQ(bytes.size(), P4qcnFbp::kSize);
  const auto packet = read(bytes);
  ASSERT_TRUE(packet);
  EXPECT_EQ(control_of<P4qcnFbp>(*packet), (P4qcnFbp{0xac100003, 12, Qpn{0x1011}}));
  EXPECT_EQ(packet->src, NodeId{2}) << "the flow's destination";
  EXPECT_EQ(packet->roce.dest, Qpn{0x1011});
  EXPECT_EQ(packet->roce.dscp, 48);
  Packet made = *packet;
  made.dst = NodeId{1};
  std::array<std::byte, kMaxControlFrame> room;
  room.fill(std::byte{0xee});
  EXPECT_EQ(test::to_hex(write_control(made, OneFlow(), room)), test::to_hex(bytes));
  EXPECT_EQ(to_string(control_of<P4qcnFbp>(made)), "P4QCN FBP of 172.16.0.3 to QPN 4113, queue 12");
}

// `feedback_size = "frame"`: as long as the data, and of the same meaning.
TEST(P4qcnFbpTest, ZerosMakeItAsLongAsAnEvenFrame) {
  const P4qcnFbp bare{0xac100003, 12, Qpn{0x1011}};
  for (const int length : {0, 50, 60, 61, 62, 1098, 1099, 4170}) {
    const P4qcnFbp fbp = bare.as_long_as(Bytes::from_count(length));
    const auto frame = std::max<std::uint32_t>(60, static_cast<std::uint32_t>(length) & ~1u);
    EXPECT_EQ(fbp.frame_bytes(), frame);
    Packet packet;
    put_control(packet, fbp);
    EXPECT_EQ(packet.frame_length, frame);
    EXPECT_EQ(transport_of(packet).bytes, fbp.transport_bytes());
    packet.src = NodeId{2}, packet.dst = NodeId{1};
    packet.roce.dscp = 48;
    std::vector<std::byte> room(5000, std::byte{0xee});
    const auto written = write_control(packet, OneFlow(), room);
    ASSERT_EQ(written.size(), frame);
    EXPECT_EQ(room[frame], std::byte{0xee}) << "writes no more";
    const auto again = read(written);
    ASSERT_TRUE(again) << length;
    EXPECT_EQ(control_of<P4qcnFbp>(*again), fbp);
    EXPECT_EQ(again->frame_length, frame);
    if (fbp.zeros > 0) {
      EXPECT_FALSE(read(written.first(frame - 2))) << "cut off";
    }
  }
  std::vector<std::byte> room(5000);
  Packet packet;
  put_control(packet, bare.as_long_as(100_B));
  write_control(packet, OneFlow(), room);
  room[61] = std::byte{1}, room[62] = std::byte{0xff}, room[63] = std::byte{0xfe};
  EXPECT_FALSE(read(std::span(room).first(100))) << "the checksum holds, but they are no zeros";
}

// Both checksums together cover all behind the Ethernet header.
TEST(P4qcnFbpTest, NoFlippedBitPasses) {
  const auto good = test::from_hex(kFbp);
  for (std::size_t bit = 14 * 8; bit < 50 * 8; ++bit) {
    auto bytes = good;
    bytes[bit / 8] ^= std::byte{static_cast<std::uint8_t>(1u << (bit % 8))};
    EXPECT_FALSE(read(bytes)) << "bit " << bit;
  }
}

// The paper tells feedback by its mark alone; here it has to have that, the code and the length.
TEST(P4qcnFbpTest, WithoutTheMarkOrWithAnotherCodeItIsNone) {
  for (int code = 0; code < 256; ++code)
    for (const Ecn ecn : {Ecn::kNotEct, Ecn::kEct1, Ecn::kEct0, Ecn::kCe}) {
      auto bytes = test::from_hex(kFbp);
      auto feedback = IcmpFeedback::parse(bytes);
      ASSERT_TRUE(feedback);
      feedback->code = static_cast<std::uint8_t>(code);
      feedback->ecn = ecn;
      feedback->write(bytes);
      EXPECT_EQ(read(bytes).has_value(), code == P4qcnFbp::kCode && ecn == Ecn::kCe) << code;
      Packet packet;
      EXPECT_EQ(read_control(bytes, kind_of<RoccFeedback>, packet, OneFlow()), code == 0)
          << "a NIC that runs RoCC takes none of the other codes";
    }
}

}  // namespace
}  // namespace rocelab
