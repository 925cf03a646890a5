// Errors between two Nics in RoCE mode: each completion status, what the peer is told, and what is flushed.
// The statuses are those that Linux rxe gives (captures err_*): a right that the QP lacks is an invalid
// request, one that the region lacks an access error.
#include <gtest/gtest.h>

#include "irn_provider/nic/pair_fixture.h"

namespace rocelab {
namespace {

constexpr std::uint32_t kPsn = 0xfffff0, kMtu = 1024;

QpState state(const Endpoint& e) { return e.nic.query_qp(e.qp)->state; }

// Posts `bad` between two good WRITEs and runs; the first must succeed, `bad` get `status`, the last be
// flushed.
void expect_middle_fails(NicPair& pair, const SendWqe& bad, WcStatus status) {
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 10, 1));
  ASSERT_EQ(pair.post(bad), PostResult::kOk);
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 10, 3));
  pair.run();
  ASSERT_EQ(pair.a.cqes.size(), 3u);
  EXPECT_EQ(pair.a.cqes[0].status, WcStatus::kSuccess);
  EXPECT_EQ(pair.a.cqes[1].status, status);
  EXPECT_EQ(pair.a.cqes[1].wr_id, bad.wr_id);
  EXPECT_EQ(pair.a.cqes[2].status, WcStatus::kWrFlushErr);
  EXPECT_EQ(state(pair.a), QpState::kErr);
  EXPECT_TRUE(pair.a.cqes[1].solicited);
}

struct RemoteErrorCase {
  const char* name;
  WcStatus status;
  std::uint8_t syndrome;
  void (*spoil)(NicPair&, SendWqe&);  // after connect()
  std::uint32_t qp_access = Endpoint::kAllAccess;
  WrOpcode opcode = WrOpcode::kWrite;
};

class RemoteErrorTest : public testing::TestWithParam<RemoteErrorCase> {};
INSTANTIATE_TEST_SUITE_P(
    Causes, RemoteErrorTest,
    testing::Values(RemoteErrorCase{"UnknownKey", WcStatus::kRemAccessErr, 0x62,
                                    [](NicPair&, SendWqe& w) { w.rkey.value ^= 0x10000; }},
                    RemoteErrorCase{
                        "BeyondTheEnd", WcStatus::kRemAccessErr, 0x62,
                        [](NicPair& p, SendWqe& w) { w.remote_addr = p.b.addr(NicPair::kMemory - 50); }},
                    RemoteErrorCase{"BeforeTheBeginning", WcStatus::kRemAccessErr, 0x62,
                                    [](NicPair& p, SendWqe& w) { w.remote_addr = p.b.addr() - 1; }},
                    RemoteErrorCase{"WrapsAround", WcStatus::kRemAccessErr, 0x62,
                                    [](NicPair&, SendWqe& w) { w.remote_addr = ~0ull - 10; }},
                    RemoteErrorCase{"OtherDomain", WcStatus::kRemAccessErr, 0x62,
                                    [](NicPair& p, SendWqe& w) {
                                      w.rkey = *p.b.nic.reg_mr(p.b.nic.alloc_pd(), p.b.addr(), 1000,
                                                               p.b.addr(), Endpoint::kAllAccess);
                                    }},
                    RemoteErrorCase{"RegionNotForWriting", WcStatus::kRemAccessErr, 0x62,
                                    [](NicPair& p, SendWqe& w) {
                                      w.rkey = *p.b.nic.reg_mr(p.b.pd, p.b.addr(), 1000, p.b.addr(),
                                                               kAccessLocalWrite | kAccessRemoteRead);
                                    }},
                    RemoteErrorCase{"Deregistered", WcStatus::kRemAccessErr, 0x62,
                                    [](NicPair& p, SendWqe& w) {
                                      w.rkey = *p.b.nic.reg_mr(p.b.pd, p.b.addr(), 1000, p.b.addr(),
                                                               Endpoint::kAllAccess);
                                      ASSERT_TRUE(p.b.nic.dereg_mr(w.rkey));
                                    }},
                    RemoteErrorCase{"ReadOfARegionNotForReading", WcStatus::kRemAccessErr, 0x62,
                                    [](NicPair& p, SendWqe& w) {
                                      w.rkey = *p.b.nic.reg_mr(p.b.pd, p.b.addr(), 1000, p.b.addr(),
                                                               kAccessLocalWrite | kAccessRemoteWrite);
                                    },
                                    Endpoint::kAllAccess, WrOpcode::kRead},
                    RemoteErrorCase{"ReadNotAllowedByTheQp", WcStatus::kRemInvReqErr, 0x61,
                                    [](NicPair&, SendWqe&) {}, kAccessRemoteWrite, WrOpcode::kRead}),
    [](const auto& one) { return std::string(one.param.name); });

