// Shared receive queues between two Nics, in both modes. IBTA Vol 1, 10.2.9; IRN's numbering of their WQEs is
// in irn_srq_pair_test.cc.
#include <gtest/gtest.h>

#include "base/wire/aeth.h"
#include "irn_provider/nic/srq_pair.h"

namespace rocelab {
namespace {

using Ids = std::vector<std::uint64_t>;

class NicSrqTest : public testing::TestWithParam<TransportMode> {};
INSTANTIATE_TEST_SUITE_P(Modes, NicSrqTest, testing::Values(TransportMode::kRoce, TransportMode::kIrn),
                         [](const auto& mode) {
                           return mode.param == TransportMode::kRoce ? "Roce" : "Irn";
                         });

TEST_P(NicSrqTest, QueuePairsTakeWqesInTheOrderOfTheirMessages) {
  SrqPair pair(GetParam());
  const auto second = pair.add_connection();
  for (std::uint64_t i = 0; i < 4; ++i) {
    pair.post_shared(i * 4096, 3000, i);
    pair.a.fill(i * 4096, 3000, i + 1);
  }
  for (std::uint64_t i = 0; i < 4; ++i) {
    const Qpn from = i % 2 == 0 ? pair.a.qp : second.first;
    pair.a.nic.post_send(from, pair.wqe(WrOpcode::kSend, i * 4096, 0, 3000, i), pair.now());
    pair.run();
  }
  EXPECT_EQ(pair.received(), (Ids{0, 1, 2, 3}));
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(pair.b.cqes[i].qpn, i % 2 == 0 ? pair.b.qp : second.second);
    EXPECT_EQ(std::memcmp(pair.a.bytes.data() + i * 4096, pair.b.bytes.data() + i * 4096, 3000), 0);
  }
}

// A QP keeps the WQE of a message in progress; another's message takes the next one meanwhile.
TEST_P(NicSrqTest, AMessageInProgressKeepsItsWqe) {
  SrqPair pair(GetParam());
  const auto second = pair.add_connection();
  pair.post_shared(0, 30'000, 10);
  pair.post_shared(40'000, 30'000, 11);
  pair.a.fill(0, 30'000, 1);
  pair.post(pair.wqe(WrOpcode::kSend, 0, 0, 30'000, 1));
  pair.run_until(pair.now() + 6_us);  // its first packets are there
  pair.a.nic.post_send(second.first, pair.wqe(WrOpcode::kSend, 0, 0, 100, 2), pair.now());
  pair.run();
  EXPECT_EQ(pair.received(), (Ids{11, 10})) << "the short one ends first";
  EXPECT_EQ(std::memcmp(pair.a.bytes.data(), pair.b.bytes.data(), 30'000), 0);
  EXPECT_EQ(std::memcmp(pair.a.bytes.data(), pair.b.bytes.data() + 40'000, 100), 0);
}

TEST_P(NicSrqTest, AnEmptyOneDrawsAnRnrNakAndNoCreditsAreEverTold) {
  SrqPair pair(GetParam());
  pair.post(pair.wqe(WrOpcode::kSend, 0, 0, 100, 1));
  pair.run_until(pair.now() + 100_us);
  EXPECT_EQ(pair.b.nic.counters().out_of_buffer, 1u);
  pair.post_shared(0, 100, 7);
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 8192, 100, 2));
  pair.run();
  EXPECT_EQ(pair.received(), (Ids{7}));
  ASSERT_EQ(pair.a.cqes.size(), 2u);
  for (const Departure& d : pair.sent([](const Departure& d) {
         return d.side == 1 && d.packet.kind == PacketKind::kAck && is_ack(d.packet.roce.syndrome);
       }))
    EXPECT_EQ(d.packet.roce.syndrome, kAckNoCredits);
}

TEST_P(NicSrqTest, WithoutARetryLeftAnEmptyOneEndsTheRequest) {
  SrqPair pair(GetParam());
  QpAttr attr = *pair.a.nic.query_qp(pair.a.qp);
  attr.rnr_retry = 1;
  ASSERT_TRUE(pair.a.nic.modify_qp(pair.a.qp, attr, pair.now()));
  // The attribute holds from the next progress on.
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 10, 1));
  pair.run();
  pair.post(pair.wqe(WrOpcode::kWriteImm, 0, 0, 10, 2));
  pair.run();
  ASSERT_EQ(pair.a.cqes.size(), 2u);
  EXPECT_EQ(pair.a.cqes[1].status, WcStatus::kRnrRetryExcErr);
  EXPECT_EQ(pair.b.nic.counters().out_of_buffer, 2u);
}

TEST_P(NicSrqTest, TheLimitIsToldOnceWhenFewerWqesAreLeft) {
  SrqPair pair(GetParam());
  for (std::uint64_t i = 0; i < 4; ++i) pair.post_shared(0, 100, i);
  ASSERT_TRUE(pair.b.nic.arm_srq(pair.srq, 3));
  EXPECT_EQ(pair.b.nic.query_srq(pair.srq)->limit, 3u);
  const auto message = [&] {
    pair.post(pair.wqe(WrOpcode::kSend, 0, 0, 10));
    pair.run();
  };
  message();
  EXPECT_TRUE(pair.events().empty()) << "3 are left: not fewer";
  message();
  EXPECT_EQ(pair.events(), (std::vector<AsyncEvent>{{AsyncEvent::Kind::kSrqLimit, pair.srq.value}}));
  EXPECT_EQ(pair.b.nic.query_srq(pair.srq)->limit, 0u) << "it disarms itself";
  message();
  EXPECT_TRUE(pair.events().empty());
}

TEST_P(NicSrqTest, InErrOnlyWhatWasDequeuedIsFlushedAndTheLastWqeIsTold) {
  SrqPair pair(GetParam());
  pair.post_shared(0, 30'000, 10);
  pair.post_shared(0, 100, 11);
  pair.post(pair.wqe(WrOpcode::kSend, 0, 0, 30'000, 1));
  pair.run_until(pair.now() + 6_us);
  pair.to_error(pair.b, pair.b.qp);
  pair.to_error(pair.b, pair.b.qp);
  EXPECT_EQ(pair.received(), (Ids{10}));
  EXPECT_EQ(pair.b.cqes[0].status, WcStatus::kWrFlushErr);
  EXPECT_EQ(pair.events(), (std::vector<AsyncEvent>{{AsyncEvent::Kind::kQpLastWqe, pair.b.qp.value}}))
      << "once";
  const auto second = pair.add_connection();
  pair.a.nic.post_send(second.first, pair.wqe(WrOpcode::kSend, 0, 0, 50, 2), pair.now());
  pair.run();
  EXPECT_EQ(pair.received(), (Ids{10, 11})) << "what was not dequeued is there for the others";
}

TEST_P(NicSrqTest, ItsWqesAreOfItsOwnProtectionDomain) {
  SrqPair pair(GetParam());
  const Pdn other = pair.b.nic.alloc_pd();
  const Srqn srq = *pair.b.nic.create_srq(other, {4, 1, 0});
  const RKey key = *pair.b.nic.reg_mr(other, pair.b.addr(), 8192, pair.b.addr(), Endpoint::kAllAccess);
  pair.srq = srq;
  pair.a.qp = Qpn{};
  pair.add_connection();
  RecvWqe w;
  w.num_sge = 1, w.wr_id = 1;
  w.sge[0] = {pair.b.addr(), 100, key};
  ASSERT_EQ(pair.b.nic.post_srq_recv(srq, w), PostResult::kOk);
  w.wr_id = 2;
  w.sge[0].lkey = pair.b.key;  // of the QP's domain
  ASSERT_EQ(pair.b.nic.post_srq_recv(srq, w), PostResult::kOk);
  pair.post(pair.wqe(WrOpcode::kSend, 0, 0, 10, 1));
  pair.post(pair.wqe(WrOpcode::kSend, 0, 0, 10, 2));
  pair.run();
  ASSERT_EQ(pair.b.cqes.size(), 2u);
  EXPECT_EQ(pair.b.cqes[0].status, WcStatus::kSuccess);
  EXPECT_EQ(pair.b.cqes[1].status, WcStatus::kLocProtErr);
  ASSERT_EQ(pair.a.cqes.size(), 2u);
  EXPECT_EQ(pair.a.cqes[1].status, WcStatus::kRemOpErr);
}

TEST_P(NicSrqTest, DatagramsAndUnreliableConnectionsTakeFromItToo) {
  for (const QpType type : {QpType::kUd, QpType::kUc}) {
    SrqPair pair(GetParam(), type);
    SendWqe w = pair.wqe(WrOpcode::kSend, 0, 0, 100, 1);
    w.ah = *pair.a.nic.create_ah(pair.a.pd, pair.attr.path);
    w.remote_qpn = pair.b.qp, w.remote_qkey = 0x11111111;
    pair.post(w);
    pair.run();
    EXPECT_EQ(pair.b.nic.counters().out_of_buffer, 1u) << "dropped";
    pair.post_shared(0, 140, 5);
    pair.post(w);
    pair.run();
    EXPECT_EQ(pair.received(), (Ids{5}));
    EXPECT_EQ(pair.b.cqes[0].byte_len, type == QpType::kUd ? 140u : 100u);
  }
}

TEST_P(NicSrqTest, LimitsAreEnforced) {
  SrqPair pair(GetParam());
  Nic& nic = pair.b.nic;
  RecvWqe w;
  w.num_sge = 3;
  EXPECT_EQ(nic.post_srq_recv(pair.srq, w), PostResult::kBadSge);
  w.num_sge = 0;
  for (std::uint32_t i = 0; i < SrqPair::kDepth; ++i)
    EXPECT_EQ(nic.post_srq_recv(pair.srq, w), PostResult::kOk);
  EXPECT_EQ(nic.post_srq_recv(pair.srq, w), PostResult::kQueueFull);
  EXPECT_FALSE(nic.resize_srq(pair.srq, SrqPair::kDepth - 1));
  ASSERT_TRUE(nic.resize_srq(pair.srq, SrqPair::kDepth + 1));
  EXPECT_EQ(nic.post_srq_recv(pair.srq, w), PostResult::kOk);
  EXPECT_EQ(nic.post_srq_recv(pair.srq, w), PostResult::kQueueFull);
  EXPECT_EQ(nic.post_recv(pair.b.qp, w, pair.now()), PostResult::kBadState)
      << "the QP has no queue of its own";
  EXPECT_FALSE(nic.destroy_srq(pair.srq)) << "in use";
  EXPECT_FALSE(nic.free_pd(pair.b.pd));
  ASSERT_TRUE(nic.destroy_qp(pair.b.qp));
  EXPECT_TRUE(nic.destroy_srq(pair.srq));
  EXPECT_EQ(nic.post_srq_recv(pair.srq, w), PostResult::kBadHandle);
  EXPECT_EQ(nic.create_srq(Pdn{77}, {1, 1, 0}), std::nullopt);
  QpInit init;
  init.pd = pair.b.pd, init.send_cq = init.recv_cq = pair.b.cq, init.srq = pair.srq;
  EXPECT_EQ(nic.create_qp(init), std::nullopt) << "the SRQ is gone";
}

}  // namespace
}  // namespace rocelab
