// IRN between two Nics where order matters: messages that complete early, receive WQEs that are missing,
// credits, networks that reorder.
#include <gtest/gtest.h>

#include "base/wire/aeth.h"
#include "irn_provider/nic/irn_pair.h"

namespace rocelab {
namespace {

constexpr Time kT0 = Time::zero();
constexpr Duration kRnrWait = 640_us;  // min_rnr_timer 12, IBTA table 45

std::vector<Departure> rnr_naks(const NicPair& pair) {
  return pair.sent([](const Departure& d) {
    return d.side == 1 && d.packet.kind == PacketKind::kAck && is_rnr_nak(d.packet.roce.syndrome);
  });
}

TEST(IrnOrderTest, AMessageCompleteBeforeTheHoleInTheOneBeforeItWaitsForItsCqe) {
  IrnPair pair;
  pair.lose = lose_data(0, {2});
  pair.post_message(WrOpcode::kSend, 3 * kIrnMtu);
  pair.post_message(WrOpcode::kSendImm, 100);
  pair.post_message(WrOpcode::kWriteImm, 2 * kIrnMtu);
  Time hole_filled = Time::never();
  pair.on_cqe = [&](NicPair& p, Endpoint& at, const Cqe& cqe) {
    if (&at != &p.b) return;
    hole_filled = std::min(hole_filled, cqe.time);
    EXPECT_EQ(cqe.time, hole_filled) << "all three at once";
  };
  pair.run();
  pair.expect_all_delivered();
  pair.expect_nothing_superfluous();
  EXPECT_EQ(pair.b.nic.counters().premature_cqes, 3u)
      << "the first message's own last packet came before its hole was filled too";
  const auto resent = pair.sent([](const Departure& d) { return d.packet.retransmission; });
  ASSERT_EQ(resent.size(), 1u);
  EXPECT_GT(hole_filled, resent[0].at);
}

TEST(IrnOrderTest, AReadBehindALostWriteReadsWhatTheWriteWrote) {
  IrnPair pair;
  pair.lose = lose_data(0, {1});
  pair.a.fill(0, 500, 1);
  pair.b.fill(0, 500, 2);
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 500, 1));
  pair.post(pair.wqe(WrOpcode::kRead, 4096, 0, 500, 2));
  pair.run();
  ASSERT_EQ(pair.a.cqes.size(), 2u);
  EXPECT_EQ(pair.a.cqes[0].wr_id, 1u);
  EXPECT_EQ(std::memcmp(pair.a.bytes.data() + 4096, pair.a.bytes.data(), 500), 0);
}

TEST(IrnOrderTest, AShortReadDoesNotOvertakeALongWriteInTheCompletionQueue) {
  IrnPair pair;
  pair.lose =
      lose_acks(1, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10});  // the WRITE's ACKs are late, the READ's response is not
  pair.post_message(WrOpcode::kWrite, 10 * kIrnMtu);
  pair.post_message(WrOpcode::kRead, 10);
  pair.run();
  pair.expect_all_delivered();
  EXPECT_EQ(pair.a.nic.counters().retransmitted_packets, 0u)
      << "a response proves that what was before it has arrived";
}

TEST(IrnOrderTest, WithoutAReceiveWqeTheMessageWaitsAndGoesBackN) {
  IrnPair pair;
  pair.a.fill(0, 3 * kIrnMtu, 4);
  pair.post(pair.wqe(WrOpcode::kSend, 0, 0, 3 * kIrnMtu));
  pair.run_until(kT0 + 100_us);
  ASSERT_EQ(rnr_naks(pair).size(), 1u) << "only the packet that is expected draws one";
  EXPECT_EQ(rnr_naks(pair)[0].packet.roce.psn, Psn(kIrnPsn));
  EXPECT_EQ(pair.b.nic.counters().probe_drops, 2u) << "the packets behind it";
  pair.post_receive(0, 3 * kIrnMtu);
  pair.run();
  ASSERT_EQ(pair.b.cqes.size(), 1u);
  EXPECT_EQ(pair.b.cqes[0].byte_len, 3 * kIrnMtu);
  EXPECT_EQ(std::memcmp(pair.a.bytes.data(), pair.b.bytes.data(), 3 * kIrnMtu), 0);
  EXPECT_EQ(pair.retransmitted(0), (std::vector<std::uint32_t>{0, 1, 2}));
  const Time arrived = rnr_naks(pair)[0].at + wire_time(62_B, pair.config.link_rate) + pair.config.link_delay;
  EXPECT_EQ(pair.sent([](const Departure& d) { return d.packet.retransmission; })[0].at, arrived + kRnrWait);
  EXPECT_EQ(pair.a.nic.counters().rto_low_timeouts + pair.a.nic.counters().rto_high_timeouts, 0u)
      << "the recovery timer stands still while the peer is known to be not ready";
}

