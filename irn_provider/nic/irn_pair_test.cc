// Every operation in IRN mode against every kind of loss, between two Nics with a fake clock.
#include "irn_provider/nic/irn_pair.h"

#include <gtest/gtest.h>

#include "base/wire/aeth.h"

namespace rocelab {
namespace {

// What is lost of the data packets of the side that sources the payload, by ordinal from 1, retransmissions
// included.
struct LossCase {
  const char* name;
  std::uint32_t length;
  std::vector<int> lost;
  bool needs_timeout;  // no packet behind the loss tells of it
};
void PrintTo(const LossCase& c, std::ostream* out) { *out << c.name; }

class IrnLossTest : public testing::TestWithParam<std::tuple<WrOpcode, LossCase>> {};
INSTANTIATE_TEST_SUITE_P(
    EachOperation, IrnLossTest,
    testing::Combine(
        testing::ValuesIn(kAllOperations),
        testing::Values(LossCase{"NothingEmpty", 0, {}, false}, LossCase{"NothingOne", 1, {}, false},
                        LossCase{"NothingLong", 300 * kIrnMtu + 7, {}, false},
                        LossCase{"Single", 100, {1}, true}, LossCase{"First", 8 * kIrnMtu, {1}, false},
                        LossCase{"Middle", 8 * kIrnMtu, {4}, false}, LossCase{"Last", 8 * kIrnMtu, {8}, true},
                        LossCase{"Burst", 20 * kIrnMtu, {3, 4, 5, 6, 7}, false},
                        LossCase{"Scattered", 50 * kIrnMtu, {1, 7, 8, 20, 33, 49}, false},
                        LossCase{"AllButTheLast", 8 * kIrnMtu, {1, 2, 3, 4, 5, 6, 7}, false},
                        LossCase{"TheWholeMessage", 3 * kIrnMtu, {1, 2, 3}, true},
                        LossCase{"TheRetransmission", 8 * kIrnMtu, {4, 9}, true},
                        LossCase{"TheRetransmissionTwice", 8 * kIrnMtu, {4, 9, 10}, true})),
    [](const auto& test) { return name_of(std::get<0>(test.param)) + std::get<1>(test.param).name; });

TEST_P(IrnLossTest, IsDeliveredAndNothingIsResentThatWasNotLost) {
  const auto& [opcode, loss] = GetParam();
  IrnPair pair;
  const int source = opcode == WrOpcode::kRead ? 1 : 0;
  pair.lose = lose_data(source, loss.lost);
  pair.post_message(opcode, loss.length);
  pair.run();
  pair.expect_all_delivered();
  pair.expect_nothing_superfluous();
  const NicCounters& c = source == 0 ? pair.a.nic.counters() : pair.b.nic.counters();
  EXPECT_EQ(c.retransmitted_packets, loss.lost.size()) << "each drop is repaired by one packet";
  EXPECT_EQ(pair.a.nic.counters().spurious_retransmissions + pair.b.nic.counters().spurious_retransmissions,
            0u);
  EXPECT_EQ(c.timeout_retransmissions > 0, loss.needs_timeout);
  const std::uint64_t timeouts = c.rto_low_timeouts + c.rto_high_timeouts + c.read_responder_timeouts;
  EXPECT_EQ(timeouts > 0, loss.needs_timeout);
}

TEST(IrnPairTest, ALostReadRequestIsRepairedByItsTimer) {
  IrnPair pair;
  pair.lose = lose_data(0, {1, 2});
  pair.post_message(WrOpcode::kRead, 3 * kIrnMtu);
  pair.run();
  pair.expect_all_delivered();
  pair.expect_nothing_superfluous();
  EXPECT_EQ(pair.a.nic.counters().rto_low_timeouts, 2u);
}

TEST(IrnPairTest, MessagesOfAllKindsCompleteInOrderOverLossInBothDirections) {
  IrnPair pair;
  const auto lose_requests =
      std::make_shared<std::function<bool(const Departure&)>>(lose_data(0, {2, 5, 11, 12, 30}));
  const auto lose_responses =
      std::make_shared<std::function<bool(const Departure&)>>(lose_data(1, {1, 2, 9, 17}));
  pair.lose = [=](const Departure& d) { return d.side == 0 ? (*lose_requests)(d) : (*lose_responses)(d); };
  for (int round = 0; round < 4; ++round)
    for (WrOpcode opcode : kAllOperations) pair.post_message(opcode, 5 * kIrnMtu / 2);
  pair.run();
  pair.expect_all_delivered();
  pair.expect_nothing_superfluous();
  EXPECT_GT(pair.b.nic.counters().ooo_placed_packets, 0u);
  EXPECT_GT(pair.b.nic.counters().premature_cqes, 0u);
}

TEST(IrnPairTest, LostAcksCostNothingWhileLaterOnesArrive) {
  IrnPair pair;
  pair.lose = lose_acks(1, {1, 2, 3, 5, 7});
  pair.post_message(WrOpcode::kWrite, 8 * kIrnMtu);
  pair.run();
  pair.expect_all_delivered();
  EXPECT_EQ(pair.a.nic.counters().retransmitted_packets, 0u);
}

TEST(IrnPairTest, ALostLastAckIsAskedForAgainAndTheDuplicateIsCounted) {
  IrnPair pair;
  pair.lose = lose_acks(1, {3});
  pair.post_message(WrOpcode::kSend, 3 * kIrnMtu);
  pair.run();
  pair.expect_all_delivered();
  EXPECT_EQ(pair.a.nic.counters().timeout_retransmissions, 1u);
  EXPECT_EQ(pair.b.nic.counters().spurious_retransmissions, 1u);
  EXPECT_EQ(pair.b.trace.of(TraceKind::kDuplicate).size(), 1u);
  EXPECT_EQ(pair.b.trace.of(TraceKind::kPlaced).size(), 1u);
}

TEST(IrnPairTest, ALostLastReadAckIsAskedForAgainByTheResponder) {
  IrnPair pair;
  pair.lose = lose_acks(0, {3});
  pair.post_message(WrOpcode::kRead, 3 * kIrnMtu);
  pair.run();
  pair.expect_all_delivered();
  EXPECT_EQ(pair.b.nic.counters().timeout_retransmissions, 1u);
  EXPECT_EQ(pair.b.nic.counters().read_responder_timeouts, 1u);
  EXPECT_EQ(pair.a.nic.counters().spurious_retransmissions, 1u);
}

TEST(IrnPairTest, EveryPacketIsAnsweredAndReadsUseAPsnSpaceOfTheirOwn) {
  IrnPair pair;
  pair.post_message(WrOpcode::kWrite, 2 * kIrnMtu);
  pair.post_message(WrOpcode::kRead, 2 * kIrnMtu);
  pair.post_message(WrOpcode::kWrite, 10);
  pair.run();
  EXPECT_EQ(pair.story(0, kIrnPsn),
            "IRN_RDMA_WRITE_FIRST+0 IRN_RDMA_WRITE_LAST+1 IRN_RDMA_READ_REQUEST+2 IRN_RDMA_WRITE_ONLY+3 "
            "IRN_READ_ACK+1 IRN_READ_ACK+2");
  EXPECT_EQ(pair.story(1, kIrnPsn),
            "IRN_ACKNOWLEDGE+1 IRN_ACKNOWLEDGE+2 IRN_ACKNOWLEDGE+3 IRN_RDMA_READ_RESPONSE_FIRST+0 "
            "IRN_ACKNOWLEDGE+4 "
            "IRN_RDMA_READ_RESPONSE_LAST+1");
  pair.expect_all_delivered();
}

TEST(IrnPairTest, CarriesWhatOutOfOrderPlacementNeedsInEveryPacket) {
  IrnPair pair;
  pair.post_message(WrOpcode::kWrite, 2 * kIrnMtu + 5);
  pair.post_message(WrOpcode::kSend, kIrnMtu + 1);
  pair.post_message(WrOpcode::kSend, 1);
  pair.run();
  std::vector<RoceHeaders> h;
  for (const Departure& d : pair.sent([](const Departure& x) { return x.side == 0; }))
    h.push_back(d.packet.roce);
  ASSERT_EQ(h.size(), 6u);
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(h[i].va, pair.b.addr() + i * kIrnMtu);
    EXPECT_EQ(h[i].dma_length, 2 * kIrnMtu + 5 - i * kIrnMtu);
  }
  EXPECT_EQ(h[3].wqe_sn, 0u);
  EXPECT_EQ(h[4].wqe_sn, 0u);
  EXPECT_EQ(h[4].offset, 1u);
  EXPECT_EQ(h[5].wqe_sn, 1u);
}

TEST(IrnPairTest, OneDropDrawsOneNackPerLaterPacketAndOneRetransmission) {
  IrnPair pair;
  pair.lose = lose_data(0, {2});
  pair.post_message(WrOpcode::kWrite, 6 * kIrnMtu);
  pair.run();
  EXPECT_EQ(pair.story(1, kIrnPsn),
            "IRN_ACKNOWLEDGE+1 IRN_NACK+1 IRN_NACK+1 IRN_NACK+1 IRN_NACK+1 IRN_ACKNOWLEDGE+6");
  EXPECT_EQ(pair.retransmitted(0), (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(pair.a.nic.counters().packet_seq_err, 4u);
  EXPECT_EQ(pair.b.nic.counters().ooo_placed_packets, 4u);
}

TEST(IrnPairTest, ARoceNicAndAnIrnNicEndInARetryErrorAtBothEnds) {
  NicConfig roce;
  NicPair pair(irn_config(), roce, 1 << 16);
  pair.attr.timeout = 1;  // 8.192 us
  pair.attr.retry_cnt = 3;
  pair.connect(kIrnPsn);
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 100));
  SendWqe back = pair.wqe(WrOpcode::kWrite, 0, 0, 100, 2);
  back.sge[0] = {pair.b.addr(), 100, pair.b.key};
  back.remote_addr = pair.a.addr(), back.rkey = pair.a.key;
  ASSERT_EQ(pair.b.nic.post_send(pair.b.qp, back, pair.now()), PostResult::kOk);
  pair.run();
  ASSERT_EQ(pair.a.cqes.size(), 1u);
  EXPECT_EQ(pair.a.cqes[0].status, WcStatus::kRetryExcErr);
  ASSERT_EQ(pair.b.cqes.size(), 1u);
  EXPECT_EQ(pair.b.cqes[0].status, WcStatus::kRetryExcErr);
  EXPECT_GT(pair.a.nic.counters().rx_wrong_mode, 0u);
  EXPECT_GT(pair.b.nic.counters().rx_wrong_mode, 0u);
}

}  // namespace
}  // namespace rocelab
