// BFC end to end: a switch pauses queues of NICs, the NICs hold exactly these queue pairs back, and nothing
// is lost without PFC.
#include <map>

#include "ovs_patches/switch_model/mechanisms/bfc.h"
#include "tests/net/cc_scene.h"

namespace rocelab {
namespace {

SwitchConfig switch_config() {
  SwitchConfig config;
  config.mechanisms.of<BfcMechanism>().enabled = true;
  config.pfc.enabled = false;
  return config;
}

class BfcNet : public StarNet {
 public:
  explicit BfcNet(std::size_t hosts) : StarNet(hosts, cc_nic("bfc", TransportMode::kRoce), switch_config()) {
    on_delivery = [this](std::size_t, const Packet& packet, Time due) {
      if (packet.payload_length == 0 || due < from) return;
      bytes[packet.flow >> 12] += packet.payload_length;  // by sending host, from 1 on
    };
  }
  Time from = Time::never();
  std::map<std::uint32_t, double> bytes;
};

// Four senders at line rate into one link of which the buffer is the default one, 240 KB.
TEST(BfcNetTest, AnIncastLosesNothingAndSharesItsLink) {
  BfcNet net(5);
  for (std::size_t h = 0; h < 4; ++h) net.post(net.connect(h, 4), WrOpcode::kWrite, 10'000'000);
  net.run_until(Time::zero() + 1_ms);
  net.from = net.now();
  net.run_until(net.from + 5_ms);
  double sum = 0;
  for (const auto& [host, of_host] : net.bytes) sum += of_host;
  ASSERT_EQ(net.bytes.size(), 4u);
  for (const auto& [host, of_host] : net.bytes) EXPECT_NEAR(of_host, sum / 4, 0.02 * sum / 4) << host;
  // A queue is resumed when the last frame that paused it has left: it runs empty meanwhile.
  EXPECT_GT(sum, 0.9 * 5e-3 * 40e9 / 8 * 1024 / 1110);
  net.run();
  EXPECT_EQ(net.port(4).drops, 0u);
  for (std::size_t h = 0; h < 4; ++h) {
    EXPECT_GT(net.counters(h).rx_queue_pauses, 10u);
    EXPECT_EQ(net.counters(h).retransmitted_packets, 0u);
  }
}

// PFC would hold the victim, too: it leaves by the same NIC as a flow of the incast.
TEST(BfcNetTest, AVictimBesideAnIncastGoesOn) {
  BfcNet net(6);
  for (std::size_t h = 0; h < 4; ++h) net.post(net.connect(h, 4), WrOpcode::kWrite, 20'000'000);
  const std::size_t victim = net.connect(0, 5);
  net.post(victim, WrOpcode::kWrite, 20'000'000);
  net.run_until(Time::zero() + 1_ms);
  double arrived = 0;
  const Time begin = net.now();
  net.on_delivery = [&](std::size_t port, const Packet& packet, Time) {
    if (port == 5) arrived += packet.payload_length;
  };
  net.run_until(begin + 3_ms);
  EXPECT_GT(arrived, 0.7 * 3e-3 * 40e9 / 8 * 1024 / 1110) << "30 of 40 Gb/s are not the incast's";
  net.run();
  EXPECT_EQ(net.port(4).drops + net.port(5).drops, 0u);
}

}  // namespace
}  // namespace rocelab