TEST_P(RemoteErrorTest, CompletesWithItsStatusAndFlushesTheRest) {
  NicPair pair;
  pair.attr.access_flags = GetParam().qp_access;
  pair.connect(kPsn);
  pair.post_receive(0, 100, 50);
  SendWqe bad = pair.wqe(GetParam().opcode, 0, 100, 100, 2);
  GetParam().spoil(pair, bad);
  expect_middle_fails(pair, bad, GetParam().status);
  const auto naks =
      pair.sent([](const Departure& d) { return d.side == 1 && d.packet.roce.syndrome >= 0x60; });
  ASSERT_EQ(naks.size(), 1u);
  EXPECT_EQ(naks[0].packet.roce.syndrome, GetParam().syndrome);
  EXPECT_EQ(naks[0].packet.roce.psn, Psn(kPsn + 1));
  EXPECT_EQ(state(pair.b), QpState::kErr);
  ASSERT_EQ(pair.b.cqes.size(), 1u);  // the responder's receive WQE is flushed
  EXPECT_EQ(pair.b.cqes[0].status, WcStatus::kWrFlushErr);
}

TEST(NicErrorTest, WriteNotAllowedByTheQpIsAnInvalidRequest) {
  NicPair pair;
  pair.attr.access_flags = kAccessRemoteRead;
  pair.connect(kPsn);
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 100));
  pair.run();
  ASSERT_EQ(pair.a.cqes.size(), 1u);
  EXPECT_EQ(pair.a.cqes[0].status, WcStatus::kRemInvReqErr);
  EXPECT_EQ(pair.a.nic.counters().req_remote_invalid_request, 1u);
}

TEST(NicErrorTest, AZeroLengthWriteNeedsNoKey) {
  NicPair pair;
  pair.connect(kPsn);
  SendWqe w = pair.wqe(WrOpcode::kWrite, 0, 0, 0);
  w.rkey = RKey{0xdeadbeef}, w.remote_addr = 0;
  pair.post(w);
  pair.run();
  ASSERT_EQ(pair.a.cqes.size(), 1u);
  EXPECT_EQ(pair.a.cqes[0].status, WcStatus::kSuccess);
}

TEST(NicErrorTest, ASendLongerThanTheReceiveWqeFailsBothSides) {
  NicPair pair;
  pair.connect(kPsn);
  pair.post_receive(0, 1500, 7);
  pair.post_receive(0, 1500, 8);
  pair.post(pair.wqe(WrOpcode::kSend, 0, 0, 1501));
  pair.run();
  ASSERT_EQ(pair.b.cqes.size(), 2u);
  EXPECT_EQ(pair.b.cqes[0].status, WcStatus::kLocLenErr);
  EXPECT_EQ(pair.b.cqes[0].wr_id, 7u);
  EXPECT_EQ(pair.b.cqes[1].status, WcStatus::kWrFlushErr);
  ASSERT_EQ(pair.a.cqes.size(), 1u);
  EXPECT_EQ(pair.a.cqes[0].status, WcStatus::kRemInvReqErr);
  EXPECT_EQ(pair.b.nic.counters().resp_local_length_error, 1u);
}

