// A switch classifies the frames that reach it by its own map.
#include "base/wire/controls.h"
#include "ovs_patches/switch_model/switch.h"
#include "ovs_patches/switch_model/test_support.h"

namespace rocelab {
namespace {

using namespace switch_test;

const std::vector<PortConfig> kPorts(3);

void send_dscp(Bench& bench, std::uint8_t dscp, int claimed, PacketKind kind = PacketKind::kData) {
  PacketRef packet = make_packet(bench.pool, 1000_B, claimed);
  packet->roce.dscp = dscp;
  packet->kind = kind;
  const PortId outs[] = {port(1)};
  bench.node.deliver(port(0), outs, std::move(packet), at(1_us));
}

TEST(SwitchClassTest, TheClassIsOfTheDscpAndNotOfTheNodeBefore) {
  SwitchConfig config;
  config.class_map.classes[34] = 5;
  Bench bench(config, kPorts);
  send_dscp(bench, 34, 3), send_dscp(bench, 34, 3), send_dscp(bench, 26, 7);
  bench.run();
  EXPECT_EQ(bench.counters(1).queue_peak_bytes[5], 2000u);
  EXPECT_EQ(bench.counters(1).queue_peak_bytes[3], 1000u);
  EXPECT_EQ(bench.counters(1).queue_peak_bytes[7], 0u);
  EXPECT_EQ(bench.counters(0).unknown_dscp, 0u);
}

TEST(SwitchClassTest, AnUnknownDscpIsCountedAndOfClass0) {
  SwitchConfig config;
  config.class_map.classes.fill(ClassMap::kUnknown);
  config.class_map.classes[26] = 3;
  Bench bench(config, kPorts);
  send_dscp(bench, 34, 4), send_dscp(bench, 48, 6), send_dscp(bench, 26, 3);
  bench.run();
  EXPECT_EQ(bench.counters(0).unknown_dscp, 2u);
  EXPECT_EQ(bench.counters(1).queue_peak_bytes[0], 2000u);
  EXPECT_EQ(bench.counters(1).queue_peak_bytes[4], 0u);
  EXPECT_EQ(bench.counters(1).queue_peak_bytes[3], 1000u);
  EXPECT_EQ(bench.counters(1).tx_frames, 3u);
}

TEST(SwitchClassTest, FramesThatSwitchesMakeAreClassifiedToo) {
  SwitchConfig config;
  config.class_map.classes[48] = 2;
  std::vector<PortConfig> ports = kPorts;
  ports[0].peer = PeerKind::kSwitch;
  Bench bench(config, ports);
  PacketRef packet = bench.pool.make();
  put_control(*packet, RoccFeedback{0xac100009, 10, Qpn{5}});
  packet->roce.dscp = 48;
  const PortId outs[] = {port(1)};
  bench.node.deliver(port(0), outs, std::move(packet), at(1_us));
  bench.run();
  EXPECT_GT(bench.counters(1).queue_peak_bytes[2], 0u);
}

}  // namespace
}  // namespace rocelab