TEST(IrnOrderTest, GoBackNDoesNotResendWhatWasPlacedOutOfOrder) {
  IrnPair pair;
  pair.a.fill(0, 8 * kIrnMtu, 4);
  pair.post(pair.wqe(WrOpcode::kSend, 0, 0, kIrnMtu, 1));  // meets no receive WQE
  pair.post(pair.wqe(WrOpcode::kWrite, kIrnMtu, kIrnMtu, 4 * kIrnMtu, 2));
  pair.run_until(kT0 + 100_us);
  pair.post_receive(0, kIrnMtu);
  pair.run();
  EXPECT_EQ(pair.retransmitted(0), (std::vector<std::uint32_t>{0}));
  EXPECT_EQ(std::memcmp(pair.a.bytes.data(), pair.b.bytes.data(), 5 * kIrnMtu), 0);
  ASSERT_EQ(pair.a.cqes.size(), 2u);
  EXPECT_EQ(pair.a.cqes[1].wr_id, 2u);
}

TEST(IrnOrderTest, RnrRetriesRunOut) {
  IrnPair pair;
  pair.attr.rnr_retry = 2;
  pair.bring_down_and_up();
  pair.post(pair.wqe(WrOpcode::kSend, 0, 0, 100));
  pair.run();
  ASSERT_EQ(pair.a.cqes.size(), 1u);
  EXPECT_EQ(pair.a.cqes[0].status, WcStatus::kRnrRetryExcErr);
  EXPECT_EQ(rnr_naks(pair).size(), 3u);
}

// The example of Mittal, 4.4.4: one receive WQE, two SENDs, the first lost, the second a probe.
TEST(IrnOrderTest, AProbeOutOfOrderIsNeitherPlacedNorAnswered) {
  IrnPair pair;
  pair.lose = lose_data(0, {1});
  pair.a.fill(0, 200, 6);
  pair.post_receive(0, 100, 1);
  pair.post(pair.wqe(WrOpcode::kSend, 0, 0, 100, 1));
  pair.post(pair.wqe(WrOpcode::kSend, 100, 0, 100, 2));
  pair.run_until(kT0 + 90_us);
  EXPECT_EQ(pair.b.nic.counters().probe_drops, 1u);
  EXPECT_EQ(pair.story(1, kIrnPsn), "");
  pair.run_until(kT0 + 150_us);
  ASSERT_EQ(pair.b.cqes.size(), 1u);
  EXPECT_EQ(std::memcmp(pair.a.bytes.data(), pair.b.bytes.data(), 100), 0);
  pair.post_receive(100, 100, 2);
  pair.run();
  ASSERT_EQ(pair.b.cqes.size(), 2u);
  EXPECT_EQ(std::memcmp(pair.a.bytes.data(), pair.b.bytes.data(), 200), 0);
}

TEST(IrnOrderTest, WithoutACreditOnlyTheFirstPacketOfASendGoesAsAProbe) {
  IrnPair pair;
  pair.post_receive(0, 100 * kIrnMtu, 1);
  pair.post(
      pair.wqe(WrOpcode::kSend, 0, 0, 100 * kIrnMtu, 1));  // so long that its first ACK comes before its end
  pair.post(pair.wqe(WrOpcode::kSend, 0, 0, 10 * kIrnMtu, 2));
  pair.run_until(kT0 + 100_us);
  const auto second = pair.sent([](const Departure& d) { return d.side == 0 && d.packet.roce.wqe_sn == 1; });
  EXPECT_EQ(second.size(), 1u);
  EXPECT_EQ(rnr_naks(pair).size(), 1u);
  EXPECT_EQ(pair.b.nic.counters().probe_drops, 0u);
  pair.post_receive(0, 10 * kIrnMtu, 2);
  pair.run();
  EXPECT_EQ(pair.b.cqes.size(), 2u);
  EXPECT_EQ(pair.retransmitted(0), (std::vector<std::uint32_t>{100}));
}

