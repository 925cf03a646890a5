#include "base/nearest.h"

#include <gtest/gtest.h>

namespace rocelab {
namespace {

TEST(NearestTest, NamesTheFewestEdits) {
  EXPECT_EQ(nearest("congetsion", {"quantum", "congestion", "procPrio"}), "congestion");
  EXPECT_EQ(nearest("ab", {"ac", "ad"}), "ac");
}

TEST(NearestTest, IsSilentWhereNothingIsNear) {
  EXPECT_EQ(nearest("xyz", {"congestion", "procPrio"}), "");
  EXPECT_EQ(nearest("abcd", {"efgh"}), "");
  EXPECT_EQ(nearest("a", {}), "");
}

TEST(NearestTest, ASlipIsOneLetterOrTwoThatChangedPlaces) {
  for (const char* slip : {"hots", "hossts", "hists", "hosst", "ohsts"})
    EXPECT_TRUE(is_slip(slip, "hosts")) << slip;
  for (const char* other : {"hosts", "posta", "hot", "ohstt", "", "sthos"})
    EXPECT_FALSE(is_slip(other, "hosts")) << other;
  EXPECT_FALSE(is_slip("dst", "src"));
}

}  // namespace
}  // namespace rocelab
