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

}  // namespace
}  // namespace rocelab
