#include "base/class_map.h"

#include <gtest/gtest.h>

namespace rocelab {
namespace {

TEST(ClassMapTest, TheClassOfADscpIsItsClassSelector) {
  const ClassMap map;
  EXPECT_EQ(map.of(26), Tc{3}) << "AF31, of RoCE";
  EXPECT_EQ(map.of(48), Tc{6}) << "CS6, of CNPs";
  EXPECT_EQ(map.of(24), Tc{3}) << "CS3";
  EXPECT_EQ(map.of(34), Tc{4}) << "AF41";
  EXPECT_EQ(map.of(0), Tc{0});
  EXPECT_EQ(map.of(7), Tc{0});
  EXPECT_EQ(map.of(63), Tc{7});
  for (std::uint8_t tc = 0; tc < kTrafficClasses; ++tc) EXPECT_TRUE(map.reaches(Tc{tc})) << int{tc};
}

TEST(ClassMapTest, AClassThatNoDscpIsMappedToIsNotReached) {
  ClassMap map;
  for (std::uint8_t dscp = 32; dscp < 40; ++dscp) map.classes[dscp] = 3;
  EXPECT_EQ(map.of(34), Tc{3});
  EXPECT_FALSE(map.reaches(Tc{4}));
  EXPECT_TRUE(map.reaches(Tc{5}));
}

TEST(ClassMapTest, AClassPrefersItsSelectorAndElseTheLowestDscp) {
  ClassMap map;
  EXPECT_EQ(map.dscp_of(Tc{3}), 24);
  EXPECT_EQ(map.dscp_of(Tc{0}), 0);
  map.classes[24] = 5;
  EXPECT_EQ(map.dscp_of(Tc{3}), 25);
  for (std::uint8_t dscp = 32; dscp < 40; ++dscp) map.classes[dscp] = 3;
  EXPECT_EQ(map.dscp_of(Tc{4}), std::nullopt);
}

TEST(ClassMapTest, ADscpThatIsLeftOutIsOfClass0AndUnknown) {
  ClassMap map;
  map.classes[34] = ClassMap::kUnknown;
  EXPECT_FALSE(map.knows(34));
  EXPECT_TRUE(map.knows(35));
  EXPECT_EQ(map.of(34), Tc{0});
}

}  // namespace
}  // namespace rocelab
