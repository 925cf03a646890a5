#include "irn_provider/transport/sack_runs.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "base/rng.h"
#include "irn_provider/transport/irn_receiver.h"

namespace rocelab {
namespace {

constexpr UnwrappedPsn kStart = 0xFFFFF0;
using Runs = std::vector<std::pair<UnwrappedPsn, UnwrappedPsn>>;

Runs said(const IrnReceiver& receiver) {
  Runs runs;
  const IrnBlocks blocks = receiver.blocks(kStart);
  for (const IrnBlocks::Block& block : blocks.blocks)
    if (block.first != block.end)
      runs.emplace_back(unwrap(block.first, kStart) - kStart, unwrap(block.end, kStart) - kStart);
  return runs;
}

IrnReceiver receiver_of(std::uint32_t packets) {
  return IrnReceiver(IrnConfig{.bdp_cap = 0, .bitmap_packets = packets}, kStart, true);
}

TEST(SackRunsTest, TheRunThatChangedLastIsFirst) {
  IrnReceiver receiver = receiver_of(64);
  EXPECT_FALSE(receiver.has_blocks());
  for (const UnwrappedPsn psn : {20, 10, 19, 30}) receiver.accept(kStart + psn, false);
  EXPECT_EQ(said(receiver), (Runs{{30, 31}, {19, 21}, {10, 11}}));
  receiver.accept(kStart + 40, false);
  EXPECT_EQ(said(receiver), (Runs{{40, 41}, {30, 31}, {19, 21}})) << "three of four";
  receiver.accept(kStart + 11, false);
  EXPECT_EQ(said(receiver), (Runs{{10, 12}, {40, 41}, {30, 31}})) << "with what was said long ago";
  for (UnwrappedPsn psn = 12; psn < 19; ++psn) receiver.accept(kStart + psn, false);
  EXPECT_EQ(said(receiver), (Runs{{10, 21}, {40, 41}, {30, 31}})) << "two runs have met";
  for (UnwrappedPsn psn = 0; psn < 10; ++psn) receiver.accept(kStart + psn, false);
  EXPECT_EQ(receiver.expected(), kStart + 21);
  EXPECT_EQ(said(receiver), (Runs{{40, 41}, {30, 31}}));
}

TEST(SackRunsTest, WithoutAGapThereIsNothingToSay) {
  IrnReceiver receiver = receiver_of(64), plain(IrnConfig{}, kStart);
  receiver.accept(kStart + 1, false), plain.accept(kStart + 1, false);
  EXPECT_TRUE(receiver.has_blocks());
  EXPECT_FALSE(plain.has_blocks()) << "a receiver without RC3";
  receiver.accept(kStart, false);
  EXPECT_FALSE(receiver.has_blocks());
}

// Against what has arrived: each block is a whole run of it, the first is that of the last packet above a
// gap, and no two are of one run. Where two have met there may be fewer than there are runs.
TEST(SackRunsTest, BlocksAreRunsOfWhatHasArrived) {
  int three = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Rng rng(seed);
    const auto size = static_cast<std::uint32_t>(4 + rng.below(300));
    IrnReceiver receiver = receiver_of(size);
    std::set<UnwrappedPsn> held;
    bool taken_back = false;
    for (int step = 0; step < 2'000; ++step) {
      const UnwrappedPsn psn = receiver.expected() + static_cast<UnwrappedPsn>(rng.below(size));
      if (held.contains(psn)) {
        if (rng.below(20) > 0) continue;
        receiver.forget(psn), held.erase(psn), taken_back = true;
        continue;
      }
      const UnwrappedPsn expected = receiver.expected();
      receiver.accept(psn, false);
      held.insert(psn);
      for (UnwrappedPsn done = expected; done < receiver.expected(); ++done) held.erase(done);
      ASSERT_EQ(receiver.has_blocks(), !held.empty());
      if (held.empty()) continue;
      std::size_t runs = 0;
      for (const UnwrappedPsn p : held) runs += !held.contains(p - 1);
      const Runs blocks = said(receiver);
      ASSERT_LE(blocks.size(), std::min<std::size_t>(runs, 3)) << seed << ' ' << step;
      three += blocks.size() == 3;
      std::set<UnwrappedPsn> firsts;
      for (const auto& [first, end] : blocks) {
        ASSERT_TRUE(firsts.insert(first).second);
        for (UnwrappedPsn p = first; p < end; ++p) ASSERT_TRUE(held.contains(kStart + p));
        if (!taken_back) {
          ASSERT_FALSE(held.contains(kStart + first - 1) || held.contains(kStart + end));
        }
      }
      if (psn == expected) continue;
      ASSERT_FALSE(blocks.empty());
      ASSERT_LE(blocks[0].first, psn - kStart);
      ASSERT_GT(blocks[0].second, psn - kStart);
    }
  }
  EXPECT_GT(three, 10'000);
}

}  // namespace
}  // namespace rocelab
