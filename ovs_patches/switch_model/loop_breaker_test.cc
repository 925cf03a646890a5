// LoopBreaker alone: when a queue is suspected, and who is the master of queues that wait for one another.
// The queues here are nodes of a graph; a message goes along its edges in a microsecond.
#include "ovs_patches/switch_model/loop_breaker.h"

#include <functional>
#include <map>
#include <set>

#include "ovs_patches/switch_model/test_support.h"

namespace rocelab {
namespace {

using namespace switch_test;

constexpr Duration kTick = Duration::from_ps(1), kInterval = 100_us, kPeriod = 40_us;
constexpr TcMask kAll = 0xff;
const TcMask k3 = bit_of(tc(3));

LoopBreaker breaker(std::uint64_t seed = 1) { return LoopBreaker(kInterval, kPeriod, Rng(seed)); }

TEST(LoopBreakerTest, AQueueIsSuspectedWhenItHadFramesAtBothEndsOfAnInterval) {
  LoopBreaker b = breaker();
  EXPECT_TRUE(b.next_timeout().is_never());
  b.on_paused(k3 | bit_of(tc(4)), k3, at(10_us));
  EXPECT_EQ(b.next_timeout(), at(110_us));
  EXPECT_EQ(b.on_timeout(at(110_us) - kTick, kAll), 0);
  EXPECT_EQ(b.on_timeout(at(110_us), kAll), k3) << "class 4 had none when the pause began";
  EXPECT_EQ(b.suspected(), k3);
  EXPECT_EQ(b.next_timeout(), at(150_us)) << "the next message of class 3";
  EXPECT_EQ(b.on_timeout(at(150_us) - kTick, kAll), 0);
  EXPECT_EQ(b.on_timeout(at(150_us), kAll), k3);
  EXPECT_EQ(b.on_timeout(at(210_us), kAll), k3 | bit_of(tc(4)));
}

TEST(LoopBreakerTest, AnEmptyQueueIsLookedAtAgain) {
  LoopBreaker b = breaker();
  b.on_paused(k3, 0, at(0_us));
  EXPECT_EQ(b.on_timeout(at(100_us), 0), 0);
  EXPECT_EQ(b.on_timeout(at(200_us), k3), 0) << "a frame came in this interval";
  EXPECT_EQ(b.on_timeout(at(300_us), k3), k3);
}

TEST(LoopBreakerTest, WhoMaySendAgainForgets) {
  LoopBreaker b = breaker();
  b.on_paused(k3, k3, at(0_us));
  ASSERT_EQ(b.on_timeout(at(100_us), k3), k3);
  const Clcm own = b.message(tc(3));
  Clcm back = own;
  back.hops = 5;
  EXPECT_TRUE(b.is_master(back));
  b.on_resumed(k3);
  EXPECT_TRUE(b.next_timeout().is_never());
  EXPECT_FALSE(b.is_master(back));
  b.on_paused(k3, k3, at(200_us));
  ASSERT_EQ(b.on_timeout(at(300_us), k3), k3);
  EXPECT_NE(b.message(tc(3)).id, own.id) << "a suspicion has its own identifier";
  EXPECT_FALSE(b.is_master(back));
  EXPECT_FALSE(b.passes(back) && b.passes(back)) << "and its own memory, which has each message once";
}

TEST(LoopBreakerTest, DroppingBeginsTheIntervalAgain) {
  LoopBreaker b = breaker();
  b.on_dropped(tc(3), 0, at(0_us));
  EXPECT_TRUE(b.next_timeout().is_never()) << "it is not paused";
  b.on_paused(k3, k3, at(0_us));
  ASSERT_EQ(b.on_timeout(at(100_us), k3), k3);
  b.on_dropped(tc(3), k3, at(110_us));
  EXPECT_EQ(b.suspected(), 0);
  EXPECT_EQ(b.on_timeout(at(210_us) - kTick, k3), 0);
  EXPECT_EQ(b.on_timeout(at(210_us), k3), k3);
}

// From a peer that nobody vouches for.
TEST(LoopBreakerTest, MessagesThatNobodyCanHaveSentDoNothing) {
  LoopBreaker b = breaker();
  EXPECT_FALSE(b.is_master({tc(3), 2, 0, 0}) || b.passes({tc(3), 2, 0, ~std::uint64_t{0}}))
      << "not suspected";
  b.on_paused(k3, k3, at(0_us));
  ASSERT_EQ(b.on_timeout(at(100_us), k3), k3);
  const Clcm own = b.message(tc(3));
  EXPECT_FALSE(b.is_master({tc(3), 2, own.round + 1, own.id})) << "a round that is still to come";
  EXPECT_FALSE(b.is_master({tc(4), 2, own.round, own.id})) << "another class";
  EXPECT_FALSE(b.passes({tc(3), 2, 0, own.id - 1})) << "a lower identifier";
  EXPECT_FALSE(b.passes({tc(3), LoopBreaker::kMostHops, 0, own.id + 1}));
  EXPECT_TRUE(b.passes({tc(3), LoopBreaker::kMostHops - 1, 0, own.id + 1}));
}

TEST(LoopBreakerTest, AMessagePassesOnceAndTheMemoryOfManyOriginsIsBounded) {
  LoopBreaker b = breaker();
  b.on_paused(k3, k3, at(0_us));
  ASSERT_EQ(b.on_timeout(at(100_us), k3), k3);
  const std::uint64_t higher = b.message(tc(3)).id + 1;
  EXPECT_TRUE(b.passes({tc(3), 2, 0xfffffffe, higher}));
  EXPECT_FALSE(b.passes({tc(3), 9, 0xfffffffe, higher}))
      << "over another way, or round a loop that is not its own";
  EXPECT_TRUE(b.passes({tc(3), 2, 1, higher})) << "rounds count modulo 2^32";
  EXPECT_FALSE(b.passes({tc(3), 2, 0xffffffff, higher})) << "an earlier one that was late";
  for (std::uint64_t i = 1; i < LoopBreaker::kMostSeen; ++i) EXPECT_TRUE(b.passes({tc(3), 2, 0, higher + i}));
  for (std::uint64_t i = 1; i < LoopBreaker::kMostSeen; ++i)
    EXPECT_FALSE(b.passes({tc(3), 2, 0, higher + i}));
  EXPECT_TRUE(b.passes({tc(3), 2, 0, higher + LoopBreaker::kMostSeen})) << "the first gives way";
  EXPECT_TRUE(b.passes({tc(3), 2, 1, higher})) << "and is new again: hops end what goes round";
}

// Queues that wait for others, and are paused from a time of their own on.
struct Graph {
  explicit Graph(std::size_t size, std::uint64_t seed = 1) : edges(size) {
    Rng rng(seed);
    for (std::size_t i = 0; i < size; ++i) {
      nodes.push_back(LoopBreaker(kInterval, kPeriod, rng.fork(std::to_string(i))));
      paused_at.push_back(at(0_us) + static_cast<int>(rng.below(500)) * 1_us);
    }
  }
  void ring(const std::vector<std::size_t>& members) {
    for (std::size_t i = 0; i < members.size(); ++i)
      edges[members[i]].insert(members[(i + 1) % members.size()]);
  }
  // Of a queue that has dropped, those that wait for it may go on, and so those that wait for them, where
  // they wait for nobody else.
  void release(std::size_t master) {
    edges[master].clear();
    std::vector<std::size_t> free{master};
    for (std::size_t i = 0; i < free.size(); ++i) {
      nodes[free[i]].on_resumed(k3);
      paused_at[free[i]] = Time::never();
      for (std::size_t n = 0; n < edges.size(); ++n)
        if (edges[n].erase(free[i]) != 0 && edges[n].empty()) free.push_back(n);
    }
  }
  void run(Time end) {
    for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i].on_paused(k3, k3, paused_at[i]);
    for (;;) {
      Time next = messages.empty() ? Time::never() : messages.begin()->first;
      for (const LoopBreaker& n : nodes) next = std::min(next, n.next_timeout());
      if (next >= end) return;
      for (std::size_t i = 0; i < nodes.size(); ++i)
        if (nodes[i].on_timeout(next, k3) != 0) send(i, nodes[i].message(tc(3)), next);
      while (!messages.empty() && messages.begin()->first == next) {
        const auto [to, message] = messages.begin()->second;
        messages.erase(messages.begin());
        receive(to, message, next);
      }
    }
  }
  void send(std::size_t from, const Clcm& message, Time now) {
    highest = std::max(highest, message.id);
    for (const std::size_t to : edges[from]) {
      ++sent;
      if (!lost || !lost()) messages.emplace(now + 1_us, std::pair{to, message});
    }
  }
  void receive(std::size_t to, Clcm message, Time now) {
    if (nodes[to].is_master(message)) {
      masters.push_back(to);
      master_ids.push_back(message.id);
      return release(to);
    }
    if (!nodes[to].passes(message)) return;
    ++message.hops;
    send(to, message, now);
  }
  std::vector<LoopBreaker> nodes;
  std::vector<std::set<std::size_t>> edges;  // whom a queue waits for
  std::vector<Time> paused_at;
  std::multimap<Time, std::pair<std::size_t, Clcm>> messages;
  std::function<bool()> lost;
  std::vector<std::size_t> masters;
  std::vector<std::uint64_t> master_ids;
  std::uint64_t highest = 0;
  std::size_t sent = 0;
};

std::vector<std::size_t> numbers(std::size_t from, std::size_t to) {
  std::vector<std::size_t> v;
  for (std::size_t i = from; i < to; ++i) v.push_back(i);
  return v;
}

TEST(LoopBreakerTest, ARingHasOneMasterTheHighestIdentifier) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const std::size_t size = 2 + seed % 9;
    Graph g(size, seed);
    g.ring(numbers(0, size));
    g.run(at(10_ms));
    ASSERT_EQ(g.masters.size(), 1u) << seed;
    EXPECT_EQ(g.master_ids[0], g.highest) << seed;
    for (const LoopBreaker& n : g.nodes) EXPECT_EQ(n.suspected(), 0) << seed;
  }
}

