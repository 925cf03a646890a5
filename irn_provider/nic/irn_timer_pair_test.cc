// Timers and bounds of IRN between two Nics: RTO_low and RTO_high to the picosecond, the verbs timeout, the
// BDP cap.
#include <gtest/gtest.h>

#include "irn_provider/nic/irn_pair.h"

namespace rocelab {
namespace {

constexpr Time kT0 = Time::zero();

std::size_t data_from(const NicPair& pair, int side) {
  return pair.sent([&](const Departure& d) { return d.side == side && d.packet.kind == PacketKind::kData; })
      .size();
}
std::function<bool(const Departure&)> lose_all_from(int side) {
  return [side](const Departure& d) { return d.side == side; };
}

TEST(IrnTimerTest, AtMostNPacketsInFlightAreRepairedAtRtoLowExactly) {
  for (const std::uint32_t packets : {1u, 3u}) {
    IrnPair pair;
    pair.lose = lose_all_from(0);
    pair.post_message(WrOpcode::kWrite, packets * kIrnMtu);
    pair.run_until(kT0 + 100_us);
    EXPECT_EQ(data_from(pair, 0), packets) << "nothing up to one picosecond before the deadline";
    pair.run_until(kT0 + 100_us + 1_ps);
    ASSERT_EQ(data_from(pair, 0), packets + 1) << "one packet at the deadline";
    EXPECT_EQ(pair.log.back().at, kT0 + 100_us);
    EXPECT_EQ(pair.retransmitted(0), (std::vector<std::uint32_t>{0}));
    EXPECT_EQ(pair.a.nic.counters().rto_low_timeouts, 1u);
  }
}

TEST(IrnTimerTest, MoreThanNPacketsInFlightWaitForRtoHigh) {
  IrnPair pair;
  pair.lose = lose_all_from(0);
  pair.post_message(WrOpcode::kWrite, 4 * kIrnMtu);
  pair.run_until(kT0 + 320_us);
  EXPECT_EQ(data_from(pair, 0), 4u) << "extended at RTO_low, silent up to one picosecond before RTO_high";
  pair.run_until(kT0 + 320_us + 1_ps);
  ASSERT_EQ(data_from(pair, 0), 5u);
  EXPECT_EQ(pair.log.back().at, kT0 + 320_us);
  EXPECT_EQ(pair.a.nic.counters().rto_low_timeouts, 0u);
  EXPECT_EQ(pair.a.nic.counters().rto_high_timeouts, 1u);
}

TEST(IrnTimerTest, TheReadResponderHasTheSameTimers) {
  IrnPair pair;
  pair.lose = [](const Departure& d) { return d.side == 1 && d.packet.kind == PacketKind::kData; };
  pair.post_message(WrOpcode::kRead, 2 * kIrnMtu);
  pair.run_until(kT0 + 50_us);
  const Time first = pair.sent([](const Departure& d) { return d.dropped; }).at(0).at;
  pair.run_until(first + 100_us);
  EXPECT_EQ(data_from(pair, 1), 2u);
  pair.run_until(first + 100_us + 1_ps);
  EXPECT_EQ(data_from(pair, 1), 3u);
  EXPECT_EQ(pair.retransmitted(1), (std::vector<std::uint32_t>{0}));
  const auto timeouts = pair.b.trace.of(TraceKind::kTimeout);
  ASSERT_EQ(timeouts.size(), 1u);
  EXPECT_EQ(timeouts[0].mark, 2) << "read responder";
}

TEST(IrnTimerTest, RecoveryTimersNeverConsumeRetries) {
  IrnPair pair;
  pair.attr.retry_cnt = 0;
  pair.bring_down_and_up();
  pair.lose = lose_data(0, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  pair.post_message(WrOpcode::kSend, 100);
  pair.run();
  pair.expect_all_delivered();
  EXPECT_EQ(pair.a.nic.counters().rto_low_timeouts, 12u);
  EXPECT_EQ(pair.a.nic.counters().local_ack_timeout_err, 0u);
}

TEST(IrnTimerTest, OnlyPeriodsOfTheVerbsTimeoutWithoutProgressEndTheQp) {
  for (const WrOpcode opcode : kAllOperations) {
    IrnPair pair;
    pair.attr.timeout = 8;  // 1048.576 us
    pair.attr.retry_cnt = 2;
    pair.bring_down_and_up();
    pair.lose = lose_all_from(0);
    pair.post_message(opcode, 100);
    pair.run();
    ASSERT_EQ(pair.a.cqes.size(), 1u) << name_of(opcode);
    EXPECT_EQ(pair.a.cqes[0].status, WcStatus::kRetryExcErr);
    EXPECT_EQ(pair.a.cqes[0].time, kT0 + 3 * 1'048'576_ns);
    EXPECT_EQ(pair.a.nic.counters().local_ack_timeout_err, 3u);
  }
}

TEST(IrnTimerTest, AReadWhoseResponsesNeverComeEndsAtBothSides) {
  IrnPair pair;
  pair.attr.timeout = 8;
  pair.attr.retry_cnt = 2;
  pair.bring_down_and_up();
  pair.lose = [](const Departure& d) { return d.side == 1 && d.packet.kind == PacketKind::kData; };
  pair.post_message(WrOpcode::kRead, 100);
  pair.run();  // and so the responder does not resend for ever
  ASSERT_EQ(pair.a.cqes.size(), 1u);
  EXPECT_EQ(pair.a.cqes[0].status, WcStatus::kRetryExcErr);
  EXPECT_GT(pair.b.nic.counters().read_responder_timeouts, 20u);
}

// What a program does when its READ is complete does not keep the responder waiting for the acknowledgement.
TEST(IrnTimerTest, AReadThatIsCompleteIsAcknowledgedThoughTheQueuePairLeavesForErr) {
  IrnPair pair;
  pair.on_cqe = [](NicPair& p, Endpoint& e, const Cqe&) {
    QpAttr attr = *e.nic.query_qp(e.qp);
    attr.state = QpState::kErr;
    ASSERT_TRUE(e.nic.modify_qp(e.qp, attr, p.now()));
  };
  pair.post_message(WrOpcode::kRead, 3000);
  pair.run();
  pair.expect_all_delivered();
  EXPECT_EQ(pair.b.nic.counters().read_responder_timeouts, 0u);
  EXPECT_EQ(pair.a.nic.counters().rx_packets, 4u);
}

// A responder need not know how patient its peer is: its own timeout is for what it sends as a requester.
void bring_up_with_responder_timeout(IrnPair& pair, std::uint8_t timeout, std::uint8_t retry_cnt) {
  ASSERT_TRUE(pair.a.nic.modify_qp(pair.a.qp, QpAttr{}, pair.now()));
  ASSERT_TRUE(pair.b.nic.modify_qp(pair.b.qp, QpAttr{}, pair.now()));
  pair.attr.timeout = 12;  // 16.8 ms
  pair.bring_up(pair.a, pair.a.qp, pair.b.qp, kIrnPsn, kIrnPsn + 0x100);
  pair.attr.timeout = timeout, pair.attr.retry_cnt = retry_cnt;
  pair.bring_up(pair.b, pair.b.qp, pair.a.qp, kIrnPsn + 0x100, kIrnPsn);
}

NicConfig config_with_timers(bool recovery_timers) {
  NicConfig config = irn_config();
  config.recovery_timers = recovery_timers;
  return config;
}

// No response arrives until the responder has long given up.
void read_through_an_outage(IrnPair& pair) {
  bring_up_with_responder_timeout(pair, 6, 1);  // 0.26 ms, twice
  pair.lose = [](const Departure& d) { return d.side == 1 && d.packet.kind == PacketKind::kData; };
  pair.post_message(WrOpcode::kRead, 5000);
  pair.run_until(pair.now() + 5_ms);
  const std::size_t sent = data_from(pair, 1);
  pair.run_until(pair.now() + 5_ms);
  EXPECT_EQ(data_from(pair, 1), sent) << "it has given up";
  pair.lose = [](const Departure&) { return false; };
}

TEST(IrnTimerTest, AReadResponderThatHasGivenUpGoesOnWithTheNextRead) {
  for (const bool timers : {true, false}) {
    IrnPair pair(config_with_timers(timers));
    read_through_an_outage(pair);
    pair.post_message(WrOpcode::kRead, 3000);
    pair.run_until(pair.now() + 1_ms);
    pair.expect_all_delivered();
    EXPECT_EQ(pair.a.nic.counters().local_ack_timeout_err, 0u);
  }
}

TEST(IrnTimerTest, ARequesterWhoseResponsesDoNotComeAsksForThemAgain) {
  for (const bool timers : {true, false}) {
    IrnPair pair(config_with_timers(timers));
    read_through_an_outage(pair);
    pair.run();
    pair.expect_all_delivered();
    EXPECT_EQ(pair.a.nic.counters().local_ack_timeout_err, 1u);
  }
}

TEST(IrnTimerTest, AReadResponderWithLessPatienceThanARoundTripAnswersAll) {
  NicConfig config = irn_config();
  config.link_delay = 30_us;
  IrnPair pair(config);
  bring_up_with_responder_timeout(pair, 1, 0);  // 8 us
  pair.lose = lose_data(1, {3, 30, 200});
  for (const std::uint32_t length : {100u, 200 * kIrnMtu, 100u}) pair.post_message(WrOpcode::kRead, length);
  pair.run();
  pair.expect_all_delivered();
}

TEST(IrnTimerTest, WithRecoveryTimersOffTheVerbsTimeoutIsTheGuard) {
  for (const WrOpcode opcode : {WrOpcode::kWrite, WrOpcode::kRead}) {
    NicConfig config = irn_config();
    config.recovery_timers = false;
    IrnPair pair(config);
    pair.attr.timeout = 8;
    pair.bring_down_and_up();
    const int source = opcode == WrOpcode::kRead ? 1 : 0;
    pair.lose = lose_data(source, {2, 3});
    pair.post_message(opcode, 3 * kIrnMtu);
    pair.run_until(kT0 + 1_ms);
    EXPECT_EQ(data_from(pair, source), 3u) << name_of(opcode);
    pair.run();
    pair.expect_all_delivered();
    const NicCounters& c = source == 0 ? pair.a.nic.counters() : pair.b.nic.counters();
    EXPECT_EQ(c.timeout_retransmissions, 2u);
    EXPECT_EQ(c.retransmitted_packets, 2u);
    EXPECT_EQ(pair.a.nic.counters().rto_low_timeouts + pair.a.nic.counters().rto_high_timeouts, 0u);
  }
}

// A path so long that the whole window leaves before the first answer returns.
TEST(IrnTimerTest, ExactlyTheBdpCapLeavesBeforeTheFirstAnswer) {
  for (const WrOpcode opcode : {WrOpcode::kWrite, WrOpcode::kSend, WrOpcode::kRead}) {
    NicConfig config = irn_config(IrnConfig{.rto_high = 10_ms, .rto_low = 10_ms, .bdp_cap = 110});
    config.link_delay = 100_us;
    IrnPair pair(config);
    const int source = opcode == WrOpcode::kRead ? 1 : 0;
    pair.post_message(opcode, 300 * kIrnMtu);
    pair.run_until(kT0 + (source == 0 ? 200_us : 300_us));
    EXPECT_EQ(data_from(pair, source), 110u) << name_of(opcode);
    pair.run();
    pair.expect_all_delivered();
    pair.expect_nothing_superfluous();
  }
}

TEST(IrnTimerTest, TheCapHoldsAtEveryDepartureUnderLoss) {
  IrnPair pair(irn_config(IrnConfig{.bdp_cap = 20}));
  Rng rng(5);
  UnwrappedPsn una = kIrnPsn, highest = kIrnPsn;
  std::size_t seen = 0;
  std::int64_t most = 0;
  pair.lose = [&](const Departure& d) {
    // The sender's una is the highest cumulative value that has reached it: all that reaches it here are
    // answers.
    for (const auto& records = pair.a.trace.records; seen < records.size(); ++seen)
      if (records[seen].kind == TraceKind::kDeliver) una = std::max(una, unwrap(Psn(records[seen].psn), una));
    if (d.side == 0) {
      highest = std::max(highest, unwrap(d.packet.roce.psn, una) + 1);
      most = std::max(most, highest - una);
    }
    return d.side == 0 && rng.bernoulli(0.05);
  };
  pair.post_message(WrOpcode::kWrite, 1000 * kIrnMtu);
  pair.run();
  pair.expect_all_delivered();
  EXPECT_EQ(most, 20);
}

}  // namespace
}  // namespace rocelab
