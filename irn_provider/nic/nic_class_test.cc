// Classes at the NIC: which DSCP and class packets have by their kind, and how classes share the port.
#include <gtest/gtest.h>

#include <map>

#include "base/wire/controls.h"
#include "irn_provider/nic/pair_fixture.h"

namespace rocelab {
namespace {

constexpr std::uint32_t kMtu = 1024;

class NicClassTest : public ::testing::TestWithParam<TransportMode> {
 protected:
  static PacketRef pause_of(Endpoint& e, int tc) {
    PfcFrame pause;
    pause.class_enable = static_cast<std::uint8_t>(1u << tc);
    pause.time[static_cast<std::size_t>(tc)] = 0xffff;
    PacketRef frame = e.pool.make();
    put_control(*frame, pause);
    return frame;
  }
};

bool is_read_response(const Packet& packet) {
  const OpcodeInfo& info = opcode_info(packet.roce.opcode);
  return info.operation >= Operation::kReadResponseFirst && info.operation <= Operation::kReadResponseOnly;
}
bool is_read_request(const Packet& packet) {
  return opcode_info(packet.roce.opcode).operation == Operation::kReadRequest;
}

TEST_P(NicClassTest, PacketsCarryTheDscpOfTheirQueuePair) {
  NicPair pair(config_of(GetParam()));
  pair.attr.path.traffic_class = 34 << 2;
  pair.connect();
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 3 * kMtu));
  pair.run();
  ASSERT_FALSE(pair.log.empty());
  for (const Departure& d : pair.log) {
    EXPECT_EQ(d.packet.roce.dscp, 34);
    EXPECT_EQ(d.packet.tc, Tc{4});
  }
}

TEST_P(NicClassTest, AcknowledgementsAndReadsMayHaveDscpsOfTheirOwn) {
  NicConfig config = config_of(GetParam());
  config.ack_dscp = 46, config.read_dscp = 10;
  NicPair pair(config);
  pair.connect();
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 3 * kMtu, 1));
  pair.post(pair.wqe(WrOpcode::kRead, 0, 0, 3 * kMtu, 2));
  pair.run();
  ASSERT_EQ(pair.a.cqes.size(), 2u);
  std::map<std::uint8_t, int> frames;
  for (const Departure& d : pair.log) {
    const bool read = is_read_request(d.packet) || is_read_response(d.packet);
    const std::uint8_t want = d.packet.kind == PacketKind::kAck ? 46 : read ? 10 : 26;
    EXPECT_EQ(d.packet.roce.dscp, want) << opcode_info(d.packet.roce.opcode).name;
    EXPECT_EQ(d.packet.tc, pair.config.class_map.of(want));
    ++frames[want];
  }
  EXPECT_EQ(frames[26], 3);
  EXPECT_EQ(frames[10], 4) << "a request and three responses";
  EXPECT_GE(frames[46], 1);
}

// Two WRITEs around a READ whose class is paused: the send queue is in order, so that only the first leaves.
TEST_P(NicClassTest, APauseOfTheReadsClassHoldsBackARead) {
  NicConfig config = config_of(GetParam());
  config.read_dscp = 10;
  NicPair pair(config);
  pair.connect();
  pair.a.port.deliver(pause_of(pair.a, 1), pair.now());
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, kMtu, 1));
  pair.post(pair.wqe(WrOpcode::kRead, 0, 0, kMtu, 2));
  pair.run();
  const Time resumed = Time::zero() + pause_duration(0xffff, pair.config.link_rate);
  const auto requests =
      pair.sent([](const Departure& d) { return d.side == 0 && is_read_request(d.packet); });
  const auto writes =
      pair.sent([](const Departure& d) { return d.side == 0 && d.packet.payload_length > 0; });
  ASSERT_EQ(requests.size(), 1u);
  ASSERT_EQ(writes.size(), 1u);
  EXPECT_GE(requests[0].at, resumed);
  EXPECT_LT(writes[0].at, resumed);
  EXPECT_EQ(pair.a.cqes.size(), 2u);
}

// Lost packets of mixed classes are resent with the class of their kind.
TEST_P(NicClassTest, ResentPacketsKeepTheClassOfTheirKind) {
  NicConfig config = config_of(GetParam());
  config.read_dscp = 10;
  config.roce_rto = 100_us;
  for (int lost = 1; lost <= 6; ++lost) {
    SCOPED_TRACE(lost);
    NicPair pair(config);
    pair.connect();
    pair.lose = lose_data(0, {lost});
    for (std::uint64_t i = 0; i < 3; ++i) {
      pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, kMtu, 2 * i));
      pair.post(pair.wqe(WrOpcode::kRead, 0, 0, kMtu, 2 * i + 1));
    }
    pair.run();
    EXPECT_EQ(pair.a.cqes.size(), 6u);
    for (const Departure& d : pair.log) {
      if (d.side != 0 || d.packet.kind != PacketKind::kData) continue;
      EXPECT_EQ(d.packet.tc, Tc{is_read_request(d.packet) ? std::uint8_t{1} : std::uint8_t{3}});
    }
  }
}

