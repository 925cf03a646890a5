// SEND between two Nics in RoCE mode: receive WQEs, immediate data, RNR.
#include <gtest/gtest.h>

#include "irn_provider/nic/pair_fixture.h"

namespace rocelab {
namespace {

constexpr std::uint32_t kPsn = 0xfffff0, kMtu = 1024;

class SendSizeTest : public testing::TestWithParam<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Sizes, SendSizeTest,
                         testing::Values(0, 1, 2, 3, kMtu - 1, kMtu, kMtu + 1, 8000, 1 << 20));

TEST_P(SendSizeTest, FillsTheReceiveWqeAndCompletesBothSides) {
  NicPair pair;
  pair.connect(kPsn);
  const std::uint32_t length = GetParam();
  pair.a.fill(0, length, 7);
  ASSERT_EQ(pair.post_receive(32, length + 10, 5), PostResult::kOk);
  ASSERT_EQ(pair.post(pair.wqe(WrOpcode::kSend, 0, 0, length)), PostResult::kOk);
  pair.run();
  EXPECT_EQ(std::memcmp(pair.a.bytes.data(), pair.b.bytes.data() + 32, length), 0);
  ASSERT_EQ(pair.b.cqes.size(), 1u);
  EXPECT_EQ(pair.b.cqes[0].wr_id, 5u);
  EXPECT_EQ(pair.b.cqes[0].opcode, WcOpcode::kRecv);
  EXPECT_EQ(pair.b.cqes[0].status, WcStatus::kSuccess);
  EXPECT_EQ(pair.b.cqes[0].byte_len, length);
  EXPECT_EQ(pair.b.cqes[0].qpn, pair.b.qp);
  EXPECT_FALSE(pair.b.cqes[0].has_imm || pair.b.cqes[0].solicited);
  ASSERT_EQ(pair.a.cqes.size(), 1u);
  EXPECT_EQ(pair.a.cqes[0].opcode, WcOpcode::kSend);
  // The receiver completes when the last bit is there, the sender one ACK later.
  const auto placed = pair.b.trace.of(TraceKind::kPlaced);
  ASSERT_EQ(placed.size(), 1u);
  EXPECT_EQ(pair.b.cqes[0].time, placed[0].time);
  EXPECT_EQ(pair.a.cqes[0].time,
            placed[0].time + wire_time(62_B, pair.config.link_rate) + pair.config.link_delay);
}

TEST(NicSendTest, CarriesImmediateAndSolicitedOnTheLastPacket) {
  NicPair pair;
  pair.connect(kPsn);
  pair.post_receive(0, 4000);
  SendWqe w = pair.wqe(WrOpcode::kSendImm, 0, 0, 2 * kMtu + 1);
  w.solicited = true;
  pair.post(w);
  pair.run();
  EXPECT_EQ(pair.story(0, kPsn), "RC_SEND_FIRST+0 RC_SEND_MIDDLE+1 RC_SEND_LAST_WITH_IMMEDIATE+2");
  EXPECT_FALSE(pair.log[0].packet.roce.solicited);
  ASSERT_EQ(pair.b.cqes.size(), 1u);
  EXPECT_TRUE(pair.b.cqes[0].has_imm && pair.b.cqes[0].solicited);
  EXPECT_EQ(pair.b.cqes[0].imm, 0xabcd0123u);
}

TEST(NicSendTest, ScattersOverManyPieces) {
  NicPair pair;
  pair.connect(kPsn);
  pair.a.fill(0, 3000, 4);
  RecvWqe r;
  r.num_sge = 3;
  r.sge[0] = {pair.b.addr(5000), 100, pair.b.key};
  r.sge[1] = {pair.b.addr(0), 2000, pair.b.key};
  r.sge[2] = {pair.b.addr(9000), 1000, pair.b.key};
  pair.b.nic.post_recv(pair.b.qp, r, pair.now());
  pair.post(pair.wqe(WrOpcode::kSend, 0, 0, 3000));
  pair.run();
  EXPECT_EQ(std::memcmp(pair.a.bytes.data(), pair.b.bytes.data() + 5000, 100), 0);
  EXPECT_EQ(std::memcmp(pair.a.bytes.data() + 100, pair.b.bytes.data(), 2000), 0);
  EXPECT_EQ(std::memcmp(pair.a.bytes.data() + 2100, pair.b.bytes.data() + 9000, 900), 0);
}

TEST(NicSendTest, MessagesMeetReceiveWqesInOrder) {
  NicPair pair;
  pair.connect(kPsn);
  pair.a.fill(0, 6000, 4);
  for (std::uint64_t i = 0; i < 3; ++i) {
    pair.post_receive(i * 2000, 2000, i);
    pair.post(pair.wqe(i == 1 ? WrOpcode::kWriteImm : WrOpcode::kSend, i * 2000, 20'000, 2000, i));
  }
  pair.lose = lose_data(0, {2, 5});
  pair.run();
  ASSERT_EQ(pair.b.cqes.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(pair.b.cqes[i].wr_id, i);
  EXPECT_EQ(pair.b.cqes[1].opcode, WcOpcode::kRecvWriteImm);
  EXPECT_EQ(std::memcmp(pair.a.bytes.data(), pair.b.bytes.data(), 2000), 0);
  EXPECT_EQ(std::memcmp(pair.a.bytes.data() + 4000, pair.b.bytes.data() + 4000, 2000), 0);
  EXPECT_EQ(std::memcmp(pair.a.bytes.data() + 2000, pair.b.bytes.data() + 20'000, 2000), 0);
}

// --- RNR. Timer code 12 is 640 us (IBTA table 45).

TEST(NicSendTest, RnrNakMakesTheRequesterWaitExactlyItsTimer) {
  NicPair pair;
  pair.connect(kPsn);
  for (std::uint64_t id = 0; id < 3; ++id) pair.post(pair.wqe(WrOpcode::kSend, 0, 0, 64, id));
  pair.run_until(Time::zero() + 100_us);
  EXPECT_EQ(pair.story(1, kPsn), "RC_ACKNOWLEDGE+0");  // what comes behind the refused packet draws nothing
  EXPECT_EQ(pair.log.back().packet.roce.syndrome, 0x20 | 12);
  for (std::uint64_t id = 0; id < 3; ++id) pair.post_receive(id * 64, 64, id);
  const Time nak_due = pair.log.back().at + wire_time(62_B, pair.config.link_rate) + pair.config.link_delay;
  pair.run();
  const auto sent = pair.sent([](const Departure& d) { return d.side == 0; });
  ASSERT_EQ(sent.size(), 6u);
  EXPECT_EQ(sent[3].at, nak_due + 640_us);
  EXPECT_EQ(sent[3].packet.roce.psn, Psn(kPsn));
  EXPECT_EQ(pair.b.cqes.size(), 3u);
  EXPECT_EQ(pair.a.cqes.size(), 3u);
  EXPECT_EQ(pair.a.nic.counters().rnr_nak_retry_err, 1u);
  EXPECT_EQ(pair.b.nic.counters().out_of_buffer, 1u);
  EXPECT_EQ(pair.a.nic.counters().local_ack_timeout_err, 0u);
}

TEST(NicSendTest, RnrRetriesExceededAfterOneTransmissionMoreThanRetries) {
  NicPair pair;
  pair.attr.rnr_retry = 3;
  pair.connect(kPsn);
  pair.post(pair.wqe(WrOpcode::kSend, 0, 0, 64, 9));
  pair.run();
  EXPECT_EQ(pair.sent([](const Departure& d) { return d.side == 0; }).size(), 4u);
  ASSERT_EQ(pair.a.cqes.size(), 1u);
  EXPECT_EQ(pair.a.cqes[0].status, WcStatus::kRnrRetryExcErr);
  EXPECT_EQ(pair.a.nic.query_qp(pair.a.qp)->state, QpState::kErr);
}

TEST(NicSendTest, RnrRetry7WaitsForEver) {
  NicPair pair;
  pair.attr.rnr_retry = 7;
  pair.connect(kPsn);
  pair.post(pair.wqe(WrOpcode::kSend, 0, 0, 64));
  pair.run_until(Time::zero() + 50_ms);
  EXPECT_GT(pair.a.nic.counters().rnr_nak_retry_err, 70u);
  pair.post_receive(0, 64);
  pair.run();
  ASSERT_EQ(pair.a.cqes.size(), 1u);
  EXPECT_EQ(pair.a.cqes[0].status, WcStatus::kSuccess);
}

TEST(NicSendTest, RnrOnTheLastPacketOfAWriteWithImmediateResendsOnlyThatPacket) {
  NicPair pair;
  pair.connect(kPsn);
  pair.a.fill(0, 3 * kMtu, 2);
  pair.post(pair.wqe(WrOpcode::kWriteImm, 0, 0, 3 * kMtu));
  pair.run_until(Time::zero() + 50_us);
  pair.post_receive(0, 0);
  pair.run();
  EXPECT_EQ(pair.story(0, kPsn),
            "RC_RDMA_WRITE_FIRST+0 RC_RDMA_WRITE_MIDDLE+1 RC_RDMA_WRITE_LAST_WITH_IMMEDIATE+2 "
            "RC_RDMA_WRITE_LAST_WITH_IMMEDIATE+2");
  EXPECT_EQ(pair.b.cqes.size(), 1u);
  EXPECT_EQ(std::memcmp(pair.a.bytes.data(), pair.b.bytes.data(), 3 * kMtu), 0);
}

TEST(NicSendTest, PingPongRunsAtTheLatencyOfThePath) {
  NicPair pair;
  pair.connect(kPsn);
  constexpr int kRounds = 100;
  constexpr std::uint32_t kSize = 2000;
  for (int i = 0; i < kRounds; ++i) {
    pair.post_receive(0, kSize);
    RecvWqe r;
    r.num_sge = 1;
    r.sge[0] = {pair.a.addr(8000), kSize, pair.a.key};
    pair.a.nic.post_recv(pair.a.qp, r, pair.now());
  }
  int received = 0;
  pair.on_cqe = [&](NicPair& p, Endpoint& e, const Cqe& cqe) {
    if (cqe.opcode != WcOpcode::kRecv || ++received == 2 * kRounds) return;
    SendWqe w = p.wqe(WrOpcode::kSend, 0, 0, kSize);
    w.sge[0] = {e.addr(0), kSize, e.key};
    ASSERT_EQ(e.nic.post_send(e.qp, w, p.now()), PostResult::kOk);
  };
  pair.post(pair.wqe(WrOpcode::kSend, 0, 0, kSize));
  pair.run();
  ASSERT_EQ(received, 2 * kRounds);
  // The ACK (62 B) of a message leaves ahead of the answer; then two packets: 1024 B and 976 B of payload
  // behind 58 B of headers.
  const Rate rate = pair.config.link_rate;
  const Duration data = wire_time(1082_B, rate) + wire_time(1034_B, rate) + pair.config.link_delay;
  const Duration ack = wire_time(62_B, rate);
  EXPECT_EQ(pair.a.trace.of(TraceKind::kPlaced).back().time,
            Time::zero() + data * (2 * kRounds) + ack * (2 * kRounds - 1));
}

}  // namespace
}  // namespace rocelab
