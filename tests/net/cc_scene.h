// What the end-to-end tests of congestion control have in common: a NIC that runs one, flows into one port, a
// flow alone with and without it, feedback from nowhere.
#pragma once

#include "base/wire/controls.h"
#include "irn_provider/cc/cc_algorithm.h"
#include "tests/net/star_net.h"

namespace rocelab {

// 40 Gb/s, packets of 1024 B; ECN-capable where the scheme needs marks.
inline NicConfig cc_nic(std::string_view kind, TransportMode mode = TransportMode::kRoce) {
  NicConfig config;
  config.mode = mode;
  config.active_mtu = 1024;
  config.cc = cc_config(kind);
  config.ecn_capable = config.cc.needs().marks;
  return config;
}

// Hosts 0 .. senders - 1 each send `bytes` to the last host, or it reads them from there.
inline void post_incast(StarNet& net, std::size_t senders, std::uint32_t bytes,
                        WrOpcode opcode = WrOpcode::kWrite) {
  for (std::size_t h = 0; h < senders; ++h) {
    const bool read = opcode == WrOpcode::kRead;
    net.post(read ? net.connect(senders, h) : net.connect(h, senders), opcode, bytes);
  }
}

// A flow that is alone ends when it would without congestion control. Returns the net with it, for what else
// is to be seen there.
inline std::unique_ptr<StarNet> expect_lone_flow_at_line_rate(const NicConfig& nic,
                                                              const SwitchConfig& switches) {
  NicConfig none = nic;
  none.cc.use_none();
  auto with = std::make_unique<StarNet>(2, nic, switches);
  StarNet without(2, none, switches);
  for (StarNet* net : {with.get(), &without}) {
    post_incast(*net, 1, 10'000'000);
    net->run();
  }
  EXPECT_EQ(with->flow(0).completed, without.flow(0).completed);
  return with;
}

// A CNP of RoCC at a host's NIC, whoever brought it there, for a flow to host `destination`.
inline void inject(StarNet& net, std::size_t host, const RoccFeedback& feedback,
                   std::uint16_t destination = 1) {
  PacketPool pool;
  PacketRef packet = pool.make();
  put_control(*packet, feedback);
  packet->src = NodeId{destination};
  net.host(host).nic.on_packet(std::move(packet), net.now());
}

}  // namespace rocelab
