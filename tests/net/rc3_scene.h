// For the end-to-end tests of RC3: its NIC and switch on a star, and when a frame of two runs is the same.
#pragma once

#include <tuple>

#include "irn_provider/cc/aimd.h"
#include "tests/net/star_net.h"

namespace rocelab {

inline constexpr std::uint8_t kPrimary = 26,
                              kRegular = 46;  // DSCPs: of RC3's primary, and of a class above it
inline constexpr std::uint32_t kPacket = 1024, kHeaders = 74;

inline NicConfig rc3_nic(bool rc3, std::uint32_t reach = 1'024) {
  NicConfig config;
  config.mode = TransportMode::kIrn;
  config.active_mtu = kPacket;
  config.irn = {.rto_high = 10_ms, .bdp_cap = 0, .tcp = true, .bitmap_packets = reach};
  if (rc3) config.rc3 = {4, {config.roce_dscp, 16, 8, 0}, {4, 16, 64, 0}};
  AimdParams& aimd = config.cc.use<Aimd>();
  aimd.initial_window = 4, aimd.slow_start = true;
  return config;
}

inline SwitchConfig rc3_switch(Bytes port_buffer) {
  SwitchConfig config;
  config.pfc.enabled = false;
  config.port_buffer = config.egress_limit = port_buffer;
  config.port_rule = PortRule::kPushOutLower;
  for (ClassConfig& c : config.classes) c.selection = Selection::kStrict, c.lossless = false;
  return config;
}

inline bool is_low(const Packet& packet) { return !is_control(packet.kind) && packet.roce.dscp < kPrimary; }

inline Duration up_to(Rng& rng, Duration most) {
  return Duration::from_ps(static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(most.ps()))));
}

struct Frame {
  std::size_t host;  // from, or to
  Packet packet;
  Time at, due;
};
// Two runs have the same frame where this is equal; times may differ.
inline auto identity(const Packet& p) {
  return std::tuple(p.kind, p.src.value, p.dst.value, p.flow, p.roce.psn.value(), p.roce.opcode,
                    p.frame_length, p.roce.dscp, p.ecn, p.retransmission);
}

}  // namespace rocelab
