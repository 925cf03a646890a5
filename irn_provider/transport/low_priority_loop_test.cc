#include "irn_provider/transport/low_priority_loop.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "base/rng.h"

namespace rocelab {
namespace {

Rc3Config levels(std::vector<std::uint32_t> packets) {
  Rc3Config config;
  config.levels = static_cast<std::uint8_t>(packets.size() + 1);
  std::ranges::copy(packets, config.packets.begin());
  return config;
}

using List = std::vector<std::pair<std::int64_t, unsigned>>;
List drain(LowPriorityLoop& loop, std::size_t most = 1'000'000) {
  List sent;
  while (loop.has_next() && sent.size() < most) {
    const unsigned level = loop.next_level();
    const LowPacket packet = loop.pull();
    EXPECT_EQ(packet.level, level);
    sent.emplace_back(packet.psn, packet.level);
  }
  return sent;
}

// 2.1.1: the next 400 and the next 4000, not up to 400 and up to 4000; the last level takes the rest.
TEST(LowPriorityLoopTest, LevelsAreSoManyPacketsEachFromTheEndOn) {
  for (const bool fourth : {false, true}) {
    LowPriorityLoop loop(levels(fourth ? std::vector<std::uint32_t>{40, 400, 4'000, 10}
                                       : std::vector<std::uint32_t>{40, 400, 4'000}));
    loop.add(0, 5'000);
    const List sent = drain(loop);
    ASSERT_EQ(sent.size(), 5'000u);
    for (std::size_t i = 0; i < sent.size(); ++i) {
      ASSERT_EQ(sent[i].first, 4'999 - static_cast<std::int64_t>(i));
      ASSERT_EQ(sent[i].second, i < 40 ? 1u : i < 440 ? 2u : i < 4'440 || !fourth ? 3u : 4u) << i;
    }
  }
}

TEST(LowPriorityLoopTest, ItEndsWhereItMeetsThePrimary) {
  LowPriorityLoop loop(levels({40, 400}));
  loop.add(10, 20);
  loop.pass(14);
  EXPECT_EQ(drain(loop, 3), (List{{19, 1}, {18, 1}, {17, 1}}));
  loop.pass(16);
  EXPECT_EQ(drain(loop), (List{{16, 1}}));
  EXPECT_TRUE(loop.has_sent(17));
  EXPECT_FALSE(loop.has_sent(15));
  loop.pass(18);
  EXPECT_TRUE(drain(loop).empty());
  EXPECT_TRUE(loop.has_sent(18)) << "what the primary has still to pass";
  EXPECT_EQ(loop.sent_end(), 20);
}

// 2.3.2: each chunk begins at level 1 anew; a queue by priorities at the host.
TEST(LowPriorityLoopTest, OfSeveralMessagesTheLowestLevelGoesFirst) {
  LowPriorityLoop loop(levels({2, 3}));
  loop.add(0, 4);
  EXPECT_EQ(drain(loop, 3), (List{{3, 1}, {2, 1}, {1, 2}}));
  loop.add(4, 9);
  EXPECT_EQ(drain(loop), (List{{8, 1}, {7, 1}, {0, 2}, {6, 2}, {5, 2}, {4, 2}}));
}

TEST(LowPriorityLoopTest, StoppedItSendsNothingButWhatComesLater) {
  LowPriorityLoop loop(levels({40}));
  loop.add(0, 10);
  loop.pull();
  loop.stop();
  EXPECT_FALSE(loop.has_next());
  loop.add(10, 12);
  EXPECT_EQ(drain(loop), (List{{11, 1}, {10, 1}}));
}

// Whatever the primary does meanwhile: once, and never what the primary has sent.
TEST(LowPriorityLoopTest, EachPacketLeavesOnceAndAboveWhatThePrimaryHasSent) {
  Rng rng(5);
  for (int run = 0; run < 300; ++run) {
    LowPriorityLoop loop(levels({3, 5, 7}));
    UnwrappedPsn end = 0, next = 0;
    std::map<UnwrappedPsn, int> sent;
    for (int step = 0; step < 400; ++step) {
      const std::uint64_t what = rng.below(4);
      if (what == 0) {
        const auto length = static_cast<UnwrappedPsn>(1 + rng.below(30));
        loop.add(end, end + length);
        loop.pass(next);
        end += length;
      } else if (what == 1 && next < end) {
        const bool was_sent = sent.contains(next);
        EXPECT_EQ(loop.has_sent(next), was_sent);
        loop.pass(++next);
      } else if (loop.has_next()) {
        const LowPacket packet = loop.pull();
        EXPECT_EQ(++sent[packet.psn], 1);
        EXPECT_GE(packet.psn, next);
        EXPECT_LT(packet.psn, end);
      }
    }
    while (loop.has_next()) ++sent[loop.pull().psn];
    for (UnwrappedPsn psn = next; psn < end; ++psn) EXPECT_EQ(sent[psn], 1);
  }
}

}  // namespace
}  // namespace rocelab
