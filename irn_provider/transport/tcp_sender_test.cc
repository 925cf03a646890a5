#include "irn_provider/transport/tcp_sender.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace rocelab {
namespace {

constexpr UnwrappedPsn kStart = 0xFFFFF0;
constexpr UnwrappedPsn kEndless = kStart + 1'000'000;
constexpr Time kT0 = Time::zero();
using List = std::vector<std::int64_t>;

struct Bench {
  explicit Bench(std::int64_t window) : tcp(IrnConfig{.bdp_cap = 0}, true, kStart) {
    tcp.take_window(window);
  }
  List drain(Time now = kT0) {  // what leaves, from 0; resent packets as they come
    List out;
    while (tcp.has_more(kEndless)) out.push_back(tcp.pull(kEndless, now).psn - kStart);
    return out;
  }
  void ack(std::int64_t expected) { tcp.on_ack(kStart + expected, kT0); }
  void sack(std::int64_t expected, std::int64_t psn) { tcp.on_nack(kStart + expected, kStart + psn, kT0); }
  TcpSender tcp;
};

TEST(TcpSenderTest, SendsAWindowOfPacketsAndOneForEachAcknowledged) {
  Bench b(4);
  EXPECT_EQ(b.drain(), (List{0, 1, 2, 3}));
  b.ack(1);
  EXPECT_EQ(b.drain(), (List{4}));
  b.tcp.take_window(6);
  EXPECT_EQ(b.drain(), (List{5, 6}));
}

// RFC 6675: two packets above the hole let new ones out (limited transmit), the third makes it lost.
TEST(TcpSenderTest, TheThirdPacketAboveAHoleBeginsRecovery) {
  Bench b(6);
  b.drain();  // 0..5, 1 is lost
  b.ack(1);
  EXPECT_EQ(b.drain(), (List{6}));
  b.sack(1, 2);
  EXPECT_EQ(b.drain(), (List{7}));
  b.sack(1, 3);
  EXPECT_EQ(b.drain(), (List{8}));
  EXPECT_EQ(b.tcp.recoveries(), 0u);
  b.sack(1, 4);
  EXPECT_EQ(b.tcp.recoveries(), 1u);
  EXPECT_TRUE(b.tcp.in_recovery());
  b.tcp.take_window(3);  // halved
  EXPECT_EQ(b.tcp.pipe(), 4) << "5 to 8";
  EXPECT_EQ(b.drain(), (List{1})) << "the first one needs no room";
  EXPECT_EQ(b.tcp.pipe(), 5);
  b.sack(1, 5), b.sack(1, 6);
  EXPECT_EQ(b.drain(), List{});
  b.sack(1, 7);
  EXPECT_EQ(b.drain(), (List{9})) << "pipe 2: one more";
  b.ack(9);
  EXPECT_FALSE(b.tcp.in_recovery());
}

TEST(TcpSenderTest, AllHolesBelowTheThirdHighestAreResentInOrderOnce) {
  Bench b(12);
  b.drain();  // 0..11; 0, 2 and 5 are lost
  for (const int psn : {1, 3, 4}) b.sack(0, psn);
  b.tcp.take_window(8);
  EXPECT_EQ(b.drain(), (List{0})) << "2 has but two packets above it, and the pipe is full";
  for (const int psn : {6, 7}) b.sack(0, psn);
  EXPECT_EQ(b.drain(), (List{2, 12})) << "then new ones; 5 has but two above it";
  b.sack(0, 8);
  EXPECT_EQ(b.drain(), (List{5, 13}));
  EXPECT_EQ(b.tcp.recoveries(), 1u);
}

TEST(TcpSenderTest, ATimeoutResendsWhatIsNotAcknowledgedInsideTheWindow) {
  Bench b(8);
  b.drain();
  b.sack(0, 3);
  EXPECT_EQ(b.tcp.on_timeout(kT0 + 320_us - 1_ps), TimeoutKind::kNone);
  EXPECT_EQ(b.tcp.on_timeout(kT0 + 320_us), TimeoutKind::kRtoHigh);
  b.tcp.take_window(1);
  EXPECT_EQ(b.drain(), (List{0}));
  b.ack(1);
  b.tcp.take_window(2);
  EXPECT_EQ(b.drain(), (List{1, 2}));
  b.ack(4);  // 3 had arrived
  b.tcp.take_window(8);
  EXPECT_EQ(b.drain(), (List{4, 5, 6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(b.tcp.recoveries(), 1u);
}

TEST(TcpSenderTest, TheTimerFollowsTheRoundTripAndIsAtLeastRtoHigh) {
  for (const auto [rtt, least, most] :
       {std::array{30_us, 320_us, 320_us}, std::array{500_us, 500_us, 501_us}}) {
    Bench b(1);
    for (int i = 0; i < 50; ++i) {
      const Time sent = kT0 + 1_ms * i;
      b.drain(sent);
      b.tcp.on_ack(kStart + i + 1, sent + rtt);
    }
    b.drain(kT0 + 100_ms);
    EXPECT_GE(b.tcp.next_timeout(), kT0 + 100_ms + least);
    EXPECT_LE(b.tcp.next_timeout(), kT0 + 100_ms + most);
  }
}

TEST(TcpSenderTest, NeverMoreThanTheReceiversBitmapIsOut) {
  TcpSender tcp(IrnConfig{.bdp_cap = 0, .bitmap_packets = 64}, true, kStart);
  while (tcp.has_more(kEndless)) tcp.pull(kEndless, kT0);
  EXPECT_EQ(tcp.next() - tcp.una(), 64);
}

}  // namespace
}  // namespace rocelab
