#include "ovs_patches/switch_model/queue.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "ovs_patches/switch_model/switch_flow.h"
#include "ovs_patches/switch_model/test_support.h"

namespace rocelab {
namespace {

using namespace switch_test;

struct Fixture {
  explicit Fixture(QueueOrder order, std::size_t ports = 4) : queues(ports, order) {}
  void push(int in, std::uint32_t psn, Bytes frame = 100_B) {
    PacketRef packet = make_packet(pool, frame, 3, 0, psn);
    packet->roce.dest = Qpn{psn};  // each a flow
    queues.push(port(1), tc(3), {std::move(packet), port(in)});
  }
  static std::uint64_t flow(std::uint32_t psn) { return SwitchFlow{{}, {}, Qpn{psn}, {}}.key(); }
  std::vector<int> drain() {
    std::vector<int> psns;
    while (!queues.empty(port(1), tc(3))) {
      const Bytes announced = queues.head_length(port(1), tc(3));
      const EgressQueues::Frame frame = queues.pop(port(1), tc(3));
      EXPECT_EQ(announced, frame.packet->frame());
      psns.push_back(static_cast<int>(frame.packet->roce.psn.value()));
    }
    return psns;
  }
  PacketPool pool;
  EgressQueues queues;
};

TEST(EgressQueuesTest, FifoKeepsTheOrderOfArrival) {
  Fixture f(QueueOrder::kFifo);
  f.push(0, 1, 60_B);
  f.push(0, 2, 70_B);
  f.push(2, 3, 80_B);
  f.push(0, 4, 90_B);
  EXPECT_EQ(f.queues.bytes(port(1), tc(3)), 300_B);
  EXPECT_EQ(f.drain(), (std::vector<int>{1, 2, 3, 4}));
  EXPECT_EQ(f.queues.bytes(port(1), tc(3)), 0_B);
  EXPECT_EQ(f.pool.in_use(), 0u);
}

TEST(EgressQueuesTest, RoundRobinServesIngressPortsInTurnByIndex) {
  Fixture f(QueueOrder::kRoundRobin);
  for (const int psn : {1, 2, 3, 4}) f.push(0, static_cast<std::uint32_t>(psn));
  for (const int psn : {31, 32}) f.push(3, static_cast<std::uint32_t>(psn));
  f.push(2, 21);
  EXPECT_EQ(f.drain(), (std::vector<int>{1, 21, 31, 2, 32, 3, 4}));
}

TEST(EgressQueuesTest, RoundRobinGoesAroundAnyNumberOfPorts) {
  for (const std::size_t ports : {2u, 63u, 64u, 65u, 300u}) {
    Fixture f(QueueOrder::kRoundRobin, ports);
    const int last = static_cast<int>(ports) - 1;
    for (const int in : {last, 0, last / 2, last}) f.push(in, static_cast<std::uint32_t>(in));
    f.push(0, 1000);
    std::vector<int> want{0, last / 2, last, 1000, last};
    if (last / 2 == 0) want = {0, last, 0, last, 1000};  // two ports: the middle one is the first
    EXPECT_EQ(f.drain(), want) << ports << " ports";
  }
}

TEST(EgressQueuesTest, RoundRobinRemembersWhoWasServedLast) {
  Fixture f(QueueOrder::kRoundRobin);
  f.push(0, 1);
  f.push(2, 21);
  EXPECT_EQ(f.queues.pop(port(1), tc(3)).in, port(0));
  f.push(0, 2);
  EXPECT_EQ(f.drain(), (std::vector<int>{21, 2}));
}

TEST(EgressQueuesTest, RoundRobinIsFairOverAllPortsOfTheLargestSwitch) {
  Fixture f(QueueOrder::kRoundRobin, kMaxSwitchPorts);
  for (int in = kMaxSwitchPorts - 1; in >= 0; --in) {
    f.push(in, static_cast<std::uint32_t>(in));
    f.push(in, static_cast<std::uint32_t>(in));
  }
  std::vector<int> want(kMaxSwitchPorts);
  std::iota(want.begin(), want.end(), 0);
  want.insert(want.end(), want.begin(), want.begin() + kMaxSwitchPorts);
  EXPECT_EQ(f.drain(), want);
}

TEST(EgressQueuesTest, QueuesOfPortsAndClassesAreApart) {
  Fixture f(QueueOrder::kFifo);
  f.push(0, 1);
  f.queues.push(port(1), tc(4), {make_packet(f.pool, 200_B, 4), port(0)});
  f.queues.push(port(2), tc(3), {make_packet(f.pool, 300_B, 3), port(0)});
  EXPECT_EQ(f.queues.bytes(port(1), tc(3)), 100_B);
  EXPECT_EQ(f.queues.bytes(port(1), tc(4)), 200_B);
  EXPECT_EQ(f.queues.bytes(port(2), tc(3)), 300_B);
  EXPECT_EQ(f.queues.frames(), 3u);
}

TEST(EgressQueuesTest, ExtractTakesTheFirstThatMatchesAndLeavesTheOrderOfTheRest) {
  for (const QueueOrder order : {QueueOrder::kFifo, QueueOrder::kRoundRobin}) {
    Fixture f(order);
    for (int psn = 1; psn <= 6; ++psn) f.push(psn % 2, static_cast<std::uint32_t>(psn), 100_B);
    const auto take = [&](std::uint32_t psn) { return f.queues.extract(port(1), tc(3), Fixture::flow(psn)); };
    for (const std::uint32_t psn : {3u, 6u, 1u}) {  // inside, at the tail, at the head
      const auto frame = take(psn);
      ASSERT_TRUE(frame) << psn;
      EXPECT_EQ(frame->packet->roce.psn.value(), psn);
      EXPECT_EQ(frame->in, port(static_cast<int>(psn % 2)));
    }
    EXPECT_FALSE(take(3));
    EXPECT_EQ(f.queues.bytes(port(1), tc(3)), 300_B);
    EXPECT_EQ(f.queues.frames(), 3u);
    f.push(1, 7, 100_B);
    const std::vector<int> fifo{2, 4, 5, 7}, rotation{2, 5, 4, 7};
    EXPECT_EQ(f.drain(), order == QueueOrder::kFifo ? fifo : rotation);
    EXPECT_FALSE(take(2)) << "an empty queue";
    EXPECT_EQ(f.pool.in_use(), 0u);
  }
}

// Pushes, pops and extractions in any order, against a list that is searched. Some frames are of no flow.
TEST(EgressQueuesTest, RandomExtractionsAgreeWithASearchedList) {
  struct Waiting {
    std::uint32_t psn, flow;
    bool data;
  };
  Rng rng(11);
  for (int round = 0; round < 40; ++round) {
    Fixture f(QueueOrder::kFifo);
    std::vector<Waiting> want;
    const std::uint64_t flows = 1 + rng.below(12), pushes = 1 + rng.below(3);
    for (std::uint32_t step = 0; step < 600; ++step) {
      const std::string what = "round " + std::to_string(round) + ", step " + std::to_string(step);
      const std::uint64_t dice = rng.below(5);
      if (dice < pushes) {
        const Waiting w{step, static_cast<std::uint32_t>(rng.below(flows)), rng.below(8) != 0};
        PacketRef packet = make_packet(f.pool, 100_B, 3, 0, w.psn);
        packet->roce.dest = Qpn{w.flow};
        if (!w.data) packet->kind = PacketKind::kAck;
        f.queues.push(port(1), tc(3), {std::move(packet), port(0)});
        want.push_back(w);
      } else if (dice == 4 && !want.empty()) {
        ASSERT_EQ(f.queues.pop(port(1), tc(3)).packet->roce.psn.value(), want[0].psn) << what;
        want.erase(want.begin());
      } else {
        const auto flow = static_cast<std::uint32_t>(rng.below(flows + 1));
        const auto first =
            std::ranges::find_if(want, [&](const Waiting& w) { return w.data && w.flow == flow; });
        const auto got = f.queues.extract(port(1), tc(3), Fixture::flow(flow));
        ASSERT_EQ(got.has_value(), first != want.end()) << what;
        if (!got) continue;
        ASSERT_EQ(got->packet->roce.psn.value(), first->psn) << what;
        want.erase(first);
      }
      ASSERT_EQ(f.queues.frames(), want.size()) << what;
      ASSERT_EQ(f.queues.bytes(port(1), tc(3)), 100_B * static_cast<std::int64_t>(want.size())) << what;
    }
    std::vector<int> rest;
    for (const Waiting& w : want) rest.push_back(static_cast<int>(w.psn));
    ASSERT_EQ(f.drain(), rest) << "round " << round;
  }
}

}  // namespace
}  // namespace rocelab
