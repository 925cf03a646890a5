#include "irn_provider/transport/go_back_n.h"

#include <gtest/gtest.h>

namespace rocelab {
namespace {

constexpr UnwrappedPsn kFirst = 0xfffff0;
constexpr Time kStart = Time::from_ps(1'000);

std::vector<UnwrappedPsn> pull_all(GoBackN& window, UnwrappedPsn limit, Time now) {
  std::vector<UnwrappedPsn> psns;
  while (window.has_more(limit)) psns.push_back(window.pull(limit, now).psn - kFirst);
  return psns;
}

TEST(GoBackNTest, SendsEachPacketOnceWithoutLoss) {
  GoBackN window(100_us, false, kFirst);
  EXPECT_EQ(pull_all(window, kFirst + 3, kStart), (std::vector<UnwrappedPsn>{0, 1, 2}));
  window.on_ack(kFirst + 3, kStart);
  EXPECT_FALSE(window.has_more(kFirst + 3));
  EXPECT_EQ(window.una(), kFirst + 3);
  EXPECT_TRUE(window.next_timeout().is_never());
}

TEST(GoBackNTest, NakResendsFromExactlyItsPsnOnce) {
  GoBackN window(100_us, false, kFirst);
  pull_all(window, kFirst + 6, kStart);
  window.on_nack(kFirst + 2, std::nullopt, kStart);
  EXPECT_EQ(window.una(), kFirst + 2);
  EXPECT_TRUE(window.in_recovery());
  const NextPacket first = window.pull(kFirst + 8, kStart);
  EXPECT_EQ(first.psn, kFirst + 2);
  EXPECT_TRUE(first.retransmission);
  EXPECT_FALSE(first.by_timeout);
  window.on_nack(kFirst + 2, std::nullopt, kStart);  // a copy of the same NAK
  EXPECT_EQ(pull_all(window, kFirst + 8, kStart), (std::vector<UnwrappedPsn>{3, 4, 5, 6, 7}));
}

TEST(GoBackNTest, TimerFiresAtItsDeadlineAndNotBefore) {
  GoBackN window(100_us, false, kFirst);
  pull_all(window, kFirst + 2, kStart);
  const Time deadline = kStart + 100_us;
  EXPECT_EQ(window.next_timeout(), deadline);
  EXPECT_EQ(window.on_timeout(deadline - 1_ps), TimeoutKind::kNone);
  EXPECT_FALSE(window.has_more(kFirst + 2));
  EXPECT_EQ(window.on_timeout(deadline), TimeoutKind::kRtoHigh);
  const NextPacket packet = window.pull(kFirst + 2, deadline);
  EXPECT_EQ(packet.psn, kFirst);
  EXPECT_TRUE(packet.retransmission && packet.by_timeout);
  EXPECT_EQ(window.next_timeout(), deadline + 100_us);
}

TEST(GoBackNTest, ProgressRestartsTheTimerAndAStaleAckDoesNot) {
  GoBackN window(100_us, false, kFirst);
  pull_all(window, kFirst + 3, kStart);
  window.on_ack(kFirst + 1, kStart + 50_us);
  EXPECT_EQ(window.next_timeout(), kStart + 150_us);
  window.on_ack(kFirst + 1, kStart + 60_us);
  EXPECT_EQ(window.next_timeout(), kStart + 150_us);
}

TEST(GoBackNTest, ACopyOfAnAckOrNakRestartsTheTimerWhereAnyAckDoesAndAnOlderOneDoesNot) {
  GoBackN window(100_us, true, kFirst);
  pull_all(window, kFirst + 4, kStart);
  window.on_ack(kFirst + 2, kStart + 50_us);
  window.on_ack(kFirst + 2, kStart + 60_us);
  EXPECT_EQ(window.next_timeout(), kStart + 160_us);
  window.on_nack(kFirst + 2, std::nullopt, kStart + 70_us);
  window.on_nack(kFirst + 2, std::nullopt, kStart + 80_us);
  EXPECT_EQ(window.next_timeout(), kStart + 180_us);
  window.on_ack(kFirst + 1, kStart + 90_us);
  EXPECT_EQ(window.next_timeout(), kStart + 180_us);
}

TEST(GoBackNTest, AckBeyondTheResendPointSkipsWhatItCovers) {
  GoBackN window(100_us, false, kFirst);
  pull_all(window, kFirst + 5, kStart);
  window.on_go_back(kFirst, kStart);
  window.pull(kFirst + 5, kStart);
  window.on_ack(kFirst + 4, kStart);
  EXPECT_EQ(pull_all(window, kFirst + 5, kStart), (std::vector<UnwrappedPsn>{4}));
}

TEST(GoBackNTest, OneReadRequestStandsForManyPsns) {
  GoBackN window(100_us, false, kFirst);
  window.pull(kFirst + 10, kStart);
  window.extend(kFirst + 8);
  EXPECT_EQ(window.next(), kFirst + 8);
  EXPECT_EQ(pull_all(window, kFirst + 10, kStart), (std::vector<UnwrappedPsn>{8, 9}));
  window.on_go_back(kFirst + 5, kStart);
  EXPECT_EQ(window.pull(kFirst + 10, kStart).psn, kFirst + 5);
  window.extend(kFirst + 8);
  EXPECT_EQ(pull_all(window, kFirst + 10, kStart), (std::vector<UnwrappedPsn>{8, 9}));
}

TEST(GoBackNTest, WithoutARtoNothingEverFires) {
  GoBackN window(Duration::infinite(), false, kFirst);
  pull_all(window, kFirst + 1, kStart);
  EXPECT_TRUE(window.next_timeout().is_never());
}

}  // namespace
}  // namespace rocelab
