// XRC between two Nics, in both modes: an initiator at a, a target at b whose requests name the SRQ. IBTA Vol
// 1, annex A14.
#include <gtest/gtest.h>

#include "base/wire/aeth.h"
#include "irn_provider/nic/pair_fixture.h"

namespace rocelab {
namespace {

constexpr std::uint32_t kPsn = 0xfffff0;

class XrcPair : public NicPair {
 public:
  explicit XrcPair(TransportMode mode) : NicPair(config_of(mode)) {
    attr.timeout = 8;  // 1 ms
    domain = b.nic.alloc_xrcd();
    srq = add_srq(b.pd, domain, b.cq);
    QpInit initiator, target;
    initiator.type = QpType::kXrcIni, target.type = QpType::kXrcTgt;
    initiator.pd = a.pd, initiator.send_cq = a.cq, initiator.caps = {64, 0, 2, 0, 0};
    target.xrcd = domain;
    a.qp = *a.nic.create_qp(initiator), b.qp = *b.nic.create_qp(target);
    bring_up(a, a.qp, b.qp, kPsn, kPsn + 0x100);
    bring_up(b, b.qp, a.qp, kPsn + 0x100, kPsn);
  }
  Srqn add_srq(Pdn pd, Xrcdn xrcd, Cqn cq) { return *b.nic.create_xrc_srq(pd, {8, 2, 0}, xrcd, cq); }
  SendWqe to(Srqn number, WrOpcode opcode, std::size_t from, std::size_t at, std::uint32_t length,
             std::uint64_t wr_id = 1) const {
    SendWqe w = wqe(opcode, from, at, length, wr_id);
    w.remote_srqn = number;
    return w;
  }
  void post_to(Srqn number, std::size_t at, std::uint32_t length, std::uint64_t wr_id) {
    RecvWqe w;
    w.wr_id = wr_id, w.num_sge = 1;
    w.sge[0] = {b.addr(at), length, b.key};
    ASSERT_EQ(b.nic.post_srq_recv(number, w), PostResult::kOk);
  }
  bool same(std::size_t from, std::size_t at, std::size_t length) const {
    return std::memcmp(a.bytes.data() + from, b.bytes.data() + at, length) == 0;
  }
  std::vector<AsyncEvent> events() {
    std::vector<AsyncEvent> all;
    while (const auto event = b.nic.poll_event()) all.push_back(*event);
    return all;
  }
  Xrcdn domain;
  Srqn srq;
};

class NicXrcTest : public testing::TestWithParam<TransportMode> {};
INSTANTIATE_TEST_SUITE_P(Modes, NicXrcTest, testing::Values(TransportMode::kRoce, TransportMode::kIrn),
                         [](const auto& mode) {
                           return mode.param == TransportMode::kRoce ? "Roce" : "Irn";
                         });

TEST_P(NicXrcTest, EachMessageTakesFromTheSrqThatItNames) {
  XrcPair pair(GetParam());
  const Cqn other_cq = *pair.b.nic.create_cq(8);
  const Srqn other = pair.add_srq(pair.b.pd, pair.domain, other_cq);
  pair.a.fill(0, 20'000, 1);
  pair.post_to(pair.srq, 0, 5'000, 10);
  pair.post_to(other, 8'000, 5'000, 20);
  pair.post_to(pair.srq, 16'000, 100, 11);
  pair.post(pair.to(pair.srq, WrOpcode::kSend, 0, 0, 5'000, 1));
  pair.post(pair.to(other, WrOpcode::kSendImm, 5'000, 0, 5'000, 2));
  pair.post(pair.to(pair.srq, WrOpcode::kWriteImm, 10'000, 30'000, 3'000, 3));
  pair.run();
  ASSERT_EQ(pair.a.cqes.size(), 3u);
  for (const Cqe& cqe : pair.a.cqes) EXPECT_EQ(cqe.status, WcStatus::kSuccess);
  EXPECT_TRUE(pair.same(0, 0, 5'000) && pair.same(5'000, 8'000, 5'000) && pair.same(10'000, 30'000, 3'000));
  ASSERT_EQ(pair.b.cqes.size(), 2u);
  EXPECT_EQ(pair.b.cqes[0].wr_id, 10u);
  EXPECT_EQ(pair.b.cqes[1].wr_id, 11u);
  EXPECT_EQ(pair.b.cqes[1].opcode, WcOpcode::kRecvWriteImm);
  const auto elsewhere = pair.b.nic.poll_cq(other_cq);
  ASSERT_TRUE(elsewhere);
  EXPECT_EQ(elsewhere->wr_id, 20u);
  EXPECT_EQ(elsewhere->imm, 0xabcd0123u);
  EXPECT_EQ(elsewhere->qpn, pair.b.qp) << "the target's number";
  for (const Departure& d : pair.log)
    EXPECT_EQ(opcode_info(d.packet.roce.opcode).transport, TransportClass::kXrc) << "of IRN's NIC, too";
}

TEST_P(NicXrcTest, ReadsAndAtomicsAreGrantedByTheSrqsProtectionDomain) {
  XrcPair pair(GetParam());
  pair.b.fill(0, 9'000, 3);
  pair.b.fill(16'000, 8, 4);
  pair.post(pair.to(pair.srq, WrOpcode::kRead, 0, 0, 9'000, 1));
  SendWqe add = pair.to(pair.srq, WrOpcode::kFetchAdd, 10'000, 16'000, 8, 2);
  add.compare_add = 5;
  pair.post(add);
  pair.run();
  ASSERT_EQ(pair.a.cqes.size(), 2u);
  EXPECT_EQ(pair.a.cqes[0].status, WcStatus::kSuccess);
  EXPECT_EQ(pair.a.cqes[1].status, WcStatus::kSuccess);
  EXPECT_TRUE(pair.same(0, 0, 9'000));
  // The same key, for an SRQ of another protection domain.
  const Srqn foreign = pair.add_srq(pair.b.nic.alloc_pd(), pair.domain, pair.b.cq);
  pair.post(pair.to(foreign, WrOpcode::kRead, 0, 0, 100, 3));
  pair.run();
  ASSERT_EQ(pair.a.cqes.size(), 3u);
  EXPECT_EQ(pair.a.cqes[2].status, WcStatus::kRemAccessErr);
  EXPECT_EQ(pair.events(), (std::vector{AsyncEvent{AsyncEvent::Kind::kQpAccessError, pair.b.qp.value}}));
  EXPECT_EQ(pair.b.nic.counters().resp_remote_access_errors, 1u);
}

TEST_P(NicXrcTest, AnSrqOfAnotherDomainOrOfNoneIsRefused) {
  for (const bool basic : {false, true}) {
    XrcPair pair(GetParam());
    const Srqn other = basic ? *pair.b.nic.create_srq(pair.b.pd, {8, 2, 0})
                             : pair.add_srq(pair.b.pd, pair.b.nic.alloc_xrcd(), pair.b.cq);
    pair.post_to(other, 0, 100, 1);
    pair.post(pair.to(other, WrOpcode::kSend, 0, 0, 100, 2));
    pair.post(pair.to(pair.srq, WrOpcode::kSend, 0, 0, 100, 3));
    pair.run();
    ASSERT_EQ(pair.a.cqes.size(), 2u);
    EXPECT_EQ(pair.a.cqes[0].status, WcStatus::kRemAccessErr);
    EXPECT_EQ(pair.a.cqes[1].status, WcStatus::kWrFlushErr);
    EXPECT_TRUE(pair.b.cqes.empty()) << "nothing was taken";
    EXPECT_EQ(pair.b.nic.query_qp(pair.b.qp)->state, QpState::kErr);
    EXPECT_EQ(pair.events(), (std::vector{AsyncEvent{AsyncEvent::Kind::kQpAccessError, pair.b.qp.value}}));
  }
}

TEST_P(NicXrcTest, AnEmptySrqDrawsAnRnrNakAndLossesAreRepaired) {
  XrcPair pair(GetParam());
  pair.a.fill(0, 20'000, 5);
  pair.lose = lose_data(0, {3, 9});
  pair.post(pair.to(pair.srq, WrOpcode::kSend, 0, 0, 20'000, 1));
  pair.run_until(pair.now() + 100_us);
  EXPECT_GE(pair.b.nic.counters().out_of_buffer, 1u);
  pair.post_to(pair.srq, 0, 20'000, 7);
  pair.run();
  ASSERT_EQ(pair.a.cqes.size(), 1u);
  EXPECT_EQ(pair.a.cqes[0].status, WcStatus::kSuccess);
  ASSERT_EQ(pair.b.cqes.size(), 1u);
  EXPECT_TRUE(pair.same(0, 0, 20'000));
  EXPECT_GT(pair.a.nic.counters().retransmitted_packets, 0u);
}

// The SRQ may go while a message fills one of its WQEs: the WQE goes with it, the message is refused.
TEST_P(NicXrcTest, AnSrqThatGoesInTheMiddleOfAMessageEndsTheConnection) {
  XrcPair pair(GetParam());
  const Cqn cq = *pair.b.nic.create_cq(8);
  const Srqn going = pair.add_srq(pair.b.pd, pair.domain, cq);
  pair.post_to(going, 0, 60'000, 1);
  pair.post(pair.to(going, WrOpcode::kSend, 0, 0, 60'000, 1));
  pair.run_until(pair.now() + 8_us);
  EXPECT_FALSE(pair.b.nic.destroy_cq(cq)) << "the SRQ reports there";
  EXPECT_TRUE(pair.b.nic.destroy_srq(going));
  EXPECT_TRUE(pair.b.nic.destroy_cq(cq));
  pair.run();
  ASSERT_EQ(pair.a.cqes.size(), 1u);
  EXPECT_EQ(pair.a.cqes[0].status, WcStatus::kRemAccessErr);
  EXPECT_EQ(pair.b.nic.query_qp(pair.b.qp)->state, QpState::kErr);
}

TEST_P(NicXrcTest, EachEndDoesOneOfBoth) {
  XrcPair pair(GetParam());
  RecvWqe receive;
  EXPECT_EQ(pair.b.nic.post_recv(pair.b.qp, receive, pair.now()), PostResult::kBadState);
  EXPECT_EQ(pair.a.nic.post_recv(pair.a.qp, receive, pair.now()), PostResult::kBadState);
  const SendWqe send = pair.to(pair.srq, WrOpcode::kSend, 0, 0, 0);
  EXPECT_EQ(pair.b.nic.post_send(pair.b.qp, send, pair.now()), PostResult::kBadState);
  // A request for the initiator, forged: not of its half.
  pair.lose = [](const Departure& d) {
    if (d.side == 1)
      const_cast<Departure&>(d).packet.roce.opcode = make_opcode(TransportClass::kXrc, Operation::kSendOnly);
    return false;
  };
  pair.post_to(pair.srq, 0, 100, 1);
  pair.post(send);
  pair.run_until(pair.now() + 500_us);
  EXPECT_EQ(pair.a.nic.counters().rx_wrong_state, 1u);
}

TEST_P(NicXrcTest, DomainsAndQueuesInUseStay) {
  XrcPair pair(GetParam());
  Nic& nic = pair.b.nic;
  EXPECT_FALSE(nic.free_xrcd(pair.domain));
  QpInit init;
  init.pd = pair.b.pd, init.send_cq = init.recv_cq = pair.b.cq, init.srq = pair.srq;
  EXPECT_FALSE(nic.create_qp(init)) << "an RC queue pair takes from no XRC SRQ";
  init = {};
  init.type = QpType::kXrcTgt;
  EXPECT_FALSE(nic.create_qp(init)) << "a target needs a domain";
  EXPECT_TRUE(nic.destroy_qp(pair.b.qp));
  EXPECT_FALSE(nic.free_xrcd(pair.domain)) << "the SRQ is in it";
  EXPECT_TRUE(nic.destroy_srq(pair.srq));
  EXPECT_TRUE(nic.free_xrcd(pair.domain));
  EXPECT_FALSE(nic.free_xrcd(pair.domain));
}

}  // namespace
}  // namespace rocelab
