// A queue pair whose path changes while its send queue is drained (IBTA Vol 1, 11.2.5.2: the address vector
// is an attribute of SQD to SQD).
#include <gtest/gtest.h>

#include "base/wire/frame.h"
#include "irn_provider/cc/dcqcn_rp.h"
#include "irn_provider/nic/pair_fixture.h"

namespace rocelab {
namespace {

constexpr std::uint32_t kPsn = 0xfffff0;

class NicPathTest : public ::testing::TestWithParam<TransportMode> {
 protected:
  static void to_ipv6(PathAddress& path) { path.src_gid[0] = path.dst_gid[0] = 0xfd, path.dst_gid[10] = 0; }

  // Through SQD, both ends.
  static void change_path(NicPair& pair, const std::function<void(PathAddress&)>& change) {
    for (Endpoint* e : {&pair.a, &pair.b}) {
      QpAttr attr = *e->nic.query_qp(e->qp);
      attr.state = QpState::kSqd;
      ASSERT_TRUE(e->nic.modify_qp(e->qp, attr, pair.now()));
      change(attr.path);
      ASSERT_TRUE(e->nic.modify_qp(e->qp, attr, pair.now()));
      attr.state = QpState::kRts;
      ASSERT_TRUE(e->nic.modify_qp(e->qp, attr, pair.now()));
    }
  }
  // A WRITE and a READ, seen through.
  static void exchange(NicPair& pair) {
    pair.a.cqes.clear();
    pair.log.clear();
    ASSERT_EQ(pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 3'000, 1)), PostResult::kOk);
    ASSERT_EQ(pair.post(pair.wqe(WrOpcode::kRead, 5'000, 0, 3'000, 2)), PostResult::kOk);
    pair.run();
    ASSERT_EQ(pair.a.cqes.size(), 2u);
    for (const Cqe& cqe : pair.a.cqes) EXPECT_EQ(cqe.status, WcStatus::kSuccess);
  }
  static void expect_lengths_of(const NicPair& pair, bool ipv4) {
    for (const Departure& d : pair.log)
      EXPECT_EQ(d.packet.frame_length, frame_length(d.packet.roce, d.packet.payload_length, ipv4))
          << opcode_info(d.packet.roce.opcode).name;
  }
};

TEST_P(NicPathTest, FramesHaveTheLengthOfThePathsFamily) {
  NicPair pair(config_of(GetParam()));
  pair.connect(kPsn);
  exchange(pair);
  expect_lengths_of(pair, true);
  change_path(pair, to_ipv6);
  exchange(pair);
  expect_lengths_of(pair, false);
  change_path(pair, [&](PathAddress& path) { path = pair.attr.path; });
  exchange(pair);
  expect_lengths_of(pair, true);
}

TEST_P(NicPathTest, PacketsHaveThePathsClass) {
  NicPair pair(config_of(GetParam()));
  pair.connect(kPsn);
  change_path(pair, [](PathAddress& path) { path.traffic_class = 5 << 5; });
  exchange(pair);
  for (const Departure& d : pair.log) EXPECT_EQ(d.packet.tc, Tc{5}) << opcode_info(d.packet.roce.opcode).name;
  change_path(pair, [](PathAddress& path) { path.traffic_class = 0; });
  exchange(pair);
  for (const Departure& d : pair.log)
    EXPECT_EQ(d.packet.tc, pair.config.roce_tc()) << opcode_info(d.packet.roce.opcode).name;
}

// The network's map says of which class a DSCP is; what notifies of congestion keeps its own.
TEST_P(NicPathTest, TheMapSaysTheClassOfAPathsDscp) {
  NicConfig config = config_of(GetParam());
  config.class_map.classes[34] = 2;
  NicPair pair(config);
  pair.connect(kPsn);
  const auto expect_class = [&](std::uint8_t traffic_class, Tc tc) {
    change_path(pair, [&](PathAddress& path) { path.traffic_class = traffic_class; });
    exchange(pair);
    for (const Departure& d : pair.log) EXPECT_EQ(d.packet.tc, tc) << int{traffic_class};
  };
  expect_class(34 << 2, Tc{2});
  expect_class(24 << 2, Tc{3});
  expect_class(0, Tc{3});       // not set: RoCE's DSCP, 26
  expect_class(1 << 1, Tc{0});  // ECT(0) alone: DSCP 0
}

// DCQCN, slowed down by a notification: a long message takes as long as before, or as at line rate.
TEST_P(NicPathTest, CongestionControlBeginsAnewOnAnotherPathOnly) {
  NicConfig config = config_of(GetParam());
  config.cc.use<DcqcnRp>();
  const auto duration = [&](const std::function<void(PathAddress&)>& change, bool notified) {
    NicPair pair(config);
    pair.connect(kPsn);
    exchange(pair);
    if (notified) {
      PacketRef cnp = pair.a.pool.make();
      cnp->kind = PacketKind::kCnp;
      cnp->frame_length = 60;
      cnp->roce.opcode = kCnpOpcode;
      cnp->roce.dest = pair.a.qp;
      pair.a.nic.on_packet(std::move(cnp), pair.now());
      EXPECT_EQ(pair.a.nic.counters().rp_cnp_handled, 1u);
    }
    change_path(pair, change);
    pair.a.cqes.clear();
    const Time begin = pair.now();
    EXPECT_EQ(pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 20'000)), PostResult::kOk);
    pair.run();
    EXPECT_EQ(pair.a.cqes.size(), 1u);
    return pair.a.cqes.empty() ? Duration{} : pair.a.cqes[0].time - begin;
  };
  const auto keep = [](PathAddress&) {};
  const auto change = [](PathAddress& path) { ++path.udp_src_port; };
  EXPECT_GT(duration(keep, true), duration(keep, false) + 1_us);
  EXPECT_EQ(duration(change, true), duration(keep, false));
}

INSTANTIATE_TEST_SUITE_P(Modes, NicPathTest, ::testing::Values(TransportMode::kRoce, TransportMode::kIrn),
                         [](const auto& mode) {
                           return mode.param == TransportMode::kRoce ? "Roce" : "Irn";
                         });

}  // namespace
}  // namespace rocelab
