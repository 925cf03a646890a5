#include "base/wire/frame_view.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/wire/frame.h"

namespace rocelab {
namespace {

std::vector<std::byte> frame(bool ipv4, bool tagged, std::size_t payload_length) {
  FrameAddress address;
  address.is_ipv4 = ipv4;
  if (tagged) address.vlan = VlanTag{.pcp = 5};
  address.src_gid =
      ipv4 ? ipv4_mapped({10, 0, 0, 1}) : Gid{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  address.dst_gid =
      ipv4 ? ipv4_mapped({10, 0, 0, 2}) : Gid{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2};
  address.dscp = 26;
  address.ecn = Ecn::kEct0;
  RoceHeaders roce;
  roce.opcode = make_opcode(TransportClass::kRc, Operation::kSendOnly);
  roce.dest = Qpn{0x123456};
  roce.psn = Psn(0xfffffe);
  roce.ack_req = true;
  std::vector<std::byte> out(1400);
  out.resize(write_frame(address, roce, std::vector<std::byte>(payload_length, std::byte{7}), out));
  return out;
}

TEST(FrameViewTest, ReadsWhatTheCodecWrites) {
  for (const bool ipv4 : {true, false})
    for (const bool tagged : {true, false})
      for (const std::size_t length : {0u, 1u, 3u, 1000u}) {
        const std::vector<std::byte> f = frame(ipv4, tagged, length);
        const auto view = view_frame(f);
        ASSERT_TRUE(view.has_value());
        EXPECT_EQ(view->kind, PacketKind::kData);
        EXPECT_EQ(view->dscp, 26);
        EXPECT_EQ(view->ecn, Ecn::kEct0);
        EXPECT_EQ(view->dest, Qpn{0x123456});
        EXPECT_EQ(view->psn, Psn(0xfffffe));
        EXPECT_TRUE(view->ack_req);
        EXPECT_EQ(view->payload_length, length);
        EXPECT_EQ(view->dst_ipv4, ipv4 ? 0x0a000002u : 0u);
        EXPECT_EQ(view->dst_interface, ipv4 ? 0u : 2u);
      }
}

TEST(FrameViewTest, CutOffFramesAreRefused) {
  for (const bool ipv4 : {true, false}) {
    const std::vector<std::byte> f = frame(ipv4, false, 200);
    for (std::size_t n = 0; n < f.size(); ++n)
      EXPECT_FALSE(view_frame(std::span(f).first(n))) << n << " bytes";
  }
}

TEST(FrameViewTest, CeIsWrittenOnceAndTheIcrcStillHolds) {
  for (const bool ipv4 : {true, false}) {
    std::vector<std::byte> f = frame(ipv4, true, 200);
    write_ce(f);
    const std::vector<std::byte> once = f;
    write_ce(f);
    EXPECT_EQ(f, once);
    const auto parsed = parse_frame(f);  // checks IP checksum and ICRC
    ASSERT_TRUE(parsed.has_value());
    EXPECT_EQ(parsed->address.ecn, Ecn::kCe);
    EXPECT_EQ(parsed->address.dscp, 26);
  }
}

TEST(FrameViewTest, AnyFlippedBitBehindTheIpHeaderIsNoticedByTheReceiver) {
  const std::vector<std::byte> good = frame(true, false, 20);
  const auto view = view_frame(good);
  for (std::uint32_t bit = 0; bit < 8u * (view->end - view->transport); ++bit) {
    std::vector<std::byte> bad = good;
    flip_bit(bad, view->transport, bit);
    const std::size_t byte = view->transport + bit / 8;
    const bool masked = byte == view->transport + 6u || byte == view->transport + 7u ||
                        byte == view->transport + 12u;  // UDP checksum, resv8a
    EXPECT_EQ(parse_frame(bad).has_value(), masked) << "bit " << bit;
  }
}

TEST(FrameViewTest, HashTellsFlowsApart) {
  std::vector<std::byte> a = frame(true, false, 20), b = a;
  b[14 + 20 + 1] ^= std::byte{1};  // UDP source port
  EXPECT_NE(view_frame(a)->flow_hash, view_frame(b)->flow_hash);
  EXPECT_EQ(view_frame(a)->flow_hash, view_frame(frame(true, false, 500))->flow_hash);
}

}  // namespace
}  // namespace rocelab
