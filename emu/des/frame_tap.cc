#include "emu/des/frame_tap.h"

#include <algorithm>

#include "base/wire/etf.h"
#include "base/wire/frame.h"
#include "base/wire/rocc_cnp.h"
#include "base/wire/shim.h"
#include "lockstep/host_identity.h"

namespace rocelab::des {

FrameTap::FrameTap(const RunPlan& plan, const std::string& folder) : plan_(plan), frame_(1 << 14) {
  const std::span<const lockstep::PortEntry> ports = plan.segment.ports;
  for (const lockstep::SwitchEntry& entry : plan.segment.switches)
    captures_.push_back(
        std::make_unique<SwitchCapture>(folder, entry.name, ports.subspan(entry.first_port, entry.ports)));
}

void FrameTap::on_frame(std::uint32_t port, Time time, const Packet& packet, bool arrives) {
  const lockstep::PortEntry& entry = plan_.segment.ports[port];
  const auto bytes = is_link_local(packet.kind)             ? bytes_of_control(port, packet, arrives)
                     : packet.kind == PacketKind::kFairRate ? bytes_of_cnp(port, packet)
                                                            : bytes_of(packet);
  captures_[entry.switch_index]->add(entry.port_id, time, bytes,
                                     arrives ? PcapngDirection::kInbound : PcapngDirection::kOutbound);
}

void FrameTap::commit(Time until) {
  for (const auto& capture : captures_) capture->commit(until);
}

bool FrameTap::failed() const {
  return std::ranges::any_of(captures_, [](const auto& capture) { return capture->failed(); });
}

std::span<const std::byte> FrameTap::bytes_of_cnp(std::uint32_t port, const Packet& packet) {
  const FairRateFeedback feedback = fair_rate_of(packet);
  const lockstep::HostEntry& source = plan_.segment.hosts[packet.dst.value];
  const auto& ports = plan_.segment.ports;
  // The port that made it, as its address says; kCpNetwork + 1 is the first.
  const std::uint32_t maker = feedback.cp - kCpNetwork - 1;
  RoccCnp cnp;
  cnp.dst_mac = source.mac;
  cnp.src_mac = lockstep::mac_of(ports[maker < ports.size() ? maker : port]);
  cnp.dscp = plan_.segment.switches[ports[port].switch_index].config.rocc.dscp;
  cnp.cp = feedback.cp;
  cnp.source = source.ipv4;
  cnp.destination = feedback.destination;
  cnp.dest = feedback.dest;
  cnp.rate = feedback.rate;
  const std::span<std::byte, RoccCnp::kSize> bytes = std::span(frame_).first<RoccCnp::kSize>();
  cnp.write(bytes);
  if ((packet.frame_slot & kDamagedBit) != 0) bytes[RoccCnp::kIcmpAt] ^= std::byte{1};
  return bytes;
}

std::span<const std::byte> FrameTap::bytes_of(const Packet& packet) {
  const lockstep::HostEntry& src = plan_.segment.hosts[packet.src.value];
  const lockstep::HostEntry& dst = plan_.segment.hosts[packet.dst.value];
  constexpr int kGidIndex = 1;
  FrameAddress address;
  address.dst_mac = dst.mac;
  address.src_mac = src.mac;
  address.src_gid = lockstep::gid_of(src, kGidIndex);
  address.dst_gid = lockstep::gid_of(dst, kGidIndex);
  address.dscp = packet.kind == PacketKind::kCnp ? src.nic.cnp_dscp : src.nic.roce_dscp;
  address.ecn = packet.ecn;
  address.udp_src_port = udp_src_port_of(packet);
  std::ranges::fill(frame_, std::byte{0});
  const FrameLayout layout = write_frame_headers(address, packet.roce, packet.payload_length, frame_);
  seal_frame(layout, frame_);
  if ((packet.frame_slot & kDamagedBit) != 0) frame_[layout.icrc] ^= std::byte{1};
  if (packet.kind == PacketKind::kEscaping) {
    const auto grown = insert_shim(frame_, layout.length, kEscapeShim, packet.roce.shim_hops, {});
    return std::span(frame_).first(grown.value_or(layout.length));
  }
  return std::span(frame_).first(layout.length);
}

std::span<const std::byte> FrameTap::bytes_of_control(std::uint32_t port, const Packet& packet,
                                                      bool arrives) {
  const lockstep::PortEntry& entry = plan_.segment.ports[port];
  const bool from_switch = arrives && entry.peer_port != lockstep::kNoSlot;
  const auto& sender = from_switch ? plan_.segment.ports[entry.peer_port] : entry;
  const std::span<std::byte, PfcFrame::kSize> bytes = std::span(frame_).first<PfcFrame::kSize>();
  if (packet.kind == PacketKind::kPfc) {
    pfc_of(packet).write(bytes, lockstep::mac_of(sender));
  } else {
    const EscapeToken token = escape_token_of(packet);
    EscapeTokenFrame frame{token.tc, token.hops, 0, 0, token.dest};
    frame.source = plan_.segment.hosts[token.source.value].ipv4;
    frame.destination = plan_.segment.hosts[token.destination.value].ipv4;
    frame.write(bytes, lockstep::mac_of(sender));
  }
  return bytes;
}

}  // namespace rocelab::des
