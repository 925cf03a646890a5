#include "irn_provider/realtime/peer_table.h"

#include <gtest/gtest.h>

namespace rocelab::direct {
namespace {

Gid gid(std::uint32_t i) {
  return ipv4_mapped({10, static_cast<std::uint8_t>(i >> 16), static_cast<std::uint8_t>(i >> 8),
                      static_cast<std::uint8_t>(i)});
}
MacAddress mac(std::uint32_t i) {
  return {2,
          0,
          0,
          static_cast<std::uint8_t>(i >> 16),
          static_cast<std::uint8_t>(i >> 8),
          static_cast<std::uint8_t>(i)};
}

TEST(PeerTableTest, AnyNumberOfSendersTakesABoundedNumberOfPlaces) {
  PeerTable table;
  table.keep(gid(0), mac(0));
  for (std::uint32_t i = 1; i <= 100'000; ++i) {
    table.hear(gid(i), mac(i));
    ASSERT_LE(table.size(), 1 + PeerTable::kMostHeard);
  }
  EXPECT_EQ(table.size(), 1 + PeerTable::kMostHeard);
  EXPECT_EQ(table.find(gid(0)), mac(0)) << "its own stays";
  EXPECT_EQ(table.find(gid(100'000)), mac(100'000));
  EXPECT_FALSE(table.find(gid(1)));
}

TEST(PeerTableTest, TheOneHeardLongestAgoGoes) {
  PeerTable table;
  for (std::uint32_t i = 0; i < PeerTable::kMostHeard; ++i) table.hear(gid(i), mac(i));
  table.hear(gid(0), mac(0));
  table.hear(gid(PeerTable::kMostHeard), mac(9));
  EXPECT_TRUE(table.find(gid(0)));
  EXPECT_FALSE(table.find(gid(1)));
}

TEST(PeerTableTest, WhatIsKnownIsNotOverwrittenByWhatIsHeard) {
  PeerTable table;
  table.keep(gid(0), mac(0));
  table.hear(gid(0), mac(7));
  table.hear(gid(1), mac(1));
  table.hear(gid(1), mac(7));
  EXPECT_EQ(table.find(gid(0)), mac(0));
  EXPECT_EQ(table.find(gid(1)), mac(1));
}

TEST(PeerTableTest, AHeardPeerThatWasAskedForStays) {
  PeerTable table;
  table.hear(gid(0), mac(7));
  table.keep(gid(0), mac(0));
  for (std::uint32_t i = 1; i <= 2 * PeerTable::kMostHeard; ++i) table.hear(gid(i), mac(i));
  EXPECT_EQ(table.find(gid(0)), mac(0));
  table.keep(gid(0), mac(1));
  EXPECT_EQ(table.find(gid(0)), mac(1));
  EXPECT_EQ(table.size(), 1 + PeerTable::kMostHeard);
}

}  // namespace
}  // namespace rocelab::direct
