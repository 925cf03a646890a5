// NicConfig: everything that the RNIC of one host is told by the scenario. Plain data: it is also what the
// runner writes into the shared segment for the live engine. Units are in the types; defaults are those of a
// 40 Gb/s RoCE NIC without a scenario.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

#include "base/class_map.h"
#include "base/class_turns.h"
#include "base/units.h"
#include "irn_provider/cc/cc_config.h"
#include "irn_provider/transport/slack_config.h"

namespace rocelab {

enum class TransportMode : std::uint8_t { kRoce, kIrn };

// RC3 (Mittal, chapter 2): beside TCP, messages are sent from their ends at lower priorities. Level 0 is
// TCP's own.
struct Rc3Config {
  static constexpr std::size_t kMostLevels = 5;
  std::uint8_t levels = 0;                       // that of TCP included; 0: off
  std::array<std::uint8_t, kMostLevels> dscp{};  // by level; that of level 0 is NicConfig::roce_dscp
  // Packets of a message at levels 1, 2, ..., from its end on; the last one takes the rest (2.1.1).
  std::array<std::uint32_t, kMostLevels - 1> packets{40, 400, 4000, 40000};
};

// Loss recovery of IRN mode and the switches of the factor analysis (Mittal, 4.3.3).
struct IrnConfig {
  Duration rto_high = 320_us;         // RTO_high, 4.3.1
  Duration rto_low = 100_us;          // RTO_low, 4.3.1
  std::uint32_t rto_low_packets = 3;  // N: RTO_low holds while at most N packets are in flight, 4.2.1
  std::uint32_t bdp_cap = 110;        // packets in flight, 4.2.2; 0 = no BDP-FC (factor switch)
  bool sack = true;        // false: selective retransmit without the sender bitmap (factor switch "no SACK")
  bool go_back_n = false;  // true: go-back-N with BDP-FC (factor switch)
  bool restart_on_any_ack =
      false;  // recovery timers restart at every (N)ACK, not only at cumulative progress
  // Other recoveries and costs that the chapter compares with.
  bool dynamic_rto =
      false;         // 4.3.3 (3): one computed RTO (RFC 6298) that begins with rto_high, at least rto_low
  bool tcp = false;  // 4.3.6, iWARP's transport: TCP's SACK recovery (RFC 6675) with a dynamic RTO
  bool tcp_floor_low = false;        // of which rto_low is the least; else rto_high, with which it begins
  Duration retransmit_fetch{};       // 4.5.3: a resent packet leaves so long after it was found to be lost
  std::uint32_t nack_threshold = 1;  // NACKs that start recovery; more for networks that reorder, 4.6
  std::uint32_t bitmap_packets =
      2048;  // size of the receiver's and sender's bitmaps when there is no cap; otherwise the cap decides
};

struct NicConfig {
  TransportMode mode = TransportMode::kRoce;
  Rate link_rate = 40_Gbps;
  Duration link_delay = 2_us;
  std::uint32_t active_mtu = 4096;  // largest path MTU that a QP may ask for: 256..4096
  // Loss recovery by a scenario. With `recovery_timers` off no retransmission timer runs but the verbs
  // attribute's, as a liveness guard. Without a scenario RoCE mode has rto = infinite: the verbs attribute is
  // its only timer.
  bool recovery_timers = true;
  Duration roce_rto =
      Duration::infinite();  // go-back-N's timer (RTO_high in the paper's runs without PFC, 4.3.1)
  bool roce_restart_on_any_ack = false;  // as IRN's
  std::uint32_t ack_interval =
      66;  // RoCE: AckReq on a message's last packet and on every n-th packet of a long one (Linux rxe)
  std::uint32_t qp_burst = 1;  // data packets that a QP may send in a row while others wait
  bool pfc_enabled = true;     // obey PFC frames
  IrnConfig irn;
  Rc3Config rc3;
  CcConfig cc;  // congestion control of every QP; none by default
  SlackConfig slack;
  // Its frames have parts in the shim slot, which switches rewrite: slack, RCP's header, BFC's queue.
  bool writes_shim() const { return slack.on() || cc.needs().path_rate || cc.needs().queue_pauses; }
  // A frame's DSCP says its class. roce_dscp: of programs that set no traffic class.
  ClassMap class_map;
  std::uint8_t roce_dscp = 26, cnp_dscp = 48;
  // DSCP of acknowledgements (ACK, NAK and IRN's), and of READ requests and responses.
  static constexpr std::uint8_t kOfQueuePair = 0xff;
  std::uint8_t ack_dscp = kOfQueuePair, read_dscp = kOfQueuePair;
  // Between classes: those whose bit is set by strict priority, higher ones first; after them the others, by
  // DWRR with these weights (base/class_scheduler.h).
  std::uint8_t strict_classes = 0xff;
  std::array<std::uint16_t, kTrafficClasses> ets_weights{1, 1, 1, 1, 1, 1, 1, 1};
  ClassTurns class_turns() const { return {strict_classes, ets_weights, Bytes::from_count(active_mtu)}; }
  Tc roce_tc() const { return class_map.of(roce_dscp); }
  Tc cnp_tc() const { return class_map.of(cnp_dscp); }
  // What a path's traffic class (the GRH's: DSCP and ECN) asks for. 0 is "not set"; 1 to 3, which differ from
  // it in the ECN field alone, ask for DSCP 0. ECN is the NIC's own.
  std::uint8_t dscp_of(std::uint8_t traffic_class) const {
    return traffic_class == 0 ? roce_dscp : static_cast<std::uint8_t>(traffic_class >> 2);
  }
  bool ecn_capable = false;  // set ECT(0) on data; congestion control by marks needs it
  std::uint32_t max_qps = 4096, max_cqs = 4096, max_mrs = 65536;
};
static_assert(std::is_trivially_copyable_v<NicConfig>);

}  // namespace rocelab
