// CcConfig: which congestion control a NIC runs, with the parameters of all of them. Plain data: part of
// NicConfig, which travels in the live engine's shared segment. Named sets of parameters: cc_presets.h.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>
#include <type_traits>

#include "irn_provider/cc/aimd.h"
#include "irn_provider/cc/dcqcn_rp.h"
#include "irn_provider/cc/dctcp.h"
#include "irn_provider/cc/hpcc.h"
#include "irn_provider/cc/rocc_rp.h"
#include "irn_provider/cc/timely.h"

namespace rocelab {

enum class CcKind : std::uint8_t { kNone, kDcqcn, kTimely, kAimd, kDctcp, kRocc, kHpcc };
inline constexpr std::array<std::string_view, 7> kCcNames{"none",  "dcqcn", "timely", "aimd",
                                                          "dctcp", "rocc",  "hpcc"};

struct CcConfig {
  CcKind kind = CcKind::kNone;
  DcqcnParams dcqcn;
  TimelyParams timely;
  AimdParams aimd;
  DctcpParams dctcp;
  RoccRpParams rocc;
  HpccParams hpcc;
  // RTTs are taken of so much data at a time, also for an algorithm that needs none; 0: not.
  Bytes rtt_segment;

  // Whether QPs have a CcFlow.
  bool in_use() const { return kind != CcKind::kNone || timed_segment() > 0_B; }
  bool needs_ecn() const { return kind == CcKind::kDcqcn || kind == CcKind::kDctcp; }
  // Windows of BDPs and marks in acknowledgements: RoCE's transport has neither.
  bool needs_irn() const { return kind == CcKind::kAimd || kind == CcKind::kDctcp; }
  // RoCE acknowledges every packet if it is asked to on each (NicConfig::ack_interval).
  bool needs_packet_acks() const { return needs_irn() || needs_telemetry(); }
  bool needs_telemetry() const { return kind == CcKind::kHpcc; }  // INT: of switches and in acknowledgements
  // Data that is paced as one burst, at least a packet; 0: each packet on its own.
  Bytes burst() const { return kind == CcKind::kTimely ? std::max(timely.segment, 1_B) : 0_B; }
  // Data that is timed as one RTT sample; 0: no RTTs are taken.
  Bytes timed_segment() const { return burst() > 0_B ? burst() : rtt_segment; }
  Rate burst_rate() const {  // inside a segment; 0: line rate
    return kind == CcKind::kTimely ? timely.burst_rate : Rate{};
  }
  bool lazy_rate() const { return kind == CcKind::kTimely; }           // pacer.h
  bool reads_at_requester() const { return kind == CcKind::kTimely; }  // READ requests are paced: Mittal, 3.4
};
static_assert(std::is_trivially_copyable_v<CcConfig>);

}  // namespace rocelab
