// Batches of frames of one flow, packed, then cut as the kernel cuts them: the same frames, each good, in an
// order that the transport allows.
#include "irn_provider/realtime/train_packer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/rng.h"
#include "base/wire/frame.h"
#include "irn_provider/realtime/train.h"

namespace rocelab::direct {
namespace {

using Bytes = std::vector<std::byte>;
using Kind = FramePort::Kind;
constexpr std::size_t kMtu = 256, kShort = 64;
constexpr FramePort::Flow kFlow{nullptr, 0x1234};

struct Shape {
  std::uint8_t opcode = 0;
  std::size_t payload = 0;
  const OpcodeInfo& info() const { return opcode_info(opcode); }
};

Shape shape(TransportClass transport, Operation operation, std::size_t payload = 0) {
  return {make_opcode(transport, operation), payload};
}

// Of every operation of a connected type with these lengths: first and middle packets are full ones.
std::vector<Shape> all_shapes() {
  std::vector<Shape> all;
  for (unsigned opcode = 0; opcode < 256; ++opcode) {
    const OpcodeInfo& info = opcode_info(static_cast<std::uint8_t>(opcode));
    if (!info.known() || info.transport == TransportClass::kUd || info.transport == TransportClass::kCnp)
      continue;
    const std::size_t least = !info.ends_message() ? kMtu : info.position == Position::kLast ? 1 : 0;
    const std::size_t most = !info.has_payload ? 0 : !info.ends_message() ? kMtu : kShort;
    for (std::size_t n = least; n <= most; ++n) all.push_back({static_cast<std::uint8_t>(opcode), n});
  }
  return all;
}

class Batch {
 public:
  explicit Batch(bool is_ipv4) : is_ipv4_(is_ipv4) {}

  void add(const Shape& s) {
    RoceHeaders roce;
    roce.opcode = s.opcode;
    roce.dest = Qpn{kFlow.dest};
    roce.psn = Psn(static_cast<std::uint32_t>(made_.size()));  // its number
    FrameAddress a;
    a.is_ipv4 = is_ipv4_;
    a.src_gid = is_ipv4_ ? ipv4_mapped({10, 0, 0, 2}) : Gid{0xfe, 0x80, 2};
    a.dst_gid = is_ipv4_ ? ipv4_mapped({10, 0, 0, 1}) : Gid{0xfe, 0x80, 3};
    const std::size_t length = frame_length(roce, s.payload, is_ipv4_);
    a.ip_id = packer_.choose(kFlow, length, kind_of(s.info()));
    Bytes frame(length);
    write_frame(a, roce, Bytes(s.payload, std::byte{0x5a}), frame);
    packer_.add(frame);
    made_.push_back(std::move(frame));
    shapes_.push_back(s);
  }

  // Numbers of frames in the order in which they come. Fails where one is not the frame that was made.
  std::vector<std::uint32_t> cut() {
    std::vector<std::uint32_t> order;
    const auto came = [&](std::span<const std::byte> bytes) {
      FrameError why{};
      const auto frame = parse_frame(bytes, IcrcCheck::kVerify, &why);
      ASSERT_TRUE(frame) << to_string(why) << "\n" << story();
      const std::uint32_t number = frame->roce.psn.value();
      order.push_back(number);
      EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), made_[number].begin())) << number << story();
    };
    for (const TrainPacker::Train& train : packer_.trains()) {
      if (train.frames == 1) {
        came(made_[train.first]);
        continue;
      }
      KernelHeader kernel;
      Bytes bytes(kMaxHeaders);
      bytes.resize(write_train_headers(made_[train.first], train.payload, train.segment, kernel, bytes));
      packer_.each_frame(train, [&](std::uint32_t frame) {
        bytes.insert(bytes.end(), made_[frame].begin() + static_cast<std::ptrdiff_t>(train.headers),
                     made_[frame].end());
      });
      cut_train(bytes, kernel.segment_bytes, came);
    }
    EXPECT_EQ(order.size(), made_.size()) << story();
    return order;
  }

  // All arrive, and only an acknowledgement that data may pass has been passed.
  void check() {
    const std::vector<std::uint32_t> order = cut();
    for (std::size_t i = 0; i < order.size(); ++i)
      for (std::size_t j = i + 1; j < order.size(); ++j) {
        const bool passed = order[i] > order[j];
        EXPECT_TRUE(!passed || may_pass(order[i], order[j])) << story();
      }
  }

  std::size_t trains() const { return packer_.trains().size(); }
  std::string story() const {
    std::string text = is_ipv4_ ? "IPv4:" : "IPv6:";
    for (const Shape& s : shapes_) text += " " + std::string(s.info().name) + "/" + std::to_string(s.payload);
    return text;
  }

 private:
  bool may_pass(std::uint32_t later, std::uint32_t earlier) const {
    return kind_of(shapes_[later].info()) == Kind::kData && kind_of(shapes_[earlier].info()) == Kind::kAck;
  }

  const bool is_ipv4_;
  TrainPacker packer_{128};
  std::vector<Bytes> made_;
  std::vector<Shape> shapes_;
};

