// BFC at one port of a switch (backpressure flow control): which queue a flow's frames join, and which frames
// are a reason to pause a queue of the upstream end of the link by which they came. Source: Goyal, Shah,
// Zhao, Nikolaidis, Alizadeh, Anderson: "Backpressure Flow Control", NSDI 2022, section 3, and the
// authors' simulator where the paper leaves something open (DEVIATIONS.md#bfc). No clock, packet or queue
// here.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bfc.h"
#include "base/rng.h"
#include "base/units.h"

namespace rocelab {

struct BfcLaw {
  std::uint32_t queues = 32;    // N, of a port; at most BfcEgress::kMostQueues
  std::uint32_t flows = 7'200;  // entries of the table of virtual flows
  Duration hysteresis;          // a flow that was away for longer gets another queue
  Bytes pause_bytes;            // length at which a queue is to pause, were it the only one that sends
};

// The queues of an egress port. A queue that the peer has paused may not send.
class BfcEgress {
 public:
  static constexpr std::uint32_t kMostQueues = 63;  // numbers are below this: a set of them is a word
  BfcEgress(const BfcLaw& law, const Rng& rng);

  struct Joined {
    std::uint8_t queue = 0;
    bool pauses = false;  // the frame is a reason to pause the queue that it came from, until it leaves
  };
  // A frame of a flow, known by any number, is about to join the port's queues.
  Joined on_joined(std::uint64_t flow, Bytes frame, Time now);
  void on_left(std::uint64_t flow, std::uint8_t queue, Bytes frame, Time now);
  // The peer pauses exactly these queues. Returns those of this port that changed, a bit each.
  std::uint64_t set_paused(const BfcQueues& paused);

  bool is_paused(std::uint32_t queue) const { return (paused_ >> queue & 1) != 0; }
  bool may_send() const { return (waiting_ & ~paused_) != 0; }  // a frame waits in a queue that is not paused
  Bytes queued(std::uint8_t queue) const { return queues_[queue]; }
  // A queue that is longer pauses those from which frames join it: by the queues that share the link now.
  Bytes threshold() const;
  std::uint64_t shared_queues() const { return shared_queues_; }

 private:
  struct Flow {  // a virtual flow: all that one entry stands for
    Time seen;
    std::uint32_t frames = 0;
    std::uint8_t queue = 0;
    bool known = false;
  };
  Flow& flow_of(std::uint64_t flow) { return flows_[flow * 0x9e3779b97f4a7c15u % flows_.size()]; }
  std::uint8_t assign();
  std::uint64_t all() const { return (std::uint64_t{1} << law_.queues) - 1; }

  BfcLaw law_;
  Rng rng_;
  std::vector<Flow> flows_;
  std::vector<Bytes> queues_;
  std::uint64_t waiting_ = 0, paused_ = 0;  // a bit per queue
  std::uint64_t shared_queues_ = 0;         // flows that got a queue with frames, or a paused one
};

// The queues of the upstream end of the link at an ingress port: how many frames in this switch are a reason
// to pause each of them.
class BfcIngress {
 public:
  void add(std::uint8_t upstream) {
    if (counts_[upstream]++ == 0) wanted_.set(upstream, true);
  }
  // True: the queue is to be paused no longer.
  bool remove(std::uint8_t upstream) {
    if (--counts_[upstream] != 0) return false;
    wanted_.set(upstream, false);
    return true;
  }
  const BfcQueues& wanted() const { return wanted_; }
  // The peer is to be told something new; told(): it has been told what is wanted now.
  bool changed() const { return wanted_ != told_; }
  void told() { told_ = wanted_; }

 private:
  std::array<std::uint32_t, BfcQueues::kMost> counts_{};
  BfcQueues wanted_, told_;
};

}  // namespace rocelab
