// Every part of the list, by type, and any subset of them together. A new part gives samples.
#include "base/wire/shim_parts.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "base/rng.h"
#include "base/wire/frame.h"
#include "base/wire/frame_view.h"
#include "base/wire/test_frames.h"

namespace rocelab {
namespace {

using test::ByteVector;

Telemetry stamped(std::size_t hops) {
  Telemetry t;
  for (std::size_t i = 0; i < hops; ++i)
    t.push(static_cast<std::uint16_t>(0x1100 + i), {8, 1000 + static_cast<std::uint32_t>(i), 17, 3});
  return t;
}
template <std::uint8_t id, PacketKind kind>
std::vector<EscapePart<id, kind>> samples(std::type_identity<EscapePart<id, kind>> /*part*/) {
  return {{1}, {200}, {0xffff}};
}
template <std::uint8_t id, bool echo>
std::vector<IntPart<id, echo>> samples(std::type_identity<IntPart<id, echo>> /*part*/) {
  return {{stamped(1)}, {stamped(3)}, {stamped(Telemetry::kMaxHops)}};
}

std::vector<SlackPart> samples(std::type_identity<SlackPart> /*part*/) {
  return {{{0, 0, 0}}, {{1'000'000'000'000, -5, 3}}, {{Slack::kMost, -Slack::kMost, 0xffff}}};
}

template <std::uint8_t id, bool echo>
std::vector<RcpPart<id, echo>> samples(std::type_identity<RcpPart<id, echo>> /*part*/) {
  return {{{1, 0}}, {{741'678, 436'000}}, {{0xffffffff, 0xffffffff}}};
}

HopTimes times_of(std::uint8_t room, std::uint8_t known) {
  HopTimes times = HopTimes::room_for(room);
  for (std::uint8_t i = 0; i < known; ++i) times.leaves(Time::from_ps(1'000'000 * (i + 1)));
  return times;
}
std::vector<HopTimesPart> samples(std::type_identity<HopTimesPart> /*part*/) {
  const std::int64_t schedule[] = {0, 5, Slack::kMost};
  HopTimes half_way = HopTimes::scheduled(schedule);
  half_way.leaves(Time::from_ps(7));
  return {{times_of(1, 0)}, {times_of(4, 2)}, {times_of(HopTimes::kMost, HopTimes::kMost)}, {half_way}};
}

std::vector<BfcPart> samples(std::type_identity<BfcPart> /*part*/) { return {{0}, {31}, {255}}; }

ByteVector bytes_of(const Shim& shim) {
  std::array<std::byte, Shim::kMaxBytes> bytes;
  const std::size_t length = shim.write(bytes);
  return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length)};
}
template <class P>
ByteVector bytes_of_part(const P& part) {
  Shim shim;
  shim.part<P>() = part;
  return bytes_of(shim);
}
ByteVector joined(ByteVector front, const ByteVector& back) {
  front.insert(front.end(), back.begin(), back.end());
  return front;
}
// The frame with the shim, or empty: not a RoCEv2 frame.
ByteVector with(const Shim& shim, const ByteVector& frame) {
  ByteVector bytes = frame;
  bytes.resize(frame.size() + Shim::kMaxBytes);
  bytes.resize(insert_parts(bytes, frame.size(), shim).value_or(0));
  return bytes;
}

template <class P>
class ShimPartTest : public ::testing::Test {};
template <class... T>
::testing::Types<T...> types_of(TypeList<T...>);
using AllParts = decltype(types_of(ShimParts()));
TYPED_TEST_SUITE(ShimPartTest, AllParts, );

TYPED_TEST(ShimPartTest, IsReadAsItWasWritten) {
  for (const TypeParam& part : samples(std::type_identity<TypeParam>())) {
    const ByteVector bytes = bytes_of_part(part);
    ASSERT_LE(bytes.size(), TypeParam::kMaxBytes);
    const auto header = ShimHeader::parse(bytes);
    ASSERT_TRUE(header);
    EXPECT_EQ(header->id, TypeParam::kId);
    EXPECT_EQ(header->total_bytes(), bytes.size());
    const auto shim = Shim::read(bytes);
    ASSERT_TRUE(shim);
    EXPECT_EQ(shim->template part<TypeParam>(), part);
    EXPECT_EQ(shim->for_hosts(), TypeParam::kForHosts);
  }
}

TYPED_TEST(ShimPartTest, ASecondOneMakesTheShimNone) {
  for (const TypeParam& part : samples(std::type_identity<TypeParam>()))
    EXPECT_FALSE(Shim::read(joined(bytes_of_part(part), bytes_of_part(part))));
}

