// The fuzzer's properties without libFuzzer: mutations of the captures' frames and of made ones, from a fixed
// seed (ROCELAB_FUZZ_SEED overrides). With ROCELAB_FUZZ_CORPUS=<folder> the unmutated frames are also written
// there, as the corpus of fuzz_wire.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "base/rng.h"
#include "base/wire/bfc_pause.h"
#include "base/wire/clcm.h"
#include "base/wire/etf.h"
#include "base/wire/pcapng.h"
#include "base/wire/pfc.h"
#include "base/wire/rocc_cnp.h"
#include "base/wire/shim_parts.h"
#include "base/wire/test_frames.h"
#include "tests/fuzz/wire/wire_properties.h"

namespace rocelab {
namespace {

using test::ByteVector;
using test::NamedFrame;

Shim shim_of(unsigned parts) {
  Shim shim;
  Telemetry stamped;
  stamped.push(0x1234, {8, 1000, 17, 3});
  stamped.push(0x00ff, {10, 2000, 18, 4});
  if ((parts & 1) != 0) shim.part<EscapeHops>() = EscapeHops{3};
  if ((parts & 2) != 0) shim.part<EscapeAnnouncement>() = EscapeAnnouncement{2};
  if ((parts & 4) != 0) shim.part<Int>() = Int{stamped};
  if ((parts & 8) != 0) shim.part<IntEcho>() = IntEcho{stamped};
  if ((parts & 16) != 0) shim.part<SlackPart>() = SlackPart{{1'000'000, -5, 2}};
  if ((parts & 32) != 0) {
    const std::int64_t schedule[] = {1'000, 2'000, Slack::kMost};
    HopTimes times = HopTimes::scheduled(schedule);
    times.leaves(Time::from_ps(7));
    times.schedule = parts % 2 == 0;
    shim.part<HopTimesPart>() = HopTimesPart{times};
  }
  if ((parts & 64) != 0) shim.part<RcpRequest>() = RcpRequest{{40'000'000, 123}};
  if ((parts & 128) != 0) shim.part<RcpEcho>() = RcpEcho{{1, 0}};
  if ((parts & 256) != 0) shim.part<BfcPart>() = BfcPart{200};
  return shim;
}
constexpr unsigned kSubsets = 1u << length_of(ShimParts());

// Lets damage pass IP and UDP, so that it reaches the transport headers.
std::string mend(ByteVector& bytes) {
  constexpr std::size_t kIp = 14, kUdp = kIp + Ipv4Header::kSize;
  if (bytes.size() < kUdp + UdpHeader::kSize || bytes[kIp] != std::byte{0x45}) return "";
  const auto all = std::span(bytes);
  wire::store16(all, kIp + Ipv4Header::kTotalLength, static_cast<std::uint16_t>(bytes.size() - kIp));
  wire::store16(all, kUdp + UdpHeader::kLength, static_cast<std::uint16_t>(bytes.size() - kUdp));
  Ipv4Header::write_checksum(all.subspan(kIp).first<Ipv4Header::kSize>());
  return ", lengths and checksum mended";
}

// A frame with one part of the shim, for each: the part as it is written, cut in the middle at the end of the
// frame, and twice.
std::vector<NamedFrame> frames_with_a_part() {
  std::vector<NamedFrame> all;
  const NamedFrame bare = test::made_frames().front();
  for (unsigned part = 1; part < kSubsets; part <<= 1) {
    std::array<std::byte, Shim::kMaxBytes> buffer;
    const ByteVector once(buffer.begin(),
                          buffer.begin() + static_cast<std::ptrdiff_t>(shim_of(part).write(buffer)));
    ByteVector twice = once;
    twice.insert(twice.end(), once.begin(), once.end());
    const auto with = [&](const ByteVector& parts) {
      ByteVector frame = bare.bytes;
      frame.resize(frame.size() + parts.size());
      EXPECT_EQ(insert_shim(frame, bare.bytes.size(), parts), frame.size());
      return frame;
    };
    const std::string name = "part_" + std::to_string(ShimHeader::parse(once).value().id);
    all.push_back({name + "_whole", with(once)});
    ByteVector cut = with(once);
    cut.resize(find_shim(cut).value().offset + once.size() / 2);
    mend(cut);
    all.push_back({name + "_cut", cut});
    all.push_back({name + "_twice", with(twice)});
  }
  return all;
}

std::vector<NamedFrame> seeds() {
  std::vector<NamedFrame> all = test::load_captures(test::own_captures());
  for (NamedFrame& frame : frames_with_a_part()) all.push_back(std::move(frame));
  unsigned next = 0;
  for (NamedFrame& made : test::made_frames()) {
    for (int i = 0; i < 3; ++i) {  // three subsets for each frame: every one for some
      const unsigned parts = 1 + next++ % (kSubsets - 1);
      const Shim shim = shim_of(parts);
      ByteVector shimmed = made.bytes;
      shimmed.resize(made.bytes.size() + Shim::kMaxBytes);
      const auto length = insert_parts(shimmed, made.bytes.size(), shim);
      if (!length) break;
      shimmed.resize(*length);
      all.push_back({made.name + " with parts " + std::to_string(parts), shimmed});
    }
    all.push_back(std::move(made));
  }
  EXPECT_GE(next, kSubsets - 1);
  ByteVector pfc(PfcFrame::kSize);
  PfcFrame{0x08, {0, 0, 0, 0xffff}}.write(std::span(pfc).first<PfcFrame::kSize>(), {2, 0, 0, 0, 0, 1});
  all.push_back({"PFC", pfc});
  for (const RoccForm form : {RoccForm::kRate, RoccForm::kQueue, RoccForm::kValues}) {
    ByteVector cnp(RoccCnp::kMaxSize);
    const RoccCnp made{.dscp = 48,
                       .cp = kCpNetwork + 7,
                       .source = 0x0a000001,
                       .destination = 0x0a000002,
                       .dest = {17},
                       .rate = 400,
                       .report = {form, 3, 250, rocc_values(RoccParams{})}};
    made.write(std::span(cnp).first<RoccCnp::kMaxSize>());
    cnp.resize(made.size());
    all.push_back({"RoCC CNP, form " + std::to_string(static_cast<int>(form)), cnp});
  }
  for (const bool ipv6 : {false, true}) {
    Gid source = ipv4_mapped({10, 0, 0, 1}), destination = ipv4_mapped({10, 0, 0, 2});
    if (ipv6) source[0] = destination[0] = 0xfe;
    ByteVector etf(EscapeTokenFrame::kSize);
    EscapeTokenFrame{Tc{3}, 2, source, destination, Qpn{17}}.write(
        std::span(etf).first<EscapeTokenFrame::kSize>(), {2, 0, 0, 0, 0, 1});
    all.push_back({ipv6 ? "ETF of an IPv6 flow" : "ETF", etf});
    EscapeTokenFrame{Tc{3}, 2, source, destination, Qpn{17}, EscapeTokenMark::kNoPlace, 0x00010002}.write(
        std::span(etf).first<EscapeTokenFrame::kSize>(), {2, 0, 0, 0, 0, 1});
    all.push_back({"ETF that comes back", etf});
  }
  ByteVector clcm(Clcm::kSize);
  Clcm{Tc{3}, 2, 7, 0x0123456789abcdef}.write(std::span(clcm).first<Clcm::kSize>(), {2, 0, 0, 0, 0, 1});
  all.push_back({"CLCM", clcm});
  ByteVector bfc(BfcPause::kSize);
  BfcPause pause{Tc{3}, {}};
  pause.queues.set_word(0, 0x8000000000000001);
  pause.queues.set_word(3, 0x0123456789abcdef);
  pause.write(std::span(bfc).first<BfcPause::kSize>(), {2, 0, 0, 0, 0, 1});
  all.push_back({"BFC pause", bfc});
  ByteVector pcap, pcapng;
  append_pcap_header(pcap);
  append_pcap_packet(pcap, Time::from_ps(1), pfc);
  append_pcapng_header(pcapng, "x");
  append_pcapng_interface(pcapng, "eth0", 40_Gbps);
  append_pcapng_packet(pcapng, 0, Time::from_ps(1), pfc);
  all.push_back({"pcap", pcap});
  all.push_back({"pcapng", pcapng});
  return all;
}

// One step of damage; returns what it did.
std::string mutate(ByteVector& bytes, Rng& rng) {
  const std::size_t at =
      bytes.empty() ? 0 : rng.below(std::min<std::size_t>(bytes.size(), rng.bernoulli(0.9) ? 96 : 5000));
  switch (bytes.empty() ? 3 : rng.below(6)) {
    case 0:
      bytes[at] ^= static_cast<std::byte>(1u << rng.below(8));
      return "flip at " + std::to_string(at);
    case 1:
      bytes[at] = static_cast<std::byte>(rng.below(256));
      return "set at " + std::to_string(at);
    case 2:
      bytes.resize(at);
      return "cut to " + std::to_string(at);
    case 3:
      bytes.resize(bytes.size() + rng.below(40), static_cast<std::byte>(rng.below(256)));
      return "grow to " + std::to_string(bytes.size());
    case 4: {
      static constexpr std::array<std::uint8_t, 8> kEdges{0x00, 0x01, 0x7f, 0x80, 0xfe, 0xff, 0xe1, 0xc6};
      bytes[at] = std::byte{kEdges[rng.below(kEdges.size())]};
      return "edge at " + std::to_string(at);
    }
    default:
      bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), rng.below(8),
                   static_cast<std::byte>(rng.below(256)));
      return "insert at " + std::to_string(at);
  }
}

