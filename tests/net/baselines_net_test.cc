// The IRN chapter's baselines between NICs and a switch: Mittal, 4.3.3, 4.3.5, 4.3.6, 4.4.2.
#include "base/wire/opcode.h"
#include "irn_provider/cc/aimd.h"
#include "irn_provider/cc/dcqcn_rp.h"
#include "tests/net/star_net.h"

namespace rocelab {
namespace {

NicConfig nic_config(TransportMode mode) {
  NicConfig config;
  config.mode = mode;
  config.active_mtu = 1024;
  config.roce_rto = 320_us;
  return config;
}

SwitchConfig switch_config(bool pfc) {
  SwitchConfig config;
  config.pfc.enabled = pfc;
  for (ClassConfig& c : config.classes) c.lossless = c.lossless && pfc;
  return config;
}

NicConfig iwarp() {
  NicConfig config = nic_config(TransportMode::kIrn);
  config.irn.tcp = true;
  config.irn.bdp_cap = 0;
  config.cc.use<Aimd>() = {.initial_window = 4, .slow_start = true};
  return config;
}

// 4.4.2: "our simulations did not use ACKs for the RoCE (with PFC) baseline, modelling the extreme case of
// all Reads".
TEST(BaselinesNetTest, RoceReadsSendNoAcknowledgements) {
  NicConfig config = nic_config(TransportMode::kRoce);
  config.recovery_timers = false;  // 4.3.1: no timeouts under PFC
  StarNet net(5, config, switch_config(true));
  int acks = 0, requests = 0;
  net.on_delivery = [&](std::size_t, const Packet& packet, Time) {
    if (packet.kind == PacketKind::kAck) ++acks;
    if (opcode_info(packet.roce.opcode).operation == Operation::kReadRequest) ++requests;
  };
  for (std::size_t h = 0; h < 4; ++h) net.post(net.connect(4, h), WrOpcode::kRead, 4'000'000);
  net.run();
  for (std::size_t f = 0; f < 4; ++f) EXPECT_FALSE(net.flow(f).completed.is_never());
  EXPECT_EQ(acks, 0);
  EXPECT_EQ(requests, 4);
  EXPECT_EQ(net.port(4).drops, 0u);
}

// 4.3.5, Resilient RoCE: DCQCN without PFC loses less than RoCE alone, yet not nothing.
TEST(BaselinesNetTest, ResilientRoceLosesLessThanRoceAlone) {
  std::array<std::uint64_t, 2> drops{};
  for (const bool resilient : {false, true}) {
    NicConfig config = nic_config(TransportMode::kRoce);
    SwitchConfig switches = switch_config(false);
    if (resilient) {
      config.cc.use<DcqcnRp>();
      config.ecn_capable = true;
      switches.classes[3].ecn.enabled = true;
    }
    StarNet net(5, config, switches);
    for (std::size_t h = 0; h < 4; ++h) net.post(net.connect(h, 4), WrOpcode::kWrite, 4'000'000);
    net.run();
    drops[resilient] = net.port(4).drops;
  }
  EXPECT_GT(drops[1], 0u) << "flows begin at line rate";
  EXPECT_LT(drops[1] * 2, drops[0]);
}

// 4.3.6: packets of an iWARP flow leave in bursts of 4, 8, 16, a round trip apart: slow start; IRN's at once.
TEST(BaselinesNetTest, IwarpStartsSlowlyAndIrnDoesNot) {
  std::array<Time, 2> ends;
  for (const bool tcp : {false, true}) {
    StarNet net(2, tcp ? iwarp() : nic_config(TransportMode::kIrn), switch_config(false));
    std::vector<Time> arrivals;
    net.on_delivery = [&](std::size_t port, const Packet& packet, Time due) {
      if (port == 1 && packet.payload_length > 0) arrivals.push_back(due);
    };
    net.post(net.connect(0, 1), WrOpcode::kWrite, 28 * 1024);
    net.run();
    ends[tcp] = net.flow(0).completed;
    std::vector<std::size_t> after;  // packets after which there was a pause
    for (std::size_t i = 1; i < arrivals.size(); ++i)
      if (arrivals[i] - arrivals[i - 1] > 1_us) after.push_back(i);
    EXPECT_EQ(after, tcp ? (std::vector<std::size_t>{4, 12}) : std::vector<std::size_t>{});
  }
  EXPECT_GT(ends[1] - ends[0], 2 * 4 * 2_us - 28 * 224'400_ps) << "two round trips more, less what overlaps";
}

// On the paper's switch it recovers by SACK: no timer, and nothing resent that had arrived.
TEST(BaselinesNetTest, IwarpFillsTheLinkAndRecoversItsLossesWithoutTimeouts) {
  SwitchConfig switches = switch_config(false);
  switches.input_buffered = true;
  switches.queue_order = QueueOrder::kRoundRobin;
  StarNet net(3, iwarp(), switches);
  std::uint64_t bytes = 0;
  net.on_delivery = [&](std::size_t port, const Packet& packet, Time) {
    if (port == 2) bytes += packet.payload_length;
  };
  for (std::size_t h = 0; h < 2; ++h) net.post(net.connect(h, 2), WrOpcode::kWrite, 100'000'000);
  net.run_until(Time::zero() + 10_ms);
  const std::uint64_t before = bytes;
  net.run_until(Time::zero() + 30_ms);
  EXPECT_GT(static_cast<double>(bytes - before) * 8 / 20e-3, 0.9 * 40e9 * 1024 / 1122);
  net.run();
  const NicCounters sent = net.counters(0) + net.counters(1);
  EXPECT_GT(sent.retransmitted_packets, 100u) << "slow start ends with losses";
  EXPECT_EQ(sent.timeout_retransmissions, 0u);
  EXPECT_EQ(net.counters(2).spurious_retransmissions, 0u);
}

}  // namespace
}  // namespace rocelab
