// LiveNic: the RNIC of one VF together with its edge to the segment: it turns received frames into packets, runs the node loop up to a limit,
// and writes departing packets as frames, payload gathered straight from the program's memory. One thread at a time (LiveProcess's lock).
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "base/packet.h"
#include "irn_provider/live/live_trace.h"
#include "irn_provider/nic/nic.h"
#include "irn_provider/nic/nic_port.h"
#include "lockstep/segment.h"

namespace rocelab {

class LiveNic {
 public:
  LiveNic(lockstep::Segment& segment, std::uint32_t host, std::uint32_t vf_index);

  Nic& nic() { return nic_; }
  Time now() const { return now_; }
  // Moves the clock without running anything; `t` must not pass an event.
  void advance(Time t) { now_ = std::max(now_, t); }
  // Runs events before `limit`. True: stopped in an instant in which a completion was made, before that instant's departures; now() is the instant.
  // False: all events before `limit` are done; now() == limit.
  bool run_until(Time limit);
  // Runs events before `t` and the arrivals and timers at `t`, so that a program may post at `t`. True: as above, stopped before.
  bool run_to_posts(Time t);
  Time next_event();                     // own or input; Time::never() when idle
  void publish_counters();               // into the VF's slot
  void finish();                         // digest into the slot, event file closed

 private:
  void take_arrivals(Time limit, bool inclusive);
  void take_frame(const lockstep::FrameDescriptor& descriptor);
  PacketRef parse(const lockstep::FrameDescriptor& descriptor);
  void send(PacketRef packet, Time departure, Time due);
  void return_consumed();
  std::uint32_t allocate_frame();
  bool after_step(Time limit, bool stopped);

  lockstep::Segment& segment_;
  const lockstep::HostEntry& host_;
  const std::uint32_t vf_;               // index of the slot
  lockstep::VfSlot& slot_;
  lockstep::FrameRing tx_, rx_;
  lockstep::IndexRing returns_, refill_;
  std::vector<std::uint32_t> free_frames_;             // LIFO: the working set stays small
  std::deque<std::pair<Time, std::uint32_t>> held_;    // frames whose packets the port has not consumed yet
  PacketPool pool_;
  ProcessMemory memory_;
  LiveTrace trace_;
  Nic nic_;
  NicPort port_;
  NicCounters edge_counters_;            // frames that never became packets
  Time now_;
};

}  // namespace rocelab
