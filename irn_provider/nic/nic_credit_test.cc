// End-to-end credits at the requester (IBTA Vol 1, 9.7.7.2): a hardware responder that counts its receive
// WQEs is played by the test.
#include <gtest/gtest.h>

#include "irn_provider/nic/pair_fixture.h"

namespace rocelab {
namespace {

constexpr std::uint32_t kMtu = 1024;

class NicCreditTest : public testing::Test {
 protected:
  NicCreditTest() {
    pair_.connect(0);
    pair_.lose = [](const Departure&) { return true; };  // nothing reaches the peer: the test answers
  }
  void ack(std::uint32_t psn, std::uint32_t msn, std::uint8_t credit_code) {
    PacketRef p = pair_.a.pool.make();
    p->kind = PacketKind::kAck, p->frame_length = 62;
    p->roce.opcode = 0x11, p->roce.syndrome = credit_code, p->roce.msn = Msn{msn}, p->roce.dest = pair_.a.qp,
    p->roce.psn = Psn(psn);
    pair_.a.port.deliver(std::move(p), pair_.now());
  }
  // PSNs that leave within the next 20 us.
  std::vector<std::uint32_t> leaves() {
    const std::size_t before = pair_.log.size();
    pair_.run_until(pair_.now() + 20_us);
    std::vector<std::uint32_t> psns;
    for (std::size_t i = before; i < pair_.log.size(); ++i)
      psns.push_back(pair_.log[i].packet.roce.psn.value());
    return psns;
  }
  void post(WrOpcode opcode, std::uint32_t length) {
    ASSERT_EQ(pair_.post(pair_.wqe(opcode, 0, 0, length)), PostResult::kOk);
  }

  using Psns = std::vector<std::uint32_t>;
  NicPair pair_;
};

TEST_F(NicCreditTest, SendsNoMoreMessagesThanCreditsAndOneProbe) {
  post(WrOpcode::kSend, 10);
  EXPECT_EQ(leaves(), Psns{0});
  ack(0, 1, 2);  // room for two
  for (int i = 0; i < 5; ++i) post(WrOpcode::kSend, 10);
  EXPECT_EQ(leaves(), (Psns{1, 2, 3}));  // two and the probe
  ack(3, 4, 0);
  EXPECT_EQ(leaves(), Psns{4});
}

TEST_F(NicCreditTest, ALongSendProbesWithItsFirstPacketOnlyAndAsksForAnAck) {
  post(WrOpcode::kSend, 10);
  EXPECT_EQ(leaves(), Psns{0});
  ack(0, 1, 0);
  post(WrOpcode::kSend, 3 * kMtu);
  EXPECT_EQ(leaves(), Psns{1});
  EXPECT_TRUE(pair_.log.back().packet.roce.ack_req);
  ack(1, 1, 0);  // taken: a receive WQE is bound to it
  EXPECT_EQ(leaves(), (Psns{2, 3}));
}

TEST_F(NicCreditTest, WritesUseNoCreditAndReadsNeither) {
  post(WrOpcode::kSend, 10);
  EXPECT_EQ(leaves(), Psns{0});
  ack(0, 1, 1);
  for (int i = 0; i < 3; ++i) post(WrOpcode::kWrite, 10);
  post(WrOpcode::kRead, 2 * kMtu);
  post(WrOpcode::kSend, 10);      // with the credit
  post(WrOpcode::kWriteImm, 10);  // the probe
  post(WrOpcode::kSend, 10);      // must wait
  EXPECT_EQ(leaves(), (Psns{1, 2, 3, 4, 6, 7}));
}

// The peer knows nothing of local operations: they count for neither end.
TEST_F(NicCreditTest, BindsUseNoCreditAndTakeNoNumber) {
  const RKey window = *pair_.a.nic.alloc_mw(pair_.a.pd, MwType::k1);
  const auto unbind = [&] {
    SendWqe w;
    w.opcode = WrOpcode::kBindMw;
    set_binding(w, {window, window, RKey{}, 0, 0, 0});
    ASSERT_EQ(pair_.post(w), PostResult::kOk);
  };
  unbind();
  post(WrOpcode::kSend, 10);
  unbind();
  EXPECT_EQ(leaves(), Psns{0});
  ack(0, 1, 2);  // room for two
  for (int i = 0; i < 5; ++i) unbind(), post(WrOpcode::kSend, 10), unbind();
  EXPECT_EQ(leaves(), (Psns{1, 2, 3}));  // two and the probe
  ack(3, 4, 0);
  EXPECT_EQ(leaves(), Psns{4});
  ack(4, 0, 0x1f);
  unbind();
  EXPECT_EQ(leaves(), Psns{5});
  post(WrOpcode::kWrite, 10);
  unbind();
  EXPECT_EQ(leaves(), Psns{6});
  ack(5, 6, 1);  // behind the WRITE that is on its way there is room for one
  post(WrOpcode::kSend, 10), post(WrOpcode::kSend, 10), post(WrOpcode::kSend, 10);
  EXPECT_EQ(leaves(), (Psns{7, 8}));
}

// The first count that comes may tell of messages whose acknowledgement it is itself.
TEST_F(NicCreditTest, MessagesThatTheFirstCountHasInItsMsnLeaveNothingToOthers) {
  for (int i = 0; i < 3; ++i) post(WrOpcode::kWrite, 10);
  EXPECT_EQ(leaves(), (Psns{0, 1, 2}));
  ack(1, 2, 0);
  post(WrOpcode::kSend, 3 * kMtu);
  EXPECT_EQ(leaves(), Psns{3});
}

TEST_F(NicCreditTest, Syndrome1fLiftsTheLimit) {
  post(WrOpcode::kSend, 10);
  EXPECT_EQ(leaves(), Psns{0});
  ack(0, 1, 0x1f);
  for (int i = 0; i < 5; ++i) post(WrOpcode::kSend, 10);
  EXPECT_EQ(leaves(), (Psns{1, 2, 3, 4, 5}));
}

}  // namespace
}  // namespace rocelab
