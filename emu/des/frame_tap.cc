#include "emu/des/frame_tap.h"

#include <algorithm>

#include "base/wire/controls.h"
#include "base/wire/frame.h"
#include "base/wire/shim_parts.h"
#include "emu/world/host_identity.h"

namespace rocelab::des {

FrameTap::FrameTap(const RunPlan& plan, const std::string& folder)
    : plan_(plan), world_(plan.world.view()), frame_(1 << 14) {
  const std::span<const PortEntry> ports = plan.world.ports;
  for (const SwitchEntry& entry : plan.world.switches) {
    std::vector<const PortEntry*> own;
    for (const PortEntry& port : ports.subspan(entry.first_port, entry.ports)) own.push_back(&port);
    captures_.push_back(std::make_unique<SwitchCapture>(folder + "/" + entry.name + ".pcapng", own));
  }
}

void FrameTap::on_frame(std::uint32_t port, Time time, const Packet& packet, bool arrives) {
  const PortEntry& entry = plan_.world.ports[port];
  const auto bytes = is_control(packet.kind) ? bytes_of_control(port, packet, arrives) : bytes_of(packet);
  captures_[entry.switch_index]->add(entry.port_id, time, bytes,
                                     arrives ? PcapngDirection::kInbound : PcapngDirection::kOutbound);
}

void FrameTap::commit(Time until) {
  for (const auto& capture : captures_) capture->commit(until);
}

bool FrameTap::failed() const {
  return std::ranges::any_of(captures_, [](const auto& capture) { return capture->failed(); });
}

std::span<const std::byte> FrameTap::bytes_of(const Packet& packet) {
  const HostEntry& src = plan_.world.hosts[packet.src.value];
  const HostEntry& dst = plan_.world.hosts[packet.dst.value];
  constexpr int kGidIndex = 1;
  FrameAddress address;
  address.dst_mac = dst.mac;
  address.src_mac = src.mac;
  address.src_gid = gid_of(src, kGidIndex);
  address.dst_gid = gid_of(dst, kGidIndex);
  address.dscp = packet.roce.dscp;
  address.ecn = packet.ecn;
  address.udp_src_port = udp_src_port_of(packet);
  std::ranges::fill(frame_, std::byte{0});
  const FrameLayout layout = write_frame_headers(address, packet.roce, packet.payload_length, frame_);
  seal_frame(layout, frame_);
  if ((packet.frame_slot & kDamagedBit) != 0) frame_[layout.icrc] ^= std::byte{1};
  const auto grown = insert_parts(frame_, layout.length, Shim::of(packet));
  return std::span(frame_).first(grown.value_or(layout.length));
}

std::span<const std::byte> FrameTap::bytes_of_control(std::uint32_t port, const Packet& packet,
                                                      bool arrives) {
  const auto bytes = write_frame_of(world_, port, arrives, packet, frame_);
  if (is_feedback(packet.kind) && (packet.frame_slot & kDamagedBit) != 0)
    frame_[transport_of(packet).at] ^= std::byte{1};
  return bytes;
}

}  // namespace rocelab::des
