// The switches of the factor analysis (Mittal, 4.3.3) between two Nics: each does what its name says, and
// nothing without loss.
#include <gtest/gtest.h>

#include "irn_provider/nic/irn_pair.h"

namespace rocelab {
namespace {

const std::vector<std::pair<const char*, IrnConfig>> kFactors = {
    {"Irn", IrnConfig{}},
    {"GoBackN", IrnConfig{.go_back_n = true}},
    {"NoBdpFc", IrnConfig{.bdp_cap = 0}},
    {"NoSack", IrnConfig{.sack = false}},
    {"GoBackNWithoutBdpFc", IrnConfig{.bdp_cap = 0, .go_back_n = true}},
    {"Threshold3", IrnConfig{.nack_threshold = 3}},
    {"CapOfOne", IrnConfig{.bdp_cap = 1}},
    {"DynamicRto", IrnConfig{.dynamic_rto = true}},
    {"Fetched", IrnConfig{.retransmit_fetch = 2_us}},
    {"Tcp", IrnConfig{.bdp_cap = 0, .tcp = true}},
};

class IrnFactorTest : public testing::TestWithParam<std::size_t> {
 protected:
  NicConfig config() const { return irn_config(kFactors[GetParam()].second); }
};
INSTANTIATE_TEST_SUITE_P(Each, IrnFactorTest, testing::Range<std::size_t>(0, kFactors.size()),
                         [](const auto& test) { return kFactors[test.param].first; });

TEST_P(IrnFactorTest, ResendsNothingWithoutLoss) {
  IrnPair pair(config());
  for (WrOpcode opcode : kAllOperations) pair.post_message(opcode, 70 * kIrnMtu + 3);
  pair.run();
  pair.expect_all_delivered();
  for (const Endpoint* e : {&pair.a, &pair.b}) {
    EXPECT_EQ(e->nic.counters().retransmitted_packets, 0u);
    EXPECT_EQ(e->nic.counters().out_of_sequence, 0u);
    EXPECT_EQ(e->nic.counters().spurious_retransmissions, 0u);
  }
}

TEST_P(IrnFactorTest, DeliversEverythingUnderRandomLoss) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(seed);
    IrnPair pair(config());
    Rng rng(seed);
    pair.lose = [&](const Departure&) { return rng.bernoulli(0.05); };
    for (WrOpcode opcode : kAllOperations) pair.post_message(opcode, 40 * kIrnMtu + 3);
    pair.run();
    pair.expect_all_delivered();
  }
}

TEST(IrnFactorPairTest, GoBackNResendsAllBehindTheLossAndPlacesNothingOutOfOrder) {
  IrnPair pair(irn_config(IrnConfig{.go_back_n = true}));
  pair.lose = lose_data(0, {4});
  pair.post_message(WrOpcode::kWrite, 8 * kIrnMtu);
  pair.run();
  pair.expect_all_delivered();
  EXPECT_EQ(pair.retransmitted(0), (std::vector<std::uint32_t>{3, 4, 5, 6, 7}));
  EXPECT_EQ(pair.b.nic.counters().ooo_placed_packets, 0u);
  EXPECT_EQ(pair.a.nic.counters().packet_seq_err, 1u);
}

TEST(IrnFactorPairTest, GoBackNResendsReadResponsesToo) {
  IrnPair pair(irn_config(IrnConfig{.go_back_n = true}));
  pair.lose = lose_data(1, {4});
  pair.post_message(WrOpcode::kRead, 8 * kIrnMtu);
  pair.run();
  pair.expect_all_delivered();
  EXPECT_EQ(pair.retransmitted(1), (std::vector<std::uint32_t>{3, 4, 5, 6, 7}));
}

TEST(IrnFactorPairTest, WithoutSackEachFurtherLossCostsARoundTrip) {
  std::vector<Time> done;
  for (const bool sack : {true, false}) {
    NicConfig config = irn_config(IrnConfig{.sack = sack});
    config.link_delay = 20_us;
    IrnPair pair(config);
    pair.lose = lose_data(0, {2, 4, 6});
    pair.post_message(WrOpcode::kWrite, 10 * kIrnMtu);
    pair.run();
    pair.expect_all_delivered();
    EXPECT_EQ(pair.retransmitted(0), (std::vector<std::uint32_t>{1, 3, 5}));
    done.push_back(pair.a.cqes.at(0).time);
  }
  const Duration round_trip = 2 * 20_us, serialisation = 10 * wire_time(1100_B, 40_Gbps);
  EXPECT_GT(done[1] - done[0], 2 * round_trip - serialisation) << "two more round trips";
  EXPECT_LT(done[1] - done[0], 2 * round_trip + serialisation);
}

// 4.5.3: the NACK begins the fetch; the packet leaves 2 us later, and nothing new before it.
TEST(IrnFactorPairTest, AResentPacketLeavesTwoMicrosecondsAfterItWasFoundToBeLost) {
  for (const WrOpcode opcode : {WrOpcode::kWrite, WrOpcode::kRead}) {
    const int source = opcode == WrOpcode::kRead ? 1 : 0;
    std::array<Time, 2> resent;
    for (const bool fetched : {false, true}) {
      NicConfig config = irn_config(IrnConfig{.bdp_cap = 8, .retransmit_fetch = fetched ? 2_us : 0_us});
      config.link_delay = 5_us;
      IrnPair pair(config);
      pair.lose = lose_data(source, {2});
      pair.post_message(opcode, 30 * kIrnMtu);
      pair.run();
      pair.expect_all_delivered();
      const auto again = pair.sent([](const Departure& d) { return d.packet.retransmission; });
      ASSERT_EQ(again.size(), 1u);
      resent[fetched] = again[0].at;
      const auto meanwhile = pair.sent([&](const Departure& d) {
        return d.side == source && d.packet.kind == PacketKind::kData && d.at > resent[0] && d.at < resent[1];
      });
      if (fetched) {
        EXPECT_TRUE(meanwhile.empty());
      }
    }
    EXPECT_EQ(resent[1] - resent[0], 2_us);
  }
}

// 4.5.3: with two losses the look-ahead fetches the second while the first leaves.
TEST(IrnFactorPairTest, EachResentPacketIsFetchedWhenTheOneBeforeItLeaves) {
  IrnPair pair(irn_config(IrnConfig{.retransmit_fetch = 2_us}));
  pair.lose = lose_data(0, {2, 3});
  pair.post_message(WrOpcode::kWrite, 60 * kIrnMtu);
  pair.run();
  pair.expect_all_delivered();
  const auto again = pair.sent([](const Departure& d) { return d.packet.retransmission; });
  ASSERT_EQ(again.size(), 2u);
  EXPECT_EQ(again[1].at - again[0].at, 2_us);
}

TEST(IrnFactorPairTest, WithoutBdpFcMoreThanAnyCapIsInFlight) {
  NicConfig config = irn_config(IrnConfig{.rto_high = 10_ms, .rto_low = 10_ms, .bdp_cap = 0});
  config.link_delay = 100_us;
  IrnPair pair(config);
  pair.post_message(WrOpcode::kWrite, 850 * kIrnMtu);
  pair.run_until(Time::zero() + 200_us);
  EXPECT_EQ(pair.sent([](const Departure& d) { return d.side == 0; }).size(), 850u)
      << "all of it left before the first answer";
  pair.run();
  pair.expect_all_delivered();
}

}  // namespace
}  // namespace rocelab
