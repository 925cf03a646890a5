#include "base/psn.h"

#include <gtest/gtest.h>

namespace rocelab {
namespace {

constexpr UnwrappedPsn kWrap = 1 << 24;

TEST(PsnTest, KeepsTwentyFourBits) {
  EXPECT_EQ(Psn(0x1fffff0).value(), 0xfffff0u);
  EXPECT_EQ(wrap(0xfffff0 + 0x20).value(), 0x10u);
  EXPECT_EQ(wrap(-1).value(), 0xffffffu);
  EXPECT_EQ(wrap(5 * kWrap + 3), Psn(3));
}

TEST(PsnTest, UnwrapsForwardOverTheWrap) {
  UnwrappedPsn next = 0xfffff0;
  for (int i = 0; i < 64; ++i, ++next) EXPECT_EQ(unwrap(wrap(next), next - 1), next);
  EXPECT_EQ(unwrap(Psn(0x10), 0xfffff0), kWrap + 0x10);
}

TEST(PsnTest, UnwrapsBackwardOverTheWrap) {
  EXPECT_EQ(unwrap(Psn(0xfffff0), kWrap + 0x10), 0xfffff0);
  EXPECT_EQ(unwrap(Psn(0xffffff), 0), -1);
  EXPECT_EQ(unwrap(Psn(0xffffff), 7 * kWrap), 7 * kWrap - 1);
}

TEST(PsnTest, UnwrapChoosesTheNearerSide) {
  for (const UnwrappedPsn reference : {UnwrappedPsn{0}, UnwrappedPsn{0xfffff0}, 9 * kWrap + 5}) {
    EXPECT_EQ(unwrap(wrap(reference + kWrap / 2 - 1), reference), reference + kWrap / 2 - 1);
    EXPECT_EQ(unwrap(wrap(reference + kWrap / 2), reference), reference - kWrap / 2);  // the tie goes back
    EXPECT_EQ(unwrap(wrap(reference - kWrap / 2 + 1), reference), reference - kWrap / 2 + 1);
  }
}

TEST(PsnTest, UnwrapUndoesWrapEverywhereNear) {
  for (UnwrappedPsn delta = -kWrap / 2; delta < kWrap / 2; delta += 4099)
    ASSERT_EQ(unwrap(wrap(0xfffff0 + delta), 0xfffff0), 0xfffff0 + delta);
}

}  // namespace
}  // namespace rocelab
