// LiveNic: the RNIC of one VF together with its edge to the segment: it turns received frames into packets,
// runs the node loop up to a limit, and writes departing packets as frames, payload gathered straight from
// the program's memory. One thread at a time (LiveProcess's lock).
#pragma once

#include <deque>
#include <optional>
#include <utility>

#include "base/packet.h"
#include "emu/record/host_trace.h"
#include "emu/record/schedule.h"
#include "irn_provider/live/packet_edge.h"
#include "irn_provider/live/port_turn.h"
#include "irn_provider/nic/nic.h"
#include "irn_provider/nic/nic_port.h"
#include "lockstep/segment.h"
#include "lockstep/vf_end.h"

namespace rocelab {

class LiveNic {
 public:
  // `segment` outlives it, and so does `schedule`, which the NIC replays (null: none). `vf`: index of the
  // slot, which this process owns.
  LiveNic(const lockstep::Segment& segment, const Schedule* schedule, std::uint32_t host, std::uint32_t vf);

  Nic& nic() { return nic_; }
  Time now() const { return port_.now(); }
  // The clock goes on to `t`. What should have happened before (a process that time has gone on without)
  // happens late, but in order.
  void advance(Time t);
  // Runs events before `limit`. True: stopped in an instant in which a completion was made, before that
  // instant's departures; now() is the instant. False: all events before `limit` are done; now() == limit.
  bool run_until(Time limit);
  // Runs events before `t`, then the arrivals and timers at `t`, so that a program may post at `t`. True:
  // stopped by a completion, as above.
  bool run_to_posts(Time t);
  Time next_event();  // own or input; Time::never() when idle

  // --- event by event, while other VFs share the port (shared_port.h)
  VfIntent intent();        // own events and input; threads are the caller's to add
  bool run_inputs(Time t);  // arrivals and timers at `t`; true: a completion was made
  // One frame at `t`, of this class; `sent`: its length, 0: there was none. True: a completion was made.
  bool depart(Time t, TcMask of, Bytes& sent);
  Time port_free() const { return port_.port_free(); }
  void set_port_free(Time t) { port_.set_port_free(t); }
  TcMask ready_classes() const { return port_.ready_classes(); }

  // Messages of peers whose bytes are all in the program's memory. After stop_at_messages() the instant in
  // which one comes to be is one in which run_until() and the others stop, as for a completion.
  std::uint64_t messages_placed() const { return trace_.placed(); }
  void stop_at_messages() {
    trace_.set_on_placed([this] { nic_.wake_driver(); });
  }

  void publish_counters();  // into the VF's slot
  void finish();            // digest into the slot, event file written

 private:
  void take_arrivals(Time limit, bool inclusive);
  PacketRef parse(const lockstep::FrameDescriptor& descriptor, Time when);
  void send(PacketRef packet, Time due);
  void return_consumed();
  std::uint32_t allocate_frame();

  const lockstep::Segment& segment_;
  const HostEntry& host_;
  lockstep::VfSlot& slot_;
  lockstep::FrameRing tx_, rx_;
  lockstep::IndexRing returns_;
  lockstep::VfFrames frames_;
  std::deque<std::pair<Time, std::uint32_t>> held_;  // frames whose packets the port has not consumed yet
  PacketPool pool_;
  ProcessMemory memory_;
  HostTrace trace_;
  std::optional<ScheduleReplay> replay_;
  Nic nic_;
  NicPort port_;
  PacketEdge edge_;
  const NicCounters earlier_;  // of programs that had this VF before: a NIC's counters outlive them
};

}  // namespace rocelab
