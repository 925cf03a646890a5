// RDMA WRITE between two Nics in RoCE mode: segmentation, times, loss.
#include <gtest/gtest.h>

#include "irn_provider/nic/pair_fixture.h"

namespace rocelab {
namespace {

constexpr std::uint32_t kPsn = 0xfffff0, kMtu = 1024;
constexpr Bytes kBthFrame = 58_B;  // Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4
constexpr Bytes kAckFrame = 62_B;  // and AETH 4

// Wire time of a lone WRITE's packets, from the wire format alone.
Duration write_time(std::uint32_t length, Rate rate) {
  Duration total;
  const std::uint32_t packets = std::max(1u, (length + kMtu - 1) / kMtu);
  for (std::uint32_t i = 0; i < packets; ++i) {
    const std::uint32_t payload = std::min(kMtu, length - i * kMtu);
    const Bytes reth = i == 0 ? 16_B : 0_B;
    total += wire_time(std::max(kMinFrameBytes, kBthFrame + reth + Bytes::from_count((payload + 3) / 4 * 4)),
                       rate);
  }
  return total;
}

class WriteSizeTest : public testing::TestWithParam<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Sizes, WriteSizeTest,
                         testing::Values(0, 1, 2, 3, kMtu - 1, kMtu, kMtu + 1, 8000, 1 << 20));

TEST_P(WriteSizeTest, ArrivesWholeAtTheTimeOfTheClosedFormula) {
  NicPair pair;
  pair.connect(kPsn);
  const std::uint32_t length = GetParam();
  pair.a.fill(0, length, 7);
  pair.b.fill(0, length + 64, 8);
  const std::vector<std::byte> behind(pair.b.bytes.begin() + 16 + length, pair.b.bytes.begin() + 64 + length);
  ASSERT_EQ(pair.post(pair.wqe(WrOpcode::kWrite, 0, 16, length, 42)), PostResult::kOk);
  pair.run();

  EXPECT_EQ(std::memcmp(pair.a.bytes.data(), pair.b.bytes.data() + 16, length), 0);
  EXPECT_TRUE(std::equal(behind.begin(), behind.end(), pair.b.bytes.begin() + 16 + length));
  const Time placed = Time::zero() + write_time(length, pair.config.link_rate) + pair.config.link_delay;
  const auto placements = pair.b.trace.of(TraceKind::kPlaced);
  ASSERT_EQ(placements.size(), 1u);
  EXPECT_EQ(placements[0].time, placed);
  EXPECT_EQ(placements[0].bytes, length);
  ASSERT_EQ(pair.a.cqes.size(), 1u);
  EXPECT_EQ(pair.a.cqes[0].wr_id, 42u);
  EXPECT_EQ(pair.a.cqes[0].status, WcStatus::kSuccess);
  EXPECT_EQ(pair.a.cqes[0].opcode, WcOpcode::kWrite);
  EXPECT_EQ(pair.a.cqes[0].time,
            placed + wire_time(kAckFrame, pair.config.link_rate) + pair.config.link_delay);
  EXPECT_TRUE(pair.b.cqes.empty());
  EXPECT_EQ(pair.a.nic.counters().retransmitted_packets, 0u);
  EXPECT_EQ(pair.a.nic.counters().tx_packets, std::max(1u, (length + kMtu - 1) / kMtu));
}

TEST(NicWriteTest, CutsAMessageAsTheWireFormatSays) {
  NicPair pair;
  pair.connect(kPsn);
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 3 * kMtu + 5));
  pair.run();
  EXPECT_EQ(pair.story(0, kPsn),
            "RC_RDMA_WRITE_FIRST+0 RC_RDMA_WRITE_MIDDLE+1 RC_RDMA_WRITE_MIDDLE+2 RC_RDMA_WRITE_LAST+3");
  EXPECT_EQ(pair.story(1, kPsn), "RC_ACKNOWLEDGE+3");
  EXPECT_FALSE(pair.log[0].packet.roce.ack_req);
  EXPECT_EQ(pair.log[0].packet.roce.dma_length, 3 * kMtu + 5);
  EXPECT_TRUE(pair.log[3].packet.roce.ack_req);
  EXPECT_EQ(pair.log[3].packet.roce.pad, 3);
  EXPECT_EQ(pair.log[3].packet.frame_length, 66u);
  const RoceHeaders& ack = pair.log[4].packet.roce;
  EXPECT_EQ(ack.syndrome, 0x1f);
  EXPECT_EQ(ack.msn, Msn{1});
  EXPECT_EQ(ack.dest, pair.a.qp);
}

