// The connection manager's messages against those that Linux ib_cm sent (tests/data/captures/cm_*.pcap), and
// against damage.
#include "base/wire/cm/cm_mad.h"

#include <gtest/gtest.h>

#include <map>

#include "base/rng.h"
#include "base/wire/cm/ip_cm.h"
#include "base/wire/test_frames.h"

namespace rocelab::cm {
namespace {

using test::ByteVector;

struct Captured {
  std::string name;
  ByteVector mad;
};

std::vector<Captured> captured_mads() {
  std::vector<Captured> mads;
  for (const test::NamedFrame& frame : test::load_captures(test::own_captures())) {
    const auto parsed = parse_frame(frame.bytes);
    if (!parsed || parsed->roce.dest != kGsiQpn) continue;
    EXPECT_EQ(parsed->roce.qkey, kGsiQkey);
    EXPECT_EQ(parsed->roce.src_qpn, kGsiQpn);
    mads.push_back({frame.name, {parsed->payload.begin(), parsed->payload.end()}});
  }
  return mads;
}

ByteVector written(const CmMad& mad) {
  ByteVector out(kMadBytes, std::byte{0xa5});
  mad.write(std::span(out).first<kMadBytes>());
  return out;
}

template <class M>
M captured(const std::string& file) {
  for (const Captured& c : captured_mads()) {
    const auto mad = CmMad::parse(c.mad);
    if (c.name.starts_with(file) && mad && std::holds_alternative<M>(mad->message))
      return std::get<M>(mad->message);
  }
  ADD_FAILURE() << "no such message in " << file;
  return {};
}

TEST(CmMadTest, LinuxMessagesParseAndAreWrittenBackToTheSameBytes) {
  std::map<std::string, int> seen;
  for (const Captured& c : captured_mads()) {
    SCOPED_TRACE(c.name);
    const auto mad = CmMad::parse(c.mad);
    ASSERT_TRUE(mad);
    ++seen[name_of(mad->message)];
    EXPECT_EQ(test::to_hex(written(*mad)), test::to_hex(c.mad));
  }
  const std::map<std::string, int> want = {{"REQ", 2},  {"REJ", 1},  {"REP", 1},      {"RTU", 1},
                                           {"DREQ", 1}, {"DREP", 1}, {"SIDR_REQ", 1}, {"SIDR_REP", 1}};
  EXPECT_EQ(seen, want);
}

// cm_rping.pcap, as tshark shows it.
TEST(CmMadTest, RequestOfLinuxRpingHoldsWhatTsharkShows) {
  const Req req = captured<Req>("cm_rping");
  EXPECT_EQ(req.local_id, 0xd2e021feu);
  EXPECT_EQ(req.service_id, service_id(PortSpace::kTcp, 7174));
  EXPECT_EQ(req.ca_guid, 0x505400fffe77000bu);
  EXPECT_EQ(req.qpn, Qpn{0xd9});
  EXPECT_EQ(req.starting_psn, 0x2dbb15u);
  EXPECT_EQ(req.responder_resources, 1);
  EXPECT_EQ(req.initiator_depth, 1);
  EXPECT_EQ(req.remote_cm_timeout, 20);
  EXPECT_EQ(req.local_cm_timeout, 20);
  EXPECT_EQ(req.service, Service::kRc);
  EXPECT_EQ(req.retry_count, 7);
  EXPECT_EQ(req.rnr_retry_count, 7);
  EXPECT_EQ(req.max_cm_retries, 15);
  EXPECT_EQ(req.mtu, 3);
  EXPECT_EQ(req.pkey, 0xffff);
  EXPECT_EQ(req.primary.remote_gid, ipv4_mapped({10, 77, 0, 10}));
  EXPECT_EQ(req.primary.hop_limit, 64);
  EXPECT_EQ(req.primary.ack_timeout, 19);
  const auto ip = IpHeader::parse(req.private_data);
  ASSERT_TRUE(ip);
  EXPECT_EQ(ip->ip_version, 4);
  EXPECT_EQ(ip->source_port, 0xbbfa);
  EXPECT_EQ(ip->source[15], 11);
  EXPECT_EQ(ip->destination[15], 10);
  // Linux: the flow label is 31 times the source port plus the destination port.
  EXPECT_EQ(req.primary.flow_label, (0xbbfau * 31 + 7174) & 0xfffff);
}

TEST(CmMadTest, AnswersOfLinuxHoldWhatTsharkShows) {
  const Rep rep = captured<Rep>("cm_rping");
  EXPECT_EQ(rep.local_id, 0x5b420465u);
  EXPECT_EQ(rep.remote_id, 0xd2e021feu);
  EXPECT_EQ(rep.qpn, Qpn{0xd7});
  EXPECT_EQ(rep.starting_psn, 0xf09fc4u);
  EXPECT_EQ(rep.target_ack_delay, 15);
  EXPECT_EQ(rep.rnr_retry_count, 7);
  EXPECT_EQ(captured<Dreq>("cm_rping").remote_qpn, Qpn{0xd7});
  const Rej rej = captured<Rej>("cm_reject_noserver");
  EXPECT_EQ(rej.reason, RejReason::kInvalidServiceId);
  EXPECT_EQ(rej.message, Answered::kReq);
  const SidrReq sidr = captured<SidrReq>("cm_udaddy_sidr");
  EXPECT_EQ(sidr.service_id, service_id(PortSpace::kUdp, 7174));
  const SidrRep answer = captured<SidrRep>("cm_udaddy_sidr");
  EXPECT_EQ(answer.request_id, sidr.request_id);
  EXPECT_EQ(answer.status, SidrStatus::kSuccess);
  EXPECT_EQ(answer.qpn, Qpn{0xd9});
  EXPECT_EQ(answer.qkey, 0x01234567u);
}

// Whatever bytes a MAD is made of: it is refused with a reason, or what was read is what is read again from
// what is written (reserved bits are dropped).
void expect_stable(std::span<const std::byte> bytes) {
  MadError why = MadError::kNone;
  const auto mad = CmMad::parse(bytes, &why);
  if (!mad) {
    EXPECT_NE(why, MadError::kNone);
    return;
  }
  const auto again = CmMad::parse(written(*mad));
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, *mad);
}

TEST(CmMadTest, EveryFieldSurvivesWritingAndReading) {
  Rng rng(1);
  ByteVector bytes(kMadBytes);
  for (std::uint16_t attribute = Req::kAttribute; attribute <= SidrRep::kAttribute; ++attribute) {
    for (int round = 0; round < 200; ++round) {
      for (std::byte& b : bytes) b = static_cast<std::byte>(rng.below(256));
      MadHeader h;
      h.mgmt_class = CmMad::kClass;
      h.class_version = CmMad::kClassVersion;
      h.method = CmMad::kMethodSend;
      h.attribute = attribute;
      h.transaction = rng.below(1ull << 62);
      h.modifier = static_cast<std::uint32_t>(rng.below(1ull << 32));
      h.write(std::span(bytes).first<MadHeader::kSize>());
      expect_stable(bytes);
    }
  }
}

TEST(CmMadTest, DamagedMessagesAreRefusedOrStable) {
  Rng rng(2);
  for (const Captured& c : captured_mads()) {
    for (int round = 0; round < 2'000; ++round) {
      ByteVector bytes = c.mad;
      for (std::uint64_t n = 1 + rng.below(4); n > 0; --n)
        bytes[rng.below(bytes.size())] ^= static_cast<std::byte>(1u << rng.below(8));
      expect_stable(bytes);
    }
    for (const std::size_t size : {0, 23, 24, 255, 257}) {
      ByteVector bytes = c.mad;
      bytes.resize(size);
      MadError why = MadError::kNone;
      EXPECT_FALSE(CmMad::parse(bytes, &why));
      EXPECT_EQ(why, MadError::kLength);
    }
  }
}

TEST(CmMadTest, SaysWhyAMadIsRefused) {
  const ByteVector good = captured_mads().front().mad;
  const auto refused = [&](std::size_t at, std::uint8_t value) {
    ByteVector bytes = good;
    bytes[at] = std::byte{value};
    MadError why = MadError::kNone;
    EXPECT_FALSE(CmMad::parse(bytes, &why));
    return why;
  };
  EXPECT_EQ(refused(MadHeader::kBaseVersionAt, 2), MadError::kNotCm);
  EXPECT_EQ(refused(MadHeader::kClassAt, 3), MadError::kNotCm);
  EXPECT_EQ(refused(MadHeader::kClassVersionAt, 1), MadError::kNotCm);
  EXPECT_EQ(refused(MadHeader::kMethodAt, 0x81), MadError::kMethod);
  EXPECT_EQ(refused(MadHeader::kAttributeAt + 1, 0x19), MadError::kAttribute);  // LAP
  Rej rej;
  rej.ari_length = 100;
  MadError why = MadError::kNone;
  EXPECT_FALSE(CmMad::parse(written({.transaction = 1, .modifier = 0, .message = rej}), &why));
  EXPECT_EQ(why, MadError::kContent);
}

TEST(IpCmTest, HeaderOfAnotherVersionOrFamilyIsNone) {
  std::array<std::uint8_t, IpHeader::kSize> bytes{};
  IpHeader{.ip_version = 6, .source_port = 9, .source = {1}, .destination = {2}}.write(bytes);
  EXPECT_EQ(IpHeader::parse(bytes)->ip_version, 6);
  EXPECT_FALSE(IpHeader::parse(std::span(bytes).first(35)));
  bytes[1] = 0x50;
  EXPECT_FALSE(IpHeader::parse(bytes));
  bytes[1] = 0x60;
  bytes[0] = 0x10;
  EXPECT_FALSE(IpHeader::parse(bytes));
}

}  // namespace
}  // namespace rocelab::cm