TEST(NicErrorTest, AReceiveWqeWithABadKeyIsTheRespondersFault) {
  NicPair pair;
  pair.connect(kPsn);
  RecvWqe r;
  r.wr_id = 9, r.num_sge = 1;
  r.sge[0] = {pair.b.addr(0), 100, RKey{0x7777}};
  pair.b.nic.post_recv(pair.b.qp, r, pair.now());
  pair.post(pair.wqe(WrOpcode::kSend, 0, 0, 100));
  pair.run();
  ASSERT_EQ(pair.b.cqes.size(), 1u);
  EXPECT_EQ(pair.b.cqes[0].status, WcStatus::kLocProtErr);
  ASSERT_EQ(pair.a.cqes.size(), 1u);
  EXPECT_EQ(pair.a.cqes[0].status, WcStatus::kRemOpErr);
}

TEST(NicErrorTest, ALocalKeyErrorWaitsForItsTurn) {
  NicPair pair;
  pair.connect(kPsn);
  SendWqe bad = pair.wqe(WrOpcode::kWrite, 0, 0, 100, 2);
  bad.sge[0].lkey = RKey{0x12345};
  expect_middle_fails(pair, bad, WcStatus::kLocProtErr);
  EXPECT_EQ(pair.sent([](const Departure& d) { return d.side == 0; }).size(), 1u);  // the bad one never left
  EXPECT_EQ(state(pair.b), QpState::kRts);
}

TEST(NicErrorTest, AReadIntoAReadOnlyRegionIsALocalProtectionError) {
  NicPair pair;
  pair.connect(kPsn);
  SendWqe bad = pair.wqe(WrOpcode::kRead, 0, 0, 100, 2);
  bad.sge[0].lkey = *pair.a.nic.reg_mr(pair.a.pd, pair.a.addr(), 1000, pair.a.addr(), 0);
  expect_middle_fails(pair, bad, WcStatus::kLocProtErr);
}

TEST(NicErrorTest, MoreReadsThanTheResponderHasRoomForAreInvalid) {
  NicPair pair;
  pair.attr.max_dest_rd_atomic = 1;
  pair.connect(kPsn);
  for (std::uint64_t i = 0; i < 3; ++i) pair.post(pair.wqe(WrOpcode::kRead, 0, 0, 4 * kMtu, i));
  pair.run();
  ASSERT_EQ(pair.a.cqes.size(), 3u);
  EXPECT_EQ(pair.a.cqes[0].status,
            WcStatus::kSuccess);  // what was asked before is still answered, ahead of the NAK
  EXPECT_EQ(pair.a.cqes[1].status, WcStatus::kRemInvReqErr);
  EXPECT_EQ(pair.a.cqes[2].status, WcStatus::kWrFlushErr);
}

TEST(NicErrorTest, AResponseOfTheWrongLengthIsABadResponse) {
  NicPair pair;
  pair.connect(kPsn);
  pair.lose = [](const Departure& d) {
    // As if the responder had another path MTU: the frame is cut where the link would deliver it.
    if (d.side == 1) const_cast<Departure&>(d).packet.payload_length = 0;
    return d.side == 1;
  };
  pair.post(pair.wqe(WrOpcode::kRead, 0, 0, 100, 1));
  pair.run_until(Time::zero() + 10_us);
  PacketRef forged = pair.a.pool.clone(pair.log.back().packet);
  forged->payload_length = 96;
  pair.a.nic.on_packet(std::move(forged), pair.now());
  const auto cqe = pair.a.nic.poll_cq(pair.a.cq);
  ASSERT_TRUE(cqe);
  EXPECT_EQ(cqe->status, WcStatus::kBadRespErr);
}

TEST(NicErrorTest, RetryCount3MeansFourTransmissions) {
  NicPair pair;
  pair.attr.timeout = 8, pair.attr.retry_cnt = 3;
  pair.connect(kPsn);
  pair.lose = [](const Departure& d) { return d.side == 0; };
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 64, 1));
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 64, 2));
  pair.run();
  const Duration period = 4'096_ns * 256;
  const auto first = pair.sent([](const Departure& d) { return d.packet.roce.psn == Psn(kPsn); });
  ASSERT_EQ(first.size(), 4u);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(first[static_cast<std::size_t>(i)].at, Time::zero() + period * i);
  ASSERT_EQ(pair.a.cqes.size(), 2u);
  EXPECT_EQ(pair.a.cqes[0].status, WcStatus::kRetryExcErr);
  EXPECT_EQ(pair.a.cqes[0].time, Time::zero() + period * 4);
  EXPECT_EQ(pair.a.cqes[1].status, WcStatus::kWrFlushErr);
  EXPECT_EQ(pair.a.nic.counters().local_ack_timeout_err, 4u);
}

