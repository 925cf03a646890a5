#include "emu/runner/formula.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/rng.h"

namespace rocelab {
namespace {

const Path kStarPath{{40_Gbps, 2_us}, {40_Gbps, 2_us}};
const Path kLongPath{{40_Gbps, 2_us}, {40_Gbps, 2_us}, {40_Gbps, 2_us},
                     {40_Gbps, 2_us}, {40_Gbps, 2_us}, {40_Gbps, 2_us}};

// Wire time at 40 Gb/s of a frame of `n` bytes, written out: (n + 4 FCS + 20 preamble and gap) * 200 ps.
Duration at_40g(std::int64_t n) { return Duration::from_ps((n + 24) * 200); }

TEST(FormulaTest, OnePacketIsTwoSerialisationsAndTwoDelays) {
  // SEND ONLY of 64 bytes: 14 + 20 + 8 + 12 + 64 + 4 = 122 bytes.
  EXPECT_EQ(fct_alone({TransportMode::kRoce, FlowOp::kSend, 64_B, {}, 1, 1024, 0}, kStarPath, kStarPath),
            2 * at_40g(122) + 4_us);
  // IRN adds its 8 bytes, and pads no further.
  EXPECT_EQ(fct_alone({TransportMode::kIrn, FlowOp::kSend, 64_B, {}, 1, 1024, 39}, kStarPath, kStarPath),
            2 * at_40g(130) + 4_us);
  // One byte: padded to 4, and the frame to 60 or more.
  EXPECT_EQ(fct_alone({TransportMode::kRoce, FlowOp::kSend, 1_B, {}, 1, 1024, 0}, kStarPath, kStarPath),
            2 * at_40g(62) + 4_us);
}

TEST(FormulaTest, LongWriteIsItsBytesAtLineRateAndThePathOfTheLast) {
  // 4 packets of RoCE: FIRST has a RETH (16 bytes), MIDDLE and LAST do not; 58 bytes of other headers. FIRST
  // is the slowest, so the others wait for it at the second link and follow it back to back.
  const Duration fct =
      fct_alone({TransportMode::kRoce, FlowOp::kWrite, 4096_B, {}, 1, 1024, 0}, kStarPath, kStarPath);
  EXPECT_EQ(fct, 2 * at_40g(1098) + 2 * at_40g(1082) + at_40g(1086) + 4_us);  // LAST with immediate: 4 more
  // IRN: a RETH on each.
  const Duration irn =
      fct_alone({TransportMode::kIrn, FlowOp::kWrite, 4096_B, {}, 1, 1024, 39}, kStarPath, kStarPath);
  EXPECT_EQ(irn, 3 * at_40g(1098) + 2 * at_40g(1106) + 4_us);  // the immediate and recv_WQE_SN: 8 more
}

TEST(FormulaTest, MessagesAddTheirFirstPackets) {
  const FlowShape one{TransportMode::kRoce, FlowOp::kWrite, 8192_B, {}, 1, 1024, 0};
  FlowShape four = one;
  four.message_size = 2048_B;
  EXPECT_EQ(data_packets(one), 8u);
  EXPECT_EQ(data_packets(four), 8u);
  EXPECT_EQ(fct_alone(four, kStarPath, kStarPath) - fct_alone(one, kStarPath, kStarPath),
            Duration::from_ps(3 * 16 * 200));
  four.qps = 2;  // two queue pairs send the same frames in another order
  EXPECT_EQ(wire_bytes_of(four), wire_bytes_of(one) + 48_B + 4_B);  // two immediates
}

// The formula of docs/reference/metrics.md to the letter, for one WRITE over one queue pair.
Duration frame_by_frame(TransportMode mode, Bytes size, std::uint32_t cap, const Path& path,
                        const Path& back) {
  const bool irn = mode == TransportMode::kIrn;
  const std::int64_t packets = (size.count() + 1023) / 1024;
  std::vector<Time> free(path.size()), control(back.size()), acked;
  Time arrival;
  for (std::int64_t i = 0; i < packets; ++i) {
    const bool first = i == 0, last = i + 1 == packets;
    const std::int64_t payload = last ? size.count() - i * 1024 : 1024;
    const std::int64_t headers = 58 + (irn || first ? 16 : 0) + (last ? (irn ? 8 : 4) : 0);
    const Bytes frame = Bytes::from_count(std::max<std::int64_t>(60, headers + (payload + 3) / 4 * 4));
    Time at = cap != 0 && i >= cap ? acked[static_cast<std::size_t>(i - cap)] : Time::zero();
    for (std::size_t h = 0; h < path.size(); ++h) {
      free[h] = std::max(at, free[h]) + wire_time(frame, path[h].rate);
      at = free[h] + path[h].delay;
    }
    arrival = at;
    for (std::size_t h = 0; h < back.size(); ++h) {
      control[h] = std::max(at, control[h]) + wire_time(ack_frame(mode), back[h].rate);
      at = control[h] + back[h].delay;
    }
    acked.push_back(at);
  }
  return arrival - Time::zero();
}

TEST(FormulaTest, LongFlowsTakeWhatTheirFramesTakeOneByOne) {
  Rng rng(9);
  const Rate rates[] = {10_Gbps, 25_Gbps, 40_Gbps, 100_Gbps};
  for (int round = 0; round < 400; ++round) {
    Path path, back;
    const Rate everywhere = rates[rng.below(4)];
    for (std::uint64_t hops = 2 + rng.below(5); hops > 0; --hops)
      path.push_back({round % 2 == 0 ? everywhere : rates[rng.below(4)],
                      static_cast<std::int64_t>(1 + rng.below(4000)) * 1_ns});
    back.assign(path.rbegin(), path.rend());
    const Bytes size = Bytes::from_count(static_cast<std::int64_t>(1 + rng.below(1'500'000)));
    const auto cap = static_cast<std::uint32_t>(rng.below(3) == 0 ? 1 + rng.below(150) : 0);
    for (const TransportMode mode : {TransportMode::kRoce, TransportMode::kIrn})
      for (const std::uint32_t window : {cap, 110u, bdp_packets(mode, 1024, path, back)}) {
        const FlowShape shape{mode, FlowOp::kWrite, size, {}, 1, 1024, window};
        ASSERT_EQ(fct_alone(shape, path, back), frame_by_frame(mode, size, window, path, back))
            << "round " << round << ", " << size.count() << " bytes, cap " << window;
      }
  }
}

TEST(FormulaTest, SlowestLinkDecides) {
  const Path narrow{{40_Gbps, 2_us}, {10_Gbps, 2_us}};
  const FlowShape shape{TransportMode::kIrn, FlowOp::kWrite, 1024_B * 100, {}, 1, 1024, 0};
  EXPECT_EQ(fct_alone(shape, narrow, narrow),
            at_40g(1098) + 99 * wire_time(1098_B, 10_Gbps) + wire_time(1106_B, 10_Gbps) + 4_us);
}

TEST(FormulaTest, ComputedCapNeverStallsALoneFlowAndHalfOfItDoes) {
  for (const Path& path : {kStarPath, kLongPath}) {
    FlowShape shape{TransportMode::kIrn, FlowOp::kWrite, 8_MB, {}, 1, 1024, 0};
    const Duration unlimited = fct_alone(shape, path, path);
    shape.bdp_cap = bdp_packets(TransportMode::kIrn, 1024, path, path);
    EXPECT_EQ(fct_alone(shape, path, path), unlimited);
    shape.bdp_cap /= 2;
    EXPECT_GT(fct_alone(shape, path, path), unlimited + unlimited / 2);
  }
}

TEST(FormulaTest, WindowOfOneIsARoundTripPerPacket) {
  const FlowShape shape{TransportMode::kIrn, FlowOp::kWrite, 1024_B * 10, {}, 1, 1024, 1};
  const Duration rtt = 2 * at_40g(1098) + 2 * at_40g(62) + 8_us;
  EXPECT_EQ(round_trip(TransportMode::kIrn, 1024, kStarPath, kStarPath), rtt);
  EXPECT_EQ(fct_alone(shape, kStarPath, kStarPath), 9 * rtt + 2 * at_40g(1106) + 4_us);
}

TEST(FormulaTest, CapIsTheBandwidthDelayProductOfTheLongestPath) {
  // The paper counts 24 us x 40 Gb/s = 120 KB and calls it about 110 packets; with store and forward at six
  // hops of 1098 byte frames it is a few more.
  EXPECT_EQ(bdp_packets(TransportMode::kIrn, 1024, kStarPath, kStarPath), 39u);
  const std::uint32_t cap = bdp_packets(TransportMode::kIrn, 1024, kLongPath, kLongPath);
  EXPECT_GE(cap, 110u);
  EXPECT_LE(cap, 120u);
}

TEST(FormulaTest, ReadIsItsRequestAndTheWayBack) {
  // READ REQUEST: 14 + 20 + 8 + 12 + 16 + 4 = 74; RESPONSE ONLY with AETH: 58 + 4 + 64 = 126.
  EXPECT_EQ(fct_alone({TransportMode::kRoce, FlowOp::kRead, 64_B, {}, 1, 1024, 0}, kStarPath, kStarPath),
            2 * at_40g(74) + 2 * at_40g(126) + 8_us);
  // IRN: 4 more for read_WQE_SN, and the ACK of the request (62 bytes) goes ahead of the response on the
  // first link.
  EXPECT_EQ(fct_alone({TransportMode::kIrn, FlowOp::kRead, 64_B, {}, 1, 1024, 39}, kStarPath, kStarPath),
            2 * at_40g(78) + at_40g(62) + 2 * at_40g(126) + 8_us);
}

TEST(FormulaTest, PingPongIsTwoTrips) {
  EXPECT_EQ(ping_pong(TransportMode::kRoce, 64_B, 1024, 0, kStarPath, kStarPath), 4 * at_40g(122) + 8_us);
}

}  // namespace
}  // namespace rocelab