class TrainPackerTest : public ::testing::TestWithParam<bool> {
 protected:
  std::vector<std::uint32_t> order_of(const std::vector<Shape>& shapes) const {
    Batch batch(GetParam());
    for (const Shape& s : shapes) batch.add(s);
    return batch.cut();
  }
};
INSTANTIATE_TEST_SUITE_P(Ip, TrainPackerTest, ::testing::Bool());

constexpr auto kRc = TransportClass::kRc, kIrn = TransportClass::kIrn;

TEST_P(TrainPackerTest, FramesOfEveryOperationAndLengthComeOutAsTheyWentIn) {
  const std::vector<Shape> shapes = all_shapes();
  EXPECT_GT(shapes.size(), 1'000u);
  const Shape longer = shape(kRc, Operation::kWriteMiddle, kMtu),
              shorter = shape(kRc, Operation::kSendOnly, 0);
  for (const Shape& s : shapes)
    for (const std::vector<Shape>& batch : {std::vector{s},
                                            {longer, s},
                                            {longer, longer, s, s},
                                            {s, longer},
                                            {s, shorter},
                                            {s, s, s, longer}}) {
      Batch packed(GetParam());
      for (const Shape& each : batch) packed.add(each);
      packed.check();
    }
}

TEST_P(TrainPackerTest, RandomBatchesComeOutWholeAndInAnOrderThatTheTransportAllows) {
  const std::vector<Shape> shapes = all_shapes();
  Rng rng(7);
  std::size_t trains = 0, frames = 0;
  for (int round = 0; round < 1'000; ++round) {
    Batch batch(GetParam());
    const std::uint64_t n = 1 + rng.below(40);
    for (std::uint64_t i = 0; i < n; ++i) {
      const Shape& s = shapes[rng.below(shapes.size())];
      batch.add(s);
      if (rng.below(3) == 0) batch.add(s);  // equal lengths make long trains
    }
    batch.check();
    trains += batch.trains();
    frames += n;
  }
  EXPECT_LT(trains, frames);  // there were some of several frames
}

TEST_P(TrainPackerTest, AnswersLeaveInTheOrderOfTheirRequests) {
  const Shape atomic = shape(kRc, Operation::kAtomicAck), ack = shape(kRc, Operation::kAck);
  using Order = std::vector<std::uint32_t>;
  for (const Operation response : {Operation::kReadResponseFirst, Operation::kReadResponseOnly}) {
    const Shape read = shape(kRc, response, kMtu);
    EXPECT_EQ(order_of({atomic, read}), (Order{0, 1}));
    EXPECT_EQ(order_of({ack, read}), (Order{0, 1}));  // a NAK, too: it has the same opcode
    EXPECT_EQ(order_of({read, ack, atomic, read}), (Order{0, 1, 2, 3}));
  }
  EXPECT_EQ(order_of({ack, atomic}), (Order{0, 1}));
  // IRN numbers an atomic's answer among the READ responses.
  EXPECT_EQ(order_of({shape(kIrn, Operation::kAtomicAck), shape(kIrn, Operation::kReadResponseFirst, kMtu)}),
            (Order{0, 1}));
}

TEST_P(TrainPackerTest, AnAcknowledgementMovesBehindTheRequestThatFollowsIt) {
  using Order = std::vector<std::uint32_t>;
  const Shape ack = shape(kRc, Operation::kAck), write = shape(kRc, Operation::kWriteOnly, 8);
  Batch batch(GetParam());
  batch.add(ack), batch.add(write);
  EXPECT_EQ(batch.cut(), (Order{1, 0}));
  EXPECT_EQ(batch.trains(), 1u);
  EXPECT_EQ(order_of({ack, ack, write}), (Order{0, 1, 2}));  // only one that is alone
  EXPECT_EQ(order_of({shape(kIrn, Operation::kAck), shape(kIrn, Operation::kReadResponseOnly, 8)}),
            (Order{1, 0}));  // of number spaces of their own
}

TEST(TrainPackerSplitTest, EachFrameOfATrainBecomesOneOfItsOwn) {
  TrainPacker packer(8);
  const auto add = [&](std::uint32_t dest) {
    Bytes frame(100);
    wire::store16(frame, 12, kEtherTypeIpv4);
    packer.choose({nullptr, dest}, frame.size(), Kind::kData);
    packer.add(frame);
  };
  for (const std::uint32_t dest : {1u, 2u, 2u, 1u, 2u}) add(dest);
  ASSERT_EQ(packer.trains().size(), 2u);
  packer.split(1);  // the first has left
  std::vector<std::uint32_t> frames;
  for (std::size_t i = 1; i < packer.trains().size(); ++i) {
    EXPECT_EQ(packer.trains()[i].frames, 1u);
    frames.push_back(packer.trains()[i].first);
  }
  EXPECT_EQ(frames, (std::vector<std::uint32_t>{1, 2, 4}));
  add(2), add(2);
  EXPECT_EQ(packer.trains().size(), 6u);
}

}  // namespace
}  // namespace rocelab::direct