TEST(NicErrorTest, TheVerbsTimerFiresAtItsDeadlineAndNotBefore) {
  NicPair pair;
  pair.attr.timeout = 8;
  pair.connect(kPsn);
  pair.lose = [](const Departure& d) { return d.side == 0; };
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 64));
  const Time deadline = Time::zero() + 4'096_ns * 256;
  pair.run_until(deadline - 1_ps);
  pair.a.nic.on_timeout(deadline - 1_ps);
  EXPECT_FALSE(pair.a.nic.has_more());
  EXPECT_EQ(pair.a.nic.next_timeout(), deadline);
  pair.a.nic.on_timeout(deadline);
  EXPECT_TRUE(pair.a.nic.has_more());
}

TEST(NicErrorTest, ProgressResetsTheRetryCount) {
  NicPair pair;
  pair.attr.timeout = 8, pair.attr.retry_cnt = 1;
  pair.connect(kPsn);
  pair.lose = [](const Departure& d) { return d.side == 0 && !d.packet.retransmission; };
  pair.on_cqe = [](NicPair& p, Endpoint&, const Cqe& cqe) {
    if (cqe.wr_id < 9) p.post(p.wqe(WrOpcode::kWrite, 0, 0, 64, cqe.wr_id + 1));
  };
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 64, 0));
  pair.run();
  ASSERT_EQ(pair.a.cqes.size(), 10u);
  for (const Cqe& cqe : pair.a.cqes) EXPECT_EQ(cqe.status, WcStatus::kSuccess);
  EXPECT_EQ(pair.a.nic.counters().local_ack_timeout_err, 10u);
}

TEST(NicErrorTest, WithTimeoutsOffTheVerbsAttributeStillGivesUp) {
  NicConfig config;
  config.roce_rto = 320_us;
  config.recovery_timers = false;
  NicPair pair(config);
  pair.attr.timeout = 8, pair.attr.retry_cnt = 2;
  pair.connect(kPsn);
  pair.lose = [](const Departure& d) { return d.side == 0; };
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 64));
  pair.run();
  EXPECT_EQ(pair.a.nic.counters().rto_high_timeouts, 0u);
  EXPECT_EQ(pair.log.size(), 3u);
  ASSERT_EQ(pair.a.cqes.size(), 1u);
  EXPECT_EQ(pair.a.cqes[0].status, WcStatus::kRetryExcErr);
}

TEST(NicErrorTest, AScenarioTimerAndADeadPeerEndByTheVerbsAttribute) {
  NicConfig config;
  config.roce_rto = 320_us;
  NicPair pair(config);
  pair.attr.timeout = 10, pair.attr.retry_cnt = 2;  // 4.19 ms
  pair.connect(kPsn);
  pair.lose = [](const Departure& d) { return d.side == 0; };
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 64));
  pair.run();
  ASSERT_EQ(pair.a.cqes.size(), 1u);
  EXPECT_EQ(pair.a.cqes[0].status, WcStatus::kRetryExcErr);
  EXPECT_EQ(pair.a.cqes[0].time, Time::zero() + 3 * 4'096_ns * 1024);
  EXPECT_EQ(pair.a.nic.counters().rto_high_timeouts, 39u);  // 12.58 ms / 320 us
}

TEST(NicErrorTest, RoceAgainstIrnEndsInsideTheRetryLimits) {
  NicConfig irn;
  irn.mode = TransportMode::kIrn;
  NicPair pair(NicConfig{}, irn, NicPair::kMemory);
  pair.attr.timeout = 8, pair.attr.retry_cnt = 2;
  pair.connect(kPsn);
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 64));
  pair.run();
  ASSERT_EQ(pair.a.cqes.size(), 1u);
  EXPECT_EQ(pair.a.cqes[0].status, WcStatus::kRetryExcErr);
  EXPECT_EQ(pair.b.nic.counters().rx_wrong_mode, 3u);
}

}  // namespace
}  // namespace rocelab
