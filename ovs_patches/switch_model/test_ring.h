// Rings of switches with Escape, for tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ovs_patches/switch_model/mechanisms/escape.h"
#include "ovs_patches/switch_model/test_net.h"

namespace rocelab::switch_test {

inline constexpr int kOff = -1, kLetter = 0, kFixed = kAllEscapeFixes;
constexpr int without(EscapeFix fix) { return kFixed & ~static_cast<int>(fix); }

// `fixes`: bits of EscapeFix, or kOff.
inline SwitchConfig config_of(int fixes, Bytes buffer = 120_KB) {
  SwitchConfig config;
  config.max_frame = 1098_B;
  config.ingress_buffer = buffer;
  config.mechanisms.of<EscapeMechanism>().enabled = fixes != kOff;
  config.mechanisms.of<EscapeMechanism>().fixes = static_cast<std::uint8_t>(std::max(fixes, 0));
  return config;
}

// With both extensions that are ours.
inline SwitchConfig extended_config_of(Bytes buffer = 120_KB) {
  SwitchConfig config = config_of(kFixed, buffer);
  config.mechanisms.of<EscapeMechanism>().announce = config.mechanisms.of<EscapeMechanism>().return_tokens =
      true;
  return config;
}

// Switches in a ring: port 0 its host, port 1 the link clockwise, port 2 the other. Host i sends to the one
// `distance` places on; all go clockwise.
struct RingNet {
  RingNet(const SwitchConfig& config, int size, int distance, std::uint32_t frames, Rng rng = Rng(1)) {
    for (int i = 0; i < size; ++i) {
      std::vector<PortConfig> ports(3);
      ports[1].peer = ports[2].peer = PeerKind::kSwitch;
      net.add_switch(config, ports);
    }
    for (int i = 0; i < size; ++i) net.connect(i, 1, (i + 1) % size, 2);
    for (int i = 0; i < size; ++i) {
      const int host = net.add_host(i, 0);
      for (int node = 0; node < size; ++node) net.route(node, host, node == i ? 0 : 1);
      TestHost& sender = net.hosts[static_cast<std::size_t>(host)];
      sender.to = (i + distance) % size;
      sender.frames = frames;
      sender.start = Time::from_ps(static_cast<std::int64_t>(rng.below(1'000'000)));
    }
  }
  static int ports(std::size_t /*node*/) { return 3; }
  std::uint64_t total(std::uint64_t SwitchPortCounters::*counter) const {
    std::uint64_t sum = 0;
    for (std::size_t node = 0; node < net.nodes.size(); ++node)
      for (int p = 0; p < 3; ++p) sum += net.counters(static_cast<int>(node), p).*counter;
    return sum;
  }
  std::uint64_t received() const {
    std::uint64_t sum = 0;
    for (const TestHost& host : net.hosts) sum += host.received;
    return sum;
  }
  int ring_ports_paused() const {
    int paused = 0;
    for (const auto& node : net.nodes) paused += node->model().is_paused(port(1), tc(3));
    return paused;
  }
  TestNet net;
};

}  // namespace rocelab::switch_test