TYPED_TEST(ShimPartTest, OneThatIsCutShortOrHasAnotherLengthIsNone) {
  for (const TypeParam& part : samples(std::type_identity<TypeParam>())) {
    const ByteVector bytes = bytes_of_part(part);
    for (std::size_t length = 1; length < bytes.size(); ++length)
      EXPECT_FALSE(Shim::read(std::span(bytes).first(length))) << length;
    ByteVector longer = joined(bytes, ByteVector(4));  // a word more, and all behind it is no part's
    longer[ShimHeader::kWords] = static_cast<std::byte>(bytes.size() / 4);
    EXPECT_FALSE(Shim::read(longer));
  }
}

// An unknown part in front or behind.
TYPED_TEST(ShimPartTest, BesideAnUnknownPartTheShimIsNone) {
  for (const std::uint8_t id : {std::uint8_t{0}, std::uint8_t{4}, std::uint8_t{11}, std::uint8_t{31}}) {
    ByteVector unknown(ShimHeader::kSize);
    ShimHeader{id, 0, 7}.write(std::span(unknown).template first<ShimHeader::kSize>());
    EXPECT_FALSE(Shim::read(unknown));
    const ByteVector part = bytes_of_part(samples(std::type_identity<TypeParam>())[0]);
    EXPECT_FALSE(Shim::read(joined(unknown, part)));
    EXPECT_FALSE(Shim::read(joined(part, unknown)));
  }
}

TYPED_TEST(ShimPartTest, DamagedBytesAreRefusedOrSayWhatCanBeSaidAgain) {
  Rng rng(20'261'126);
  for (const TypeParam& part : samples(std::type_identity<TypeParam>())) {
    const ByteVector good = bytes_of_part(part);
    for (int round = 0; round < 1000; ++round) {
      ByteVector bytes = good;
      bytes[rng.below(bytes.size())] = static_cast<std::byte>(rng.below(256));
      const auto shim = Shim::read(bytes);
      EXPECT_TRUE(!shim || Shim::read(bytes_of(*shim)) == shim) << test::to_hex(bytes);
    }
  }
}

// All subsets of the list, by what their bits say.
Shim subset(unsigned bits, std::size_t hops) {
  Shim shim;
  if ((bits & 1) != 0) shim.part<EscapeHops>() = EscapeHops{0x12};
  if ((bits & 2) != 0) shim.part<EscapeAnnouncement>() = EscapeAnnouncement{7};
  if ((bits & 4) != 0) shim.part<Int>() = Int{stamped(hops)};
  if ((bits & 8) != 0) shim.part<IntEcho>() = IntEcho{stamped(hops)};
  if ((bits & 16) != 0) shim.part<SlackPart>() = SlackPart{{7'000, -3'000, 2}};
  if ((bits & 32) != 0) shim.part<RcpRequest>() = RcpRequest{{741'678, 436'000}};
  if ((bits & 64) != 0) shim.part<RcpEcho>() = RcpEcho{{741'678, 436'000}};
  if ((bits & 128) != 0) shim.part<HopTimesPart>() = HopTimesPart{times_of(3, 1)};
  if ((bits & 256) != 0) shim.part<BfcPart>() = BfcPart{17};
  return shim;
}

TEST(ShimPartsTest, AnySubsetGoesIntoAFrameAndOutAndLeavesItAsItWas) {
  int frames = 0;
  for (const test::NamedFrame& frame : test::made_frames()) {
    if (with(subset(1, 0), frame.bytes).empty()) continue;
    ++frames;
    const auto plain = view_frame(frame.bytes);
    for (unsigned bits = 0; bits < 512; ++bits) {
      SCOPED_TRACE(frame.name + ", parts " + std::to_string(bits));
      const Shim shim = subset(bits, 3);
      ByteVector bytes = with(shim, frame.bytes);
      unsigned words = 0;
      for (unsigned part = 0; const unsigned own : {1u, 1u, 7u, 7u, 5u, 3u, 3u, 7u, 1u})
        words += own * (bits >> part++ & 1);
      ASSERT_EQ(bytes.size(), frame.bytes.size() + 4 * words) << "lengths add up";
      EXPECT_EQ(parts_in(bytes), shim);
      const auto seen = view_frame(bytes);
      ASSERT_TRUE(plain && seen);
      EXPECT_EQ(seen->psn, plain->psn) << "a switch sees what is behind it";
      EXPECT_EQ(seen->kind, plain->kind);
      EXPECT_EQ(seen->flow_hash, plain->flow_hash);
      if (bits == 0) continue;
      FrameError why{};
      EXPECT_FALSE(parse_frame(bytes, IcrcCheck::kVerify, &why));
      EXPECT_EQ(why, FrameError::kShim) << "no NIC takes it for data";
      ASSERT_EQ(remove_shim(bytes), frame.bytes.size());
      bytes.resize(frame.bytes.size());
      EXPECT_EQ(bytes, frame.bytes);
    }
  }
  EXPECT_GT(frames, 10);
}

