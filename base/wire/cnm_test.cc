#include "base/wire/cnm.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/wire/bytes.h"
#include "base/wire/controls.h"
#include "base/wire/frame_view.h"
#include "base/wire/test_frames.h"

namespace rocelab {
namespace {

// From the port 02:72:6c:00:00:02 to 10.0.0.1, about a WRITE of 1,024 B to 10.0.0.2: 65 units above Q_eq,
// three fewer than before. tshark has no dissector of the PDU; rocelab.lua reads it.
const char* const kCnm =
    "02000a000001 02726c000002 22e7"
    "0014 ac10000300000003 0041 fffd 6000 02000a000002 002a"
    "0800 4562 043c 0000 4000 4011 224d 0a000001 0a000002"
    "0000 12b7 0428 0000 0740ffff00001011 80000005";

class OneFlow final : public ControlAddresses, public ControlNodes {
 public:
  MacAddress sender() const override { return {}; }
  MacAddress point(std::uint32_t /*address*/) const override { return {2, 'r', 'l', 0, 0, 2}; }
  MacAddress mac(NodeId host) const override {
    return {2, 0, 10, 0, 0, static_cast<std::uint8_t>(host.value)};
  }
  std::uint32_t ipv4(NodeId host) const override { return 0x0a000000u + host.value; }
  Gid gid(NodeId host, bool /*ipv6*/) const override {
    return {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 10, 0xff, 0xfe, 0, 0, static_cast<std::uint8_t>(host.value)};
  }
  NodeId node_of(std::uint32_t ipv4) const override {
    return ipv4 >> 8 == 0x0a0000 ? NodeId{static_cast<std::uint16_t>(ipv4 & 0xff)} : kNoNode;
  }
};

Cnm sampled(bool ipv6 = false) {
  Packet frame;
  frame.frame_length = ipv6 ? 1118 : 1098;
  frame.ecn = Ecn::kEct0;
  frame.roce.dscp = 24;
  frame.roce.opcode = 0x07;
  frame.roce.dest = Qpn{0x1011};
  frame.roce.psn = Psn(5);
  frame.roce.ack_req = true;
  frame.roce.ipv6 = ipv6;
  Cnm cnm;
  cnm.cp = 0xac100003;
  cnm.tc = Tc{3};
  cnm.feedback = 20;
  cnm.q_offset = 65;
  cnm.q_delta = -3;
  cnm.sample(frame);
  return cnm;
}

test::ByteVector written(const Cnm& cnm) {
  Packet packet;
  put_control(packet, cnm);
  packet.src = NodeId{2};
  packet.dst = NodeId{1};
  std::array<std::byte, kMaxControlFrame> room;
  room.fill(std::byte{0xee});
  const auto bytes = write_control(packet, OneFlow(), room);
  return {bytes.begin(), bytes.end()};
}
std::optional<Packet> read(std::span<const std::byte> bytes) {
  Packet packet;
  if (!read_control(bytes, kind_of<Cnm>, packet, OneFlow())) return std::nullopt;
  return packet;
}

TEST(CnmTest, FieldsStandAsTheDiagramSays) {
  EXPECT_EQ(test::to_hex(written(sampled())), test::to_hex(test::from_hex(kCnm)));
  const auto packet = read(test::from_hex(kCnm));
  ASSERT_TRUE(packet);
  EXPECT_EQ(control_of<Cnm>(*packet), sampled());
  EXPECT_EQ(packet->src, NodeId{2}) << "by the encapsulated destination MAC";
  EXPECT_EQ(packet->roce.dest, Qpn{0x1011});
  EXPECT_EQ(packet->roce.dscp, Cnm::kDscp);
  EXPECT_EQ(to_string(sampled()), "CNM of 172.16.0.3 class 3 to QPN 4113: feedback 20");
}

TEST(CnmTest, AFrameOverIpv6FitsIntoTheMsduWithItsBth) {
  const auto bytes = written(sampled(true));
  EXPECT_EQ(bytes.size(), Cnm::kSize);
  const auto packet = read(bytes);
  ASSERT_TRUE(packet);
  EXPECT_EQ(control_of<Cnm>(*packet), sampled(true));
  EXPECT_EQ(packet->src, NodeId{2});
}

// Switches go by the destination MAC, which every rule of a run matches.
TEST(CnmTest, ASwitchSeesWhereItGoesAndNoIpHeader) {
  auto bytes = test::from_hex(kCnm);
  const auto view = view_frame(bytes);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->kind, kind_of<Cnm>);
  EXPECT_EQ(view->dst_ipv4, 0x0a000001u);
  EXPECT_EQ(view->dscp, 48);
  EXPECT_EQ(view->ip, 0);
  const auto before = bytes;
  write_ce(bytes);
  EXPECT_EQ(bytes, before) << "nothing to mark";
}

TEST(CnmTest, AnMsduThatIsCutShortOrDoesNotFitIsRefused) {
  const auto good = test::from_hex(kCnm);
  for (std::size_t length = 0; length < good.size(); ++length)
    EXPECT_FALSE(read(std::span(good).first(length))) << length;
  for (int claimed = 0; claimed < 256; ++claimed) {
    auto bytes = good;
    bytes.resize(bytes.size() + 40);
    bytes[Cnm::kPduAt + 23] = static_cast<std::byte>(claimed);
    EXPECT_EQ(read(bytes).has_value(), claimed >= 42 && claimed <= 64) << claimed;
  }
}

TEST(CnmTest, AnotherVersionOrNoRoceFrameInsideIsRefused) {
  const auto changed = [&](std::size_t at, int value) {
    auto bytes = test::from_hex(kCnm);
    bytes[at] = static_cast<std::byte>(value);
    return read(bytes).has_value();
  };
  constexpr std::size_t kMsdu = Cnm::kPduAt + Cnm::kPduSize;
  EXPECT_FALSE(changed(Cnm::kPduAt, 0x10)) << "version";
  EXPECT_TRUE(changed(Cnm::kPduAt, 0x0f)) << "reserved bits are not looked at";
  EXPECT_FALSE(changed(kMsdu, 0x09)) << "EtherType";
  EXPECT_FALSE(changed(kMsdu + 2, 0x46)) << "IP options";
  EXPECT_FALSE(changed(kMsdu + 2 + 9, 6)) << "TCP";
  EXPECT_FALSE(changed(kMsdu + 2 + 20 + 3, 0xb8)) << "another UDP port";
}

TEST(CnmTest, AnUnknownDestinationIsNoNode) {
  auto bytes = test::from_hex(kCnm);
  bytes[Cnm::kPduAt + 16] = std::byte{0x12};
  const auto packet = read(bytes);
  ASSERT_TRUE(packet);
  EXPECT_EQ(packet->src, kNoNode);
}

}  // namespace
}  // namespace rocelab