TEST(NicWriteTest, AsksForAnAckOnEvery66thPacketOfALongMessage) {
  NicPair pair;
  pair.connect(kPsn);
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 140 * kMtu));
  pair.run();
  std::vector<std::uint32_t> asked;
  for (const Departure& d : pair.log)
    if (d.side == 0 && d.packet.roce.ack_req)
      asked.push_back((d.packet.roce.psn.value() - kPsn) & Psn::kMask);
  EXPECT_EQ(asked, (std::vector<std::uint32_t>{65, 131, 139}));
  EXPECT_EQ(pair.sent([](const Departure& d) { return d.side == 1; }).size(), 3u);
}

TEST(NicWriteTest, GathersFromManyPiecesInline) {
  NicPair pair;
  pair.connect(kPsn);
  pair.a.fill(0, 5000, 3);
  SendWqe w = pair.wqe(WrOpcode::kWrite, 0, 0, 1);
  w.num_sge = 4;
  w.sge[0] = {pair.a.addr(0), 1000, pair.a.key};
  w.sge[1] = {pair.a.addr(1000), 0, RKey{0xdead}};  // an empty piece needs no key
  w.sge[2] = {pair.a.addr(1000), 1500, pair.a.key};
  w.sge[3] = {pair.a.addr(2500), 7, pair.a.key};
  ASSERT_EQ(pair.post(w), PostResult::kOk);
  SendWqe small = pair.wqe(WrOpcode::kWrite, 2600, 2600, 100);
  small.inline_data = true;
  small.sge[0].lkey = RKey{0};
  ASSERT_EQ(pair.post(small), PostResult::kOk);
  pair.run();
  EXPECT_EQ(std::memcmp(pair.a.bytes.data(), pair.b.bytes.data(), 2507), 0);
  EXPECT_EQ(std::memcmp(pair.a.bytes.data() + 2600, pair.b.bytes.data() + 2600, 100), 0);
  EXPECT_EQ(pair.a.cqes.size(), 2u);
}

TEST(NicWriteTest, CompletesOnlySignaledWqes) {
  NicPair pair;
  pair.connect(kPsn);
  for (std::uint64_t id = 0; id < 6; ++id) {
    SendWqe w = pair.wqe(WrOpcode::kWrite, 0, 0, 100, id);
    w.signaled = id % 3 == 2;
    pair.post(w);
  }
  pair.run();
  ASSERT_EQ(pair.a.cqes.size(), 2u);
  EXPECT_EQ(pair.a.cqes[0].wr_id, 2u);
  EXPECT_EQ(pair.a.cqes[1].wr_id, 5u);
}

TEST(NicWriteTest, WriteWithImmediateConsumesAReceiveWqeAtTheEnd) {
  NicPair pair;
  pair.connect(kPsn);
  pair.a.fill(0, 3000, 5);
  pair.post_receive(0, 0, 77);
  SendWqe w = pair.wqe(WrOpcode::kWriteImm, 0, 100, 3000);
  w.solicited = true;
  pair.post(w);
  pair.run();
  EXPECT_EQ(pair.story(0, kPsn),
            "RC_RDMA_WRITE_FIRST+0 RC_RDMA_WRITE_MIDDLE+1 RC_RDMA_WRITE_LAST_WITH_IMMEDIATE+2");
  ASSERT_EQ(pair.b.cqes.size(), 1u);
  const Cqe& cqe = pair.b.cqes[0];
  EXPECT_EQ(cqe.wr_id, 77u);
  EXPECT_EQ(cqe.opcode, WcOpcode::kRecvWriteImm);
  EXPECT_TRUE(cqe.has_imm && cqe.solicited);
  EXPECT_EQ(cqe.imm, 0xabcd0123u);
  EXPECT_EQ(cqe.byte_len, 3000u);
  EXPECT_EQ(std::memcmp(pair.a.bytes.data(), pair.b.bytes.data() + 100, 3000), 0);
}

// --- loss

