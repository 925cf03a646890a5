#include "ovs_patches/netdev/link_direction.h"

#include "base/wire/frame_view.h"

namespace rocelab {

bool LinkDirection::cross(const Packet& packet, std::span<std::byte> frame) {
  std::optional<FrameView> view;
  if (corrupts_) view = view_frame(frame);
  const std::uint32_t corruptible = view ? view->end - view->transport : 0;
  const FaultVerdict verdict = faults_.on_frame(packet.payload_length > 0, corruptible);
  if (verdict.kind == FaultVerdict::Kind::kCorrupt) flip_bit(frame, view->transport, verdict.bit);
  return count_fault(counters_, verdict.kind, packet.payload_length > 0);
}

}  // namespace rocelab
