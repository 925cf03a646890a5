// BFC at a NIC: data name their queue pair's queue, and pauses of queues hold back exactly the queue pairs of
// these.
#include "base/bfc.h"
#include "base/wire/controls.h"
#include "irn_provider/cc/bfc.h"
#include "irn_provider/cc/dcqcn_rp.h"
#include "irn_provider/nic/pair_fixture.h"

namespace rocelab {
namespace {

constexpr std::uint32_t kMtu = 1024;  // of NicPair

NicConfig config_on(TransportMode mode) {
  NicConfig config = config_of(mode);
  config.cc.use<Bfc>();
  return config;
}

class BfcPair : public NicPair {
 public:
  explicit BfcPair(const NicConfig& both, QpType qp_type = QpType::kRc) : NicPair(both) {
    type = qp_type;
    connect();
  }
  void pause(std::initializer_list<std::size_t> queues) {
    BfcPause body{Tc{3}, {}};
    for (const std::size_t queue : queues) body.queues.set(queue, true);
    PacketRef packet = a.pool.make();
    put_control(*packet, body);
    a.port.deliver(std::move(packet), now());
  }
  std::size_t queue() const { return bfc_queue_of(a.qp); }
  std::size_t data_from_a() const {
    std::size_t frames = 0;
    for (const Departure& d : log) frames += d.side == 0 && d.packet.kind == PacketKind::kData;
    return frames;
  }
};

TEST(NicBfcTest, DataNameTheirQueueAndAcknowledgementsDoNot) {
  for (const TransportMode mode : {TransportMode::kRoce, TransportMode::kIrn}) {
    BfcPair pair(config_on(mode));
    pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 4 * kMtu));
    pair.run();
    int acks = 0;
    for (const Departure& d : pair.log) {
      const bool data = d.packet.kind == PacketKind::kData;
      acks += !data;
      EXPECT_EQ(d.packet.roce.has_bfc, data);
      if (data) {
        EXPECT_EQ(d.packet.roce.bfc_queue, pair.queue());
      }
    }
    EXPECT_EQ(pair.data_from_a(), 4u);
    EXPECT_GT(acks, 0);
    NicPair plain(config_of(mode));
    plain.connect();
    plain.post(plain.wqe(WrOpcode::kWrite, 0, 0, 4 * kMtu));
    plain.run();
    EXPECT_EQ(pair.log[0].packet.frame_length, plain.log[0].packet.frame_length + 4) << "a part of the shim";
  }
}

TEST(NicBfcTest, APausedQueuePairSendsNothingUntilItsBitIsCleared) {
  for (const QpType type : {QpType::kRc, QpType::kUc}) {
    BfcPair pair(config_on(TransportMode::kRoce), type);
    pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 20 * kMtu));
    pair.run_until(Time::zero() + 1_us);
    const std::size_t before = pair.data_from_a();
    ASSERT_LT(before, 20u);
    pair.pause({pair.queue()});
    pair.run_until(Time::zero() + 100_us);
    EXPECT_EQ(pair.data_from_a(), before);
    pair.pause({(pair.queue() + 1) % BfcQueues::kMost});
    pair.run();
    EXPECT_EQ(pair.data_from_a(), 20u) << "another one is paused";
    EXPECT_EQ(pair.log[before].at, Time::zero() + 100_us);
    EXPECT_EQ(pair.a.nic.counters().rx_queue_pauses, 2u);
  }
}

TEST(NicBfcTest, AQueuePairThatHasSentNothingYetIsHeldToo) {
  BfcPair pair(config_on(TransportMode::kRoce));
  pair.pause({pair.queue()});
  pair.run_until(Time::zero() + 1_us);
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, kMtu));
  pair.run_until(Time::zero() + 50_us);
  EXPECT_EQ(pair.data_from_a(), 0u);
  pair.pause({});
  pair.run();
  EXPECT_EQ(pair.data_from_a(), 1u);
}

