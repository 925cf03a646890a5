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
};

struct PortConfig {
  Rate rate = 40_Gbps;
  Duration delay = 2_us;            // propagation to the peer, one way
  PeerKind peer = PeerKind::kHost;  // hosts may not send what only switches do (RoCC's feedback); Escape
                                    // sends tokens to switches only
  std::uint32_t cp_address = 0;     // IPv4, host order: the origin of feedback that mechanisms send
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
  FullRule full = FullRule::kRefuse;
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

// What algorithm 3 lacks, each by itself (FIX_* of tests/models/escape.pml; DEVIATIONS.md#escape). None: the
// algorithm to the letter.
enum class EscapeFix : std::uint8_t {
  kPool = 1 << 0,   // event e3 counts where a token reserved a place, not where the frame was extracted
  kOrder = 1 << 1,  // an escaping frame does not overtake earlier ones of its flow that wait for its port
  kReclaim =
      1 << 2,  // tokens come back by their own age, and a pool never holds more than its queue has places
  kHeadroom = 1 << 3,  // room behind XOFF for what leaves a paused port
  kHosts = 1 << 4,     // no token goes to a host, which has no queue to take a frame from
};
inline constexpr std::uint8_t kAllEscapeFixes = 0x1f;

// Escape (mechanisms/escape.h): frames of flows that are blocked behind a paused queue and could go on
// leave it by tokens.
struct EscapeConfig {
  bool enabled = false;
  std::uint8_t fixes = kAllEscapeFixes;  // bits of EscapeFix
  bool has(EscapeFix fix) const { return (fixes & static_cast<std::uint8_t>(fix)) != 0; }
  std::uint8_t classes = 0xff;  // bit per class: those that are lossless among them are served
  std::uint16_t tokens = 8;     // places in a port's dedicated queue: its pool; the paper gives no number
  std::uint16_t flows = 0;      // in a port's table; 0: as many as tokens (4.3.1, 7)
  bool by_hosts = false;        // a flow is all that one host sends to another, by whatever queue pairs
  std::uint64_t flow_bits() const { return by_hosts ? kHostsOfFlow : ~std::uint64_t{0}; }
  Duration period{};        // Delta^esc; 0: twice the link's delay (4.3.2)
  Duration reclaim = 1_ms;  // 4.3.3, 5: how long tokens that are not used are missed
  // Ours, not the chapter's: DEVIATIONS.md#escape.
  bool announce = false;  // flows that wait behind a paused port are made known to the switches behind it
  bool return_tokens = false;  // tokens that nobody can use come back; needs the fixes pool and reclaim
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
  EscapeConfig escape;
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