std::uint64_t seed_from_environment() {
  const char* text = std::getenv("ROCELAB_FUZZ_SEED");
  return text == nullptr ? 20'260'101 : std::strtoull(text, nullptr, 10);
}

TEST(WireMutationTest, WhatParsesWritesToBytesThatParseToTheSame) {
  const std::uint64_t seed = seed_from_environment();
  std::cout << "seed " << seed << "\n";
  Rng rng(seed);
  int accepted = 0, tried = 0;
  for (const NamedFrame& frame : seeds()) {
    ASSERT_EQ(fuzz::violated_property(frame.bytes), "") << frame.name;
    for (int round = 0; round < 400; ++round) {
      ByteVector bytes = frame.bytes;
      std::string steps;
      for (std::uint64_t n = 1 + rng.below(4); n > 0; --n) steps += mutate(bytes, rng) + ", ";
      if (rng.bernoulli(0.7)) steps += mend(bytes);
      const ByteVector exact(bytes.begin(),
                             bytes.end());  // no spare capacity behind which a stray read could hide
      ASSERT_EQ(fuzz::violated_property(exact), "") << frame.name << ": " << steps << "\n"
                                                    << test::to_hex(exact);
      accepted +=
          find_shim(exact) ? parts_in(exact).has_value() : parse_frame(exact, IcrcCheck::kSkip).has_value();
      ++tried;
    }
  }
  // A test whose damage is always refused would show nothing.
  EXPECT_GT(accepted, tried / 20) << "of " << tried;
}

