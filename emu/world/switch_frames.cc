#include "emu/world/switch_frames.h"

#include "base/check.h"
#include "emu/world/host_identity.h"

namespace rocelab {
namespace {

// Congestion points are numbered as the run's ports are (emu/runner/plan.cc).
const PortEntry& congestion_point(std::span<const PortEntry> ports, std::uint32_t address) {
  const std::uint32_t index = address - kCpNetwork - 1;
  RL_CHECK(index < ports.size() && ports[index].config.cp_address == address);
  return ports[index];
}

Mac sender_of(const WorldView& run, const PortEntry& port, bool inbound) {
  if (!inbound) return mac_of(port);
  if (port.peer_port != kNoPeer) return mac_of(run.ports[port.peer_port]);
  RL_CHECK(port.peer_host < run.hosts.size());
  return run.hosts[port.peer_host].mac;
}

}  // namespace

void write_cnp(const WorldView& run, const Packet& packet, std::span<std::byte, RoccCnp::kMaxSize> out) {
  RL_CHECK(packet.src.value < run.hosts.size() && packet.dst.value < run.hosts.size());
  const FairRateFeedback feedback = fair_rate_of(packet);
  const PortEntry& maker = congestion_point(run.ports, feedback.cp);
  const HostEntry& source = run.hosts[packet.dst.value];  // the flow's: feedback goes back to it
  RoccCnp cnp;
  cnp.dst_mac = source.mac;
  cnp.src_mac = mac_of(maker);
  cnp.dscp = run.switches[maker.switch_index].config.rocc.dscp;
  cnp.cp = feedback.cp;
  cnp.source = source.ipv4;
  cnp.destination = run.hosts[packet.src.value].ipv4;
  cnp.dest = feedback.dest;
  cnp.rate = feedback.rate;
  cnp.report = feedback.report;
  cnp.write(out);
}

void write_control(const WorldView& run, std::uint32_t port, bool inbound, const Packet& packet,
                   std::span<std::byte, PfcFrame::kSize> out) {
  const Mac sender = sender_of(run, run.ports[port], inbound);
  if (packet.kind == PacketKind::kPfc) return pfc_of(packet).write(out, sender);
  if (packet.kind == PacketKind::kClcm) return clcm_of(packet).write(out, sender);
  RL_CHECK(packet.kind == PacketKind::kEscapeToken);
  const EscapeToken token = escape_token_of(packet);
  RL_CHECK(token.source.value < run.hosts.size() && token.destination.value < run.hosts.size());
  const int gid_index = token.ipv6 ? 0 : 1;
  EscapeTokenFrame frame{token.tc, token.hops, {}, {}, token.dest, token.mark, token.number};
  frame.source = gid_of(run.hosts[token.source.value], gid_index);
  frame.destination = gid_of(run.hosts[token.destination.value], gid_index);
  frame.write(out, sender);
}

}  // namespace rocelab
