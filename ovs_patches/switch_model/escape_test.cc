#include "ovs_patches/switch_model/escape.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "base/rng.h"

namespace rocelab {
namespace {

SwitchFlow flow(int n, int in = 0) {
  return {NodeId{static_cast<std::uint16_t>(n)}, NodeId{9}, Qpn{17}, PortId{static_cast<std::uint16_t>(in)}};
}

Time at_us(std::int64_t us) { return Time::zero() + us * 1_us; }

TEST(EscapeTest, APoolNeverHoldsMoreThanItsQueueHasPlaces) {
  EscapePool pool(2, 100_us, true);
  pool.take(at_us(0));
  pool.take(at_us(0));
  EXPECT_EQ(pool.size(), 0u);
  for (int i = 0; i < 3; ++i) pool.give();
  EXPECT_EQ(pool.size(), 2u);
  EscapePool letter(2, 100_us, false);
  letter.give();
  EXPECT_EQ(letter.size(), 3u) << "line 31 has no bound";
}

TEST(EscapeTest, ATokenThatWasNotUsedComesBackWhenItIsAnIntervalOld) {
  EscapePool pool(3, 100_us, true);
  pool.take(at_us(0));
  pool.take(at_us(50));
  EXPECT_EQ(pool.next_reclaim(), at_us(100));
  pool.reclaim(at_us(100));
  EXPECT_EQ(pool.size(), 2u);
  EXPECT_EQ(pool.next_reclaim(), at_us(150));
  pool.give();  // with its frame
  EXPECT_EQ(pool.size(), 3u);
  pool.reclaim(at_us(150));
  EXPECT_TRUE(pool.next_reclaim().is_never());
}

// 4.3.3, 5 to the letter: the size is what it was, since one came back and another left.
TEST(EscapeTest, TheLetterReclaimsATokenThatIsOnItsWay) {
  EscapePool letter(2, 100_us, false), fixed(2, 100_us, true);
  for (EscapePool* pool : {&letter, &fixed}) {
    pool->take(at_us(10));
    pool->reclaim(at_us(100));
    pool->take(at_us(150));  // on its way when the pool is looked at
    pool->give();
    pool->reclaim(at_us(200));
  }
  EXPECT_EQ(letter.size(), 2u);
  EXPECT_EQ(fixed.size(), 1u);
}

// Tokens that come home do so within an interval; one of ten never does. A pool that sends one too many has
// promised a place twice.
TEST(EscapeTest, NoPlaceIsPromisedTwice) {
  for (const bool by_age : {true, false}) {
    Rng rng(7);
    std::uint64_t twice = 0;
    for (int round = 0; round < 50; ++round) {
      const auto tokens = static_cast<std::uint16_t>(1 + rng.below(4));
      EscapePool pool(tokens, 100_us, by_age);
      std::multiset<Time> home;  // when those that are away come back
      for (int us = 0; us < 5000; ++us) {
        if (pool.next_reclaim() <= at_us(us)) pool.reclaim(at_us(us));
        for (; !home.empty() && *home.begin() <= at_us(us); home.erase(home.begin())) pool.give();
        if (pool.size() > 0 && rng.below(30) == 0) {
          pool.take(at_us(us));
          if (rng.below(10) != 0) home.insert(at_us(us + 1 + static_cast<int>(rng.below(98))));
        }
        twice += home.size() > tokens;
        if (by_age) {
          ASSERT_LE(pool.size() + home.size(), tokens) << "round " << round << ", " << us << " us";
        }
      }
    }
    EXPECT_EQ(twice > 0, !by_age);
  }
}

// 4.5.2: a pool that does not reach for all flows serves all in turns.
TEST(EscapeTest, FlowsAreServedRoundRobin) {
  EscapeFlows flows(4);
  for (const int n : {1, 2, 3}) flows.note(flow(n, n % 2));
  std::vector<int> served;
  for (int i = 0; i < 4; ++i) {
    std::size_t most = flows.all().size();
    served.push_back(flows.next_from(PortId{1}, most, at_us(0))->source.value);
  }
  EXPECT_EQ(served[0], served[2]);
  EXPECT_EQ(served[1], served[3]);
  EXPECT_EQ(served[0] + served[1], 1 + 3);
  std::size_t most = flows.all().size();
  EXPECT_EQ(flows.next_from(PortId{7}, most, at_us(0)), nullptr) << "none came in there";
  EXPECT_EQ(most, 0u);
}

TEST(EscapeTest, TheTableHasTheLastFlowsEachOnce) {
  EscapeFlows flows(3);
  for (const int n : {1, 1, 2, 1, 3, 3}) flows.note(flow(n));
  EXPECT_EQ(flows.all().size(), 3u);
  flows.note(flow(4));  // in place of 1
  EXPECT_EQ(flows.find(flow(1).key()), nullptr);
  for (const int n : {2, 3, 4}) EXPECT_NE(flows.find(flow(n).key()), nullptr) << n;
}

// escape.flow = "hosts": a connection that has not got through yet is of a flow that has.
TEST(EscapeTest, ByHostsAllConnectionsOfTwoHostsAreOneFlow) {
  EscapeFlows flows(4, kHostsOfFlow);
  SwitchFlow other = flow(1);
  other.dest = Qpn{18};
  flows.note(flow(1));
  flows.note(other);
  flows.note(flow(2));
  EXPECT_EQ(flows.all().size(), 2u);
  other.dest = Qpn{19};
  EXPECT_NE(flows.find(other.key()), nullptr);
}

// Against a table that is looked through from end to end: flows come in trains and in turns, more of them
// than it has places, change the port by which they come, and leave by another one.
TEST(EscapeTest, TheTableFindsWhatASearchThroughAllOfItWouldFind) {
  Rng rng(11);
  for (const std::size_t most : {1u, 2u, 3u, 8u, 33u}) {
    EscapeFlows flows(most);
    std::vector<SwitchFlow> plain;
    std::size_t next = 0;
    for (int i = 0; i < 4000; ++i) {
      const SwitchFlow now = flow(static_cast<int>(rng.below(2 * most + 1)), static_cast<int>(rng.below(2)));
      const auto known =
          std::ranges::find_if(plain, [&](const SwitchFlow& f) { return f.key() == now.key(); });
      if (rng.below(8) == 0) {
        flows.forget_flow(now.key());
        if (known != plain.end()) *known = flow(10'000, 7);  // its place is taken in its turn
      } else {
        ASSERT_EQ(flows.note(now), known == plain.end());
      }
      if (flows.find(now.key()) == nullptr) {
        // forgotten
      } else if (known != plain.end()) {
        *known = now;
      } else if (plain.size() < most) {
        plain.push_back(now);
      } else {
        plain[next++ % most] = now;
      }
      ASSERT_EQ(flows.all().size(), plain.size());
      for (int n = 0; n < static_cast<int>(2 * most + 1); ++n) {
        const auto want =
            std::ranges::find_if(plain, [&](const SwitchFlow& f) { return f.key() == flow(n).key(); });
        const SwitchFlow* found = flows.find(flow(n).key());
        ASSERT_EQ(found != nullptr, want != plain.end()) << "step " << i << ", flow " << n;
        if (found != nullptr) {
          ASSERT_EQ(found->in, want->in) << "step " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace rocelab