// 8 packets; the k-th is lost. A NAK has the rest sent again. After the last packet only the verbs timeout
// helps, and then the whole message goes again: only its last packet asked for an ACK.
class WriteLossTest : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(EachPacket, WriteLossTest, testing::Range(1, 9));

TEST_P(WriteLossTest, GoBackNResendsFromTheLostPacket) {
  NicPair pair;
  pair.attr.timeout = 8;  // 1048.576 us
  pair.connect(kPsn);
  pair.a.fill(0, 8 * kMtu, 9);
  pair.lose = lose_data(0, {GetParam()});
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 8 * kMtu));
  pair.run();
  EXPECT_EQ(std::memcmp(pair.a.bytes.data(), pair.b.bytes.data(), 8 * kMtu), 0);
  ASSERT_EQ(pair.a.cqes.size(), 1u);
  EXPECT_EQ(pair.a.cqes[0].status, WcStatus::kSuccess);
  const NicCounters& c = pair.a.nic.counters();
  const bool last = GetParam() == 8;
  const auto resent = static_cast<std::uint64_t>(last ? 8 : 9 - GetParam());
  EXPECT_EQ(c.retransmitted_packets, resent);
  EXPECT_EQ(c.timeout_retransmissions, last ? resent : 0u);
  EXPECT_EQ(c.nack_retransmissions, last ? 0u : resent);
  EXPECT_EQ(c.packet_seq_err, last ? 0u : 1u);
  EXPECT_EQ(c.local_ack_timeout_err, last ? 1u : 0u);
  EXPECT_EQ(pair.b.nic.counters().out_of_sequence, last ? 0u : resent - 1);
  EXPECT_EQ(pair.b.nic.counters().spurious_retransmissions, last ? 7u : 0u);
  const auto naks =
      pair.sent([](const Departure& d) { return d.side == 1 && d.packet.roce.syndrome == 0x60; });
  ASSERT_EQ(naks.size(), last ? 0u : 1u);
  if (!last) {
    EXPECT_EQ(naks[0].packet.roce.psn, Psn(kPsn + static_cast<std::uint32_t>(GetParam()) - 1));
  }
}

TEST(NicWriteTest, ALostAckIsRepairedByTheVerbsTimeoutAndTheDuplicateDrawsAnAck) {
  NicPair pair;
  pair.attr.timeout = 8;
  pair.connect(kPsn);
  pair.lose = lose_acks(1, {1});
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 2 * kMtu));
  pair.run();
  EXPECT_EQ(pair.story(0, kPsn),
            "RC_RDMA_WRITE_FIRST+0 RC_RDMA_WRITE_LAST+1 RC_RDMA_WRITE_FIRST+0 RC_RDMA_WRITE_LAST+1");
  EXPECT_EQ(pair.story(1, kPsn),
            "RC_ACKNOWLEDGE+1 RC_ACKNOWLEDGE+1 RC_ACKNOWLEDGE+1");  // also without AckReq
  ASSERT_EQ(pair.a.cqes.size(), 1u);
  EXPECT_EQ(pair.b.nic.counters().duplicate_request, 2u);
  EXPECT_EQ(pair.b.nic.counters().spurious_retransmissions, 2u);
  EXPECT_EQ(pair.b.trace.of(TraceKind::kPlaced).size(), 1u);
  EXPECT_EQ(pair.a.nic.counters().timeout_retransmissions, 2u);
}

TEST(NicWriteTest, TheScenarioTimerRecoversWithoutConsumingRetries) {
  NicConfig config;
  config.roce_rto = 320_us;
  NicPair pair(config);
  pair.attr.timeout = 14;  // 67 ms: never in this test
  pair.attr.retry_cnt = 0;
  pair.connect(kPsn);
  pair.lose = lose_data(0, {1, 2, 3});
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 100));
  pair.run();
  ASSERT_EQ(pair.a.cqes.size(), 1u);
  EXPECT_EQ(pair.a.cqes[0].status, WcStatus::kSuccess);
  EXPECT_EQ(pair.a.nic.counters().rto_high_timeouts, 3u);
  EXPECT_EQ(pair.a.nic.counters().local_ack_timeout_err, 0u);
  const auto sent = pair.sent([](const Departure& d) { return d.side == 0; });
  ASSERT_EQ(sent.size(), 4u);
  EXPECT_EQ(sent[3].at, Time::zero() + 3 * 320_us);
}

}  // namespace
}  // namespace rocelab
