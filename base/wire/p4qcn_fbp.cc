#include "base/wire/p4qcn_fbp.h"

#include <algorithm>

#include "base/wire/controls.h"
#include "base/wire/frame_view.h"

namespace rocelab {
namespace {

constexpr std::size_t kZerosAt = IcmpFeedback::kIcmpAt + IcmpFeedback::kSize;

std::optional<IcmpFeedback> parse(std::span<const std::byte> frame) {
  const auto feedback = IcmpFeedback::parse(frame);
  if (!feedback || feedback->code != P4qcnFbp::kCode || feedback->ecn != Ecn::kCe) return std::nullopt;
  const auto zeros = frame.subspan(kZerosAt, feedback->icmp_bytes - IcmpFeedback::kSize);
  return std::ranges::all_of(zeros, [](std::byte b) { return b == std::byte{0}; }) ? feedback : std::nullopt;
}

}  // namespace

P4qcnFbp P4qcnFbp::as_long_as(Bytes length) const {
  constexpr auto kBare = static_cast<std::int64_t>(kZerosAt);
  P4qcnFbp fbp = *this;
  fbp.zeros = static_cast<std::uint16_t>(std::max<std::int64_t>(0, length.count() - kBare) & ~1);
  return fbp;
}

std::uint32_t P4qcnFbp::frame_bytes() const {
  return static_cast<std::uint32_t>(IcmpFeedback::frame_bytes(IcmpFeedback::kSize + zeros));
}

void P4qcnFbp::label(Packet& packet) const {
  packet.flow = dest.value;
  packet.roce.dest = dest;
}

bool P4qcnFbp::read(std::span<const std::byte> frame, Packet& packet, const ControlNodes& nodes) {
  const auto feedback = parse(frame);
  if (!feedback) return false;
  const auto zeros = static_cast<std::uint16_t>(feedback->icmp_bytes - IcmpFeedback::kSize);
  put_control(packet, P4qcnFbp{feedback->cp, feedback->number, feedback->dest, zeros});
  packet.src = nodes.node_of(feedback->destination);
  packet.roce.dscp = feedback->dscp;
  return true;
}

void P4qcnFbp::write(const Packet& packet, const ControlAddresses& run, std::span<std::byte> out) {
  const auto fbp = control_of<P4qcnFbp>(packet);
  std::ranges::fill(out, std::byte{0});
  IcmpFeedback{run.mac(packet.dst),
               run.point(fbp.cp),
               packet.roce.dscp,
               Ecn::kCe,
               fbp.cp,
               run.ipv4(packet.dst),
               kCode,
               fbp.depth,
               run.ipv4(packet.src),
               fbp.dest,
               fbp.transport_bytes()}
      .write(out);
}

bool P4qcnFbp::view(std::span<const std::byte> frame, FrameView& view) {
  const auto feedback = parse(frame);
  if (feedback) feedback->show(view);
  return feedback.has_value();
}

std::string to_string(const P4qcnFbp& fbp) {
  return "P4QCN FBP of " + to_string(ipv4_address_of(fbp.cp)) + " to QPN " + std::to_string(fbp.dest.value) +
         ", queue " + std::to_string(fbp.depth);
}

}  // namespace rocelab
