// QCN in the switch: which frames are sampled, what the CNM says of them, and what is refused.
#include "base/wire/cnm.h"
#include "ovs_patches/switch_model/mechanisms/qcn.h"
#include "ovs_patches/switch_model/test_feedback.h"

namespace rocelab {
namespace {

using namespace switch_test;
using CnmBench = FeedbackBench<Cnm>;

SwitchConfig config_of(QcnParams params = {}) {
  params.enabled = true;
  SwitchConfig config = feedback_config();
  config.mechanisms.of<QcnMechanism>() = params;
  return config;
}

TEST(SwitchQcnTest, ASampleThatFindsALongQueueTellsItsSourceByTheWayThatItCame) {
  CnmBench b(config_of());
  for (const int in : {0, 1, 2}) b.stream(in, 150, at(1_ns * in));
  b.run_until(at(1_ms));
  ASSERT_GT(b.sent.size(), 2u);
  EXPECT_EQ(b.counter(CnmBench::kSink, "qcn_feedback"), b.sent.size());
  for (const CnmBench::Sent& each : b.sent) {
    EXPECT_EQ(each.to, NodeId{static_cast<std::uint16_t>(each.port)});
    EXPECT_EQ(each.from, NodeId{CnmBench::kSink});
    EXPECT_EQ(each.dscp, Cnm::kDscp);
    EXPECT_EQ(each.body.cp, kCpNetwork + 1 + CnmBench::kSink);
    EXPECT_EQ(each.body.tc, tc(3));
    EXPECT_EQ(each.body.dest, (Qpn{static_cast<std::uint32_t>(100 + each.port)}));
    EXPECT_EQ(each.body.ip_bytes, 1098 - 14);
    EXPECT_EQ(each.body.dscp, 24);
    EXPECT_GT(each.body.feedback, 0);
    // The quantised value follows from the two lengths, as far as units of 64 B tell them.
    const int congestion = std::clamp((each.body.q_offset + 2 * each.body.q_delta) * Cnm::kUnit, 0, 130'000);
    EXPECT_NEAR(each.body.feedback, congestion * 63 / 130'000, 1);
  }
  EXPECT_EQ(b.others, 450) << "the data goes on";
}

TEST(SwitchQcnTest, AQueueThatStaysShortTellsNobody) {
  CnmBench b(config_of());
  b.stream(0, 2000, at(0_us));  // as fast as it leaves
  b.run_until(at(1_ms));
  EXPECT_EQ(b.others, 2000);
  EXPECT_TRUE(b.sent.empty());
}

TEST(SwitchQcnTest, OnlyDataWithPayloadIsSampled) {
  CnmBench b(config_of());
  for (int i = 1; i <= 300; ++i)
    for (const int in : {0, 1, 2}) {
      PacketRef packet = b.frame(in);
      packet->kind = PacketKind::kAck;
      b.arrive(std::move(packet), in, at(CnmBench::gap() * i));
    }
  b.run_until(at(1_ms));
  EXPECT_EQ(b.others, 900);
  EXPECT_TRUE(b.sent.empty());
}

TEST(SwitchQcnTest, ACnmOfAHostIsDropped) {
  CnmBench b(config_of());
  PacketRef packet = b.pool.make();
  Cnm cnm;
  cnm.cp = kCpNetwork + 1;
  cnm.feedback = 63;
  put_control(*packet, cnm);
  b.arrive(std::move(packet), 0, at(1_us));
  b.run_until(at(1_ms));
  EXPECT_EQ(b.counters(0).drops_forged, 1u);
  EXPECT_TRUE(b.sent.empty());
}

TEST(SwitchQcnTest, LengthsGrowWithTheLinkWhereTheyAreToldTo) {
  PortConfig link;
  link.rate = 40_Gbps;
  EXPECT_EQ(QcnMechanism::point({}, link).q_eq, 26_KB);
  const QcnPoint scaled = QcnMechanism::point({.scale_from = 10_Gbps}, link);
  EXPECT_EQ(scaled.q_eq, 104_KB);
  EXPECT_EQ(scaled.sample_base, 600_KB);
}

TEST(SwitchQcnTest, CnmsOfALosslessClassAreRefused) {
  SwitchConfig config = config_of();
  EXPECT_EQ(problem_of(config, CnmBench::ports()), "");
  config.classes[6].lossless = true;
  EXPECT_NE(problem_of(config, CnmBench::ports()).find("lossless class 6"), std::string::npos);
}

}  // namespace
}  // namespace rocelab