TEST(NicBfcTest, AQueuePairThatConnectsToAPausedQueueIsHeld) {
  BfcPair pair(config_on(TransportMode::kRoce));
  pair.pause({pair.queue() + 1});
  pair.run_until(Time::zero() + 1_us);
  const auto [second, peer] = pair.connect(0x1000);
  ASSERT_EQ(bfc_queue_of(second), pair.queue() + 1);
  pair.a.nic.post_send(second, pair.wqe(WrOpcode::kWrite, 0, 0, kMtu), pair.now());
  pair.run_until(Time::zero() + 50_us);
  EXPECT_EQ(pair.data_from_a(), 0u);
  pair.pause({});
  pair.run();
  EXPECT_EQ(pair.data_from_a(), 1u);
}

TEST(NicBfcTest, OneQueuePairIsHeldAndAnotherGoesOn) {
  BfcPair pair(config_on(TransportMode::kRoce));
  const auto [second, peer] = pair.connect(0x1000);
  pair.pause({pair.queue()});
  pair.run_until(Time::zero() + 1_us);
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 3 * kMtu));
  pair.a.nic.post_send(second, pair.wqe(WrOpcode::kWrite, 0, 0, 5 * kMtu), pair.now());
  pair.run_until(Time::zero() + 50_us);
  EXPECT_EQ(pair.data_from_a(), 5u);
  for (const Departure& d : pair.log)
    if (d.side == 0 && d.packet.kind == PacketKind::kData) {
      EXPECT_EQ(d.packet.flow, second.value);
    }
  pair.pause({});
  pair.run();
  EXPECT_EQ(pair.data_from_a(), 8u);
}

// The responder's data are in its own queue pair's queue.
TEST(NicBfcTest, ReadResponsesAreHeldAsWell) {
  for (const TransportMode mode : {TransportMode::kRoce, TransportMode::kIrn}) {
    NicPair pair(config_on(mode));
    pair.connect();
    BfcPause body{Tc{3}, {}};
    body.queues.set(bfc_queue_of(pair.b.qp), true);
    PacketRef packet = pair.b.pool.make();
    put_control(*packet, body);
    pair.b.port.deliver(std::move(packet), Time::zero());
    pair.post(pair.wqe(WrOpcode::kRead, 0, 0, 3 * kMtu));
    const auto responses = [&] {
      std::size_t frames = 0;
      for (const Departure& d : pair.log) frames += d.side == 1 && d.packet.payload_length > 0;
      return frames;
    };
    pair.run_until(Time::zero() + 50_us);
    EXPECT_EQ(responses(), 0u);
    PacketRef resume = pair.b.pool.make();
    put_control(*resume, BfcPause{Tc{3}, {}});
    pair.b.port.deliver(std::move(resume), pair.now());
    pair.run();
    EXPECT_EQ(responses(), 3u);
  }
}

TEST(NicBfcTest, ANicWithoutItCountsAPauseAndGoesOn) {
  NicPair pair;
  pair.connect();
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, kMtu));
  BfcPause body{Tc{3}, {}};
  for (std::size_t n = 0; n < BfcQueues::kWords; ++n) body.queues.set_word(n, ~std::uint64_t{0});
  PacketRef packet = pair.a.pool.make();
  put_control(*packet, body);
  pair.a.port.deliver(std::move(packet), Time::zero());
  pair.run();
  EXPECT_EQ(pair.log[0].at, Time::zero());
  EXPECT_EQ(pair.a.nic.counters().rx_malformed, 1u);
}

TEST(NicBfcTest, AWindowLimitsPacketsInFlight) {
  NicConfig config = config_of(TransportMode::kIrn);
  config.cc.use<Bfc>().window = 2;
  BfcPair pair(config);
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 10 * kMtu));
  pair.run_until(Time::zero() + 2_us);
  EXPECT_EQ(pair.data_from_a(), 2u);
  pair.run();
  EXPECT_EQ(pair.data_from_a(), 10u);
}

}  // namespace
}  // namespace rocelab
