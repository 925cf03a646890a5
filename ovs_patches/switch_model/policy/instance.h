// PolicyInstance: the state of one PolicyProgram in one switch: which frames wait in which of its queues, in
// which order, and what its variables hold. It decides; the switch stores, drops and sends. Frames are named
// by their node, a small number that the caller chooses and that is of one waiting frame at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/packet.h"
#include "base/rng.h"
#include "base/tc_mask.h"
#include "base/units.h"
#include "ovs_patches/switch_model/policy/program.h"

namespace rocelab {

// What a program sees of a frame.
struct PolicyPacket {
  std::int64_t arrival = 0;  // ps
  std::int64_t slack = 0;    // ps; of a frame that carries none: of the program's table, else the largest
  std::int64_t value = 0, processing = 0;
  std::uint64_t flow = 0;
  std::int64_t held = 0, xoff = 0, xon = 0;
  std::uint32_t size = 0;
  PortId in, out;
  Tc tc;
  std::uint8_t dscp = 0, ecn = 0;
};

// What an arrival or a departure comes to, beside its queue.
struct PolicyOutcome {
  bool refused = false;  // arrival: it is its own victim, or the hard bound of its queue or buffer refuses it
  bool mark = false;
  bool pause_upstream = false,
       resume_upstream = false;  // of its (ingress port, class); the last one asked for
  std::uint32_t notified = 0;
  std::vector<std::uint32_t>
      evicted;  // nodes, in the order in which they were dropped; never that of the arrival
  void clear();
};

class PolicyInstance {
 public:
  // `program` outlives it.
  PolicyInstance(const PolicyProgram& program, const Rng& rng);

  // A frame for egress port `packet.out`. Selects its queue, counts and ranks it there, then asks the
  // conditions of the queue, and of its buffer; a case with drop(1) is asked again after each drop. Not
  // refused: it waits, as `node`.
  void arrive(std::uint32_t node, PolicyPacket packet, Time now, PolicyOutcome& outcome);
  // The frame that leaves next by a port of the program, of classes that are not paused. None: nothing waits
  // that may leave.
  std::optional<std::uint32_t> pick(std::uint32_t port, TcMask paused, Time now);
  // The frame that pick() named leaves: the queue's counts, then postSchedAct, then `empty` of its turn.
  void leave(std::uint32_t node, Time now, PolicyOutcome& outcome);
  // A frame leaves by another decision than the program's.
  void remove(std::uint32_t node, Time now);
};

}  // namespace rocelab