TEST(IrnOrderTest, WhatWouldBeRefusedOutOfOrderIsRefusedOnceItIsExpected) {
  IrnPair pair;
  pair.lose = lose_data(0, {1});
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 10, 1));
  SendWqe bad = pair.wqe(WrOpcode::kWrite, 0, 0, 10, 2);
  bad.rkey = RKey{0xbad};
  pair.post(bad);
  pair.run();
  ASSERT_EQ(pair.a.cqes.size(), 2u);
  EXPECT_EQ(pair.a.cqes[0].status, WcStatus::kSuccess) << "the lost one before it is repaired first";
  EXPECT_EQ(pair.a.cqes[1].status, WcStatus::kRemAccessErr);
  EXPECT_EQ(pair.b.nic.counters().probe_drops, 1u);
}

// As in RoCE mode, where the responses are ahead of the NAK (IBTA 9.9.2: what is before the refused request
// has been executed).
TEST(IrnOrderTest, AReadBeforeARefusedRequestIsAnswered) {
  for (const int lost : {0, 1, 30, 60}) {
    IrnPair pair;
    pair.b.fill(0, 60 * kIrnMtu, 3);
    pair.lose = lose_data(1, {lost});
    pair.post(pair.wqe(WrOpcode::kRead, 0, 0, 60 * kIrnMtu, 1));
    SendWqe bad = pair.wqe(WrOpcode::kWrite, 0, 0, 10, 2);
    bad.rkey = RKey{0xbad};
    pair.post(bad);
    pair.run();
    ASSERT_EQ(pair.a.cqes.size(), 2u);
    EXPECT_EQ(pair.a.cqes[0].status, WcStatus::kSuccess);
    EXPECT_EQ(pair.a.cqes[1].status, WcStatus::kRemAccessErr);
    EXPECT_EQ(std::memcmp(pair.a.bytes.data(), pair.b.bytes.data(), 60 * kIrnMtu), 0);
  }
}

// Every 10th packet is overtaken by the next two: two NACKs, then it arrives.
TEST(IrnOrderTest, ANackThresholdAboveTheReorderingKeepsItFromLookingLikeLoss) {
  for (const std::uint32_t threshold : {1u, 3u}) {
    IrnPair pair(irn_config(IrnConfig{.nack_threshold = threshold}));
    pair.overtaken_by = [](const Departure& d) {
      return d.side == 0 && (d.packet.roce.psn.value() - kIrnPsn) % 10 == 5 && !d.packet.retransmission ? 2
                                                                                                        : 0;
    };
    pair.post_message(WrOpcode::kWrite, 300 * kIrnMtu);
    pair.run();
    pair.expect_all_delivered();
    EXPECT_EQ(pair.b.nic.counters().out_of_sequence, 60u);
    if (threshold == 1) {
      EXPECT_EQ(pair.a.nic.counters().retransmitted_packets, 30u);
      EXPECT_EQ(pair.b.nic.counters().spurious_retransmissions, 30u);
    } else {
      EXPECT_EQ(pair.a.nic.counters().retransmitted_packets, 0u);
    }
  }
}

TEST(IrnOrderTest, ReadsGoOnWhenTheirReadAcksAreLost) {
  IrnPair pair;
  pair.attr.max_rd_atomic = pair.attr.max_dest_rd_atomic = 2;
  pair.bring_down_and_up();
  int n = 0;
  pair.lose = [&n](const Departure& d) {
    return d.side == 0 && d.packet.kind == PacketKind::kAck && ++n % 3 != 0;
  };
  for (int i = 0; i < 30; ++i) pair.post_message(WrOpcode::kRead, 2 * kIrnMtu + 1);
  pair.run();
  pair.expect_all_delivered();
  EXPECT_EQ(pair.b.nic.counters().probe_drops, 0u);
}

}  // namespace
}  // namespace rocelab