TEST_P(NicClassTest, AFrameOfADscpThatTheMapLeavesOutIsCounted) {
  NicConfig narrow = config_of(GetParam());
  narrow.class_map.classes[34] = ClassMap::kUnknown;
  NicPair pair(config_of(GetParam()), narrow, NicPair::kMemory);
  pair.attr.path.traffic_class = 34 << 2;
  pair.connect();
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 3 * kMtu));
  int damaged = 0;
  pair.lose = [&](const Departure& d) {
    if (d.side == 0 && damaged++ == 0) const_cast<Departure&>(d).packet.kind = PacketKind::kDamaged;
    return false;
  };
  pair.run();
  EXPECT_EQ(pair.b.nic.counters().rx_icrc_encapsulated, 1u);
  EXPECT_GE(pair.b.nic.counters().rx_unknown_dscp, 3u);
  EXPECT_EQ(pair.b.nic.counters().rx_unknown_dscp, pair.b.nic.counters().rx_packets)
      << "damaged ones are not";
  EXPECT_EQ(pair.a.nic.counters().rx_unknown_dscp, 0u);
}

// Two queue pairs of classes 3 and 4, backlogged: what has left of either after `bytes` in all.
std::map<int, double> shares(const NicConfig& config, std::int64_t until) {
  NicPair pair(config);
  pair.connect(0);
  pair.attr.path.traffic_class = 34 << 2;
  const auto [qa, qb] = pair.connect(5000);
  for (std::uint64_t i = 0; i < 40; ++i) {
    pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 37 * kMtu + 100, i));
    pair.a.nic.post_send(qa, pair.wqe(WrOpcode::kWrite, 0, 0, 5 * kMtu + 600, i), pair.now());
    pair.a.nic.post_send(qa, pair.wqe(WrOpcode::kWrite, 0, 0, 31 * kMtu, i), pair.now());
  }
  pair.run();
  std::map<int, double> bytes;
  std::int64_t all = 0;
  for (const Departure& d : pair.log) {
    if (d.side != 0 || d.packet.kind != PacketKind::kData) continue;
    const std::int64_t wire = wire_bytes(d.packet.frame()).count();
    if ((all += wire) > until) break;
    bytes[d.packet.tc.value] += static_cast<double>(wire);
  }
  return bytes;
}

TEST_P(NicClassTest, ClassesShareThePortByTheirWeights) {
  NicConfig config = config_of(GetParam());
  config.irn.bdp_cap = 0;
  config.active_mtu = kMtu;  // turns of one packet or three
  config.strict_classes = static_cast<std::uint8_t>(~0x18);
  config.ets_weights[3] = 3, config.ets_weights[4] = 1;
  const auto bytes = shares(config, 1'000'000);
  EXPECT_NEAR(bytes.at(3) / bytes.at(4), 3, 0.05);
  std::swap(config.ets_weights[3], config.ets_weights[4]);
  const auto swapped = shares(config, 1'000'000);
  EXPECT_NEAR(swapped.at(4) / swapped.at(3), 3, 0.05);
}

TEST_P(NicClassTest, WithoutWeightsTheHigherClassGoesFirst) {
  NicConfig config = config_of(GetParam());
  config.irn.bdp_cap = 0;
  const auto bytes = shares(config, 1'000'000);
  EXPECT_EQ(bytes.count(3), 0u);
}

TEST_P(NicClassTest, AStrictClassGoesBeforeThoseThatShare) {
  NicConfig config = config_of(GetParam());
  config.irn.bdp_cap = 0;
  config.strict_classes = 1 << 3;
  const auto bytes = shares(config, 1'000'000);
  EXPECT_EQ(bytes.count(4), 0u) << "class 3 is strict, the higher class 4 is not";
}

// An arbiter between NICs of one port has chosen the class.
TEST_P(NicClassTest, OnlyFramesOfTheClassesThatAreAskedForLeave) {
  NicPair pair(config_of(GetParam()));
  pair.connect(0);
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 2 * kMtu));
  pair.attr.path.traffic_class = 34 << 2;
  const auto [qa, qb] = pair.connect(5000);
  pair.a.nic.post_send(qa, pair.wqe(WrOpcode::kWrite, 0, 0, kMtu), pair.now());
  EXPECT_EQ(pair.a.port.ready_classes(), 1 << 3 | 1 << 4);
  std::vector<int> left;
  for (const int of : {1 << 5, 1 << 3, 1 << 4, 1 << 4, 1 << 3}) {
    const PacketRef packet = pair.a.nic.poll_transmit(pair.now(), static_cast<TcMask>(of));
    left.push_back(packet ? packet->tc.value : -1);
  }
  EXPECT_EQ(left, (std::vector<int>{-1, 3, 4, -1, 3}));
}

INSTANTIATE_TEST_SUITE_P(Modes, NicClassTest, ::testing::Values(TransportMode::kRoce, TransportMode::kIrn),
                         [](const auto& mode) {
                           return mode.param == TransportMode::kRoce ? "Roce" : "Irn";
                         });

}  // namespace
}  // namespace rocelab
