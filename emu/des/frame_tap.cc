#include "emu/des/frame_tap.h"

#include <algorithm>

#include "base/wire/controls.h"
#include "base/wire/frame.h"
#include "base/wire/shim_parts.h"
#include "emu/world/host_identity.h"

namespace rocelab::des {

FrameTap::FrameTap(const RunPlan& plan, const std::string& folder, const Partition& partition)
    : plan_(plan), world_(plan.world.view()) {
  const std::span<const PortEntry> ports = plan.world.ports;
  for (const SwitchEntry& entry : plan.world.switches) {
    if (!partition.is_here(plan.world.hosts.size() + captures_.size())) {
      captures_.emplace_back();
      continue;
    }
    std::vector<const PortEntry*> own;
    for (const PortEntry& port : ports.subspan(entry.first_port, entry.ports)) own.push_back(&port);
    captures_.push_back(
        {std::make_unique<SwitchCapture>(folder + "/" + entry.name + ".pcapng", own), Buffer(1 << 14)});
  }
}

void FrameTap::on_frame(std::uint32_t port, Time time, const Packet& packet, bool arrives) {
  const PortEntry& entry = plan_.world.ports[port];
  Capture& capture = captures_[entry.switch_index];
  const auto bytes = is_control(packet.kind) ? bytes_of_control(port, packet, arrives, capture.frame)
                                             : bytes_of(packet, capture.frame);
  capture.file->add(entry.port_id, time, bytes,
                    arrives ? PcapngDirection::kInbound : PcapngDirection::kOutbound);
}

void FrameTap::commit(Time until) {
  for (const Capture& capture : captures_)
    if (capture.file) capture.file->commit(until);
}

bool FrameTap::failed() const {
  return std::ranges::any_of(captures_,
                             [](const Capture& capture) { return capture.file && capture.file->failed(); });
}

std::span<const std::byte> FrameTap::bytes_of(const Packet& packet, Buffer& frame) const {
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
  std::ranges::fill(frame, std::byte{0});
  const FrameLayout layout = write_frame_headers(address, packet.roce, packet.payload_length, frame);
  seal_frame(layout, frame);
  if ((packet.frame_slot & kDamagedBit) != 0) frame[layout.icrc] ^= std::byte{1};
  const auto grown = insert_parts(frame, layout.length, Shim::of(packet));
  return std::span(frame).first(grown.value_or(layout.length));
}

std::span<const std::byte> FrameTap::bytes_of_control(std::uint32_t port, const Packet& packet, bool arrives,
                                                      Buffer& frame) const {
  const auto bytes = write_frame_of(world_, port, arrives, packet, frame);
  if (is_feedback(packet.kind) && (packet.frame_slot & kDamagedBit) != 0)
    frame[transport_of(packet).at] ^= std::byte{1};
  return bytes;
}

}  // namespace rocelab::des