// Queues before a slow host, however long, and such as wait for a ring without being in it.
TEST(LoopBreakerTest, WithoutACycleNobodyIsMaster) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Graph g(10, seed);
    Rng rng(seed);
    for (std::size_t i = 1; i < 10; ++i) {
      g.edges[i].insert(rng.below(i));
      g.edges[i].insert(rng.below(i));
    }
    g.run(at(10_ms));
    EXPECT_TRUE(g.masters.empty()) << seed;
    EXPECT_GT(g.sent, 100u) << seed << ": they ask all the time";
    Graph h(10, seed);
    h.ring(numbers(0, 4));
    for (std::size_t i = 4; i < 10; ++i) h.edges[i].insert(rng.below(i));
    h.run(at(10_ms));
    ASSERT_EQ(h.masters.size(), 1u) << seed;
    EXPECT_LT(h.masters[0], 4u) << seed << ": a queue outside never gets its message back";
  }
}

TEST(LoopBreakerTest, LostMessagesDelayAndDoNotMislead) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Graph g(5, seed);
    g.ring(numbers(0, 5));
    Rng dice(seed);
    g.lost = [&dice] { return dice.bernoulli(0.5); };
    g.run(at(60_ms));
    ASSERT_EQ(g.masters.size(), 1u) << seed;
    EXPECT_EQ(g.master_ids[0], g.highest) << seed;
  }
}

