// HostLink: the switch process's end of one host's link: the rings of the host's virtual functions (VFs) on
// one side, a switch port on the other. From the host: descriptors are checked (other processes wrote them)
// and merged by due time. The VFs of a host share its port among themselves; what they may get wrong, a frame
// before the last one has passed, the link does not do. To the host: the rx ring of the VF that owns the
// destination QPN; PFC goes to every VF, a datagram to QP1 or to a multicast group to each whose process
// takes them. Frames change hands in the FrameBank.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <stdexcept>
#include <vector>

#include "base/packet.h"
#include "base/wire/frame_view.h"
#include "base/wire/pfc.h"
#include "base/wire_clock.h"
#include "lockstep/coordinator.h"
#include "lockstep/segment.h"
#include "ovs_patches/netdev/frame_bank.h"

namespace rocelab {

// The run cannot go on; the text goes to the runner.
struct RunError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class HostLink {
 public:
  // A frame from the host as it reaches the switch port; in the network's hands.
  struct Arrival {
    Time due;
    std::uint32_t frame = 0;
    std::uint16_t length = 0;
    bool retransmission = false;
    std::optional<PfcFrame> pfc;    // a PFC frame, or
    std::optional<FrameView> view;  // a RoCEv2 frame, or neither: malformed
  };

  // All references outlive it.
  HostLink(lockstep::Segment& segment, std::uint32_t host, FrameBank& bank,
           lockstep::Coordinator& coordinator, LinkCounters& in, LinkCounters& out);

  // --- from the host. `vf`: index in the segment, one of this host's.
  // Takes over what its rings hold; frames due before the coordinator's earliest_arrival() count as late and
  // are due then.
  void collect(std::uint32_t vf);
  Time next_due() const { return next_due_; }  // of the next arrival; Time::never() when none waits
  std::optional<Arrival> take(Time end);       // the next frame that arrives before `end`

  // --- to the host. The frame changes hands or goes home.
  void deliver(const Packet& packet, Time due);
  // Switch feedback names no QP of the host: every VF gets a copy and looks whether the flow is its own.
  void deliver_to_all(const Packet& packet, Time due) { deliver_to_each(packet, due, &HostLink::alive); }
  // A link-local frame from the switch: to each VF, or to the first that is alive.
  void deliver_control(const Packet& packet, std::span<const std::byte> bytes, Time due, bool to_all);

  void reopen(std::uint32_t vf);  // another process may have it: its rings are new

 private:
  struct Vf {
    lockstep::FrameRing tx, rx;
    lockstep::IndexRing returns;
    std::deque<Arrival> sent;  // `due` as its NIC computed it
  };
  Vf& local(std::uint32_t vf) { return vfs_[vf - first_vf_]; }
  Arrival look_at(const lockstep::FrameDescriptor& d);
  void find_next();
  bool alive(std::uint32_t vf) const;
  bool takes_mads(std::uint32_t vf) const;
  bool in_groups(std::uint32_t vf) const;
  void deliver_to_each(const Packet& packet, Time due, bool (HostLink::*wants)(std::uint32_t vf) const);
  void push(std::uint32_t vf, std::uint32_t frame, Time due, const Packet& packet);

  lockstep::Segment& segment_;
  const HostEntry& host_;
  FrameBank& bank_;
  lockstep::Coordinator& coordinator_;
  LinkCounters &in_, &out_;
  std::uint32_t first_vf_;
  WireClock wire_;
  std::vector<Vf> vfs_;
  std::size_t next_vf_ = 0;  // whose head arrives next
  Time next_due_ = Time::never();
  Time last_due_ = Time::zero();  // of the last frame taken
};

}  // namespace rocelab
