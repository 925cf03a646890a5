// The link at a NIC's port fails and comes back: what the program is told, and when.
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "irn_provider/nic/pair_fixture.h"

namespace rocelab {
namespace {

using Kind = AsyncEvent::Kind;

class NicLinkTest : public testing::Test {
 protected:
  NicLinkTest() { pair_.connect(0); }

  Nic& nic() { return pair_.a.nic; }
  NicPort& port() { return pair_.a.port; }
  // Until `limit`, or the first event.
  StopReason run_until(Time limit) {
    return port().run_until(limit, [](PacketRef, Time, Time) {});
  }

  NicPair pair_;
};

TEST_F(NicLinkTest, AnExpectedChangeIsToldOfAtItsInstant) {
  nic().expect_link_changes({{Time::zero() + 10_us, false}, {Time::zero() + 30_us, true}}, Time::zero());
  EXPECT_EQ(port().next_event(), Time::zero() + 10_us);
  EXPECT_EQ(run_until(Time::zero() + 1_ms), StopReason::kCompletion);
  EXPECT_EQ(port().now(), Time::zero() + 10_us);
  EXPECT_EQ(nic().poll_event(), (AsyncEvent{Kind::kPortError, 0}));
  EXPECT_FALSE(nic().link_up());
  EXPECT_EQ(run_until(Time::zero() + 1_ms), StopReason::kCompletion);
  EXPECT_EQ(port().now(), Time::zero() + 30_us);
  EXPECT_EQ(nic().poll_event(), (AsyncEvent{Kind::kPortActive, 0}));
  EXPECT_TRUE(nic().link_up());
  EXPECT_EQ(run_until(Time::zero() + 1_ms), StopReason::kLimit);
  EXPECT_EQ(nic().poll_event(), std::nullopt);
  EXPECT_EQ(nic().counters().link_downed, 1u);
}

TEST_F(NicLinkTest, WhatHasPassedBeforeIsAStateAndNoEvent) {
  nic().expect_link_changes({{Time::zero() + 10_us, false}, {Time::zero() + 30_us, true}},
                            Time::zero() + 10_us);
  EXPECT_FALSE(nic().link_up());
  EXPECT_EQ(nic().poll_event(), std::nullopt);
  EXPECT_EQ(nic().counters().link_downed, 0u);
  EXPECT_EQ(port().next_event(), Time::zero() + 30_us);
}

TEST_F(NicLinkTest, TheSameStateAgainIsNoEvent) {
  nic().on_link(true, Time::zero());
  EXPECT_EQ(nic().poll_event(), std::nullopt);
  for (int i = 0; i < 2; ++i) nic().on_link(false, Time::zero());
  EXPECT_EQ(nic().poll_event(), (AsyncEvent{Kind::kPortError, 0}));
  EXPECT_EQ(nic().poll_event(), std::nullopt);
  EXPECT_EQ(nic().counters().link_downed, 1u);
}

// What a queue pair sends is lost on the link, not held back: its timers decide, as an adapter's do.
TEST_F(NicLinkTest, AQueuePairStaysWhatItIs) {
  nic().on_link(false, Time::zero());
  EXPECT_EQ(nic().query_qp(pair_.a.qp)->state, QpState::kRts);
  pair_.post(pair_.wqe(WrOpcode::kWrite, 0, 0, 8));
  std::size_t left = 0;
  while (port().run_until(Time::zero() + 1_us, [&](PacketRef, Time, Time) { ++left; }) !=
         StopReason::kLimit) {
  }
  EXPECT_EQ(left, 1u);
}

}  // namespace
}  // namespace rocelab
