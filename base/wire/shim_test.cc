#include "base/wire/shim.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/wire/frame.h"
#include "base/wire/frame_view.h"
#include "base/wire/test_frames.h"

namespace rocelab {
namespace {

using test::ByteVector;
using test::NamedFrame;

const ByteVector kValue = test::from_hex("0102030405060708");

ByteVector part(std::uint8_t id, std::span<const std::byte> value) {
  ByteVector bytes(ShimHeader::kSize + value.size());
  ShimHeader{id, static_cast<std::uint8_t>(value.size() / 4), 0xbeef}.write(std::span(bytes).first<4>());
  std::ranges::copy(value, bytes.begin() + ShimHeader::kSize);
  return bytes;
}

// The frame with these parts, or empty when insert_shim() refuses.
ByteVector with_parts(const ByteVector& frame, const ByteVector& parts) {
  ByteVector buffer = frame;
  buffer.resize(frame.size() + parts.size());
  const auto length = insert_shim(buffer, frame.size(), parts);
  return length ? ByteVector(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(*length))
                : ByteVector();
}
ByteVector with_shim(const ByteVector& frame, std::span<const std::byte> value = kValue) {
  return with_parts(frame, part(5, value));
}

TEST(ShimTest, StandsBetweenUdpAndBthWithLengthsPutRight) {
  const NamedFrame made = test::made_frames().front();  // IPv4
  const ByteVector frame = with_shim(made.bytes);
  ASSERT_EQ(frame.size(), made.bytes.size() + 12);
  EXPECT_EQ(test::to_hex(std::span(frame).subspan(42, 12)), "e502beef0102030405060708");
  const auto ip = Ipv4Header::parse(std::span(frame).subspan(14));
  ASSERT_TRUE(ip) << "bad checksum";
  EXPECT_EQ(ip->total_length, Ipv4Header::parse(std::span(made.bytes).subspan(14))->total_length + 12);
  EXPECT_EQ(UdpHeader::parse(std::span(frame).subspan(34))->length, ip->total_length - 20);
  const auto place = find_shim(frame);
  ASSERT_TRUE(place);
  EXPECT_EQ(*place, (ShimPlace{42, 12}));
  const auto header = ShimHeader::parse(std::span(frame).subspan(42));
  EXPECT_EQ(header, (ShimHeader{5, 2, 0xbeef}));
  EXPECT_EQ(to_string(*header), "shim part 5 info 0xbeef value 8 B");
}

TEST(ShimTest, TakenOutAgainTheFrameIsAsBeforeAndItsIcrcHolds) {
  for (const NamedFrame& made : test::made_frames()) {
    SCOPED_TRACE(made.name);
    ByteVector frame = with_shim(made.bytes);
    ASSERT_FALSE(frame.empty());
    FrameError why = FrameError::kNone;
    EXPECT_FALSE(parse_frame(frame, IcrcCheck::kVerify, &why));
    EXPECT_EQ(why, FrameError::kShim);
    const auto length = remove_shim(frame);
    ASSERT_TRUE(length);
    frame.resize(*length);
    EXPECT_EQ(frame, made.bytes);
    EXPECT_TRUE(parse_frame(frame));
  }
}

TEST(ShimTest, RouterChangesOnTheWayLeaveTheIcrcIntact) {
  ByteVector frame = with_shim(test::made_frames().front().bytes);
  const auto ip = std::span(frame).subspan(14).first<Ipv4Header::kSize>();
  ip[Ipv4Header::kTos] |= std::byte{3};  // CE
  ip[Ipv4Header::kTtl] = std::byte{60};
  Ipv4Header::write_checksum(ip);
  frame.resize(*remove_shim(frame));
  const auto parsed = parse_frame(frame);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->address.ecn, Ecn::kCe);
}

TEST(ShimTest, ATrailerMovesAlong) {
  ByteVector frame = test::made_frames().front().bytes;
  const ByteVector original = [&] {
    frame.insert(frame.end(), 16, std::byte{0x77});
    return frame;
  }();
  frame = with_shim(original);
  ASSERT_EQ(frame.size(), original.size() + 12);
  EXPECT_EQ(frame.back(), std::byte{0x77});
  frame.resize(*remove_shim(frame));
  EXPECT_EQ(frame, original);
}

TEST(ShimTest, PartsFollowOneAnotherAndLeaveTogether) {
  const ByteVector frame = test::made_frames().front().bytes;
  ByteVector parts = part(1, {});
  for (const std::uint8_t id : {std::uint8_t{2}, std::uint8_t{31}}) {
    const ByteVector next = part(id, kValue);
    parts.insert(parts.end(), next.begin(), next.end());
  }
  ByteVector bytes = with_parts(frame, parts);
  ASSERT_EQ(bytes.size(), frame.size() + 28);
  EXPECT_EQ(find_shim(bytes), (ShimPlace{42, 28}));
  const auto seen = view_frame(bytes), plain = view_frame(frame);
  ASSERT_TRUE(seen && plain);
  EXPECT_EQ(seen->psn, plain->psn) << "a switch sees what is behind them";
  EXPECT_EQ(seen->payload_length, plain->payload_length);
  bytes.resize(remove_shim(bytes).value());
  EXPECT_EQ(bytes, frame);
}

TEST(ShimTest, RefusesASecondShimOddValuesAndTooLittleRoom) {
  const ByteVector frame = test::made_frames().front().bytes;
  EXPECT_TRUE(with_shim(with_shim(frame)).empty());
  EXPECT_TRUE(with_shim(frame, ByteVector(5)).empty());
  EXPECT_TRUE(with_shim(frame, ByteVector(1024)).empty());
  EXPECT_FALSE(with_shim(frame, ByteVector(1020)).empty());
  ByteVector buffer = frame;
  buffer.resize(frame.size() + 11);
  const ByteVector before = buffer;
  EXPECT_FALSE(insert_shim(buffer, frame.size(), part(5, kValue)));
  EXPECT_FALSE(insert_shim(buffer, frame.size(), {}));
  EXPECT_FALSE(insert_shim(buffer, frame.size(), kValue)) << "no part";
  EXPECT_EQ(buffer, before);
}

TEST(ShimTest, OneThatReachesBeyondItsPacketIsNotFound) {
  ByteVector frame = with_shim(test::made_frames().front().bytes);
  ASSERT_TRUE(find_shim(frame));
  frame[43] = std::byte{0xff};
  EXPECT_FALSE(find_shim(frame));
  EXPECT_FALSE(remove_shim(frame));
  EXPECT_FALSE(find_shim(test::made_frames().front().bytes));
}

}  // namespace
}  // namespace rocelab