// Two rings through one queue, 0: each is broken, by one master of its own or by one for both.
TEST(LoopBreakerTest, OverlappingCyclesAreBothBroken) {
  std::size_t for_both = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Graph g(7, seed);
    g.ring({0, 1, 2, 3});
    g.ring({0, 4, 5, 6});
    g.run(at(20_ms));
    ASSERT_TRUE(g.masters.size() == 1 || g.masters.size() == 2) << seed;
    if (g.masters.size() == 1) {
      ++for_both;
      EXPECT_EQ(g.masters[0], 0u) << seed << ": the queue that they share";
    } else {
      const auto in_first = [](std::size_t n) { return n < 4; };
      const auto in_second = [](std::size_t n) { return n == 0 || n >= 4; };
      EXPECT_NE(g.masters[0], 0u) << seed << ": it would have freed both";
      EXPECT_TRUE(std::ranges::any_of(g.masters, in_first) && std::ranges::any_of(g.masters, in_second))
          << seed << ": one of each";
    }
    for (const LoopBreaker& n : g.nodes) EXPECT_EQ(n.suspected(), 0) << seed;
    // Without memory the highest message would go round the other ring until its hops ended.
    EXPECT_LT(g.sent, 7u * 8u * 60u) << seed;
  }
  EXPECT_GT(for_both, 0u);
}

}  // namespace
}  // namespace rocelab
