// Frames with several outputs, and who gives back the bytes that they share.
#include "ovs_patches/switch_model/switch.h"
#include "ovs_patches/switch_model/test_support.h"

namespace rocelab {
namespace {

using namespace switch_test;

// Lossy egress queues of 5 KB.
SwitchConfig small() {
  SwitchConfig config;
  config.max_frame = 1098_B;
  config.egress_limit = 5_KB;
  return config;
}
const std::vector<PortConfig> kPorts(4);

TEST(SwitchCopiesTest, CopiesAreStoredOnceAndLeaveOneByOne) {
  Bench bench(small(), kPorts);
  const PortId outs[] = {port(1), port(2), port(3)};
  bench.send_pfc(3, at(0_us), 3, 100);  // 1.28 us
  bench.node.deliver(port(0), outs, make_packet(bench.pool, 1000_B), at(1_us));
  const Switch& model = bench.node.model();
  bench.run_until(at(1_us) + 1_ps);
  EXPECT_EQ(bench.sent.size(), 2u);
  EXPECT_EQ(model.ingress_bytes(port(0), tc(3)), 1000_B) << "the copy for port 3 waits";
  bench.run();
  EXPECT_EQ(bench.sent.size(), 3u);
  EXPECT_EQ(model.ingress_bytes(port(0), tc(3)), 0_B);
  EXPECT_EQ(bench.counters(0).rx_frames, 1u);
  EXPECT_EQ(bench.counters(0).replicated_frames, 2u);
  EXPECT_EQ(bench.counters(0).replicated_bytes, 2000u);
  EXPECT_EQ(bench.trace.count(TraceKind::kDeliver), 1);
  EXPECT_EQ(bench.pool.in_use(), 0u);
}

TEST(SwitchCopiesTest, EachOutputDropsItsOwnCopy) {
  CountingOwner owner;
  Bench bench(small(), kPorts, &owner);
  for (int i = 0; i < 5; ++i) bench.send(2, 1, at(1_us), 1000_B, 0);  // port 1 is full
  PacketRef packet = make_packet(bench.pool, 1000_B, 0);
  packet->frame_slot = 17;
  owner.references[17] = 1;
  const PortId outs[] = {port(3), port(1), port(0)};
  bench.node.deliver(port(2), outs, std::move(packet), at(1_us));
  bench.run();
  EXPECT_EQ(bench.counters(1).drops_egress_limit, 1u);
  EXPECT_EQ(bench.sent_by(3).size(), 1u);
  EXPECT_EQ(bench.sent_by(0).size(), 1u);
  EXPECT_EQ(owner.references[17], 2) << "two copies left, each with a reference of its own";
  EXPECT_EQ(bench.node.model().ingress_bytes(port(2), tc(0)), 0_B);
}

TEST(SwitchCopiesTest, BytesAreGivenBackWhenAllCopiesAreDropped) {
  CountingOwner owner;
  Bench bench(small(), kPorts, &owner);
  for (int i = 0; i < 5; ++i) bench.send(2, 1, at(1_us), 1000_B, 0);
  PacketRef packet = make_packet(bench.pool, 1000_B, 0);
  packet->frame_slot = 17;
  owner.references[17] = 1;
  const PortId outs[] = {port(1), port(1)};
  bench.node.deliver(port(2), outs, std::move(packet), at(1_us));
  bench.run();
  EXPECT_EQ(bench.counters(1).drops, 2u);
  EXPECT_EQ(owner.references[17], 0);
  EXPECT_EQ(bench.pool.in_use(), 0u);
}

TEST(SwitchCopiesTest, OutputNamedTwiceTakesWhatFits) {
  CountingOwner owner;
  Bench bench(small(), kPorts, &owner);
  for (int i = 0; i < 4; ++i) bench.send(2, 1, at(1_us), 1000_B, 0);  // room for one more
  PacketRef packet = make_packet(bench.pool, 1000_B, 0);
  packet->frame_slot = 17;
  owner.references[17] = 1;
  const PortId outs[] = {port(1), port(1)};
  bench.node.deliver(port(2), outs, std::move(packet), at(1_us));
  bench.run();
  EXPECT_EQ(bench.counters(1).drops, 1u);
  EXPECT_EQ(bench.counters(1).tx_frames, 5u);
  EXPECT_EQ(owner.references[17], 1) << "that of the copy that left";
  EXPECT_EQ(bench.node.model().ingress_bytes(port(2), tc(0)), 0_B);
}

TEST(SwitchCopiesTest, CopyWithoutAFrameIsDroppedAndTheOriginalGoesOn) {
  CountingOwner owner;
  owner.refuse = true;
  Bench bench(small(), kPorts, &owner);
  PacketRef packet = make_packet(bench.pool, 1000_B);
  packet->frame_slot = 17;
  owner.references[17] = 1;
  const PortId outs[] = {port(1), port(2)};
  bench.node.deliver(port(0), outs, std::move(packet), at(1_us));
  bench.run();
  EXPECT_EQ(bench.counters(1).drops_no_copy, 1u);
  EXPECT_EQ(bench.sent_by(2).size(), 1u);
  EXPECT_EQ(owner.references[17], 1);
}

TEST(SwitchCopiesTest, DroppedAndConsumedFramesGoBackToTheirOwner) {
  CountingOwner owner;
  Bench bench(small(), kPorts, &owner);
  for (std::uint32_t slot = 0; slot < 2; ++slot) {
    PacketRef packet = slot == 0 ? make_packet(bench.pool, 1000_B) : make_pfc(bench.pool, 3, 0xffff);
    packet->frame_slot = slot;
    owner.references[slot] = 1;
    bench.node.deliver(port(0), {}, std::move(packet), at(1_us));
  }
  bench.run();
  EXPECT_EQ(owner.references[0], 0) << "no route";
  EXPECT_EQ(owner.references[1], 0) << "PFC ends here";
  EXPECT_EQ(bench.counters(0).xoff_received[3], 1u);
}

}  // namespace
}  // namespace rocelab
