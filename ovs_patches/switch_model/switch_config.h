// SwitchConfig and PortConfig: everything that one switch is told by the scenario. Plain data: the runner
// also writes them into the shared segment of the live engine, one SwitchConfig per switch and one PortConfig
// per port (PortId = index). Buffers count Packet::frame_length; units are in the types. Defaults: 240 KB per
// ingress port and lossless class, 240 KB per lossy egress queue, class 3 lossless.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

#include "base/class_map.h"
#include "base/ids.h"
#include "base/units.h"
#include "ovs_patches/switch_model/mechanism_table.h"
#include "ovs_patches/switch_model/queue_rules.h"
#include "ovs_patches/switch_model/switch_flow.h"

namespace rocelab {

inline constexpr int kMaxSwitchPorts = 512;
inline constexpr Bytes kComputed = Bytes::from_count(-1);  // a threshold that the switch derives itself
inline constexpr Duration kOneMaxFrame =
    Duration::from_ps(-1);  // a time that is the serialisation of one maximum frame

enum class PeerKind : std::uint8_t { kHost, kSwitch };

struct EcnConfig {  // marking at enqueue; defaults: DCQCN's switch settings
  bool enabled = false;
  Bytes k_min = 5_KB;    // K_min: up to this length nothing is marked
  Bytes k_max = 200_KB;  // K_max: above this length everything is
  double p_max = 0.01;   // P_max: probability at K_max
  double average = 1;    // w_q: weight of a queue's length in RED's average; 1: no average, the length itself
};

struct PortConfig {
  Rate rate = 40_Gbps;
  Duration delay = 2_us;            // propagation to the peer, one way
  PeerKind peer = PeerKind::kHost;  // hosts may not send what only switches do
  std::uint32_t cp_address = 0;     // IPv4, host order: the origin of feedback that mechanisms send
  std::uint16_t equal_cost = 0;  // ports of one number, not 0, lead to the same hosts over equal-cost paths
  EcnConfig ecn{};  // enabled: the thresholds of this port's queues, where their class has marking
};

// IEEE 802.1Qaz transmission selection: strict classes first, the highest number first; ETS classes share
// what is left by weight (DWRR).
enum class Selection : std::uint8_t { kStrict, kEts };

struct ClassConfig {
  bool lossless = false;  // means something only while PFC is enabled
  Selection selection = Selection::kEts;
  std::uint16_t weight =
      1;  // ETS: share of what strict classes leave, relative to the other ETS classes; >= 1
  EcnConfig ecn;
  // Lossless: what exceeds this in an egress queue is dropped, which a scenario has to declare (may_drop).
  Bytes egress_max = 0_B;  // 0: no limit
  QueueOrder order = QueueOrder::kFifo;
  std::uint8_t queues = 8;  // kSpPifo: how many stand in for an order by rank; 1 to LevelOrder::kMostLevels
  FullRule full = FullRule::kRefuse;
  // A frame that arrives with a smaller rank than that of the class's frame on the wire stops it, and the
  // rest is sent later. A frame stays in its queue until its last bit (switch_preempt.cc).
  bool preempt = false;
};

struct PfcConfig {
  bool enabled = true;  // false: no PFC frame is sent, those received are ignored, every class is lossy
  std::uint16_t quanta = 0xffff;  // pause time in an XOFF
  std::uint16_t refresh_percent =
      50;                        // an XOFF that still holds is sent again after this part of its pause time
  std::uint16_t xon_frames = 2;  // XON = XOFF - xon_frames maximum frames
  Duration response_time =
      kOneMaxFrame;            // from the arrival of an XOFF at the peer until it starts no frame any more
  Bytes headroom = kComputed;  // computed: exactly enough for each link, see headroom.h
  Bytes xoff = kComputed;  // computed: buffer - headroom. Given: headroom is what the buffer leaves above it
  Bytes xon = kComputed;
};

// Element by element: g++ 12 loses member defaults when a constexpr function changes some elements of a
// value-initialised array.
constexpr std::array<ClassConfig, kTrafficClasses> default_classes() {
  const ClassConfig plain{};
  ClassConfig roce{}, feedback{};
  roce.lossless = true;                     // RoCE data and its ACKs
  feedback.selection = Selection::kStrict;  // CNP and switch feedback
  return {plain, plain, plain, roce, plain, plain, feedback, feedback};
}

struct SwitchConfig {
  static constexpr Bytes kLongerOverIpv6 = 24_B;  // the header's 20 bytes, and 4 of an XRC header
  Bytes longest_frame() const { return max_frame + kLongerOverIpv6; }  // what is longer is dropped

  // Wire MTU: the longest frame over IPv4, from which headroom is computed. Frames of the same payload over
  // IPv6 pass, too.
  Bytes max_frame = 4200_B;
  Bytes ingress_buffer = 240_KB;           // per ingress port and lossless class, headroom included
  Bytes egress_limit = 240_KB;             // lossy: per egress queue
  Bytes port_buffer = 0_B;                 // lossy: per egress port, over all its queues; 0: no limit
  PortRule port_rule = PortRule::kRefuse;  // what a port at port_buffer does
  // > 0: a pool shared by the whole switch. Lossless classes may hold alpha * (free pool) beyond their XOFF
  // threshold before they pause; a lossy egress queue is limited by alpha * (free pool) instead of
  // egress_limit (Choudhury and Hahne's dynamic threshold).
  Bytes shared_pool = 0_B;
  double alpha_lossless = 0.125;
  double alpha_lossy = 1.0;  // 0: lossy queues have egress_limit and no part of the pool
  // The IRN paper's switch: lossy frames are admitted by a fixed buffer per input port and not limited at
  // egress; use with QueueOrder::kRoundRobin.
  bool input_buffered = false;
  Bytes input_buffer = 240_KB;  // per input port, all lossy classes together
  // FIFO or round robin, for all classes; the other orders are of a class (ClassConfig::order).
  QueueOrder queue_order = QueueOrder::kFifo;
  PfcConfig pfc;
  MechanismParams mechanisms;
  std::array<ClassConfig, kTrafficClasses> classes = default_classes();
  ClassMap class_map;  // by which it classifies every frame
};
static_assert(std::is_trivially_copyable_v<SwitchConfig> && std::is_trivially_copyable_v<PortConfig>);

// Empty when a switch can be built from these; otherwise one line that says what is wrong and what to do.
// Switch's constructor aborts on it.
std::string problem_of(const SwitchConfig& config, std::span<const PortConfig> ports);
// The part of it that one mechanism says.
std::string problem_of(const MechanismType& type, const SwitchConfig& config,
                       std::span<const PortConfig> ports);

}  // namespace rocelab
