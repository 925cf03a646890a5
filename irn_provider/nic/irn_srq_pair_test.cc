// IRN with a shared receive queue: numbers are given to its WQEs as packets need them, also out of order, and
// a WRITE with immediate data takes one when all of it is there. Source: Mittal, 4.4.4 (support for shared
// receive queues).
#include <gtest/gtest.h>

#include "base/wire/aeth.h"
#include "irn_provider/nic/srq_pair.h"

namespace rocelab {
namespace {

using Ids = std::vector<std::uint64_t>;
constexpr Duration kRnrWait = 640_us;  // min_rnr_timer 12, IBTA table 45

// The chapter's example: number 0 comes, 1 to 3 are lost, 4 comes; the QP dequeues 1, 2, 3 and 4 then.
TEST(IrnSrqTest, APacketOutOfOrderDequeuesAllWqesUpToItsNumber) {
  SrqPair pair(TransportMode::kIrn);
  const auto second = pair.add_connection();
  for (std::uint64_t i = 0; i < 6; ++i) pair.post_shared(i * 2048, 1000, i);
  for (std::uint64_t i = 0; i < 5; ++i) {
    pair.a.fill(i * 2048, 1000, i + 1);
    pair.post(pair.wqe(WrOpcode::kSend, i * 2048, 0, 1000, i));
  }
  pair.lose = lose_data(0, {2, 3, 4});
  pair.run_until(pair.now() + 4_us);  // all five have left, number 4 has arrived
  // 0 to 4 belong to the first QP: the other one gets 5 although its message is complete before.
  pair.a.nic.post_send(second.first, pair.wqe(WrOpcode::kSend, 0, 0, 10, 9), pair.now());
  pair.run();
  EXPECT_EQ(pair.received().size(), 6u);
  for (const Cqe& cqe : pair.b.cqes) EXPECT_EQ(cqe.qpn, cqe.wr_id == 5 ? second.second : pair.b.qp);
  EXPECT_EQ(pair.b.nic.counters().ooo_placed_packets, 1u);
  EXPECT_EQ(pair.a.nic.counters().retransmitted_packets, 3u);
  for (std::size_t i = 0; i < 5; ++i)
    EXPECT_EQ(std::memcmp(pair.a.bytes.data() + i * 2048, pair.b.bytes.data() + i * 2048, 1000), 0) << i;
}

// It cannot have number 1 without number 0, and there is only one WQE.
TEST(IrnSrqTest, APacketOutOfOrderThatTheQueueCannotServeTakesNothingAndIsDropped) {
  SrqPair pair(TransportMode::kIrn);
  pair.post_shared(0, 1000, 7);
  pair.lose = lose_data(0, {1});
  pair.post(pair.wqe(WrOpcode::kSend, 0, 0, 100, 1));
  pair.post(pair.wqe(WrOpcode::kSend, 0, 0, 100, 2));
  pair.run_until(pair.now() + 10_us);
  EXPECT_EQ(pair.b.nic.counters().probe_drops, 1u);
  pair.to_error(pair.b, pair.b.qp);
  EXPECT_EQ(pair.received(), Ids{}) << "nothing was dequeued, so nothing is flushed";
}

TEST(IrnSrqTest, AWriteWithImmediateTakesItsWqeWhenAllOfItIsThere) {
  SrqPair pair(TransportMode::kIrn);
  const auto second = pair.add_connection();
  pair.post_shared(0, 0, 10);
  pair.lose = lose_data(0, {1});
  pair.a.fill(0, 3000, 1);
  pair.post(pair.wqe(WrOpcode::kWriteImm, 0, 0, 3000, 1));  // its last packet comes before its first
  pair.run_until(pair.now() + 4_us);
  pair.a.nic.post_send(second.first, pair.wqe(WrOpcode::kSend, 0, 0, 0, 2), pair.now());
  pair.run_until(pair.now() + 50_us);
  EXPECT_EQ(pair.received(), (Ids{10}));
  EXPECT_EQ(pair.b.cqes[0].opcode, WcOpcode::kRecv) << "the WQE was still in the SRQ when the SEND came";
  pair.post_shared(0, 0, 11);
  pair.run();
  EXPECT_EQ(pair.received(), (Ids{10, 11}));
  EXPECT_EQ(pair.b.cqes[1].opcode, WcOpcode::kRecvWriteImm);
  EXPECT_EQ(pair.b.cqes[1].byte_len, 3000u);
  EXPECT_EQ(std::memcmp(pair.a.bytes.data(), pair.b.bytes.data(), 3000), 0);
}

// A WQE that a SEND behind it has made the QP dequeue is the WRITE's: the first that is outstanding.
TEST(IrnSrqTest, AWriteWithImmediateExpiresTheFirstWqeThatIsOutstanding) {
  SrqPair pair(TransportMode::kIrn);
  pair.post_shared(0, 100, 20);
  pair.post_shared(4096, 100, 21);
  pair.lose = lose_data(0, {1});
  pair.a.fill(8192, 100, 3);
  pair.post(pair.wqe(WrOpcode::kWriteImm, 0, 16'384, 2000, 1));
  pair.post(pair.wqe(WrOpcode::kSend, 8192, 0, 100, 2));
  pair.run();
  EXPECT_EQ(pair.received(), (Ids{20, 21}));
  EXPECT_EQ(pair.b.cqes[0].opcode, WcOpcode::kRecvWriteImm);
  EXPECT_EQ(pair.b.cqes[1].opcode, WcOpcode::kRecv);
  EXPECT_EQ(std::memcmp(pair.a.bytes.data() + 8192, pair.b.bytes.data() + 4096, 100), 0);
}

// Three WRITEs with immediate data become whole at once, and the SRQ has one WQE: the second one's last
// packet counts as not arrived, draws the RNR NAK that it would have drawn in order, and is sent again.
TEST(IrnSrqTest, AMessageThatFindsNoWqeWhenItIsWholeWaitsForOne) {
  SrqPair pair(TransportMode::kIrn);
  pair.post_shared(0, 0, 30);
  pair.lose = lose_data(0, {1});
  pair.a.fill(0, 12'000, 1);
  for (std::uint64_t i = 0; i < 3; ++i) pair.post(pair.wqe(WrOpcode::kWriteImm, i * 4000, i * 4000, 3000, i));
  pair.run_until(pair.now() + 100_us);
  EXPECT_EQ(pair.received(), (Ids{30}));
  EXPECT_EQ(pair.b.nic.counters().out_of_buffer, 1u);
  const auto naks = pair.sent([](const Departure& d) {
    return d.side == 1 && d.packet.kind == PacketKind::kAck && is_rnr_nak(d.packet.roce.syndrome);
  });
  ASSERT_EQ(naks.size(), 1u);
  EXPECT_EQ(naks[0].packet.roce.psn, Psn(SrqPair::kPsn + 5)) << "the second message's last packet";
  pair.post_shared(0, 0, 31);
  pair.post_shared(0, 0, 32);
  pair.run();
  EXPECT_EQ(pair.received(), (Ids{30, 31, 32}));
  EXPECT_GE(pair.b.cqes[1].time, naks[0].at + kRnrWait);
  ASSERT_EQ(pair.a.cqes.size(), 3u);
  for (const Cqe& cqe : pair.a.cqes) EXPECT_EQ(cqe.status, WcStatus::kSuccess);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(std::memcmp(pair.a.bytes.data() + i * 4000, pair.b.bytes.data() + i * 4000, 3000), 0) << i;
  // The packet that was lost, and what the RNR NAK took back; what lies behind had been acknowledged.
  EXPECT_EQ(pair.a.nic.counters().retransmitted_packets, 2u);
}

// The same when that RNR NAK is lost: the sender's timer finds out.
TEST(IrnSrqTest, ATakenBackPacketIsRepairedAlsoWhenItsNakIsLost) {
  SrqPair pair(TransportMode::kIrn);
  const auto lose_first = lose_data(0, {1});
  int naks = 0;
  pair.lose = [&, lose_first](const Departure& d) mutable {
    const bool nak = d.side == 1 && d.packet.kind == PacketKind::kAck && is_rnr_nak(d.packet.roce.syndrome);
    return lose_first(d) || (nak && ++naks == 1);
  };
  for (std::uint64_t i = 0; i < 2; ++i) pair.post(pair.wqe(WrOpcode::kWriteImm, i * 4000, i * 4000, 3000, i));
  pair.run_until(pair.now() + 50_us);
  EXPECT_EQ(naks, 1);
  pair.post_shared(0, 0, 1);
  pair.post_shared(0, 0, 2);
  pair.run();
  EXPECT_EQ(pair.received(), (Ids{1, 2}));
  EXPECT_EQ(pair.a.cqes.size(), 2u);
}

// Random losses both ways, messages of all kinds, WQEs that come late: everything arrives, each WQE once.
TEST(IrnSrqTest, RandomLossesLoseAndRepeatNothing) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    SrqPair pair(TransportMode::kIrn);
    Rng rng(seed);
    pair.lose = [&](const Departure&) { return rng.below(100) < 10; };
    constexpr std::uint64_t kMessages = 30;
    constexpr WrOpcode kOpcodes[] = {WrOpcode::kSend, WrOpcode::kWriteImm, WrOpcode::kWrite};
    pair.a.fill(0, kMessages * 4096, seed);
    std::uint64_t takers = 0;
    for (std::uint64_t i = 0; i < kMessages; ++i) {
      const WrOpcode opcode = kOpcodes[rng.below(3)];
      const auto length = static_cast<std::uint32_t>(rng.below(4000));
      ASSERT_EQ(pair.post(pair.wqe(opcode, i * 4096, i * 4096, length, i)), PostResult::kOk);
      takers += opcode != WrOpcode::kWrite;
    }
    for (std::uint64_t posted = 0; posted < takers;) {
      if (pair.post_shared(1 << 20, 4096, posted) == PostResult::kOk) ++posted;
      if (rng.below(3) == 0) pair.run_until(pair.now() + 200_us);
    }
    pair.run();
    ASSERT_EQ(pair.a.cqes.size(), kMessages);
    for (std::uint64_t i = 0; i < kMessages; ++i) EXPECT_EQ(pair.a.cqes[i].wr_id, i);
    const Ids ids = pair.received();
    ASSERT_EQ(ids.size(), takers);
    for (std::uint64_t i = 0; i < takers; ++i) EXPECT_EQ(ids[i], i);
    EXPECT_EQ(pair.b.nic.query_qp(pair.b.qp)->state, QpState::kRts);
  }
}

}  // namespace
}  // namespace rocelab
