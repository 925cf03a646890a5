// SlackConfig: which slack a NIC writes into its frames (base/slack.h; Mittal, 5.2 and 5.3). Plain data.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "base/wire/shim_hop_times.h"
#include "base/wire/shim_slack.h"

namespace rocelab {

enum class SlackLaw : std::uint8_t {
  kNone,          // frames carry no slack
  kConstant,      // 5.2.2, FIFO+: `value`
  kFlowSize,      // 5.2.1, shortest job first: packets of the message x `per_packet`
  kRemaining,     // packets of the message from this one on x `per_packet`: as SRPT
  kVirtualClock,  // 5.2.3, fairness: what the queue pair is ahead of `rate`
  kReplay,        // 5.1.2: what makes the packet leave the network when it did in another run
  kReplayExit,    // the same, and the initial value is that instant, o(p): for static priorities (5.1.3 (7))
  kOmniscient,    // the same, and the instants of all switches, which rank by them (5.1.2, A.1)
};

// Active queue management from the edge (5.3): the receiving NIC knows by the slack that was used how long a
// frame has waited in all switches together.
struct EdgeConfig {
  enum class Aqm : std::uint8_t {
    kNone,
    kCodel,  // drops as CoDel does in a switch, by queue pair
    kEcn,    // marks frames that waited for more than `packets` full frames on the slowest link
  };
  Aqm aqm = Aqm::kNone;
  Duration target = 5_ms, interval = 100_ms;
  Duration refresh = 20_ms;    // frames sent so far apart tell nothing about the time between them
  std::uint32_t packets = 15;  // K
};

struct SlackConfig {
  SlackLaw law = SlackLaw::kNone;
  Duration value = 1_s;
  Duration per_packet = 1_s;  // D: larger than any delay, so that sizes decide
  Rate rate = 100_Mbps;       // r_est
  Duration beyond{};          // T: packets that are overdue by more are counted apart
  Duration acks{};            // of answers and CNPs, but with kVirtualClock: the authors' code has 0
  bool hop_times = false;     // frames have room for the instants at which switches send them, and
  std::uint8_t switches = 0;  // of so many: of the network's longest path; 0: no room

  EdgeConfig edge;

  bool on() const { return law != SlackLaw::kNone; }
  bool replays() const {
    return law == SlackLaw::kReplay || law == SlackLaw::kReplayExit || law == SlackLaw::kOmniscient;
  }
  // That it puts into every frame.
  std::uint32_t shim_bytes() const { return on() ? kSlackShimBytes + HopTimesPart::bytes_for(switches) : 0; }
};

}  // namespace rocelab
