#include "emu/gateway/frame_kind.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/wire/ethernet.h"
#include "base/wire/frame.h"
#include "base/wire/ipv4.h"

namespace rocelab {
namespace {

std::vector<std::byte> roce(bool ipv4, std::uint8_t dscp) {
  FrameAddress address;
  address.is_ipv4 = ipv4;
  address.src_gid = ipv4_mapped({10, 0, 0, 1});
  address.dst_gid = ipv4_mapped({10, 0, 0, 2});
  address.dscp = dscp;
  RoceHeaders headers;
  headers.opcode = make_opcode(TransportClass::kRc, Operation::kSendOnly);
  headers.dest = Qpn{17};
  std::vector<std::byte> bytes(2048);
  const std::vector<std::byte> payload(100);
  bytes.resize(write_frame(address, headers, payload, bytes));
  return bytes;
}

TEST(ForeignFrame, RoceIsSortedAsANicSortsIt) {
  const NicConfig nic;
  for (const bool ipv4 : {true, false}) {
    const auto data = look_at_foreign(roce(ipv4, nic.roce_dscp), nic);
    EXPECT_EQ(data.kind, ForeignFrame::kRoce);
    EXPECT_EQ(data.tc, nic.roce_tc().value);
    EXPECT_EQ(look_at_foreign(roce(ipv4, 0), nic).tc, 0) << "Linux's own choice: the switch's class 0, too";
    EXPECT_EQ(look_at_foreign(roce(ipv4, nic.cnp_dscp), nic).tc, nic.cnp_tc().value);
  }
}

TEST(ForeignFrame, OtherTrafficGoesAround) {
  std::vector<std::byte> frame = roce(true, 0);
  frame[EthernetHeader::kSize + Ipv4Header::kProtocol] = std::byte{6};  // TCP
  EXPECT_EQ(look_at_foreign(frame, {}).kind, ForeignFrame::kManagement);
  frame[EthernetHeader::kEtherType + 1] = std::byte{6};  // ARP
  EXPECT_EQ(look_at_foreign(frame, {}).kind, ForeignFrame::kManagement);
}

TEST(ForeignFrame, WhatCannotBeReadGoesNowhere) {
  const std::vector<std::byte> frame = roce(true, 0);
  EXPECT_EQ(look_at_foreign(std::span(frame).first(60), {}).kind, ForeignFrame::kBroken);
  for (std::size_t length = 0; length < frame.size(); ++length)
    EXPECT_NE(look_at_foreign(std::span(frame).first(length), {}).kind, ForeignFrame::kRoce) << length;
}

}  // namespace
}  // namespace rocelab
