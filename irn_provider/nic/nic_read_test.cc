// RDMA READ between two Nics in RoCE mode: a READ takes as many PSNs as its response; what is lost is
// requested again from there.
#include <gtest/gtest.h>

#include "irn_provider/nic/pair_fixture.h"

namespace rocelab {
namespace {

constexpr std::uint32_t kPsn = 0xfffff0, kMtu = 1024;

// Wire time of a READ response, from the wire format alone: AETH in the first and the last packet.
Duration response_time(std::uint32_t length, Rate rate) {
  Duration total;
  const std::uint32_t packets = std::max(1u, (length + kMtu - 1) / kMtu);
  for (std::uint32_t i = 0; i < packets; ++i) {
    const std::uint32_t payload = std::min(kMtu, length - i * kMtu);
    const Bytes aeth = i == 0 || i + 1 == packets ? 4_B : 0_B;
    total +=
        wire_time(std::max(kMinFrameBytes, 58_B + aeth + Bytes::from_count((payload + 3) / 4 * 4)), rate);
  }
  return total;
}

class ReadSizeTest : public testing::TestWithParam<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Sizes, ReadSizeTest,
                         testing::Values(0, 1, 2, 3, kMtu - 1, kMtu, kMtu + 1, 8000, 1 << 20));

TEST_P(ReadSizeTest, FetchesAtTheTimeOfTheClosedFormula) {
  NicPair pair;
  pair.connect(kPsn);
  const std::uint32_t length = GetParam();
  pair.b.fill(64, length, 11);
  ASSERT_EQ(pair.post(pair.wqe(WrOpcode::kRead, 128, 64, length, 3)), PostResult::kOk);
  pair.run();
  EXPECT_EQ(std::memcmp(pair.a.bytes.data() + 128, pair.b.bytes.data() + 64, length), 0);
  ASSERT_EQ(pair.a.cqes.size(), 1u);
  EXPECT_EQ(pair.a.cqes[0].opcode, WcOpcode::kRead);
  EXPECT_EQ(pair.a.cqes[0].byte_len, length);
  const Rate rate = pair.config.link_rate;
  EXPECT_EQ(pair.a.cqes[0].time, Time::zero() + wire_time(74_B, rate) + pair.config.link_delay +
                                     response_time(length, rate) + pair.config.link_delay);
  ASSERT_EQ(pair.a.trace.of(TraceKind::kPlaced).size(), 1u);
  EXPECT_EQ(pair.sent([](const Departure& d) { return d.side == 0; }).size(), 1u);
  EXPECT_EQ(pair.b.nic.counters().rx_read_requests, 1u);
}

TEST(NicReadTest, ResponsesCarryTheRequestsPsnsAndTheNextMessageFollowsThem) {
  NicPair pair;
  pair.connect(kPsn);
  pair.post(pair.wqe(WrOpcode::kRead, 0, 0, 3 * kMtu));
  pair.post(pair.wqe(WrOpcode::kWrite, 8000, 8000, 10));
  pair.run();
  EXPECT_EQ(pair.story(0, kPsn), "RC_RDMA_READ_REQUEST+0 RC_RDMA_WRITE_ONLY+3");
  EXPECT_EQ(pair.story(1, kPsn),
            "RC_RDMA_READ_RESPONSE_FIRST+0 RC_RDMA_READ_RESPONSE_MIDDLE+1 RC_RDMA_READ_RESPONSE_LAST+2 "
            "RC_ACKNOWLEDGE+3");
  EXPECT_EQ(pair.log.back().packet.roce.msn, Msn{2});
  ASSERT_EQ(pair.a.cqes.size(), 2u);
  EXPECT_EQ(pair.a.cqes[0].opcode, WcOpcode::kRead);
}

TEST(NicReadTest, KeepsNoMoreReadsOutstandingThanMaxRdAtomic) {
  NicPair pair;
  pair.attr.max_rd_atomic = 2;
  pair.connect(kPsn);
  pair.b.fill(0, 5000, 1);
  for (std::size_t i = 0; i < 5; ++i) pair.post(pair.wqe(WrOpcode::kRead, i * 1000, i * 1000, 1000, i));
  int outstanding = 0, most = 0;
  pair.lose = [&](const Departure& d) {
    outstanding += d.side == 0 ? 1 : -1;  // a response that leaves is as good as finished for this count
    most = std::max(most, outstanding);
    return false;
  };
  pair.run();
  EXPECT_EQ(most, 2);
  ASSERT_EQ(pair.a.cqes.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(pair.a.cqes[i].wr_id, i);
  EXPECT_EQ(std::memcmp(pair.a.bytes.data(), pair.b.bytes.data(), 5000), 0);
}

TEST(NicReadTest, FenceWaitsForReadsBeforeIt) {
  NicPair pair;
  pair.connect(kPsn);
  pair.post(pair.wqe(WrOpcode::kRead, 0, 0, 20 * kMtu));
  SendWqe fenced = pair.wqe(WrOpcode::kWrite, 0, 100'000, 10);
  fenced.fence = true;
  pair.post(fenced);
  pair.run();
  ASSERT_EQ(pair.a.cqes.size(), 2u);
  const auto writes = pair.sent([](const Departure& d) { return d.packet.roce.opcode == 0x0a; });
  ASSERT_EQ(writes.size(), 1u);
  EXPECT_EQ(writes[0].at, pair.a.cqes[0].time);
}

// --- loss. 8 responses; the k-th is lost. A later one tells; after the last only the timeout does.
class ReadLossTest : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(EachResponse, ReadLossTest, testing::Range(1, 9));

TEST_P(ReadLossTest, RequestsAgainFromTheMissingPacket) {
  NicPair pair;
  pair.attr.timeout = 8;
  pair.connect(kPsn);
  const std::uint32_t length = 8 * kMtu - 100;
  pair.b.fill(0, length, 11);
  const auto k = static_cast<std::uint32_t>(GetParam());
  pair.lose = lose_data(1, {GetParam()});
  pair.post(pair.wqe(WrOpcode::kRead, 0, 0, length));
  pair.run();
  ASSERT_EQ(pair.a.cqes.size(), 1u);
  EXPECT_EQ(pair.a.cqes[0].status, WcStatus::kSuccess);
  EXPECT_EQ(std::memcmp(pair.a.bytes.data(), pair.b.bytes.data(), length), 0);
  const auto requests = pair.sent([](const Departure& d) { return d.side == 0; });
  ASSERT_EQ(requests.size(), 2u);
  const RoceHeaders& again = requests[1].packet.roce;
  EXPECT_EQ(again.psn, Psn(kPsn + k - 1));
  EXPECT_EQ(again.va, pair.b.addr((k - 1) * kMtu));
  EXPECT_EQ(again.dma_length, length - (k - 1) * kMtu);
  EXPECT_EQ(pair.a.nic.counters().implied_nak_seq_err, k < 8 ? 1u : 0u);
  EXPECT_EQ(pair.a.nic.counters().local_ack_timeout_err, k < 8 ? 0u : 1u);
  EXPECT_EQ(pair.a.trace.of(TraceKind::kPlaced).size(), 1u);
  EXPECT_EQ(pair.b.nic.counters().retransmitted_packets, 9 - k);
  EXPECT_EQ(pair.b.nic.counters().nack_retransmissions, 9 - k);
}

// Several READs are requested again, of which the responder still has the last ones to answer for the first
// time.
TEST(NicReadTest, RepeatedReadsAreAnsweredInTheOrderInWhichTheyAreAskedFor) {
  for (int lost = 1; lost <= 64; ++lost) {
    NicPair pair;
    pair.attr.timeout = 8;
    pair.connect(kPsn);
    pair.b.fill(0, 64 * kMtu, 11);
    pair.lose = lose_data(1, {lost});
    for (std::uint32_t i = 0; i < 16; ++i)
      pair.post(pair.wqe(WrOpcode::kRead, i * 4 * kMtu, i * 4 * kMtu, 4 * kMtu, i + 1));
    pair.run();
    ASSERT_EQ(pair.a.cqes.size(), 16u);
    for (const Cqe& cqe : pair.a.cqes) EXPECT_EQ(cqe.status, WcStatus::kSuccess);
    EXPECT_EQ(std::memcmp(pair.a.bytes.data(), pair.b.bytes.data(), 64 * kMtu), 0);
    EXPECT_EQ(pair.a.nic.counters().local_ack_timeout_err, lost < 64 ? 0u : 1u) << "response " << lost;
  }
}

TEST(NicReadTest, ALostRequestIsRepairedByTheTimeout) {
  NicPair pair;
  pair.attr.timeout = 8;
  pair.connect(kPsn);
  pair.b.fill(0, 3000, 1);
  pair.lose = lose_data(0, {1});
  pair.post(pair.wqe(WrOpcode::kRead, 0, 0, 3000));
  pair.run();
  EXPECT_EQ(std::memcmp(pair.a.bytes.data(), pair.b.bytes.data(), 3000), 0);
  EXPECT_EQ(pair.a.nic.counters().local_ack_timeout_err, 1u);
}

TEST(NicReadTest, AnAckBeyondALostResponseImpliesANak) {
  NicPair pair;
  pair.connect(kPsn);
  pair.b.fill(0, 500, 1);
  pair.lose = lose_data(1, {1});
  pair.post(pair.wqe(WrOpcode::kRead, 0, 0, 500, 1));
  pair.post(pair.wqe(WrOpcode::kWrite, 1000, 1000, 500, 2));
  pair.run();
  EXPECT_EQ(pair.story(0, kPsn),
            "RC_RDMA_READ_REQUEST+0 RC_RDMA_WRITE_ONLY+1 RC_RDMA_READ_REQUEST+0 RC_RDMA_WRITE_ONLY+1");
  ASSERT_EQ(pair.a.cqes.size(), 2u);
  EXPECT_EQ(pair.a.cqes[0].wr_id, 1u);
  EXPECT_EQ(pair.a.cqes[1].wr_id, 2u);
  EXPECT_EQ(pair.a.nic.counters().implied_nak_seq_err, 1u);
  EXPECT_EQ(std::memcmp(pair.a.bytes.data(), pair.b.bytes.data(), 500), 0);
}

TEST(NicReadTest, APeerThatRestartsAResponseInItsMiddleIsUnderstood) {
  // Linux rxe answers a repeated request with READ RESPONSE MIDDLE where the standard begins with FIRST
  // (captures, loss_read_resp_mid).
  NicPair pair;
  pair.connect(kPsn);
  pair.b.fill(0, 8000, 1);
  pair.lose = [n = 0](const Departure& d) mutable {
    if (d.side != 1) return false;
    ++n;
    auto& packet = const_cast<Packet&>(d.packet);
    if (n > 8 && packet.roce.opcode == 0x0d) packet.roce.opcode = 0x0e;
    return n == 4;
  };
  pair.post(pair.wqe(WrOpcode::kRead, 0, 0, 8000));
  pair.run();
  ASSERT_EQ(pair.a.cqes.size(), 1u);
  EXPECT_EQ(pair.a.cqes[0].status, WcStatus::kSuccess);
}

TEST(NicReadTest, BothDirectionsShareAPortFairly) {
  // b answers a long READ and sends a WRITE of its own on the same QP: packet by packet in turn.
  NicPair pair;
  pair.connect(kPsn);
  pair.post(pair.wqe(WrOpcode::kRead, 0, 0, 100 * kMtu));
  SendWqe w = pair.wqe(WrOpcode::kWrite, 0, 0, 100 * kMtu);
  w.sge[0] = {pair.b.addr(200'000), 100 * kMtu, pair.b.key};
  w.remote_addr = pair.a.addr(200'000), w.rkey = pair.a.key;
  pair.run_until(Time::zero() + 3_us);
  ASSERT_EQ(pair.b.nic.post_send(pair.b.qp, w, pair.now()), PostResult::kOk);
  pair.run();
  int responses = 0, writes = 0;
  for (const Departure& d : pair.log) {
    if (d.side != 1 || d.packet.kind != PacketKind::kData) continue;
    const bool write = opcode_info(d.packet.roce.opcode).is_write();
    ++(write ? writes : responses);
    if (responses > 5 && responses < 95) {
      EXPECT_NEAR(responses, writes, 5);
    }
  }
  EXPECT_EQ(responses, 100);
  EXPECT_EQ(writes, 100);
}

}  // namespace
}  // namespace rocelab
