// Every codec of the list, by type: in a packet, in a frame and back, damaged and cut short. A new codec
// gives samples.
#include "base/wire/controls.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/rng.h"
#include "base/wire/frame_view.h"
#include "base/wire/test_frames.h"

namespace rocelab {
namespace {

// Node n of a run of two hosts is 10.0.0.n+1.
class TwoHosts final : public ControlAddresses, public ControlNodes {
 public:
  MacAddress sender() const override { return {2, 0, 0, 0, 0, 9}; }
  MacAddress point(std::uint32_t address) const override {
    return {2, 'r', 'l', 0, 0, static_cast<std::uint8_t>(address)};
  }
  MacAddress mac(NodeId host) const override {
    return {2, 0, 10, 0, 0, static_cast<std::uint8_t>(host.value + 1)};
  }
  std::uint32_t ipv4(NodeId host) const override { return 0x0a000001u + host.value; }
  Gid gid(NodeId host, bool ipv6) const override {
    const auto last = static_cast<std::uint8_t>(host.value + 1);
    if (!ipv6) return ipv4_mapped({10, 0, 0, last});
    return {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0xff, 0xfe, 0, 0, last};
  }
  NodeId node_of(std::uint32_t ipv4) const override {
    const std::uint32_t node = ipv4 - 0x0a000001;
    return node < 2 ? NodeId{static_cast<std::uint16_t>(node)} : kNoNode;
  }
};

std::vector<PfcFrame> samples(std::type_identity<PfcFrame> /*codec*/) {
  return {{}, {0xa5, {1, 0, 3, 0xffff, 5, 6, 7, 0x8000}}};
}
std::vector<Clcm> samples(std::type_identity<Clcm> /*codec*/) {
  return {{Tc{0}, 1, 0, 0}, {Tc{7}, 0xffff, 0xffffffff, ~std::uint64_t{0}}, {Tc{3}, 2, 7, 0x123456789abcdef}};
}
std::vector<EscapeToken> samples(std::type_identity<EscapeToken> /*codec*/) {
  return {{Tc{3}, 2, NodeId{0}, NodeId{1}, Qpn{17}},
          {Tc{3}, 2, NodeId{1}, NodeId{0}, Qpn{0xffffff}, true},
          {Tc{7}, 0xffff, NodeId{0}, NodeId{1}, Qpn{1}, false, EscapeTokenMark::kNoPlace, 0xfedcba98}};
}
std::vector<RoccFeedback> samples(std::type_identity<RoccFeedback> /*codec*/) {
  RoccValues most = rocc_values(RoccParams{});
  most.q_ref = 0xfffffffd, most.q_mid = 0xfffffffe, most.q_max = 0xffffffff;
  most.f_min = RoccValues::whole(0x7ffffff0), most.f_max = RoccValues::whole(0x7fffffff);
  most.alpha = 0xfedcba987654, most.beta = 0xabcdef012345;
  return {{kCpNetwork + 1, 400, Qpn{17}},
          {kCpNetwork + 1, 400, Qpn{17}, {RoccForm::kQueue, 7, 250, {}}},
          {0xac1fffff, 0xffffffff, Qpn{0xffffff}, {RoccForm::kValues, 0xffffffff, 0xffffffff, most}}};
}

std::vector<P4qcnFbp> samples(std::type_identity<P4qcnFbp> /*codec*/) {
  return {{kCpNetwork + 1, 12, Qpn{17}}, {0xac1fffff, 0xffffffff, Qpn{0xffffff}}};
}

std::vector<Cnm> samples(std::type_identity<Cnm> /*codec*/) {
  return {{kCpNetwork + 1, Tc{3}, 20, 406, -3, false, 24, 0x0a, Ecn::kEct0, false, 1084, Qpn{17}, Psn(5)},
          {0xac1fffff, Tc{7}, 63, 32767, -32768, true, 63, 0xc1, Ecn::kCe, true, 0xffff, Qpn{0xffffff},
           Psn(0xffffff)}};
}

std::vector<BfcPause> samples(std::type_identity<BfcPause> /*codec*/) {
  BfcPause some{Tc{3}, {}}, all{Tc{7}, {}};
  for (const std::size_t queue : {0u, 31u, 64u, 255u}) some.queues.set(queue, true);
  for (std::size_t n = 0; n < BfcQueues::kWords; ++n) all.queues.set_word(n, ~std::uint64_t{0});
  return {{Tc{0}, {}}, some, all};
}

Packet packed(const auto& body) {
  Packet packet;
  packet.src = NodeId{1};
  packet.dst = NodeId{0};
  packet.roce.dscp = 48;
  put_control(packet, body);
  return packet;
}
test::ByteVector written(const Packet& packet) {
  std::array<std::byte, kMaxControlFrame> room;
  room.fill(std::byte{0xee});
  const auto bytes = write_control(packet, TwoHosts(), room);
  return {bytes.begin(), bytes.end()};
}

template <class T>
class ControlTest : public ::testing::Test {};
template <class... T>
::testing::Types<T...> types_of(TypeList<T...>);
using AllControls = decltype(types_of(Controls()));
TYPED_TEST_SUITE(ControlTest, AllControls, );

TYPED_TEST(ControlTest, RidesInAPacketWithoutLoss) {
  for (const TypeParam& body : samples(std::type_identity<TypeParam>())) {
    const Packet packet = packed(body);
    EXPECT_EQ(control_of<TypeParam>(packet), body) << to_string(body);
    EXPECT_EQ(packet.kind, kind_of<TypeParam>);
    EXPECT_EQ(is_link_local(packet.kind), TypeParam::kLinkLocal);
    EXPECT_EQ(is_feedback(packet.kind), !TypeParam::kLinkLocal);
    EXPECT_TRUE(is_control(packet.kind) && is_from_switches(packet.kind));
    EXPECT_EQ(packet.roce.psn, Psn(0)) << "what traces say of every packet";
    EXPECT_EQ(packet.roce.dscp, 48);
    EXPECT_FALSE(to_string(body).empty());
  }
}

// Nothing else than the kind may tell what a body is.
TYPED_TEST(ControlTest, ABodyIsReadAsItsOwnTypeOnly) {
  Packet packet = packed(samples(std::type_identity<TypeParam>())[0]);
  packet.kind = static_cast<PacketKind>(static_cast<int>(packet.kind) ^ 0x20);
  EXPECT_DEATH(control_of<TypeParam>(packet), "kind");
}

TYPED_TEST(ControlTest, AFrameIsReadAsItWasWrittenAndWrittenAsItWasRead) {
  const TwoHosts run;
  for (const TypeParam& body : samples(std::type_identity<TypeParam>())) {
    const Packet packet = packed(body);
    const test::ByteVector bytes = written(packet);
    ASSERT_EQ(bytes.size(), packet.frame_length);
    Packet read;
    ASSERT_TRUE(read_control(bytes, kind_of<TypeParam>, read, run)) << to_string(body);
    EXPECT_EQ(read.kind, packet.kind);
    EXPECT_EQ(read.frame_length, packet.frame_length);
    EXPECT_EQ(read.roce.dest, packet.roce.dest);
    if constexpr (!std::is_same_v<TypeParam, EscapeToken>) {  // at hosts nobody asks whose flow it is
      EXPECT_EQ(control_of<TypeParam>(read), body) << to_string(body);
    }
    if constexpr (!TypeParam::kLinkLocal) {
      EXPECT_EQ(read.src, packet.src);
      EXPECT_EQ(read.roce.dscp, packet.roce.dscp);
      const auto view = view_frame(bytes);
      ASSERT_TRUE(view);
      EXPECT_EQ(view->kind, kind_of<TypeParam>);
      EXPECT_EQ(view->dscp, 48);
      const DamagedPart part = transport_of(packet);
      EXPECT_EQ(part.at, view->transport);
      EXPECT_EQ(part.at + part.bytes, view->end);
    } else {
      EXPECT_FALSE(view_frame(bytes)) << "it is not forwarded";
    }
  }
}

TYPED_TEST(ControlTest, NoOtherCodecTakesItsFrames) {
  const TwoHosts run;
  for (const TypeParam& body : samples(std::type_identity<TypeParam>())) {
    const test::ByteVector bytes = written(packed(body));
    for (int kind = 0; kind < 256; ++kind) {
      Packet read;
      const auto as = static_cast<PacketKind>(kind);
      EXPECT_EQ(read_control(bytes, as, read, run), as == kind_of<TypeParam>) << kind;
    }
  }
  for (const test::NamedFrame& frame : test::made_frames()) {
    Packet read;
    EXPECT_FALSE(read_control(frame.bytes, kind_of<TypeParam>, read, run)) << frame.name;
  }
}

// Cut short it is none, or still says the same: padding is not asked for.
TYPED_TEST(ControlTest, AFrameThatIsCutShortIsNone) {
  const TwoHosts run;
  for (const TypeParam& body : samples(std::type_identity<TypeParam>())) {
    const test::ByteVector bytes = written(packed(body));
    Packet whole;
    ASSERT_TRUE(read_control(bytes, kind_of<TypeParam>, whole, run));
    std::size_t refused = 0;
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      const test::ByteVector cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
      Packet read;
      if (!read_control(cut, kind_of<TypeParam>, read, run))
        refused = length + 1;
      else
        EXPECT_EQ(control_of<TypeParam>(read), control_of<TypeParam>(whole)) << length;
    }
    EXPECT_GE(refused, 32u);
  }
}

// Whatever bytes say: refused, or a body that a frame says again.
TYPED_TEST(ControlTest, ADamagedFrameIsRefusedOrSaysWhatCanBeSaidAgain) {
  const TwoHosts run;
  Rng rng(20'261'126);
  int accepted = 0;
  for (const TypeParam& body : samples(std::type_identity<TypeParam>())) {
    const test::ByteVector good = written(packed(body));
    for (int round = 0; round < 2000; ++round) {
      test::ByteVector bytes = good;
      for (std::uint64_t n = 1 + rng.below(3); n > 0; --n)
        bytes[rng.below(bytes.size())] = static_cast<std::byte>(rng.below(256));
      Packet read;
      if (!read_control(bytes, kind_of<TypeParam>, read, run)) continue;
      ++accepted;
      Packet again;
      ASSERT_TRUE(read_control(written(read), kind_of<TypeParam>, again, run)) << test::to_hex(bytes);
      EXPECT_EQ(control_of<TypeParam>(again), control_of<TypeParam>(read)) << test::to_hex(bytes);
    }
  }
  EXPECT_GT(accepted, 0);
}

TEST(ControlsTest, KindsOfAllOthersHaveNoCodec) {
  int codecs = 0;
  for (int kind = 0; kind < 256; ++kind) codecs += for_control(static_cast<PacketKind>(kind), [](auto) {});
  EXPECT_EQ(codecs, static_cast<int>(length_of(Controls())));
}

}  // namespace
}  // namespace rocelab
