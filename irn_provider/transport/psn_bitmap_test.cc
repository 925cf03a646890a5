#include "irn_provider/transport/psn_bitmap.h"

#include <gtest/gtest.h>

#include <set>

#include "base/rng.h"

namespace rocelab {
namespace {

constexpr UnwrappedPsn kStart = 0xFFFFF0;

TEST(PsnBitmapTest, CoversExactlyItsCapacityFromTheHead) {
  PsnBitmap map(110, kStart);
  EXPECT_FALSE(map.covers(kStart - 1));
  EXPECT_TRUE(map.covers(kStart));
  EXPECT_TRUE(map.covers(kStart + 109));
  EXPECT_FALSE(map.covers(kStart + 110));
  EXPECT_FALSE(map.test(kStart + 110));
  EXPECT_FALSE(map.test(kStart - 1));
}

TEST(PsnBitmapDeathTest, RefusesToWriteOutsideItself) {
  PsnBitmap map(110, kStart);
  EXPECT_DEATH(map.set(kStart + 110), "invariant");
  EXPECT_DEATH(map.set(kStart - 1), "invariant");
  EXPECT_DEATH(map.advance(kStart - 1), "invariant");
}

TEST(PsnBitmapTest, FindsTheFirstZeroAcrossWordsAndTheWrapOfPsns) {
  PsnBitmap map(128, kStart);
  for (UnwrappedPsn psn = kStart; psn < kStart + 100; ++psn) map.set(psn);
  EXPECT_EQ(map.first_zero(kStart), kStart + 100);
  EXPECT_EQ(map.first_zero(kStart + 100), kStart + 100);
  map.set(kStart + 101);
  EXPECT_EQ(map.first_zero(kStart + 101), kStart + 102);
}

TEST(PsnBitmapTest, AFullRingHasNoZero) {
  PsnBitmap map(110, kStart);
  for (UnwrappedPsn psn = kStart; psn < map.end(); ++psn) map.set(psn);
  EXPECT_EQ(map.first_zero(kStart), map.end());
  EXPECT_EQ(map.popcount(kStart, map.end()), 110u);
  map.advance(map.end());
  EXPECT_EQ(map.popcount(map.head(), map.end()), 0u);
}

TEST(PsnBitmapTest, ShiftForgetsWhatLeavesAndClearsWhatEnters) {
  PsnBitmap map(64, kStart);
  map.set(kStart + 3);
  map.set(kStart + 63);
  map.advance(kStart + 4);
  EXPECT_FALSE(map.test(kStart + 3));
  EXPECT_TRUE(map.test(kStart + 63));
  EXPECT_FALSE(map.test(kStart + 67)) << "the ring slot of kStart + 3 must come back empty";
  map.advance(kStart + 1000);  // beyond everything it held
  EXPECT_EQ(map.popcount(map.head(), map.end()), 0u);
}

TEST(PsnBitmapTest, AgreesWithASetOverRandomOperations) {
  for (const std::size_t capacity : {1u, 2u, 63u, 64u, 65u, 110u, 128u, 129u, 500u, 4'096u}) {
    Rng rng(7 + capacity);
    PsnBitmap map(capacity, kStart);
    std::set<UnwrappedPsn> model;
    std::uint64_t ahead = std::min<std::uint64_t>(capacity, 100);  // at first little of it is used
    for (int step = 0; step < 3000; ++step) {
      if (step % 500 == 499) ahead = std::min<std::uint64_t>(capacity, ahead * 3);
      const auto at = [&] { return map.head() + static_cast<UnwrappedPsn>(rng.below(ahead)); };
      const auto anywhere = [&] { return map.head() + static_cast<UnwrappedPsn>(rng.below(capacity)); };
      if (rng.bernoulli(0.1)) {
        const UnwrappedPsn first = at(), most = map.head() + static_cast<UnwrappedPsn>(ahead);
        const UnwrappedPsn end = first + static_cast<UnwrappedPsn>(rng.below(most - first + 1));
        map.set(first, end);
        for (UnwrappedPsn psn = first; psn < end; ++psn) model.insert(psn);
      } else if (rng.bernoulli(0.8)) {
        const UnwrappedPsn psn = at();
        map.set(psn);
        model.insert(psn);
      } else if (rng.bernoulli(0.5)) {
        const UnwrappedPsn psn = anywhere();
        map.reset(psn);
        model.erase(psn);
      } else {
        map.advance(at());
        model.erase(model.begin(), model.lower_bound(map.head()));
      }
      const UnwrappedPsn from = anywhere();
      const UnwrappedPsn to = from + static_cast<UnwrappedPsn>(rng.below(map.end() - from + 1));
      ASSERT_EQ(map.test(from), model.contains(from)) << capacity << " step " << step;
      const auto ones = std::distance(model.lower_bound(from), model.lower_bound(to));
      ASSERT_EQ(map.popcount(from, to), static_cast<std::size_t>(ones)) << capacity << " step " << step;
      UnwrappedPsn zero = from;
      while (zero < map.end() && model.contains(zero)) ++zero;
      ASSERT_EQ(map.first_zero(from), zero) << capacity << " step " << step;
      UnwrappedPsn start = from;
      while (start > map.head() && model.contains(start - 1)) --start;
      ASSERT_EQ(map.run_start(from), start) << capacity << " step " << step;
    }
  }
}

}  // namespace
}  // namespace rocelab
