// What the processes of one host share beside frames: a slot for each virtual function (VF), and the ports of
// the RDMA IP CM service. In a run it lies in the segment, on an interface in memory of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>

#include "base/tc_mask.h"
#include "emu/world/results.h"
#include "emu/world/world.h"
#include "lockstep/spsc_ring.h"

namespace rocelab::lockstep {

inline constexpr std::uint32_t kNoSlot = 0xffffffff;

// kLeft: its process ended in order (digest and counters are final); kDead: it did not.
enum class VfState : std::uint32_t { kFree, kClaimed, kLeft, kDead };

// Of a host with several NICs a process has the VF of the same number of each. Time asks for them together:
// grants, promises, holds and detaching are in the slot of the host's first NIC, the lead, and the others'
// slots follow it. A gateway has one NIC, whose slot follows none.
struct alignas(128) VfSlot {
  std::uint32_t host = 0, vf = 0;  // which entry of the hosts, which of its virtual functions
  std::uint32_t lead = 0;          // index of the lead's slot
  std::uint32_t first_qpn = 0;     // QPNs of this VF: first_qpn .. first_qpn + kQpnsPerVf - 1
  std::uint32_t next_qp = 0;       // of its QPNs, for its next process: peers remember those of the last one
  std::atomic<std::uint32_t> pid{0};      // owner; claimed by compare-exchange from 0
  std::atomic<std::uint32_t> tenure{0};   // how many processes have claimed it: the owner's is this one
  std::atomic<std::uint32_t> cm{0};       // 1: its process takes datagrams to QP1 (port_registry.h)
  std::atomic<std::uint32_t> groups{0};   // memberships of its QPs: 0: no frames to multicast groups
  std::atomic<std::uint32_t> gateway{0};  // 1: all frames to the NIC are its: a foreign device (emu/gateway)
  std::atomic<VfState> state{VfState::kFree};
  alignas(128) std::atomic<std::uint32_t> grant_seq{0};     // futex of the VF: a new window was granted
  std::atomic<std::int64_t> grant_from_ps{0}, grant_ps{0};  // its begin and end
  alignas(128) std::atomic<std::uint32_t> done_seq{0};      // last window finished
  std::atomic<std::int64_t> promise_ps{
      0};  // earliest own event (departure, timer, sleeping thread, input not yet consumed)
  std::atomic<std::uint32_t> hold{0};  // 1: its program runs outside a window, time stands
  std::atomic<std::uint32_t> detach_request{
      0};  // futex of its helper thread. 1: go on without threads that are blocked; 2: or stuck
  std::atomic<std::uint32_t> excluded{0};  // set by the coordinator: time goes on without the process, and
                                           // what is sent to it is lost; cleared by the VF when it is back
  std::atomic<std::int64_t> input_ps{0},
      wants_port_ps{0};  // intent in a window shared with other VFs of the host
  std::atomic<TcMask> sendable_classes{0}, ready_classes{0};  // likewise; ready ones between windows, too
  RingCounters tx, rx, returns, refill;
  NicResult result;  // counters are written by the VF at the end of a window, the digest when it leaves
};

// Time must wait for the VF: its program runs outside a window, or it has not finished the window it was
// given.
inline bool holds_time(const VfSlot& slot) {
  return slot.state.load() == VfState::kClaimed && slot.excluded.load() == 0 &&
         (slot.hold.load() != 0 || slot.done_seq.load() != slot.grant_seq.load());
}

// Ports of the RDMA IP CM service of one host: who has bound them. A hole of the file until used.
inline constexpr std::uint32_t kServiceSpaces = 2, kPortsPerSpace = 1 << 16;
inline constexpr std::uint32_t kServicePorts = kServiceSpaces * kPortsPerSpace;

struct HostShare {
  std::span<VfSlot> vfs;                                // by number within the host
  std::span<std::atomic<std::uint64_t>> service_ports;  // port_registry.h
};

// What mmap() said of so many bytes, and the limit of the process that it is due to.
std::string cannot_map(std::uint64_t bytes, int error);

// Of all that processes share: what another build has made is refused.
std::uint64_t layout_hash();

}  // namespace rocelab::lockstep
