// Feedback of switches at a NIC, whatever the scheme: it finds its queue pair, of connected services with and
// without acknowledgements, and what is not for this NIC changes nothing.
#include "base/wire/controls.h"
#include "irn_provider/cc/dcqcn_rp.h"
#include "irn_provider/cc/p4qcn_rp.h"
#include "irn_provider/cc/qcn_rp.h"
#include "irn_provider/cc/rocc_rp.h"
#include "irn_provider/nic/pair_fixture.h"

namespace rocelab {
namespace {

constexpr std::uint32_t kBytes = 200'000;

class FeedbackPair : public NicPair {
 public:
  FeedbackPair(const NicConfig& both, QpType qp_type) : NicPair(both) {
    type = qp_type;
    connect();
  }
  void tell(const auto& body, NodeId destination = NodeId{}) {
    PacketRef packet = a.pool.make();
    put_control(*packet, body);
    packet->src = destination;
    a.nic.on_packet(std::move(packet), now());
  }
  P4qcnFbp fbp() const { return {kCpNetwork + 1, 12, b.qp}; }
  // From now until the last packet of a WRITE has arrived.
  Duration write() {
    const Time begin = now();
    log.clear();
    post(wqe(WrOpcode::kWrite, 0, 0, kBytes));
    run();
    return log.back().at - begin;
  }
};

template <class A>
NicConfig with() {
  NicConfig config;
  config.cc.use<A>();
  return config;
}

TEST(NicFeedbackTest, FeedbackSlowsTheFlowOfAnyConnectedService) {
  for (const QpType type : {QpType::kRc, QpType::kUc}) {
    FeedbackPair pair(with<P4qcnRp>(), type);
    const Duration alone = pair.write();
    pair.tell(pair.fbp());
    EXPECT_EQ(pair.a.nic.counters().rp_fair_rates_handled, 1u);
    const Duration half = pair.write();
    EXPECT_GT(half.seconds(), 1.5 * alone.seconds()) << static_cast<int>(type);
    EXPECT_LT(half.seconds(), 2.1 * alone.seconds()) << "bytes have raised it at the end";
  }
}

TEST(NicFeedbackTest, CnmsDoAsWell) {
  for (const QpType type : {QpType::kRc, QpType::kUc}) {
    FeedbackPair pair(with<QcnRp>(), type);
    const Duration alone = pair.write();
    Cnm cnm;
    cnm.cp = kCpNetwork + 1;
    cnm.feedback = 63;
    cnm.dest = pair.b.qp;
    pair.tell(cnm);
    EXPECT_EQ(pair.a.nic.counters().rp_fair_rates_handled, 1u);
    EXPECT_GT(pair.write().seconds(), 1.5 * alone.seconds());
  }
}

// An algorithm that needs acknowledgements has nothing to go by.
TEST(NicFeedbackTest, UcWithoutAnswersIsPacedByCnpsAndFeedbackOnly) {
  FeedbackPair rocc(with<RoccRp>(), QpType::kUc);
  const Duration alone = rocc.write();
  rocc.tell(RoccFeedback(kCpNetwork + 1, 1000, rocc.b.qp));  // 10 Gb/s
  EXPECT_GT(rocc.write().seconds(), 1.5 * alone.seconds());
  NicConfig timed;
  timed.cc.rtt_segment = 16_KB;
  FeedbackPair unpaced(timed, QpType::kUc);
  EXPECT_EQ(unpaced.write(), alone);
}

TEST(NicFeedbackTest, WhatIsForNobodyHereOrOfAnotherSchemeIsCountedAndChangesNothing) {
  FeedbackPair pair(with<P4qcnRp>(), QpType::kRc);
  const Duration alone = pair.write();
  P4qcnFbp stranger = pair.fbp();
  stranger.dest = Qpn{0x7777};
  pair.tell(stranger);
  pair.tell(pair.fbp(), NodeId{5});
  EXPECT_EQ(pair.a.nic.counters().rp_fair_rates_unknown_flow, 2u);
  pair.tell(RoccFeedback(kCpNetwork + 1, 1, pair.b.qp));
  Cnm cnm;
  cnm.cp = kCpNetwork + 1;
  cnm.feedback = 63;
  cnm.dest = pair.b.qp;
  pair.tell(cnm);
  P4qcnFbp forged = pair.fbp();
  forged.cp = 0x0a000001;
  pair.tell(forged);
  EXPECT_EQ(pair.a.nic.counters().rp_fair_rates_refused, 3u);
  EXPECT_EQ(pair.a.nic.counters().rp_fair_rates_handled, 0u);
  EXPECT_EQ(pair.write(), alone);
}

// A NIC whose congestion control hears nothing of switches.
TEST(NicFeedbackTest, WithAnotherCongestionControlAllIsRefused) {
  FeedbackPair pair(with<DcqcnRp>(), QpType::kRc);
  pair.tell(pair.fbp());
  EXPECT_EQ(pair.a.nic.counters().rp_fair_rates_refused, 1u);
}

}  // namespace
}  // namespace rocelab
