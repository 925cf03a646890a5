#include "irn_provider/transport/irn_sender.h"

#include <gtest/gtest.h>

#include <vector>

namespace rocelab {
namespace {

constexpr UnwrappedPsn kStart = 0xFFFFF0;
constexpr UnwrappedPsn kEndless = kStart + 1'000'000;
constexpr Time kT0 = Time::zero();

// Pulls until the sender has no more; PSNs relative to the first one, retransmissions apart.
struct Pulled {
  std::vector<std::int64_t> fresh, again;
};
Pulled drain(IrnSender& sender, Time now = kT0, UnwrappedPsn limit = kEndless) {
  Pulled out;
  while (sender.has_more(limit)) {
    const NextPacket p = sender.pull(limit, now);
    (p.retransmission ? out.again : out.fresh).push_back(p.psn - kStart);
  }
  return out;
}
using List = std::vector<std::int64_t>;

TEST(IrnSenderTest, SendsNewPacketsWhileFewerThanTheCapAreInFlight) {
  IrnSender sender(IrnConfig{.bdp_cap = 4}, true, kStart);
  EXPECT_EQ(drain(sender).fresh, (List{0, 1, 2, 3}));
  sender.on_ack(kStart + 1, kT0);
  EXPECT_EQ(drain(sender).fresh, (List{4}));
  EXPECT_EQ(sender.next() - sender.una(), 4);
}

TEST(IrnSenderTest, NeverSendsBeyondTheLimit) {
  IrnSender sender(IrnConfig{}, true, kStart);
  EXPECT_EQ(drain(sender, kT0, kStart + 2).fresh, (List{0, 1}));
  EXPECT_FALSE(sender.has_more(kStart + 2));
  EXPECT_TRUE(sender.has_more(kStart + 3));
}

TEST(IrnSenderTest, ANackResendsTheCumulativePacketAndOnlyTheHolesBelowTheHighestSack) {
  IrnSender sender(IrnConfig{.bdp_cap = 10}, true, kStart);
  drain(sender);  // 0..9; 2, 5 and 9 are lost
  sender.on_nack(kStart + 2, kStart + 3, kT0);
  EXPECT_TRUE(sender.in_recovery());
  const Pulled first = drain(sender);
  EXPECT_EQ(first.again, (List{2}));
  EXPECT_EQ(first.fresh, (List{10, 11})) << "no more lost packets: new ones as BDP-FC allows";
  sender.on_nack(kStart + 2, kStart + 4, kT0);
  EXPECT_EQ(drain(sender).again, List{});
  sender.on_nack(kStart + 2, kStart + 6, kT0);
  EXPECT_EQ(drain(sender).again, (List{5}));
  sender.on_nack(kStart + 2, kStart + 8, kT0);
  EXPECT_EQ(drain(sender).again, (List{7})) << "8 arrived and 7 did not";
}

// The packet at a partial acknowledgement is lost although no higher one was selectively acknowledged.
TEST(IrnSenderTest, ALostTailIsRepairedByOnePacketPerRoundTripAfterOneTimeout) {
  IrnSender sender(IrnConfig{.rto_low_packets = 10, .bdp_cap = 10}, true, kStart);
  drain(sender, kT0, kStart + 4);  // 0..3, all lost
  const Time expiry = sender.next_timeout();
  ASSERT_EQ(sender.on_timeout(expiry), TimeoutKind::kRtoLow);
  for (UnwrappedPsn psn = kStart; psn < kStart + 4; ++psn) {
    EXPECT_EQ(drain(sender, expiry, kStart + 4).again, (List{psn - kStart}));
    sender.on_ack(psn + 1, expiry);
  }
  EXPECT_FALSE(sender.in_recovery());
}

TEST(IrnSenderTest, APartialAcknowledgementDoesNotResendWhatWasResent) {
  IrnSender sender(IrnConfig{.bdp_cap = 10}, true, kStart);
  drain(sender);  // 0..9; 2 and 3 are lost
  sender.on_nack(kStart + 2, kStart + 4, kT0);
  EXPECT_EQ(drain(sender).again, (List{2, 3}));
  sender.on_nack(kStart + 3, kStart + 5, kT0);  // 2 has come, 3 is still on its way
  EXPECT_EQ(drain(sender).again, List{});
}

TEST(IrnSenderTest, LostPacketsGoBeforeNewOnes) {
  IrnSender sender(IrnConfig{.bdp_cap = 10}, true, kStart);
  drain(sender);
  sender.on_nack(kStart + 2, kStart + 5, kT0);
  EXPECT_EQ(sender.pull(kEndless, kT0).psn, kStart + 2);
  EXPECT_EQ(sender.pull(kEndless, kT0).psn, kStart + 3);
  EXPECT_EQ(sender.pull(kEndless, kT0).psn, kStart + 4);
  EXPECT_EQ(sender.pull(kEndless, kT0).psn, kStart + 10);
}

TEST(IrnSenderTest, LeavesRecoveryWhenTheCumulativeAckPassesTheRecoverySequence) {
  IrnSender sender(IrnConfig{.bdp_cap = 6}, true, kStart);
  drain(sender);                                // 0..5
  sender.on_nack(kStart + 1, kStart + 2, kT0);  // recovery sequence 5
  drain(sender);                                // 1 again, 6
  sender.on_ack(kStart + 5, kT0);
  EXPECT_TRUE(sender.in_recovery()) << "5 itself is not acknowledged yet";
  sender.on_ack(kStart + 6, kT0);
  EXPECT_FALSE(sender.in_recovery());
}

TEST(IrnSenderTest, APartialAckAloneIsNoLoss) {
  IrnSender sender(IrnConfig{.bdp_cap = 6}, true, kStart);
  drain(sender);
  sender.on_nack(kStart + 1, kStart + 2, kT0);
  drain(sender);
  sender.on_ack(kStart + 3, kT0);
  EXPECT_TRUE(sender.in_recovery());
  EXPECT_EQ(drain(sender).again, List{});
}

TEST(IrnSenderTest, ANewEpisodeDoesNotResendWhatAnEarlierOneHasResent) {
  IrnSender sender(IrnConfig{.bdp_cap = 8}, true, kStart);
  drain(sender, kT0, kStart + 4);                              // 0..3; 1 is lost
  sender.on_nack(kStart + 1, kStart + 2, kT0);                 // recovery sequence 3
  EXPECT_EQ(drain(sender, kT0, kStart + 8).again, (List{1}));  // and 4..7; 4 and 6 are lost
  sender.on_nack(kStart + 1, kStart + 7, kT0);
  EXPECT_EQ(drain(sender, kT0, kStart + 8).again, (List{3, 4, 5, 6})) << "2 and 7 are known to be there";
  sender.on_nack(kStart + 4, kStart + 5, kT0);  // leaves the first episode and begins another
  EXPECT_TRUE(sender.in_recovery());
  EXPECT_EQ(drain(sender, kT0, kStart + 8).again, List{}) << "the second copy of 4 is still on its way";
  sender.on_ack(kStart + 6, kT0);
  EXPECT_EQ(drain(sender, kT0, kStart + 8).again, List{});
}

TEST(IrnSenderTest, AHoleKnownAtTheEndOfAnEpisodeBeginsTheNext) {
  IrnSender sender(IrnConfig{.bdp_cap = 8}, true, kStart);
  drain(sender, kT0, kStart + 3);
  sender.on_nack(kStart, kStart + 1, kT0);  // recovery sequence 2
  drain(sender, kT0, kStart + 6);           // 0 again, 3, 4, 5; 4 is lost
  sender.on_nack(kStart, kStart + 5, kT0);  // tells of 2, 3 and 4, but the link is busy and nothing is pulled
  sender.on_ack(kStart + 4, kT0);
  EXPECT_TRUE(sender.in_recovery());
  EXPECT_EQ(drain(sender, kT0, kStart + 6).again, (List{4}));
}

TEST(IrnSenderTest, IgnoresWhatIsBelowTheCumulativeValue) {
  IrnSender sender(IrnConfig{.bdp_cap = 8}, true, kStart);
  drain(sender);
  sender.on_ack(kStart + 5, kT0);
  drain(sender);
  sender.on_nack(kStart + 2, kStart + 3, kT0);
  sender.on_ack(kStart + 3, kT0);
  sender.on_go_back(kStart + 4, kT0);
  EXPECT_FALSE(sender.in_recovery());
  EXPECT_EQ(sender.una(), kStart + 5);
  EXPECT_EQ(drain(sender).again, List{});
}

TEST(IrnSenderTest, WaitsForTheThresholdOfNacksWithoutProgress) {
  IrnSender sender(IrnConfig{.bdp_cap = 10, .nack_threshold = 3}, true, kStart);
  drain(sender);
  sender.on_nack(kStart + 1, kStart + 2, kT0);
  sender.on_nack(kStart + 1, kStart + 3, kT0);
  EXPECT_FALSE(sender.in_recovery());
  sender.on_ack(kStart + 4, kT0);  // 1 came late: it was reordered, not lost
  sender.on_nack(kStart + 4, kStart + 5, kT0);
  sender.on_nack(kStart + 4, kStart + 6, kT0);
  EXPECT_FALSE(sender.in_recovery());
  sender.on_nack(kStart + 4, kStart + 7, kT0);
  EXPECT_TRUE(sender.in_recovery());
  EXPECT_EQ(drain(sender).again, (List{4}));
}

TEST(IrnSenderTest, ATimeoutResendsTheCumulativePacketAndThenOnlyKnownHoles) {
  IrnSender sender(IrnConfig{.bdp_cap = 8}, true, kStart);
  drain(sender);  // 0..7 in flight: RTO_high
  sender.on_nack(kStart + 1, kStart + 3, kT0);
  EXPECT_EQ(drain(sender).again, (List{1, 2}));
  const Time low = kT0 + 100_us, high = kT0 + 320_us;
  EXPECT_EQ(sender.on_timeout(low), TimeoutKind::kNone);
  EXPECT_EQ(sender.on_timeout(high - 1_ps), TimeoutKind::kNone);
  EXPECT_EQ(drain(sender, high).again, List{});
  EXPECT_EQ(sender.on_timeout(high), TimeoutKind::kRtoHigh);
  ASSERT_TRUE(sender.has_more(kEndless));
  const NextPacket again = sender.pull(kEndless, high);
  EXPECT_EQ(again.psn, kStart + 1);
  EXPECT_TRUE(again.by_timeout);
  EXPECT_EQ(drain(sender, high).again, (List{2}))
      << "both copies may be lost: a timeout forgets what was resent";
}

TEST(IrnSenderTest, TheTimerRunsFromTheFirstPacketInFlightAndStopsWithTheLastAck) {
  IrnSender sender(IrnConfig{}, true, kStart);
  EXPECT_TRUE(sender.next_timeout().is_never());
  drain(sender, kT0 + 5_us, kStart + 1);
  drain(sender, kT0 + 6_us, kStart + 2);
  EXPECT_EQ(sender.next_timeout(), kT0 + 105_us);
  sender.on_ack(kStart + 1, kT0 + 20_us);
  EXPECT_EQ(sender.next_timeout(), kT0 + 120_us);
  sender.on_ack(kStart + 1, kT0 + 50_us);
  EXPECT_EQ(sender.next_timeout(), kT0 + 120_us) << "no cumulative progress";
  EXPECT_EQ(sender.on_timeout(kT0 + 120_us - 1_ps), TimeoutKind::kNone);
  EXPECT_EQ(sender.on_timeout(kT0 + 120_us), TimeoutKind::kRtoLow);
  EXPECT_EQ(drain(sender, kT0 + 120_us, kStart + 2).again, (List{1}));
  sender.on_ack(kStart + 2, kT0 + 130_us);
  EXPECT_TRUE(sender.next_timeout().is_never());
}

TEST(IrnSenderTest, WithoutTimersItNeverTimesOut) {
  IrnSender sender(IrnConfig{}, false, kStart);
  drain(sender);
  EXPECT_TRUE(sender.next_timeout().is_never());
  EXPECT_EQ(sender.on_timeout(kT0 + 10_s), TimeoutKind::kNone);
}

TEST(IrnSenderTest, GoBackResendsAllThatIsNotSelectivelyAcknowledged) {
  IrnSender sender(IrnConfig{.bdp_cap = 8}, true, kStart);
  drain(sender);  // 2 meets no receive WQE, 5 is placed out of order
  sender.on_go_back(kStart + 2, kT0);
  EXPECT_TRUE(sender.next_timeout().is_never()) << "nothing that was sent is still expected to be answered";
  sender.on_nack(kStart + 2, kStart + 5, kT0);
  EXPECT_EQ(drain(sender, kT0 + 1_ms).again, (List{2, 3, 4, 6, 7}));
  EXPECT_EQ(sender.next_timeout(), kT0 + 1_ms + 100_us);
  sender.on_ack(kStart + 10, kT0 + 2_ms);
  EXPECT_FALSE(sender.in_recovery());
  sender.on_nack(kStart + 10, kStart + 12, kT0 + 2_ms);  // the bitmap works on as before
  drain(sender);
  EXPECT_EQ(sender.una(), kStart + 10);
}

TEST(IrnSenderTest, GoBackNResendsEverythingOncePerNackedHole) {
  IrnSender sender(IrnConfig{.bdp_cap = 6, .go_back_n = true}, true, kStart);
  drain(sender);
  sender.on_nack(kStart + 2, kStart + 3, kT0);
  const Pulled first = drain(sender);
  EXPECT_EQ(first.again, (List{2, 3, 4, 5}));
  EXPECT_EQ(first.fresh, (List{6, 7})) << "BDP-FC still bounds what is in flight";
  sender.on_nack(kStart + 2, kStart + 4, kT0);
  EXPECT_EQ(drain(sender).again, List{}) << "the same hole";
  sender.on_nack(kStart + 4, kStart + 5, kT0);  // the second copy of 4 is lost too
  EXPECT_EQ(drain(sender).again, (List{4, 5, 6, 7}));
  EXPECT_EQ(sender.on_timeout(kT0 + 100_us), TimeoutKind::kNone);
  EXPECT_EQ(sender.on_timeout(kT0 + 320_us), TimeoutKind::kRtoHigh);
  EXPECT_EQ(drain(sender).again, (List{4, 5, 6, 7, 8, 9}));
}

TEST(IrnSenderTest, WithoutSackOnlyTheCumulativePacketIsResentPerNackOrPartialAck) {
  IrnSender sender(IrnConfig{.bdp_cap = 8, .sack = false}, true, kStart);
  drain(sender);  // 1, 3 and 4 are lost
  sender.on_nack(kStart + 1, kStart + 2, kT0);
  EXPECT_EQ(drain(sender).again, (List{1}));
  sender.on_nack(kStart + 1, kStart + 5, kT0);
  EXPECT_EQ(drain(sender).again, List{});
  sender.on_ack(kStart + 3, kT0);
  EXPECT_EQ(drain(sender).again, (List{3}));
  sender.on_ack(kStart + 4, kT0);
  EXPECT_EQ(drain(sender).again, (List{4}));
}

TEST(IrnSenderTest, WithoutBdpFcTheBitmapBoundsWhatIsInFlight) {
  IrnSender sender(IrnConfig{.bdp_cap = 0, .bitmap_packets = 500}, true, kStart);
  EXPECT_EQ(drain(sender).fresh.size(), 500u);
}

TEST(IrnSenderTest, ANackWithoutProgressRestartsTheTimerOnlyWhereAnyAckDoes) {
  for (const bool any : {false, true}) {
    IrnSender sender(IrnConfig{.restart_on_any_ack = any}, true, kStart);
    drain(sender);  // 0 is lost
    sender.on_nack(kStart, kStart + 1, kT0 + 50_us);
    EXPECT_EQ(sender.next_timeout(), kT0 + (any ? 150_us : 100_us));
    sender.on_ack(kStart, kT0 + 60_us);  // the answer to a copy of the packet before
    EXPECT_EQ(sender.next_timeout(), kT0 + (any ? 160_us : 100_us));
    sender.on_nack(kStart - 1, kStart + 2, kT0 + 70_us);
    EXPECT_EQ(sender.next_timeout(), kT0 + (any ? 160_us : 100_us)) << "overtaken: it says nothing new";
    sender.on_ack(sender.next(), kT0 + 80_us);
    EXPECT_TRUE(sender.next_timeout().is_never());
  }
}

}  // namespace
}  // namespace rocelab
