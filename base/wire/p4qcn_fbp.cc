#include "base/wire/p4qcn_fbp.h"

#include <algorithm>

#include "base/wire/controls.h"
#include "base/wire/frame_view.h"

namespace rocelab {
namespace {

std::optional<IcmpFeedback> parse(std::span<const std::byte> frame) {
  auto feedback = IcmpFeedback::parse(frame);
  if (feedback && (feedback->code != P4qcnFbp::kCode || feedback->icmp_bytes != IcmpFeedback::kSize ||
                   feedback->ecn != Ecn::kCe))
    feedback.reset();
  return feedback;
}

}  // namespace

void P4qcnFbp::label(Packet& packet) const {
  packet.flow = dest.value;
  packet.roce.dest = dest;
}

bool P4qcnFbp::read(std::span<const std::byte> frame, Packet& packet, const ControlNodes& nodes) {
  const auto feedback = parse(frame);
  if (!feedback) return false;
  put_control(packet, P4qcnFbp{feedback->cp, feedback->number, feedback->dest});
  packet.src = nodes.node_of(feedback->destination);
  packet.roce.dscp = feedback->dscp;
  return true;
}

void P4qcnFbp::write(const Packet& packet, const ControlAddresses& run, std::span<std::byte, kSize> out) {
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
               IcmpFeedback::kSize}
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
