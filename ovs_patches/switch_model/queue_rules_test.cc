// Orders and full rules of queues: of EgressQueues alone, and as the whole switch shows them.
#include <algorithm>
#include <map>
#include <numeric>

#include "ovs_patches/switch_model/mechanisms/escape.h"
#include "ovs_patches/switch_model/queue.h"
#include "ovs_patches/switch_model/switch_flow.h"
#include "ovs_patches/switch_model/test_support.h"

namespace rocelab {
namespace {

using namespace switch_test;

struct Ordered {
  explicit Ordered(QueueOrder order, FullRule full = FullRule::kRefuse) : queues(4, QueueOrder::kFifo) {
    queues.set_rules(tc(0), {order, full}, Rng(7));
  }
  EgressQueues::Queue& queue() { return queues.at(port(1), tc(0)); }
  void push(std::uint32_t flow, std::uint32_t psn, Bytes length = 100_B, std::int64_t rank = 0) {
    PacketRef packet = make_packet(pool, length, 0, flow, psn);
    packet->roce.dest = Qpn{flow};
    queues.push(queue(), port(0), kNoShare, length, std::move(packet), rank);
  }
  std::uint32_t pop() {
    const Bytes announced = queues.head_length(port(1), tc(0));
    const QueuedFrame frame = queues.pop(queue());
    EXPECT_EQ(announced, frame.packet->frame());
    return frame.packet->roce.psn.value();
  }
  std::vector<std::uint32_t> drain() {
    std::vector<std::uint32_t> psns;
    while (queue().frames > 0) psns.push_back(pop());
    EXPECT_EQ(queue().bytes, 0_B);
    EXPECT_EQ(pool.in_use(), 0u);
    return psns;
  }
  PacketPool pool;
  EgressQueues queues;
};

TEST(QueueRulesTest, LifoSendsTheLatestArrivalFirst) {
  Ordered f(QueueOrder::kLifo);
  for (const std::uint32_t psn : {1u, 2u, 3u}) f.push(1, psn);
  EXPECT_EQ(f.pop(), 3u);
  f.push(1, 4);
  EXPECT_EQ(f.drain(), (std::vector<std::uint32_t>{4, 2, 1}));
}

TEST(QueueRulesTest, TurnsServeOpenQueuesFrameByFrameAndQueueZeroFirst) {
  Ordered f(QueueOrder::kTurns);
  for (const std::uint32_t psn : {10u, 11u, 12u}) f.push(1, psn, 100_B, 1);
  for (const std::uint32_t psn : {630u, 631u}) f.push(1, psn, 100_B, 63);
  for (const std::uint32_t psn : {50u, 51u}) f.push(1, psn, 100_B, 5);
  EXPECT_EQ(f.pop(), 10u);
  EXPECT_EQ(f.pop(), 50u);
  EXPECT_EQ(f.pop(), 630u);
  f.push(1, 1, 100_B, 0);
  EXPECT_EQ(f.pop(), 1u) << "and it is no turn";
  f.queue().ranked->set_open(1, false);
  EXPECT_EQ(f.pop(), 51u);
  EXPECT_EQ(f.pop(), 631u);
  EXPECT_EQ(f.pop(), 11u) << "all that is left is shut, as where the class is dropped";
  f.queue().ranked->set_open(1, true);
  EXPECT_EQ(f.drain(), (std::vector<std::uint32_t>{12}));
}

TEST(QueueRulesTest, RandomOrderIsAPermutationThatTheSeedDecides) {
  std::vector<std::uint32_t> sorted(50), first;
  std::iota(sorted.begin(), sorted.end(), 0u);
  for (int run = 0; run < 2; ++run) {
    Ordered f(QueueOrder::kRandom);
    for (const std::uint32_t psn : sorted) f.push(1, psn);
    std::vector<std::uint32_t> left = f.drain();
    if (run == 0) first = left;
    EXPECT_EQ(left, first);
    EXPECT_NE(left, sorted);
    std::ranges::sort(left);
    EXPECT_EQ(left, sorted);
  }
}

// Mittal, 5.1.3: the draw is among the frames that wait, so that one that came last has as good a chance as
// any, however long the others have waited.
TEST(QueueRulesTest, RandomOrderDrawsAmongTheWaitingAtEachDeparture) {
  Ordered f(QueueOrder::kRandom);
  for (std::uint32_t psn = 0; psn < 3; ++psn) f.push(1, psn);
  constexpr int kRounds = 8'000;
  int newest = 0;
  for (std::uint32_t psn = 3; psn < 3 + kRounds; ++psn) {
    f.push(1, psn);
    newest += f.pop() == psn;
  }
  EXPECT_NEAR(newest, kRounds / 4, 150);  // 4 standard deviations. With ranks by lot at arrival the old would
                                          // be those with the largest, and wait on
}

TEST(QueueRulesTest, AFullRandomQueuePushesOutTheArrivingFrame) {
  Ordered f(QueueOrder::kRandom, FullRule::kPushOutLast);
  for (const std::uint32_t psn : {1u, 2u, 3u}) f.push(1, psn);
  EXPECT_EQ(f.queues.push_out(f.queue()).packet->roce.psn.value(), 3u);
  f.drain();
}

// pFabric's: the frame with the smallest rank names the flow, and the flow's first frame leaves.
TEST(QueueRulesTest, RankedFlowsSendTheEarliestFrameOfTheFlowWithTheSmallestRank) {
  Ordered f(QueueOrder::kRankedFlows);
  f.push(1, 1, 100_B, 9);
  f.push(2, 2, 100_B, 5);
  f.push(1, 3, 100_B, 1);
  f.push(2, 4, 100_B, 4);
  EXPECT_EQ(f.drain(), (std::vector<std::uint32_t>{1, 3, 2, 4}));
}

// Bounds rise with the ranks that come (push-up), so that later smaller ranks find a higher queue; and fall
// where a rank is below all of them (push-down).
TEST(QueueRulesTest, SpPifoSendsByBoundsThatFollowTheRanks) {
  Ordered f(QueueOrder::kSpPifo);
  f.push(1, 1, 100_B, 50);  // the lowest queue, bound 50
  f.push(1, 2, 100_B, 40);  // the next
  f.push(1, 3, 100_B, 45);  // the same, behind it: an order by rank would send it behind, too
  f.push(1, 4, 100_B, 42);  // 45 is the bound now: one higher
  f.push(1, 5, 100_B, 60);
  EXPECT_EQ(f.drain(), (std::vector<std::uint32_t>{4, 2, 3, 1, 5}));
}

TEST(QueueRulesTest, RankedOrderSendsTheSmallestRankFirst) {
  Ordered f(QueueOrder::kRanked);
  f.push(1, 1, 100_B, 5);
  f.push(1, 2, 100_B, -5);
  f.push(1, 3, 100_B, 5);
  EXPECT_EQ(f.drain(), (std::vector<std::uint32_t>{2, 1, 3}));
}

// Flow 1 sends frames of 1000 B and flow 2 of 250 B; a burst of flow 1 stands ahead.
TEST(QueueRulesTest, FairOrderSharesDeparturesByBytes) {
  Ordered f(QueueOrder::kFair);
  for (std::uint32_t i = 0; i < 20; ++i) f.push(1, 100 + i, 1000_B);
  for (std::uint32_t i = 0; i < 40; ++i) f.push(2, 200 + i, 250_B);
  std::map<std::uint32_t, std::int64_t> bytes;
  std::uint32_t last_of_1 = 99;
  for (int i = 0; i < 50; ++i) {
    const std::uint32_t psn = f.pop();
    if (psn < 200) {
      EXPECT_EQ(psn, last_of_1 + 1) << "a flow keeps its order";
      last_of_1 = psn;
    }
    bytes[psn / 100] += psn < 200 ? 1000 : 250;
    if (i < 5) continue;
    EXPECT_LE(std::abs(bytes[1] - bytes[2]), 1000) << "after " << i + 1 << " departures";
  }
}

// A flow that comes after others have been served for long does not get their past share back.
TEST(QueueRulesTest, FairOrderKeepsNoCreditForAFlowThatWasAway) {
  Ordered f(QueueOrder::kFair);
  for (std::uint32_t i = 0; i < 10; ++i) f.push(1, i);
  for (int i = 0; i < 5; ++i) f.pop();
  for (std::uint32_t i = 0; i < 5; ++i) f.push(2, 100 + i);
  EXPECT_EQ(f.drain(), (std::vector<std::uint32_t>{5, 100, 6, 101, 7, 102, 8, 103, 9, 104}));
}

TEST(QueueRulesTest, PushOutLastTakesTheFrameThatWouldLeaveLast) {
  Ordered f(QueueOrder::kLifo, FullRule::kPushOutLast);
  for (const std::uint32_t psn : {1u, 2u, 3u}) f.push(1, psn);
  EXPECT_EQ(f.queues.push_out(f.queue()).packet->roce.psn.value(), 1u);
  EXPECT_EQ(f.drain(), (std::vector<std::uint32_t>{3, 2}));
}

TEST(QueueRulesTest, PushOutLongestTakesTheLastFrameOfTheFlowWithMostBytes) {
  Ordered f(QueueOrder::kFifo, FullRule::kPushOutLongest);
  f.push(1, 1, 300_B);
  f.push(2, 2, 200_B);
  f.push(2, 3, 200_B);
  f.push(1, 4, 150_B);
  EXPECT_EQ(f.queues.push_out(f.queue()).packet->roce.psn.value(), 4u) << "flow 1 has 450 B, flow 2 400 B";
  EXPECT_EQ(f.queues.push_out(f.queue()).packet->roce.psn.value(), 3u) << "flow 1 has 300 B now";
  EXPECT_EQ(f.drain(), (std::vector<std::uint32_t>{1, 2}));
}

SwitchConfig lossy(QueueOrder order, FullRule full) {
  SwitchConfig config;
  config.max_frame = 1098_B;
  config.egress_limit = 5_KB;
  config.classes[0].order = order;
  config.classes[0].full = full;
  return config;
}

void send(Bench& bench, int in, std::uint32_t flow, std::uint32_t psn, Time due) {
  PacketRef packet = make_packet(bench.pool, 1000_B, 0, flow, psn);
  packet->roce.dest = Qpn{flow};
  const PortId outs[] = {port(1)};
  bench.node.deliver(port(in), outs, std::move(packet), due);
}

TEST(QueueRulesTest, AFullQueuePushesOutTheLongestFlowAndKeepsItsAccounts) {
  Bench bench(lossy(QueueOrder::kFifo, FullRule::kPushOutLongest), std::vector<PortConfig>(4));
  for (std::uint32_t i = 0; i < 5; ++i) send(bench, 0, 7, i, at(1_us));
  for (std::uint32_t i = 0; i < 2; ++i) send(bench, 2, 8, 10 + i, at(1_us));
  bench.run();
  std::vector<std::uint32_t> psns;
  for (const Departure& d : bench.sent_by(1)) psns.push_back(d.psn);
  EXPECT_EQ(psns, (std::vector<std::uint32_t>{0, 1, 2, 10, 11}));
  const SwitchPortCounters egress = bench.counters(1);
  EXPECT_EQ(egress.drops_pushed_out, 2u);
  EXPECT_EQ(egress.drops, 2u);
  EXPECT_EQ(egress.lossless_drops, 0u);
  EXPECT_EQ(bench.node.model().queued_frames(), 0u);
  for (const int in : {0, 2}) EXPECT_EQ(bench.node.model().ingress_bytes(port(in), tc(0)), 0_B);
  EXPECT_EQ(bench.pool.in_use(), 0u);
}

TEST(QueueRulesTest, AFullFifoThatRefusesDropsTheArrivingFrame) {
  Bench bench(lossy(QueueOrder::kFair, FullRule::kRefuse), std::vector<PortConfig>(4));
  for (std::uint32_t i = 0; i < 6; ++i) send(bench, 0, 7, i, at(1_us));
  bench.run();
  EXPECT_EQ(bench.counters(1).drops_egress_limit, 1u);
  EXPECT_EQ(bench.counters(1).drops_pushed_out, 0u);
}

TEST(QueueRulesTest, ADeclaredEgressMaximumDropsLosslessFramesBeforeTheyAreCharged) {
  SwitchConfig config;
  config.max_frame = 1098_B;
  config.classes[3].egress_max = 5_KB;
  Bench bench(config, std::vector<PortConfig>(4));
  for (std::uint32_t i = 0; i < 8; ++i) bench.send(0, 1, at(1_us), 1000_B, 3, 7, i);
  bench.run_until(at(1_us) + 1_ps);
  EXPECT_EQ(bench.node.model().ingress_bytes(port(0), tc(3)), 4'000_B) << "five were stored, one departs";
  bench.run();
  EXPECT_EQ(bench.sent_by(1).size(), 5u);
  EXPECT_EQ(bench.counters(1).drops_egress_max, 3u);
  EXPECT_EQ(bench.counters(1).lossless_drops, 0u) << "the scenario has declared them";
}

TEST(QueueRulesTest, ACopyBeyondTheMaximumIsDroppedAndTheOthersAreCharged) {
  SwitchConfig config;
  config.max_frame = 1098_B;
  config.classes[3].egress_max = 2_KB;
  Bench bench(config, std::vector<PortConfig>(4));
  for (std::uint32_t i = 0; i < 2; ++i) bench.send(0, 1, at(1_us), 1000_B, 3, 7, i);
  const PortId both[] = {port(1), port(2)};
  bench.node.deliver(port(0), both, make_packet(bench.pool, 1000_B, 3, 7, 9), at(1_us));
  const PortId full[] = {port(1), port(1)};
  bench.node.deliver(port(0), full, make_packet(bench.pool, 1000_B, 3, 7, 10), at(1_us));
  bench.run_until(at(1_us) + 1_ps);
  EXPECT_EQ(bench.counters(1).drops_egress_max, 3u);
  bench.run();
  EXPECT_EQ(bench.sent_by(2).size(), 1u);
  EXPECT_EQ(bench.node.model().ingress_bytes(port(0), tc(3)), 0_B);
  EXPECT_EQ(bench.pool.in_use(), 0u);
}

TEST(QueueRulesTest, OrdersThatAClassCannotHaveAreNamed) {
  const std::vector<PortConfig> ports(2);
  SwitchConfig config;
  config.classes[3].full = FullRule::kPushOutLast;
  EXPECT_NE(problem_of(config, ports).find("class 3: a lossless frame is never pushed out"),
            std::string::npos);
  config = {};
  config.classes[0].order = QueueOrder::kLifo;
  config.queue_order = QueueOrder::kRoundRobin;
  EXPECT_NE(problem_of(config, ports).find("class 0: its order excludes"), std::string::npos);
  config = {};
  config.classes[3].order = QueueOrder::kFair;
  config.mechanisms.of<EscapeMechanism>().enabled = true;
  EXPECT_NE(problem_of(config, ports).find("takes frames out of FIFO queues only, and class 3"),
            std::string::npos);
  config = {};
  config.classes[3].egress_max = 100_B;
  EXPECT_NE(problem_of(config, ports).find("holds no frame of"), std::string::npos);
}

}  // namespace
}  // namespace rocelab