TEST(ShimPartsTest, PartsAreWrittenInTheOrderOfTheListAndReadInAny) {
  const ByteVector hops = bytes_of(subset(1, 0)), records = bytes_of(subset(4, 1));
  EXPECT_EQ(test::to_hex(hops), "e1000012");
  EXPECT_EQ(test::to_hex(records), "e202110080003e8000110003");
  EXPECT_EQ(bytes_of(subset(5, 1)), joined(hops, records));
  EXPECT_EQ(Shim::read(joined(records, hops)), subset(5, 1));
}

TEST(ShimPartsTest, IntOfNoRecordOrOfMoreThanThereIsRoomForIsNone) {
  for (const std::size_t records : {0u, 8u, 100u}) {
    ByteVector bytes(ShimHeader::kSize + 8 * records);
    ShimHeader{Int::kId, static_cast<std::uint8_t>(2 * records), 7}.write(
        std::span(bytes).first<ShimHeader::kSize>());
    EXPECT_FALSE(Shim::read(bytes)) << records;
  }
}

TEST(ShimPartsTest, SlackIsWrittenInPicoseconds) {
  const Shim shim = subset(16, 0);
  EXPECT_EQ(test::to_hex(bytes_of(shim)), "e60400020000000000001b58fffffffffffff448");
}

TEST(ShimPartsTest, RcpIsWrittenAsARateAndARoundTrip) {
  EXPECT_EQ(test::to_hex(bytes_of(subset(32, 0))), "e7020000000b512e0006a720");
  EXPECT_EQ(test::to_hex(bytes_of(subset(64, 0))), "e8020000000b512e0006a720");
}

TEST(ShimPartsTest, RcpWithoutARateOrWithAnInfoIsNone) {
  EXPECT_FALSE(Shim::read(bytes_of_part(RcpRequest{{0, 7}})));
  ByteVector bytes = bytes_of(subset(32, 0));
  bytes[ShimHeader::kSize - 1] = std::byte{1};
  EXPECT_FALSE(Shim::read(bytes));
}

TEST(ShimPartsTest, BfcIsWrittenAsTheNumberOfAQueue) {
  EXPECT_EQ(test::to_hex(bytes_of(subset(256, 0))), "ea000011");
  ByteVector bytes = bytes_of(subset(256, 0));
  bytes[ShimHeader::kInfo] = std::byte{1};
  EXPECT_FALSE(Shim::read(bytes)) << "no queue has the number 273";
}

TEST(ShimPartsTest, SlackBeyondWhatATimeCanHoldIsNone) {
  for (const std::int64_t bad :
       {Slack::kMost + 1, -Slack::kMost - 1, std::numeric_limits<std::int64_t>::min(),
        std::numeric_limits<std::int64_t>::max()}) {
    EXPECT_FALSE(Shim::read(bytes_of_part(SlackPart{{bad, 0, 0}}))) << bad;
    EXPECT_FALSE(Shim::read(bytes_of_part(SlackPart{{0, bad, 0}}))) << bad;
  }
}

TEST(ShimPartsTest, TimesAtSwitchesAreWrittenInPicoseconds) {
  EXPECT_EQ(test::to_hex(bytes_of(subset(128, 0))),
            "e906000100000000000f424000000000000000000000000000000000");
  const std::int64_t schedule[] = {2, 3};
  EXPECT_EQ(test::to_hex(bytes_of_part(HopTimesPart{HopTimes::scheduled(schedule)})),
            "e904800000000000000000020000000000000003");
}

