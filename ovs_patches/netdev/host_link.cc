#include "ovs_patches/netdev/host_link.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "base/wire/cm/mad.h"
#include "base/wire/multicast.h"

namespace rocelab {

using lockstep::FrameDescriptor;
using lockstep::VfState;

HostLink::HostLink(lockstep::Segment& segment, std::uint32_t host, FrameBank& bank,
                   lockstep::Coordinator& coordinator, LinkCounters& in, LinkCounters& out)
    : segment_(segment),
      host_(segment.hosts()[host]),
      bank_(bank),
      coordinator_(coordinator),
      in_(in),
      out_(out),
      first_vf_(host * segment.header().vfs_per_host),
      wire_(host_.nic.link_rate) {
  for (std::uint32_t vf = first_vf_; vf < first_vf_ + segment.header().vfs_per_host; ++vf)
    vfs_.push_back({segment.tx(vf), segment.rx(vf), segment.returns(vf), {}});
}

// A ring holds at most its capacity: whatever its counters say beyond that, a process that tampers with them
// costs no more than that much work per window.
void HostLink::collect(std::uint32_t vf) {
  Vf& v = local(vf);
  for (std::uint32_t n = v.returns.capacity(); n > 0; --n) {
    const std::uint32_t* frame = v.returns.front();
    if (frame == nullptr) break;
    if (!bank_.give_back(vf, *frame)) ++in_.malformed_frames;
    v.returns.pop();
  }
  for (std::uint32_t n = v.tx.capacity(); n > 0; --n) {
    const FrameDescriptor* d = v.tx.front();
    if (d == nullptr) break;
    const FrameDescriptor descriptor = *d;  // one read: its owner could change it between check and use
    v.tx.pop();
    if (bank_.take(vf, descriptor.frame))
      v.sent.push_back(look_at(descriptor));
    else
      ++in_.malformed_frames;
  }
  find_next();
}

HostLink::Arrival HostLink::look_at(const FrameDescriptor& d) {
  const std::span<const std::byte> bytes = segment_.frame(d.frame);
  Arrival a{.due = Time::from_ps(d.due_ps),
            .frame = d.frame,
            .length = static_cast<std::uint16_t>(
                std::clamp<std::size_t>(d.length, kMinFrameBytes.count(), bytes.size())),
            .retransmission = d.retransmission != 0,
            .pfc = {},
            .view = {}};
  if (a.due < coordinator_.earliest_arrival()) {
    segment_.header().late_frames.fetch_add(1, std::memory_order_relaxed);
    a.due = coordinator_.earliest_arrival();
  }
  // What its NIC sent in its window arrives one serialisation and one delay after the end at the latest.
  const Time latest =
      coordinator_.now() + wire_.wire_time(Bytes::from_count(a.length)) + host_.nic.link_delay;
  const bool sound = a.length == d.length && a.due <= latest;
  a.due = std::min(a.due, latest);
  if (!sound) return a;
  a.view = view_frame(bytes.first(a.length));
  if (!a.view) a.pfc = PfcFrame::parse(bytes.first(a.length));
  return a;
}

// At equal times the lower VF goes first.
void HostLink::find_next() {
  const Arrival* first = nullptr;
  for (std::size_t vf = 0; vf < vfs_.size(); ++vf) {
    if (vfs_[vf].sent.empty() || (first != nullptr && vfs_[vf].sent.front().due >= first->due)) continue;
    first = &vfs_[vf].sent.front();
    next_vf_ = vf;
  }
  next_due_ = first == nullptr
                  ? Time::never()
                  : std::max(first->due, last_due_ + wire_.wire_time(Bytes::from_count(first->length)));
}

std::optional<HostLink::Arrival> HostLink::take(Time end) {
  if (next_due_ >= end) return std::nullopt;
  auto& sent = vfs_[next_vf_].sent;
  Arrival a = std::move(sent.front());
  sent.pop_front();
  a.due = last_due_ = next_due_;
  find_next();
  return a;
}

bool HostLink::alive(std::uint32_t vf) const {
  return segment_.vfs()[vf].state.load(std::memory_order_relaxed) == VfState::kClaimed;
}

void HostLink::deliver(const Packet& packet, Time due) {
  const std::uint32_t qpn = packet.roce.dest.value;
  if (segment_.vfs()[first_vf_].gateway.load(std::memory_order_relaxed) != 0)
    return push(first_vf_, packet.frame_slot, due, packet);  // a foreign device has QPNs of its own
  if (packet.roce.dest == kGsiQpn) return deliver_to_each(packet, due, &HostLink::takes_mads);
  if (packet.roce.dest == kMulticastQpn) return deliver_to_each(packet, due, &HostLink::in_groups);
  std::uint32_t vf = qpn >= kFirstQpn ? vf_of_qpn(qpn) : 0;
  if (vf >= vfs_.size()) vf = 0;
  push(first_vf_ + vf, packet.frame_slot, due, packet);
}

bool HostLink::takes_mads(std::uint32_t vf) const {
  return alive(vf) && segment_.vfs()[vf].cm.load(std::memory_order_relaxed) != 0;
}

bool HostLink::in_groups(std::uint32_t vf) const {
  return alive(vf) && segment_.vfs()[vf].groups.load(std::memory_order_relaxed) != 0;
}

void HostLink::deliver_to_each(const Packet& packet, Time due,
                               bool (HostLink::*wants)(std::uint32_t vf) const) {
  std::uint32_t last = first_vf_ + static_cast<std::uint32_t>(vfs_.size());
  while (last > first_vf_ && !(this->*wants)(last - 1)) --last;
  if (last == first_vf_) return push(first_vf_, packet.frame_slot, due, packet);  // undeliverable
  for (std::uint32_t vf = first_vf_; vf + 1 < last; ++vf) {
    if (!(this->*wants)(vf)) continue;
    const std::uint32_t copy = bank_.share(packet.frame_slot);
    if (copy == kNoFrame) throw RunError("no frame left for a copy: raise engine.frames_per_vf");
    push(vf, copy, due, packet);
  }
  push(last - 1, packet.frame_slot, due, packet);
}

void HostLink::deliver_control(const Packet& packet, std::span<const std::byte> bytes, Time due,
                               bool to_all) {
  for (std::uint32_t vf = first_vf_; vf < first_vf_ + vfs_.size(); ++vf) {
    if (!alive(vf)) continue;
    const std::uint32_t frame = bank_.make();
    if (frame == kNoFrame) throw RunError("no frame left for a control frame: raise engine.frames_per_vf");
    std::ranges::copy(bytes, segment_.frame(frame).begin());
    push(vf, frame, due, packet);
    if (!to_all) return;
  }
}

void HostLink::push(std::uint32_t vf, std::uint32_t frame, Time due, const Packet& packet) {
  const FrameDescriptor descriptor{.due_ps = due.ps(),
                                   .frame = frame,
                                   .length = static_cast<std::uint16_t>(packet.frame_length),
                                   .kind = static_cast<std::uint8_t>(packet.kind),
                                   .retransmission = packet.retransmission};
  // The NIC of a process that time goes on without takes nothing. Kept for it, the frames would be missing at
  // those who sent them.
  if (!alive(vf) || segment_.vfs()[vf].excluded.load() != 0) {
    ++out_.undeliverable_frames;
    bank_.release(frame);
    return;
  }
  // Lent before it can be seen: the process may give it back at once.
  bank_.lend(vf, frame);
  if (!local(vf).rx.push(descriptor))
    throw RunError(std::string("the ring to host ") + host_.name +
                   " is full: its process does not take its frames");
  coordinator_.note_input(vf, due);
}

void HostLink::reopen(std::uint32_t vf) {
  RL_CHECK(local(vf).sent.empty());
  local(vf) = {segment_.tx(vf), segment_.rx(vf), segment_.returns(vf), {}};
}

}  // namespace rocelab
