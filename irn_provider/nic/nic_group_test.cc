// Multicast groups of one Nic: memberships, and what comes for nobody.
#include <gtest/gtest.h>

#include "base/wire/multicast.h"
#include "irn_provider/nic/pair_fixture.h"

namespace rocelab {
namespace {

constexpr GroupAddress kGroup{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 0, 0, 1};
using Result = Nic::GroupResult;

struct DatagramPair : NicPair {
  DatagramPair() : NicPair(config_of(TransportMode::kRoce)) {
    type = QpType::kUd;
    attr.qkey = 7, attr.path_mtu = config.active_mtu;
    connect(0);
  }
  void arrive(const GroupAddress& group, std::uint8_t opcode = 0x64) {  // UD SEND only
    PacketRef packet = pool.make();
    packet->kind = packet_kind(opcode);
    packet->frame_length = 200;
    packet->payload_length = 100;
    packet->roce.opcode = opcode;
    packet->roce.dest = kMulticastQpn;
    packet->roce.qkey = 7;
    put_group(*packet, group);
    b.nic.on_packet(std::move(packet), Time::zero());
  }
  PacketPool pool;
};

TEST(NicGroupTest, DatagramsOfGroupsWithoutMembersAreCounted) {
  DatagramPair pair;
  pair.arrive(kGroup);
  EXPECT_EQ(pair.b.nic.counters().rx_not_in_group, 1u);
  EXPECT_EQ(pair.b.nic.counters().rx_packets, 0u);
  ASSERT_EQ(pair.b.nic.join_group(pair.b.qp, kGroup), Result::kOk);
  pair.arrive(kGroup);
  EXPECT_EQ(pair.b.nic.counters().rx_not_in_group, 1u);
  EXPECT_EQ(pair.b.nic.counters().out_of_buffer, 1u) << "no receive WQE";
  pair.arrive(kGroup, 0x04);
  EXPECT_EQ(pair.b.nic.counters().rx_wrong_mode, 1u) << "an RC packet";
}

TEST(NicGroupTest, MembershipsEndWithTheQueuePair) {
  DatagramPair pair;
  ASSERT_EQ(pair.b.nic.join_group(pair.b.qp, kGroup), Result::kOk);
  ASSERT_EQ(pair.b.nic.join_group(pair.b.qp, kGroup), Result::kOk);
  EXPECT_EQ(pair.b.nic.groups_of(pair.b.qp), 1u);
  EXPECT_EQ(pair.b.nic.group_memberships(), 1u);
  ASSERT_TRUE(pair.b.nic.destroy_qp(pair.b.qp));
  EXPECT_EQ(pair.b.nic.group_memberships(), 0u);
  EXPECT_EQ(pair.b.nic.join_group(pair.b.qp, kGroup), Result::kBadQp);
}

TEST(NicGroupTest, ThereAreSoManyGroupsAndNoMore) {
  DatagramPair pair;
  GroupAddress group = kGroup;
  for (std::size_t i = 0; i < Nic::kMaxGroups; ++i) {
    group[14] = static_cast<std::uint8_t>(i >> 8), group[15] = static_cast<std::uint8_t>(i);
    ASSERT_EQ(pair.b.nic.join_group(pair.b.qp, group), Result::kOk);
  }
  group[13] = 1;
  EXPECT_EQ(pair.b.nic.join_group(pair.b.qp, group), Result::kTooMany);
  EXPECT_EQ(pair.b.nic.leave_group(pair.b.qp, group), Result::kNoMember);
}

}  // namespace
}  // namespace rocelab
