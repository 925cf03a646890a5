#include "irn_provider/transport/irn_receiver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "base/rng.h"

namespace rocelab {
namespace {

constexpr UnwrappedPsn kStart = 0xFFFFF0;

TEST(IrnReceiverTest, CountsMessagesOnlyWhenEverythingBeforeHasArrived) {
  IrnReceiver receiver(IrnConfig{}, kStart);  // messages: {0,1}, {2}, {3,4}
  EXPECT_EQ(receiver.accept(kStart, false), 0u);
  EXPECT_EQ(receiver.classify(kStart + 2), Arrival::kOutOfOrder);
  EXPECT_EQ(receiver.accept(kStart + 2, true), 0u);
  EXPECT_EQ(receiver.accept(kStart + 4, true), 0u);
  EXPECT_TRUE(receiver.holds_packets());
  EXPECT_EQ(receiver.expected(), kStart + 1);
  EXPECT_EQ(receiver.classify(kStart + 1), Arrival::kInOrder);
  EXPECT_EQ(receiver.accept(kStart + 1, true), 2u)
      << "the filled hole completes both messages before the next hole";
  EXPECT_EQ(receiver.expected(), kStart + 3);
  EXPECT_EQ(receiver.accept(kStart + 3, false), 1u);
  EXPECT_EQ(receiver.expected(), kStart + 5);
  EXPECT_FALSE(receiver.holds_packets());
}

TEST(IrnReceiverTest, NamesDuplicatesBelowAndAboveTheHole) {
  IrnReceiver receiver(IrnConfig{}, kStart);
  receiver.accept(kStart, true);
  receiver.accept(kStart + 5, true);
  EXPECT_EQ(receiver.classify(kStart), Arrival::kDuplicate);
  EXPECT_EQ(receiver.classify(kStart + 5), Arrival::kDuplicate);
  EXPECT_EQ(receiver.classify(kStart + 1), Arrival::kInOrder);
}

TEST(IrnReceiverTest, TheBitmapHoldsExactlyTheBdpCap) {
  IrnReceiver receiver(IrnConfig{.bdp_cap = 110}, kStart);
  EXPECT_EQ(receiver.classify(kStart + 109), Arrival::kOutOfOrder);
  EXPECT_EQ(receiver.classify(kStart + 110), Arrival::kBeyondBitmap);
  receiver.accept(kStart, false);
  EXPECT_EQ(receiver.classify(kStart + 110), Arrival::kOutOfOrder);
}

TEST(IrnReceiverTest, WithoutACapTheBitmapSizeIsItsOwnParameter) {
  IrnReceiver receiver(IrnConfig{.bdp_cap = 0, .bitmap_packets = 300}, kStart);
  EXPECT_EQ(receiver.classify(kStart + 299), Arrival::kOutOfOrder);
  EXPECT_EQ(receiver.classify(kStart + 300), Arrival::kBeyondBitmap);
}

TEST(IrnReceiverTest, GoBackNNacksAHoleOnceAndKeepsNothingAboveIt) {
  IrnReceiver receiver(IrnConfig{.go_back_n = true}, kStart);
  EXPECT_TRUE(receiver.discards_out_of_order());
  EXPECT_EQ(receiver.classify(kStart + 200), Arrival::kOutOfOrder);
  EXPECT_TRUE(receiver.take_nack_due());
  EXPECT_FALSE(receiver.take_nack_due());
  receiver.accept(kStart, false);
  EXPECT_EQ(receiver.classify(kStart + 1), Arrival::kInOrder);
  EXPECT_EQ(receiver.classify(kStart + 2), Arrival::kOutOfOrder);
  EXPECT_TRUE(receiver.take_nack_due()) << "a new hole after an arrival in order";
}

TEST(IrnReceiverTest, AnyArrivalOrderWithinTheCapCompletesAllMessagesOnce) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Rng rng(seed);
    IrnReceiver receiver(IrnConfig{.bdp_cap = 64}, kStart);
    constexpr int kPackets = 400;
    std::vector<bool> last(kPackets);
    for (int i = 0; i < kPackets; ++i) last[i] = rng.bernoulli(0.3);
    std::uint32_t completed = 0;
    int accepted = 0;
    while (receiver.expected() < kStart + kPackets) {
      const UnwrappedPsn psn = receiver.expected() + static_cast<UnwrappedPsn>(rng.below(64));
      if (psn >= kStart + kPackets || receiver.classify(psn) == Arrival::kDuplicate) continue;
      completed += receiver.accept(psn, last[psn - kStart]);
      ++accepted;
      const auto in_order = std::count(last.begin(), last.begin() + (receiver.expected() - kStart), true);
      ASSERT_EQ(completed, static_cast<std::uint32_t>(in_order)) << "seed " << seed;
    }
    EXPECT_EQ(accepted, kPackets);
    EXPECT_FALSE(receiver.holds_packets());
  }
}

// The receiver of the IRN chapter's own simulator (github.com/NetSys/irn-vivado-hls, irn_receiver/traces):
// each arrival of a 40 Gb/s incast of 50 senders, and the answer to it. ROCELAB_IRN_TRACE names the folder
// with recvInput-40Gbps-incast.txt (number of lines; queue pair, opcode, PSN) and
// recvOutput-40Gbps-incast.txt (syndrome, expected PSN, selectively acknowledged PSN, MSN, CQEs).
TEST(IrnReceiverTest, AnswersEachArrivalOfTheAuthorsTraceAsTheirSimulatorDoes) {
  const char* folder = std::getenv("ROCELAB_IRN_TRACE");
  if (folder == nullptr) GTEST_SKIP() << "ROCELAB_IRN_TRACE does not name a folder with the authors' traces";
  std::ifstream in(std::string(folder) + "/recvInput-40Gbps-incast.txt");
  std::ifstream out(std::string(folder) + "/recvOutput-40Gbps-incast.txt");
  std::size_t lines = 0, copies = 0, out_of_order = 0;
  ASSERT_TRUE(in >> lines);
  std::map<int, IrnReceiver> receivers;
  for (std::size_t line = 0; line < lines; ++line) {
    int queue_pair = 0, opcode = 0, nack = 0, msn = 0, cqes = 0;
    UnwrappedPsn psn = 0, expected = 0, sack = 0;
    ASSERT_TRUE(in >> queue_pair >> opcode >> psn);
    ASSERT_TRUE(out >> nack >> expected >> sack >> msn >> cqes);
    IrnReceiver& receiver =
        receivers.try_emplace(queue_pair, IrnConfig{.bdp_cap = 128}, UnwrappedPsn{0}).first->second;
    const Arrival arrival = receiver.classify(psn);
    ASSERT_NE(arrival, Arrival::kBeyondBitmap) << line;
    if (arrival == Arrival::kDuplicate) {
      ++copies;
    } else {
      receiver.accept(psn, false);
    }
    out_of_order += arrival == Arrival::kOutOfOrder;
    const bool hole = psn > receiver.expected();
    ASSERT_EQ(hole, nack == 1) << line;
    ASSERT_EQ(receiver.expected(), expected) << line;
    ASSERT_EQ(psn, sack) << line << ": of an ACK it means nothing";
  }
  RecordProperty("copies", static_cast<int>(copies));
  RecordProperty("out_of_order", static_cast<int>(out_of_order));
}

}  // namespace
}  // namespace rocelab
