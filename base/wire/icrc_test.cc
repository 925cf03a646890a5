#include "base/wire/icrc.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/wire/test_frames.h"

namespace rocelab {
namespace {

// Bit by bit, from the definition; shares nothing with the tables and folds under test.
std::uint32_t crc32_by_definition(std::uint32_t state, std::span<const std::byte> bytes) {
  for (const std::byte b : bytes) {
    state ^= std::to_integer<std::uint32_t>(b);
    for (int bit = 0; bit < 8; ++bit) state = (state & 1) != 0 ? (state >> 1) ^ 0xedb88320u : state >> 1;
  }
  return state;
}

TEST(IcrcTest, Crc32HasTheCheckValueOfItsCatalogueEntry) {
  const auto bytes = std::as_bytes(std::span("123456789", 9));
  EXPECT_EQ(~crc32(0xffffffff, bytes), 0xcbf43926u);
  EXPECT_EQ(~crc32_portable(0xffffffff, bytes), 0xcbf43926u);
}

TEST(IcrcTest, AllVersionsAgreeWithTheDefinitionOnEveryLengthAndAlignment) {
  if (!has_vpclmul()) GTEST_LOG_(INFO) << "not compared here: VPCLMUL" << (has_pclmul() ? "" : ", PCLMUL");
  Rng rng(1);
  std::vector<std::byte> buffer(4300);
  for (auto& b : buffer) b = static_cast<std::byte>(rng.below(256));
  const auto compare = [&](std::size_t from, std::size_t length) {
    const auto bytes = std::span<const std::byte>(buffer).subspan(from, length);
    const auto state = static_cast<std::uint32_t>(rng.next());
    const std::uint32_t want = crc32_by_definition(state, bytes);
    ASSERT_EQ(crc32_portable(state, bytes), want) << "portable, length " << length << " from " << from;
    if (has_pclmul()) {
      ASSERT_EQ(crc32_pclmul(state, bytes), want) << "PCLMUL, length " << length << " from " << from;
    }
    if (has_vpclmul()) {
      ASSERT_EQ(crc32_vpclmul(state, bytes), want) << "VPCLMUL, length " << length << " from " << from;
    }
    ASSERT_EQ(crc32(state, bytes), want);
  };
  for (std::size_t length = 0; length <= 300; ++length) compare(length % 17, length);
  for (int i = 0; i < 2000; ++i) {
    const std::size_t from = rng.below(64);
    compare(from, rng.below(buffer.size() - from));
  }
}

TEST(IcrcTest, CrcOfPiecesIsTheCrcOfTheWhole) {
  Rng rng(2);
  std::vector<std::byte> buffer(1500);
  for (auto& b : buffer) b = static_cast<std::byte>(rng.below(256));
  const auto bytes = std::span<const std::byte>(buffer);
  for (std::size_t cut = 0; cut <= buffer.size(); cut += 13)
    ASSERT_EQ(crc32(crc32(0xffffffff, bytes.first(cut)), bytes.subspan(cut)), crc32(0xffffffff, bytes))
        << cut;
}

// Dummy header, masks and tails, against the definition.
TEST(IcrcTest, AllVersionsAgreeWithTheDefinitionOnPacketsOfEveryLength) {
  Rng rng(3);
  for (const bool is_ipv4 : {true, false}) {
    const std::size_t ip = is_ipv4 ? 20 : 40;
    for (std::size_t length = ip + 8 + 12; length <= 700; ++length) {
      std::vector<std::byte> packet(length);  // on the heap, so that a read behind it is found
      for (auto& b : packet) b = static_cast<std::byte>(rng.below(256));
      std::vector<std::byte> masked(8, std::byte{0xff});
      masked.insert(masked.end(), packet.begin(), packet.end());
      const auto ones = [&](std::size_t at) { masked[8 + at] = std::byte{0xff}; };
      if (is_ipv4) {
        for (const std::size_t at : {1, 8, 10, 11}) ones(at);  // TOS, TTL, checksum
      } else {
        masked[8] |= std::byte{0x0f};
        for (const std::size_t at : {1, 2, 3, 7}) ones(at);  // traffic class, flow label, hop limit
      }
      for (const std::size_t at : {ip + 6, ip + 7, ip + 8 + 4}) ones(at);  // UDP checksum, FECN and BECN
      const std::uint32_t want = ~crc32_by_definition(0xffffffff, masked);
      ASSERT_EQ(icrc_portable(packet, is_ipv4), want) << length;
      if (has_pclmul()) {
        ASSERT_EQ(icrc_pclmul(packet, is_ipv4), want) << length;
      }
      if (has_vpclmul()) {
        ASSERT_EQ(icrc_vpclmul(packet, is_ipv4), want) << length;
      }
      ASSERT_EQ(icrc(packet, is_ipv4), want);
    }
  }
}

// IPv6 fe80::1 > fe80::2, traffic class 0x6a, flow label 0x12345, SEND_ONLY with 8 bytes; ICRC by zlib's
// crc32 over the frame masked by hand as the Linux driver does it (rxe_icrc_hdr).
TEST(IcrcTest, Ipv6MasksTrafficClassFlowLabelAndHopLimit) {
  auto packet = test::from_hex(
      "66a1234500201140 fe800000000000000000000000000001 fe800000000000000000000000000002 c00112b700200000"
      "0440ffff0000001280fffff0 726f63656c616221");
  EXPECT_EQ(icrc(packet, false), 0x9c9f3284u);  // on the wire 84 32 9f 9c
  packet[1] = packet[2] = packet[3] = packet[7] = std::byte{0};
  packet[0] = std::byte{0x60};
  EXPECT_EQ(icrc(packet, false), 0x9c9f3284u);
  packet[0] = std::byte{0x50};
  EXPECT_NE(icrc(packet, false), 0x9c9f3284u);
}

}  // namespace
}  // namespace rocelab
