// Random operations over a link that loses frames at random: whatever is lost, every message arrives whole,
// once and in order, and every WQE completes. Seeds are fixed and printed; a failure names the seed.
#include <gtest/gtest.h>

#include "irn_provider/nic/pair_fixture.h"

namespace rocelab {
namespace {

struct Mix {
  TransportMode mode;
  double loss;
  Duration roce_rto;
};

class RandomLossTest : public testing::TestWithParam<std::tuple<Mix, int>> {};
INSTANTIATE_TEST_SUITE_P(
    SeedsAndRates, RandomLossTest,
    testing::Combine(testing::Values(Mix{TransportMode::kRoce, 0.0, Duration::infinite()},
                                     Mix{TransportMode::kRoce, 0.01, Duration::infinite()},
                                     Mix{TransportMode::kRoce, 0.1, 320_us},
                                     Mix{TransportMode::kIrn, 0.0, 320_us},
                                     Mix{TransportMode::kIrn, 0.01, 320_us},
                                     Mix{TransportMode::kIrn, 0.1, 320_us}),
                     testing::Range(1, 6)));

constexpr int kMessages = 120;
constexpr std::size_t kSlot = 12'000;

struct Plan {
  WrOpcode opcode;
  std::uint32_t length;
};

// Every operation has a slot of its own on both sides, so that all of memory can be compared at the end.
std::vector<Plan> draw(Rng& rng) {
  std::vector<Plan> plans;
  for (int i = 0; i < kMessages; ++i) {
    constexpr WrOpcode kOpcodes[] = {WrOpcode::kSend, WrOpcode::kSendImm, WrOpcode::kWrite,
                                     WrOpcode::kWriteImm, WrOpcode::kRead};
    const WrOpcode opcode = kOpcodes[rng.below(5)];
    const std::uint32_t sizes[] = {0,    1,    100,  1023,
                                   1024, 1025, 5000, static_cast<std::uint32_t>(rng.below(kSlot))};
    plans.push_back({opcode, sizes[rng.below(8)]});
  }
  return plans;
}

bool takes_receive_wqe(const Plan& plan) {
  return plan.opcode != WrOpcode::kWrite && plan.opcode != WrOpcode::kRead;
}

TEST_P(RandomLossTest, EveryMessageArrivesWholeOnceAndInOrder) {
  const auto& [mix, seed] = GetParam();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng = Rng(static_cast<std::uint64_t>(seed)).fork("random-loss");
  NicConfig config;
  config.mode = mix.mode;
  config.roce_rto = mix.roce_rto;
  NicPair pair(config);
  pair.attr.timeout = 10;
  pair.connect(0xffffe0);
  const std::vector<Plan> plans = draw(rng);
  pair.a.fill(0, kMessages * kSlot, 1);
  pair.b.fill(0, kMessages * kSlot, 2);
  const std::vector<std::byte> source_a = pair.a.bytes, source_b = pair.b.bytes;

  // Receive WQEs come late now and then, so that RNR NAKs mix in.
  std::vector<std::size_t> receives;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    ASSERT_EQ(pair.post(pair.wqe(plans[i].opcode, i * kSlot, i * kSlot, plans[i].length, i)),
              PostResult::kOk);
    if (takes_receive_wqe(plans[i])) receives.push_back(i);
  }
  Rng losses = rng.fork("losses");
  pair.lose = [&losses, loss = mix.loss](const Departure&) { return losses.bernoulli(loss); };
  for (const std::size_t i : receives) {
    if (rng.below(4) == 0) pair.run_until(pair.now() + 30_us);
    ASSERT_EQ(pair.post_receive(i * kSlot, kSlot, i), PostResult::kOk);
  }
  pair.run();

  ASSERT_EQ(pair.a.cqes.size(), plans.size());
  for (std::size_t i = 0; i < plans.size(); ++i) {
    EXPECT_EQ(pair.a.cqes[i].wr_id, i);
    EXPECT_EQ(pair.a.cqes[i].status, WcStatus::kSuccess);
    const bool read = plans[i].opcode == WrOpcode::kRead;
    const std::byte* from = (read ? source_b : source_a).data() + i * kSlot;
    const std::byte* to = (read ? pair.a.bytes : pair.b.bytes).data() + i * kSlot;
    EXPECT_EQ(std::memcmp(from, to, plans[i].length), 0) << "message " << i;
    const std::byte* untouched = (read ? source_a : source_b).data() + i * kSlot;
    EXPECT_EQ(std::memcmp(untouched + plans[i].length, to + plans[i].length, kSlot - plans[i].length), 0)
        << i;
  }
  ASSERT_EQ(pair.b.cqes.size(), receives.size());
  for (std::size_t i = 0; i < receives.size(); ++i) {
    EXPECT_EQ(pair.b.cqes[i].wr_id, receives[i]);
    EXPECT_EQ(pair.b.cqes[i].byte_len, plans[receives[i]].length);
  }
  EXPECT_EQ(pair.a.pool.in_use(), 0u);
  EXPECT_EQ(pair.b.pool.in_use(), 0u);
  EXPECT_EQ(pair.a.nic.counters().retransmitted_packets,
            pair.a.nic.counters().nack_retransmissions + pair.a.nic.counters().timeout_retransmissions);
  if (mix.loss >= 0.1) {
    EXPECT_GT(pair.a.nic.counters().retransmitted_packets, 10u);  // the losses were real
  }
  if (mix.loss == 0.0) {
    const std::size_t placed =
        pair.a.trace.of(TraceKind::kPlaced).size() + pair.b.trace.of(TraceKind::kPlaced).size();
    EXPECT_EQ(placed, plans.size());
    EXPECT_EQ(pair.a.nic.counters().local_ack_timeout_err, 0u);
  }
}

// The same seed gives the same run, record by record.
TEST(NicRandomTest, TheSameSeedGivesTheSameTrace) {
  const auto run = [](std::uint64_t seed) {
    NicPair pair;
    pair.attr.timeout = 10;
    pair.connect(0xfffff0);
    Rng losses(seed);
    pair.lose = [&losses](const Departure&) { return losses.bernoulli(0.05); };
    for (std::uint64_t i = 0; i < 50; ++i)
      pair.post(pair.wqe(i % 3 == 0 ? WrOpcode::kRead : WrOpcode::kWrite, 0, 0, 5000, i));
    pair.run();
    return std::pair(pair.a.trace.records, pair.b.trace.records);
  };
  const auto same = [](const std::vector<TraceRecord>& x, const std::vector<TraceRecord>& y) {
    return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(TraceRecord)) == 0;
  };
  const auto first = run(3), second = run(3), other = run(4);
  EXPECT_TRUE(same(first.first, second.first) && same(first.second, second.second));
  EXPECT_FALSE(same(first.first, other.first));
}

}  // namespace
}  // namespace rocelab
