// The laws by which a NIC writes slack, and that every frame carries it.
#include "irn_provider/nic/slack_source.h"

#include <gtest/gtest.h>

#include <map>

#include "base/wire/shim_slack.h"
#include "irn_provider/nic/pair_fixture.h"

namespace rocelab {
namespace {

constexpr std::uint32_t kMtu = 1024;
Time at(Duration d) { return Time::zero() + d; }

SlackConfig config_of(SlackLaw law) {
  SlackConfig config;
  config.law = law;
  config.value = 7_us, config.per_packet = 2_us, config.acks = 3_ns, config.rate = 8_Gbps;
  return config;
}

TEST(SlackSourceTest, LawsWithoutMemory) {
  SlackSource constant(config_of(SlackLaw::kConstant)), size(config_of(SlackLaw::kFlowSize)),
      remaining(config_of(SlackLaw::kRemaining));
  EXPECT_EQ(constant.of_data(0, 10, 4, 1000_B, at(0_us)), (7_us).ps());
  EXPECT_EQ(size.of_data(0, 10, 4, 1000_B, at(0_us)), (20_us).ps());
  EXPECT_EQ(remaining.of_data(0, 10, 4, 1000_B, at(0_us)), (8_us).ps());
  EXPECT_EQ(size.of_data(0, 0, 0, 74_B, at(0_us)), (2_us).ps()) << "a request is a message of one packet";
  for (SlackSource* source : {&constant, &size, &remaining})
    EXPECT_EQ(source->of_answer(0, 62_B, at(0_us)), (3_ns).ps());
}

// A flow of datagrams is many messages: its size is told.
TEST(SlackSourceTest, AnAnnouncedFlowIsOneOverAllItsMessages) {
  SlackSource size(config_of(SlackLaw::kFlowSize)), remaining(config_of(SlackLaw::kRemaining));
  for (SlackSource* source : {&size, &remaining}) source->announce(3, 2);
  for (const int left : {2, 1, 1}) {  // more than was announced: the last
    EXPECT_EQ(size.of_data(3, 1, 1, 1000_B, at(0_us)), (4_us).ps());
    EXPECT_EQ(remaining.of_data(3, 1, 1, 1000_B, at(0_us)), left * (2_us).ps());
  }
  EXPECT_EQ(size.of_data(2, 1, 1, 1000_B, at(0_us)), (2_us).ps()) << "another queue pair";
  size.forget(3);
  EXPECT_EQ(size.of_data(3, 1, 1, 1000_B, at(0_us)), (2_us).ps()) << "a new queue pair in its slot";
}

// 5.2.3, by hand: frames of 976 B are 1000 B on the wire, 1 us at r_est.
TEST(SlackSourceTest, TheVirtualClockIsWhatAFlowIsAheadOfItsRate) {
  SlackSource source(config_of(SlackLaw::kVirtualClock));
  EXPECT_EQ(source.of_data(0, 9, 9, 976_B, at(10_us)), 0) << "the first packet";
  EXPECT_EQ(source.of_data(0, 9, 8, 976_B, at(10_us) + 100_ns), (900_ns).ps());
  EXPECT_EQ(source.of_data(0, 9, 7, 476_B, at(10_us) + 200_ns), (1'300_ns).ps()) << "half as long";
  EXPECT_EQ(source.of_data(0, 9, 6, 976_B, at(13_us)), 0) << "behind its rate";
  EXPECT_EQ(source.of_data(0, 9, 5, 976_B, at(13_us)), (1_us).ps()) << "and counts from there";
  EXPECT_EQ(source.of_answer(0, 976_B, at(13_us)), 0) << "answers are a flow of their own";
  EXPECT_EQ(source.of_answer(0, 976_B, at(13_us)), (1_us).ps());
  EXPECT_EQ(source.of_data(1, 9, 9, 976_B, at(13_us)), 0) << "and so is another queue pair";
  source.forget(0);
  EXPECT_EQ(source.of_data(0, 9, 9, 976_B, at(13_us)), 0) << "a new queue pair in its slot";
}

TEST(SlackSourceTest, MoreThanAFrameCanCarryIsTheMostThatItCan) {
  SlackConfig config = config_of(SlackLaw::kFlowSize);
  config.per_packet = Duration::from_ps(Slack::kMost);
  EXPECT_EQ(SlackSource(config).of_data(0, 1u << 23, 1, 1000_B, at(0_us)), Slack::kMost);
  config = config_of(SlackLaw::kVirtualClock);
  config.rate = Rate::from_bps(1);
  SlackSource slow(config);
  for (int i = 0; i < 1000; ++i) EXPECT_LE(slow.of_data(0, 9, 9, 9000_B, at(0_us)), Slack::kMost);
}

class NicSlackTest : public ::testing::TestWithParam<TransportMode> {};

// The receiver's trace tells the slacks as they were written: nothing waits on the way.
TEST_P(NicSlackTest, EveryFrameCarriesSlackAndDataThatOfItsMessage) {
  NicConfig config = rocelab::config_of(GetParam());
  config.slack = config_of(SlackLaw::kRemaining);
  NicPair pair(config), plain(rocelab::config_of(GetParam()));
  for (NicPair* p : {&pair, &plain}) {
    p->connect();
    p->post(p->wqe(WrOpcode::kWrite, 0, 0, 3 * kMtu, 1));
    p->post(p->wqe(WrOpcode::kRead, 0, 0, 2 * kMtu, 2));
    p->run();
  }
  ASSERT_EQ(pair.a.cqes.size(), 2u);
  ASSERT_EQ(pair.log.size(), plain.log.size());
  std::multiset<std::uint32_t> lengths, expected;
  for (const Departure& d : pair.log) {
    EXPECT_TRUE(d.packet.roce.has_slack);
    lengths.insert(d.packet.frame_length);
  }
  for (const Departure& d : plain.log) expected.insert(d.packet.frame_length + kSlackShimBytes);
  EXPECT_EQ(lengths, expected);

  const auto slacks = [](const Endpoint& e) {
    std::vector<std::int64_t> all;
    for (const TraceRecord& r : e.trace.of(TraceKind::kSlack))
      all.push_back(static_cast<std::int64_t>(r.bytes));
    return all;
  };
  const std::int64_t two = (2_us).ps();
  EXPECT_EQ(slacks(pair.b), (std::vector<std::int64_t>{3 * two, 2 * two, two, two})) << "WRITE, READ request";
  EXPECT_EQ(slacks(pair.a), (std::vector<std::int64_t>{2 * two, two})) << "READ responses";
  EXPECT_EQ(pair.b.nic.counters().rx_slack_packets, 4u);
  EXPECT_EQ(pair.b.nic.counters().rx_overdue_packets, 0u);
  EXPECT_EQ(plain.b.nic.counters().rx_slack_packets, 0u);
  EXPECT_TRUE(plain.b.trace.of(TraceKind::kSlack).empty());
}

TEST_P(NicSlackTest, ANegativeRestIsOverdue) {
  NicConfig config = rocelab::config_of(GetParam());
  config.slack = config_of(SlackLaw::kConstant);
  config.slack.value = 0_us - 1_ps;
  NicPair pair(config);
  pair.connect();
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 3 * kMtu, 1));
  pair.run();
  EXPECT_EQ(pair.b.nic.counters().rx_overdue_packets, 3u);
  for (const TraceRecord& r : pair.b.trace.of(TraceKind::kSlack)) EXPECT_EQ(r.mark, 1);
}

INSTANTIATE_TEST_SUITE_P(Modes, NicSlackTest, ::testing::Values(TransportMode::kRoce, TransportMode::kIrn),
                         [](const auto& mode) { return mode.param == TransportMode::kIrn ? "irn" : "roce"; });

}  // namespace
}  // namespace rocelab
