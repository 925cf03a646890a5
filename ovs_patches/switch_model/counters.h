// SwitchPortCounters: what a switch counts per port. One list, so that `ovs-vsctl ... statistics`,
// summary.json and the docs cannot disagree. Frames unless a name says bytes or ps. rx_*, and drops that the
// input side decides, count at the ingress port; everything else at the egress port. Conservation, over all
// ports of a switch: rx + replicated + rocc_cnps = tx + drops + frames that wait. tx has no link-local
// frames: they are in `sent`, and PFC frames in the class lists, too, once for each class.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/ids.h"
#include "base/wire/sent_kinds.h"
#include "ovs_patches/switch_model/mechanism_table.h"

namespace rocelab {

// Why a switch dropped a frame: the mark of its kDrop record.
enum class SwitchDropReason : std::uint8_t {
  kEgressLimit = 0,  // lossy: its egress queue is at its limit, static or dynamic
  kInputBuffer = 1,  // input_buffered: the buffer of its input port is full
  kHeadroom = 2,     // lossless: the ingress buffer is full, headroom included
  kOversize = 3,     // longer than longest_frame()
  kNoRoute = 4,      // no output
  kNoCopy = 5,       // a copy for another output, and FrameOwner had no frame for it
  kForged = 6,       // feedback that only switches make, from a host
  kEscapeQueue = 7,  // Escape: the dedicated queue's places are taken
  kWatchdog = 8,     // lossless: its egress queue is in a PFC storm, and the watchdog drops
  kLoopBreaker = 9,  // lossless: its egress queue is the master of a loop of queues that wait for one another
  kEgressMax = 10,   // lossless: its egress queue is at the limit that the scenario declares (egress_max)
  kMechanism = 11,   // a mechanism without a reason of its own
  kPushedOut = 12,   // lossy: it gave way in a full queue (FullRule)
  kPortBuffer = 13,  // lossy: the lossy classes of its egress port hold port_buffer
  kDisplaced = 14,   // lossy: it gave way to a frame of a higher class (PortRule)
};
// What a mechanism drops on purpose is not lost by mistake: it is in its own counter.
constexpr bool is_deliberate(SwitchDropReason reason) {
  return reason == SwitchDropReason::kWatchdog || reason == SwitchDropReason::kLoopBreaker ||
         reason == SwitchDropReason::kEgressMax || reason == SwitchDropReason::kMechanism;
}

// One name per line: the formatter would fill lines.
// clang-format off
#define ROCELAB_SWITCH_PORT_COUNTERS(X)                                                     \
  X(rx_frames)                                                                              \
  X(rx_bytes)                                                                               \
  X(tx_frames)                                                                              \
  X(tx_bytes)                                                                               \
  X(replicated_frames)                                                                      \
  X(replicated_bytes) /* copies beyond the first, of frames with several outputs */         \
  X(drops)                                                                                  \
  X(dropped_bytes)                                                                          \
  X(drops_egress_limit)                                                                     \
  X(drops_input_buffer)                                                                     \
  X(drops_headroom)                                                                         \
  X(drops_oversize)                                                                         \
  X(drops_no_route)                                                                         \
  X(drops_no_copy)                                                                          \
  X(data_drops) /* of the drops: RoCE or IRN packets with payload */                        \
  X(lossless_drops) /* of the drops: frames of a lossless class */                          \
  X(ecn_marked)                                                                             \
  X(rx_pfc_ignored) /* PFC frames received while PFC is disabled */                         \
  X(unknown_dscp) /* of rx_frames: of a DSCP that the switch's class map leaves out */      \
  X(drops_forged) /* feedback that only switches make, from a host */                       \
  X(drops_escape_queue) /* Escape: no place in the dedicated queue */                       \
  X(pfc_storms) /* PFC watchdog: classes that were paused for too long */                   \
  X(drops_watchdog) /* frames that it dropped */                                            \
  X(rocc_cnps) /* RoCC: CNPs that this port's congestion points made */                     \
  X(escape_tokens_sent) /* Escape: ETFs, own and passed on */                               \
  X(escape_tokens_ignored) /* received with an empty pool, or of a flow that is not here */ \
  X(escaped_frames) /* taken out of this port's queues by tokens */                         \
  X(escape_tokens_returned) /* that came back unused, and freed a place */                  \
  X(escape_announcements_sent) /* of flows that wait at this port, own and passed on */     \
  X(escape_announcements_received)                                                          \
  X(escape_announcements_ignored) /* from a host, without one way on, or not asked for */   \
  X(clcms_sent) /* Loop Breaker: its messages, own and passed on */                         \
  X(clcms_ignored) /* received where they end, or too many at a time */                     \
  X(loops_broken) /* how often a queue of this port was a loop's master */                  \
  X(drops_loop_breaker) /* frames that it then dropped */                                   \
  X(drops_egress_max) /* lossless frames beyond a declared egress_max */                    \
  X(drops_pushed_out) /* lossy frames that gave way in a full queue */                      \
  X(drops_port_buffer) /* lossy frames for a port whose classes hold its port_buffer */     \
  X(drops_displaced) /* lossy frames that gave way to a higher class at such a port */      \
  X(drops_mechanism) /* by a mechanism without a reason of its own */                       \
  X(policy_notified) /* notify actions of the switch's policy */                            \
  X(policy_requeued) /* frames that joined another policy while they waited */

#define ROCELAB_SWITCH_CLASS_COUNTERS(X)                                              \
  X(xoff_sent) /* PFC frames that paused the class at the peer, refreshes included */ \
  X(xon_sent)                                                                         \
  X(xoff_received)                                                                    \
  X(xon_received)                                                                     \
  X(paused_ps) /* time in which this port might not send the class */                 \
  X(longest_pause_ps) /* the longest time without a break in which it might not */    \
  X(queue_peak_bytes) /* egress queue */                                              \
  X(ingress_peak_bytes) /* frames from this ingress port that wait anywhere */
// clang-format on

struct SwitchPortCounters {
#define X(name) std::uint64_t name = 0;
  ROCELAB_SWITCH_PORT_COUNTERS(X)
#undef X
  SentByKind sent{};  // a port counts tx_frames and tx_bytes by these alone
#define X(name) std::array<std::uint64_t, kTrafficClasses> name{};
  ROCELAB_SWITCH_CLASS_COUNTERS(X)
#undef X
  std::array<std::uint64_t, kMostMechanismCounters> of_mechanisms{};  // in use: mechanism_counter_names()
};
static_assert(std::is_trivially_copyable_v<SwitchPortCounters>);

constexpr std::uint64_t SwitchPortCounters::*counter_of(SwitchDropReason reason) {
  switch (reason) {
    case SwitchDropReason::kEgressLimit:
      return &SwitchPortCounters::drops_egress_limit;
    case SwitchDropReason::kInputBuffer:
      return &SwitchPortCounters::drops_input_buffer;
    case SwitchDropReason::kHeadroom:
      return &SwitchPortCounters::drops_headroom;
    case SwitchDropReason::kOversize:
      return &SwitchPortCounters::drops_oversize;
    case SwitchDropReason::kNoRoute:
      return &SwitchPortCounters::drops_no_route;
    case SwitchDropReason::kNoCopy:
      return &SwitchPortCounters::drops_no_copy;
    case SwitchDropReason::kForged:
      return &SwitchPortCounters::drops_forged;
    case SwitchDropReason::kEscapeQueue:
      return &SwitchPortCounters::drops_escape_queue;
    case SwitchDropReason::kWatchdog:
      return &SwitchPortCounters::drops_watchdog;
    case SwitchDropReason::kLoopBreaker:
      return &SwitchPortCounters::drops_loop_breaker;
    case SwitchDropReason::kEgressMax:
      return &SwitchPortCounters::drops_egress_max;
    case SwitchDropReason::kMechanism:
      return &SwitchPortCounters::drops_mechanism;
    case SwitchDropReason::kPushedOut:
      return &SwitchPortCounters::drops_pushed_out;
    case SwitchDropReason::kPortBuffer:
      return &SwitchPortCounters::drops_port_buffer;
    case SwitchDropReason::kDisplaced:
      return &SwitchPortCounters::drops_displaced;
  }
  return &SwitchPortCounters::drops;  // none of them
}

#define X(name) +1
inline constexpr int kSwitchPortScalars = 0 ROCELAB_SWITCH_PORT_COUNTERS(X);
inline constexpr int kSwitchClassCounters = 0 ROCELAB_SWITCH_CLASS_COUNTERS(X);
#undef X
inline constexpr std::size_t kOwnSwitchPortCounters =
    kSwitchPortScalars + 2 * kSentKinds + kTrafficClasses * kSwitchClassCounters;
inline constexpr std::size_t kSwitchPortCounterCount = kOwnSwitchPortCounters + kMostMechanismCounters;
static_assert(sizeof(SwitchPortCounters) == kSwitchPortCounterCount * sizeof(std::uint64_t));

// "rx_frames", ..., "tx_ack_frames", "tx_ack_bytes", ..., "xoff_sent_prio0", ...: in the order of the struct.
// clang-format off
inline constexpr std::array<const char*, kOwnSwitchPortCounters> kOwnSwitchPortCounterNames = {
#define X(name) #name,
    ROCELAB_SWITCH_PORT_COUNTERS(X)
#undef X
#define X(name) "tx_" #name "_frames", "tx_" #name "_bytes",
    ROCELAB_SENT_KINDS(X)
#undef X
#define X(name)                                                                                   \
#name "_prio0", #name "_prio1", #name "_prio2", #name "_prio3", #name "_prio4", #name "_prio5", \
      #name "_prio6", #name "_prio7",
        ROCELAB_SWITCH_CLASS_COUNTERS(X)
#undef X
};
// clang-format on

// Of this build: those of its mechanisms are the last.
inline std::size_t switch_port_counters() {
  return kOwnSwitchPortCounters + mechanism_counter_names().size();
}
inline const char* switch_port_counter_name(std::size_t number) {  // below switch_port_counters()
  return number < kOwnSwitchPortCounters ? kOwnSwitchPortCounterNames[number]
                                         : mechanism_counter_names()[number - kOwnSwitchPortCounters];
}

// All values in the order of the names; behind switch_port_counters() they are 0.
inline std::array<std::uint64_t, kSwitchPortCounterCount> values_of(const SwitchPortCounters& counters) {
  return std::bit_cast<std::array<std::uint64_t, kSwitchPortCounterCount>>(counters);
}

}  // namespace rocelab
