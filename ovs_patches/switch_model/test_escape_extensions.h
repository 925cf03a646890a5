// A switch with Escape's extensions among its neighbours, for tests.
#pragma once

#include <algorithm>
#include <iterator>
#include <vector>

#include "base/wire/controls.h"
#include "ovs_patches/switch_model/escape.h"
#include "ovs_patches/switch_model/test_ring.h"

namespace rocelab::switch_test {

inline constexpr Bytes kFrame = 1098_B;
inline constexpr std::uint32_t kHeaders =
    64;  // Ethernet, IPv4, UDP, BTH, ICRC: the shortest frame; and a shim

// Port 0: upstream; ports 1 and 2: switches behind it; port 3: a host. Delta^esc is 4 us.
struct More : Bench {
  explicit More(const SwitchConfig& config = extended_config_of()) : Bench(config, some_ports()) {}
  static std::vector<PortConfig> some_ports() {
    std::vector<PortConfig> ports(4);
    for (int i = 0; i < 3; ++i) ports[static_cast<std::size_t>(i)].peer = PeerKind::kSwitch;
    return ports;
  }
  PacketRef frame(int source, std::uint32_t psn = 0) {
    PacketRef packet = make_packet(pool, kFrame, 3, static_cast<std::uint32_t>(source), psn);
    packet->src = NodeId{static_cast<std::uint16_t>(source)};
    packet->dst = NodeId{99};
    return packet;
  }
  PacketRef announcement(int source, std::uint8_t hops = 1) {
    PacketRef packet = frame(source);
    packet->kind = PacketKind::kEscapeAnnouncement;
    packet->payload_length = 0;
    packet->frame_length = kHeaders;
    packet->roce.shim_hops = hops;
    return packet;
  }
  void send_from(int source, int in, int out, Time due) {
    const PortId outs[] = {port(out)};
    node.deliver(port(in), outs, frame(source), due);
  }
  void announce_from(int source, int in, int out, Time due, std::uint8_t hops = 1) {
    const PortId outs[] = {port(out)};
    node.deliver(port(in), outs, announcement(source, hops), due);
  }
  void send_token(int in, const EscapeToken& token, Time due) {
    PacketRef packet = pool.make();
    put_control(*packet, token);
    node.deliver(port(in), {}, std::move(packet), due);
  }
  void ask(Time now, bool on = true) { node.request_pause(PauseOwner::kOperator, port(0), tc(3), on, now); }
  std::vector<Departure> of_kind(PacketKind kind) const {
    std::vector<Departure> found;
    std::ranges::copy_if(sent, std::back_inserter(found), [&](const Departure& d) { return d.kind == kind; });
    return found;
  }
  std::vector<int> announced() const {
    std::vector<int> sources;
    for (const Departure& d : of_kind(PacketKind::kEscapeAnnouncement))
      sources.push_back(static_cast<int>(d.flow));
    return sources;
  }
};

inline EscapeToken token_of(int source, std::uint16_t hops = 1, std::uint32_t number = 0) {
  return {.tc = tc(3),
          .hops = hops,
          .source = NodeId{static_cast<std::uint16_t>(source)},
          .destination = NodeId{99},
          .dest = Qpn{},
          .number = number};
}
inline EscapeToken back(EscapeToken token, EscapeTokenMark mark = EscapeTokenMark::kNothingWaits) {
  token.mark = mark;
  return token;
}

}  // namespace rocelab::switch_test