// Truncated, too long, with bits or a place that mean nothing, or with instants that are none.
TEST(ShimPartsTest, TimesThatNoNicWritesAreNone) {
  const ByteVector good = bytes_of_part(HopTimesPart{times_of(2, 1)});
  ASSERT_TRUE(Shim::read(good));
  const auto with_bytes = [&](std::size_t at, std::initializer_list<int> bytes) {
    ByteVector bad = good;
    for (const int b : bytes) bad[at++] = static_cast<std::byte>(b);
    return Shim::read(bad).has_value();
  };
  EXPECT_FALSE(with_bytes(ShimHeader::kInfo, {0x00, 3})) << "it has been at more switches than there are";
  EXPECT_TRUE(with_bytes(ShimHeader::kInfo, {0x80, 2}));
  for (const int reserved : {0x01, 0x40}) EXPECT_FALSE(with_bytes(ShimHeader::kInfo, {reserved, 1}));
  for (const int sign : {0x20, 0x40, 0x80, 0xff})
    EXPECT_FALSE(with_bytes(ShimHeader::kSize, {sign, 0, 0, 0, 0, 0, 0, 1})) << sign;
  EXPECT_TRUE(with_bytes(ShimHeader::kSize, {0x20, 0, 0, 0, 0, 0, 0, 0})) << "2^61 is the most";
  for (const std::size_t words : {std::size_t{0}, std::size_t{1}, std::size_t{3}, 2 * HopTimes::kMost + 1,
                                  2 * HopTimes::kMost + 2, std::size_t{255}}) {
    ByteVector bytes(ShimHeader::kSize + 4 * words);
    ShimHeader{HopTimesPart::kId, static_cast<std::uint8_t>(words), 0}.write(
        std::span(bytes).first<ShimHeader::kSize>());
    EXPECT_FALSE(Shim::read(bytes)) << words;
  }
}

// The engines count bytes that the frame has.
TEST(ShimPartsTest, APacketCountsWhatItCarries) {
  PacketPool pool;
  PacketRef packet = pool.make();
  EXPECT_EQ(shim_bytes_of(*packet), 0u);
  EXPECT_EQ(Shim::of(*packet), Shim());
  PacketPool::telemetry(*packet) = stamped(2);
  packet->roce.telemetry_hops = 2;
  EXPECT_EQ(shim_bytes_of(*packet), 20u);
  EXPECT_EQ(Shim::of(*packet), subset(4, 2));
  packet->kind = PacketKind::kAck;
  EXPECT_EQ(Shim::of(*packet), subset(8, 2)) << "it brings back what the data collected";
  packet->kind = PacketKind::kEscaping;
  packet->roce.shim_hops = 0x12;
  EXPECT_EQ(shim_bytes_of(*packet), 24u);
  EXPECT_EQ(Shim::of(*packet), subset(5, 2));
  packet->kind = PacketKind::kData;
  packet->roce.shim_hops = kShimToRemove;
  EXPECT_EQ(Shim::of(*packet), subset(4, 2));
  PacketPool::put_slack(*packet, {7'000, -3'000, 2});
  EXPECT_EQ(shim_bytes_of(*packet), 40u);
  EXPECT_EQ(Shim::of(*packet), subset(20, 2));
  EXPECT_EQ(Shim::of(*pool.clone(*packet)), subset(20, 2)) << "and so does a copy";
  PacketPool::put_hop_times(*packet, times_of(3, 1));
  EXPECT_EQ(shim_bytes_of(*packet), 68u);
  EXPECT_EQ(Shim::of(*pool.clone(*packet)), subset(128 + 20, 2));
  packet->roce.has_hop_times = false;
  put_rcp(*packet, {741'678, 436'000});
  EXPECT_EQ(shim_bytes_of(*packet), 52u);
  EXPECT_EQ(Shim::of(*pool.clone(*packet)), subset(52, 2));
  put_bfc_queue(*packet, 17);
  EXPECT_EQ(shim_bytes_of(*packet), 56u);
  EXPECT_EQ(Shim::of(*pool.clone(*packet)), subset(256 + 52, 2));
  packet->roce.has_bfc = false;
  packet->kind = PacketKind::kAck;
  EXPECT_EQ(Shim::of(*packet), subset(8 + 16 + 64, 2));
  packet->roce.has_slack = packet->roce.has_rcp = false;
  packet->kind = PacketKind::kEscapeAnnouncement;
  packet->roce.shim_hops = 7;
  packet->roce.telemetry_hops = 0;
  EXPECT_EQ(shim_bytes_of(*packet), 4u);
  EXPECT_EQ(Shim::of(*packet), subset(2, 0));
}

TEST(ShimPartsTest, WhatAHostTakesIsInItsPacket) {
  PacketPool pool;
  PacketRef packet = pool.make();
  const Shim shim = subset(4, 3);
  ASSERT_TRUE(shim.for_hosts());
  shim.put(*packet);
  EXPECT_EQ(*PacketPool::telemetry_of(*packet), stamped(3));
  subset(32, 0).put(*packet);
  EXPECT_EQ(rcp_of(*packet), (RcpHeader{741'678, 436'000}));
  subset(256, 0).put(*packet);
  EXPECT_TRUE(packet->roce.has_bfc && packet->roce.bfc_queue == 17);
  EXPECT_FALSE(subset(5, 3).for_hosts());
}

}  // namespace
}  // namespace rocelab
