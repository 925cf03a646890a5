#include "irn_provider/realtime/train.h"

#include <gtest/gtest.h>

#include <vector>

namespace rocelab::direct {
namespace {

using Bytes = std::vector<std::byte>;

Bytes make_frame(bool is_ipv4, std::size_t payload, std::uint16_t id, int fill) {
  FrameAddress a;
  a.is_ipv4 = is_ipv4;
  a.src_gid = is_ipv4 ? ipv4_mapped({10, 0, 0, 2}) : Gid{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 2};
  a.dst_gid = is_ipv4 ? ipv4_mapped({10, 0, 0, 1}) : Gid{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 3};
  a.ip_id = id;
  RoceHeaders roce;
  roce.opcode = 0x01;  // RC SEND Middle
  roce.dest = Qpn{0x1234};
  roce.psn = Psn(static_cast<std::uint32_t>(fill));
  Bytes bytes(payload + 160);
  bytes.resize(write_frame(a, roce, Bytes(payload, static_cast<std::byte>(fill)), bytes));
  return bytes;
}

// As a packet socket's message: the headers, then each frame's UDP payload.
Bytes join(const std::vector<Bytes>& frames, KernelHeader& kernel) {
  const std::size_t headers = header_bytes_of(frames[0]);
  std::size_t payload = 0;
  for (const Bytes& frame : frames) payload += frame.size() - headers;
  Bytes train(kMaxHeaders);
  train.resize(write_train_headers(frames[0], payload, frames[0].size() - headers, kernel, train));
  for (const Bytes& frame : frames) train.insert(train.end(), frame.begin() + headers, frame.end());
  return train;
}

class TrainTest : public ::testing::TestWithParam<bool> {
 protected:
  std::vector<Bytes> frames(std::size_t n, std::size_t last) const {
    std::vector<Bytes> all;
    for (std::size_t i = 0; i < n; ++i)
      all.push_back(make_frame(GetParam(), i + 1 == n ? last : 1024, static_cast<std::uint16_t>(i),
                               static_cast<int>(i)));
    return all;
  }
};
INSTANTIATE_TEST_SUITE_P(Ip, TrainTest, ::testing::Bool());

TEST_P(TrainTest, CutsIntoTheFramesThatItWasMadeOf) {
  for (const std::size_t n : {2u, 3u, 62u})
    for (const std::size_t last : {1024u, 1020u, 4u}) {
      const std::vector<Bytes> made = frames(n, last);
      KernelHeader kernel;
      Bytes train = join(made, kernel);
      std::vector<Bytes> cut;
      cut_train(train, kernel.segment_bytes,
                [&](std::span<std::byte> f) { cut.emplace_back(f.begin(), f.end()); });
      EXPECT_EQ(cut, made) << n << " " << last;
      for (const Bytes& frame : cut) EXPECT_TRUE(parse_frame(frame));  // ICRC included
    }
}

TEST_P(TrainTest, TellsTheKernelWhereToCutAndWhatToSum) {
  const std::vector<Bytes> made = frames(2, 4);
  KernelHeader kernel;
  const Bytes train = join(made, kernel);
  const std::size_t headers = GetParam() ? 42 : 62;
  EXPECT_EQ(kernel.type, KernelHeader::kUdpTrain);
  EXPECT_EQ(kernel.flags, KernelHeader::kNeedsChecksum);
  EXPECT_EQ(kernel.header_bytes, headers);
  EXPECT_EQ(kernel.segment_bytes, made[0].size() - headers);
  EXPECT_EQ(kernel.checksum_start, headers - 8);
  EXPECT_EQ(kernel.checksum_offset, 6);
  EXPECT_EQ(wire::load16(train, headers - 4), train.size() - headers + 8);  // UDP length
  if (GetParam()) {
    EXPECT_EQ(wire::load16(train, 16), train.size() - 14);
    EXPECT_EQ(internet_checksum(std::span(train).subspan(14, 20)), 0);
  } else {
    EXPECT_EQ(wire::load16(train, 18), train.size() - 54);
  }
}

TEST(TrainBytesTest, ThePseudoHeadersSumIsTheRfcs) {
  const Bytes a = make_frame(true, 1024, 0, 1), b = make_frame(true, 1024, 1, 2);
  KernelHeader kernel;
  const Bytes train = join({a, b}, kernel);
  // 10.0.0.2, 10.0.0.1, protocol 17, UDP length 8 + 2 x 1040
  const std::uint32_t sum = 0x0a00 + 0x0002 + 0x0a00 + 0x0001 + 17 + 8 + 2 * 1040;
  EXPECT_EQ(wire::load16(train, 40), sum);
}

TEST(TrainBytesTest, UntrustedTrainsStayInTheirBytes) {
  KernelHeader kernel;
  const Bytes whole = join({make_frame(true, 64, 0, 1), make_frame(true, 64, 1, 2)}, kernel);
  for (std::size_t n = 0; n <= whole.size(); ++n)
    for (const std::size_t segment : {0u, 1u, 79u, 80u, 65535u}) {
      Bytes train(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n));
      std::size_t payload = 0;
      cut_train(train, segment, [&](std::span<std::byte> frame) { payload += frame.size() - 42; });
      EXPECT_EQ(payload, n < kMaxHeaders || segment == 0 ? 0 : n - 42) << n << " " << segment;
    }
  Bytes arp(whole);
  wire::store16(arp, 12, 0x0806);
  cut_train(arp, 80, [](std::span<std::byte>) { FAIL(); });
}

}  // namespace
}  // namespace rocelab::direct
