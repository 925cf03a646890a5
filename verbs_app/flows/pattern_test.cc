#include "verbs_app/flows/pattern.h"

#include <gtest/gtest.h>

#include <vector>

namespace rocelab::app {
namespace {

std::vector<std::byte> pattern(std::uint32_t flow, std::size_t size) {
  std::vector<std::byte> data(size);
  fill_pattern(flow, data);
  return data;
}

TEST(PatternTest, AcceptsWhatItFilledAtEveryTailLength) {
  for (std::size_t size = 0; size < 40; ++size) EXPECT_FALSE(find_mismatch(3, pattern(3, size))) << size;
}

TEST(PatternTest, FindsTheFirstWrongByte) {
  for (const std::size_t at : {0u, 7u, 8u, 1000u, 1001u}) {
    auto data = pattern(3, 1002);
    data[at] ^= std::byte{1};
    EXPECT_EQ(find_mismatch(3, data), at);
  }
}

TEST(PatternTest, DiffersBetweenFlowsAndBetweenPlaces) {
  EXPECT_TRUE(find_mismatch(4, pattern(3, 64)));
  // A packet placed one path MTU too far.
  auto data = pattern(3, 4096);
  std::copy(data.begin(), data.begin() + 1024, data.begin() + 1024);
  EXPECT_EQ(find_mismatch(3, data), 1024u);
}

}  // namespace
}  // namespace rocelab::app
