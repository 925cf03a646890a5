#include "emu/world/switch_frames.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "base/wire/controls.h"
#include "emu/world/host_identity.h"
#include "emu/world/test_worlds.h"

namespace rocelab {
namespace {

// h0 - s0 - s1 - h1; ports 0 (to h0) and 1 of s0, 2 and 3 (to h1) of s1.
struct Line : World {
  Line() {
    WorldBuilder w;
    const std::uint32_t h0 = w.add_host(), h1 = w.add_host(), s0 = w.add_switch(), s1 = w.add_switch();
    w.link_host(h0, s0);
    w.link_switches(s0, s1);
    w.link_host(h1, s1);
    static_cast<World&>(*this) = w.make();
    for (std::uint32_t p = 0; p < 4; ++p) ports[p].config.cp_address = kCpNetwork + p + 1;
  }
};

TEST(SwitchFramesTest, FeedbackNamesItsCongestionPointAndTheFlowItIsAbout) {
  const Line line;
  Packet packet;
  packet.src = NodeId{1};  // as an answer would: the flow goes from h0 to h1
  packet.dst = NodeId{0};
  packet.roce.dscp = 22;
  put_control(packet, RoccFeedback(line.ports[3].config.cp_address, 400, Qpn{77}));
  std::array<std::byte, kMaxControlFrame> bytes;
  EXPECT_EQ(write_frame_of(line.view(), 0, false, packet, bytes).size(), 60u);
  const auto cnp = RoccCnp::parse(bytes);
  ASSERT_TRUE(cnp.has_value());
  const RoccCnp want{.dst_mac = line.hosts[0].mac,
                     .src_mac = mac_of(line.ports[3]),
                     .dscp = 22,
                     .cp = kCpNetwork + 4,
                     .source = line.hosts[0].ipv4,
                     .destination = line.hosts[1].ipv4,
                     .dest = Qpn{77},
                     .rate = 400};
  EXPECT_EQ(*cnp, want) << to_string(*cnp);
}

TEST(SwitchFramesTest, ControlFramesCarryTheAddressOfTheEndThatSentThem) {
  const Line line;
  Packet pfc;
  PfcFrame pause;
  pause.class_enable = 1 << 3;
  pause.time[3] = 0xffff;
  put_control(pfc, pause);
  Packet token;
  put_control(token, EscapeToken{Tc{3}, 2, NodeId{0}, NodeId{1}, Qpn{9}});
  Packet message;
  put_control(message, Clcm{Tc{3}, 2, 7, 0x0123456789abcdef});
  for (const Packet* packet : {&pfc, &token, &message}) {
    const auto source_of = [&](std::uint32_t port, bool inbound) {
      std::array<std::byte, kMaxControlFrame> bytes;
      write_frame_of(line.view(), port, inbound, *packet, bytes);
      Mac mac;
      for (std::size_t i = 0; i < mac.size(); ++i) mac[i] = std::to_integer<std::uint8_t>(bytes[6 + i]);
      return mac;
    };
    EXPECT_EQ(source_of(1, false), mac_of(line.ports[1]));
    EXPECT_EQ(source_of(1, true), mac_of(line.ports[2]));
    EXPECT_EQ(source_of(0, true), line.hosts[0].mac);
  }
}

TEST(SwitchFramesTest, AMessageOfLoopBreakerIsWrittenWhole) {
  const Line line;
  const Clcm want{Tc{3}, 2, 7, 0x0123456789abcdef};
  Packet message;
  put_control(message, want);
  std::array<std::byte, kMaxControlFrame> bytes;
  write_frame_of(line.view(), 1, false, message, bytes);
  EXPECT_EQ(Clcm::parse(bytes), want);
}

TEST(SwitchFramesTest, ATokenNamesItsFlowByAddresses) {
  const Line line;
  for (const bool ipv6 : {false, true}) {
    Packet token;
    put_control(token, EscapeToken{Tc{3}, 2, NodeId{0}, NodeId{1}, Qpn{9}, ipv6, EscapeTokenMark::kNoPlace,
                                   0x00020001});
    std::array<std::byte, kMaxControlFrame> bytes;
    write_frame_of(line.view(), 1, false, token, bytes);
    const auto frame = EscapeTokenFrame::parse(bytes);
    ASSERT_TRUE(frame.has_value());
    EXPECT_EQ(frame->source, gid_of(line.hosts[0], ipv6 ? 0 : 1));
    EXPECT_EQ(frame->destination, gid_of(line.hosts[1], ipv6 ? 0 : 1));
    EXPECT_EQ(frame->dest, Qpn{9});
    EXPECT_EQ(frame->hops, 2);
    EXPECT_EQ(frame->mark, EscapeTokenMark::kNoPlace);
    EXPECT_EQ(frame->number, 0x00020001u);
  }
}

}  // namespace
}  // namespace rocelab