TEST(WireMutationTest, APartIsReadOnceWholeAndNeverCutOrTwice) {
  for (const NamedFrame& frame : frames_with_a_part()) {
    const auto shim = parts_in(frame.bytes);
    const bool read = shim && *shim != Shim();
    EXPECT_EQ(read, frame.name.ends_with("_whole")) << frame.name;
  }
}

// The fuzzer begins with them: a part that is not there yet is written by the test below.
TEST(WireMutationTest, TheCorpusHasEachPartWholeCutAndTwice) {
  for (const NamedFrame& frame : frames_with_a_part()) {
    std::ifstream file(ROCELAB_SOURCE_DIR "/tests/corpora/fuzz_wire/" + frame.name, std::ios::binary);
    const std::string kept{std::istreambuf_iterator<char>(file), {}};
    EXPECT_TRUE(std::ranges::equal(std::as_bytes(std::span(kept)), frame.bytes)) << frame.name;
  }
}

TEST(WireMutationTest, WritesTheCorpusWhereItIsAskedTo) {
  const char* folder = std::getenv("ROCELAB_FUZZ_CORPUS");
  if (folder == nullptr) GTEST_SKIP() << "ROCELAB_FUZZ_CORPUS names no folder";
  std::filesystem::create_directories(folder);
  int number = 0;
  for (const NamedFrame& frame : seeds()) {
    if (frame.bytes.size() > 400) continue;  // short inputs reach the same code sooner
    const bool named = frame.name.starts_with("part_");
    std::ofstream file(
        std::filesystem::path(folder) / (named ? frame.name : "frame" + std::to_string(number++)),
        std::ios::binary);
    file.write(reinterpret_cast<const char*>(frame.bytes.data()),
               static_cast<std::streamsize>(frame.bytes.size()));
    ASSERT_TRUE(file);
  }
  EXPECT_GT(number, 100);
}

}  // namespace
}  // namespace rocelab
