#include "base/wire/pcap.h"

#include <gtest/gtest.h>

#include "base/wire/pcapng.h"
#include "base/wire/test_frames.h"

namespace rocelab {
namespace {

using test::ByteVector;

TEST(PcapTest, ReadsStampsLengthsAndBytesOfACapture) {
  const ByteVector file = test::read_file(test::own_captures() / "rc_write_imm.pcap");
  auto reader = PcapReader::open(file);
  ASSERT_TRUE(reader);
  const auto frame = reader->next();
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->seconds, 1795223474);  // tshark: Epoch Time: 1795223474.965746000 seconds
  EXPECT_EQ(frame->picoseconds, 965'746'000'000);
  EXPECT_EQ(frame->original_length, 1098u);
  EXPECT_EQ(frame->bytes.size(), 1098u);
  int frames = 1;
  while (reader->next()) ++frames;
  EXPECT_EQ(frames, 8);
  EXPECT_TRUE(reader->complete());
}

TEST(PcapTest, WrittenFilesReadBack) {
  const auto frames = test::made_frames();
  ByteVector file;
  append_pcap_header(file);
  for (std::size_t i = 0; i < frames.size(); ++i)
    append_pcap_packet(file, Time::from_ps(1'500'000'000'999 + static_cast<std::int64_t>(i) * 1'000),
                       frames[i].bytes);
  auto reader = PcapReader::open(file);
  ASSERT_TRUE(reader);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const auto frame = reader->next();
    ASSERT_TRUE(frame);
    EXPECT_EQ(frame->seconds, 1);
    EXPECT_EQ(frame->picoseconds, 500'000'000'000 + static_cast<std::int64_t>(i) * 1'000);
    EXPECT_TRUE(std::ranges::equal(frame->bytes, frames[i].bytes));
  }
  EXPECT_FALSE(reader->next());
  EXPECT_TRUE(reader->complete());
}

TEST(PcapTest, BigEndianFilesAreRead) {
  const ByteVector file = test::from_hex(
      "a1b23c4d 0002 0004 00000000 00000000 00040000 00000001 00000007 00000009 00000002 00000003 abcd");
  auto reader = PcapReader::open(file);
  ASSERT_TRUE(reader);
  const auto frame = reader->next();
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->seconds, 7);
  EXPECT_EQ(frame->picoseconds, 9'000);
  EXPECT_EQ(frame->original_length, 3u);
  EXPECT_EQ(test::to_hex(frame->bytes), "abcd");
}

TEST(PcapTest, OtherFilesAndLinkTypesAreRefusedAndCutsNoticed) {
  ByteVector file;
  append_pcap_header(file);
  EXPECT_FALSE(PcapReader::open(std::span(file).first(23)));
  append_pcap_packet(file, Time::zero(), ByteVector(60));
  for (std::size_t length = 25; length < file.size(); ++length) {
    auto reader = PcapReader::open(std::span(file).first(length));
    ASSERT_TRUE(reader);
    EXPECT_FALSE(reader->next());
    EXPECT_FALSE(reader->complete());
  }
  file[20] = std::byte{247};  // LINKTYPE_INFINIBAND
  EXPECT_FALSE(PcapReader::open(file));
  file[0] = std::byte{0};
  EXPECT_FALSE(PcapReader::open(file));
}

ByteVector small_pcapng() {
  ByteVector file;
  append_pcapng_header(file, "rocelab");
  append_pcapng_interface(file, "h1-eth0", 40_Gbps);
  append_pcapng_interface(file, "s1-p3", 100_Gbps);
  append_pcapng_packet(file, 1, Time::from_ps(2'000'000'217'601), test::from_hex("0102030405"));
  append_pcapng_packet(file, 0, Time::from_ps(7), test::from_hex("aa"));
  return file;
}

TEST(PcapngTest, KeepsPicosecondsInterfacesAndNames) {
  const ByteVector file = small_pcapng();
  auto reader = PcapngReader::open(file);
  ASSERT_TRUE(reader);
  const auto first = reader->next();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->interface, 1u);
  EXPECT_EQ(first->seconds, 2);
  EXPECT_EQ(first->picoseconds, 217'601);
  EXPECT_EQ(test::to_hex(first->bytes), "0102030405");
  const auto second = reader->next();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->interface, 0u);
  EXPECT_EQ(second->picoseconds, 7);
  EXPECT_FALSE(reader->next());
  EXPECT_TRUE(reader->complete());
  EXPECT_EQ(reader->interfaces(), (std::vector<std::string>{"h1-eth0", "s1-p3"}));
}

TEST(PcapngTest, BlocksAreFramedByTheirLengthOnBothSides) {
  const ByteVector file = small_pcapng();
  std::size_t at = 0;
  int blocks = 0;
  for (; at < file.size(); ++blocks) {
    const std::uint32_t length = wire::load_le32(file, at + 4);
    ASSERT_EQ(length % 4, 0u);
    ASSERT_LE(at + length, file.size());
    EXPECT_EQ(wire::load_le32(file, at + length - 4), length);
    at += length;
  }
  EXPECT_EQ(blocks, 5);
}

TEST(PcapngTest, CutsAndUnknownInterfacesEndTheReading) {
  const ByteVector file = small_pcapng();
  for (std::size_t length = 0; length < file.size(); ++length) {
    auto reader = PcapngReader::open(std::span(file).first(length));
    int frames = 0;
    while (reader && reader->next()) ++frames;
    EXPECT_LT(frames, 2) << length;
  }
  ByteVector orphan;
  append_pcapng_header(orphan, "rocelab");
  append_pcapng_packet(orphan, 0, Time::zero(), ByteVector(60));
  auto reader = PcapngReader::open(orphan);
  ASSERT_TRUE(reader);
  EXPECT_FALSE(reader->next());
}

}  // namespace
}  // namespace rocelab
