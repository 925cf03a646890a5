// The needs of an algorithm, which it states as kNeeds: what the NIC, the transport and the switches must do
// for it. And the facts of the NIC and the network by which an algorithm is made.
#pragma once

#include <cstdint>

#include "base/units.h"

namespace rocelab {

struct CcNeeds {
  bool marks = false;      // data is ECN-capable, and switches mark it by the thresholds of the preset
  bool own_marks = false;  // with `marks`: a mechanism of the switches sets them, not thresholds of a preset
  // The receiver's NIC answers marks with CNPs, of each flow at most one in Params::cnp_interval.
  bool cnps = false;
  bool bdp = false;          // windows of BDPs and marks in acknowledgements: mode "irn" only
  bool packet_acks = false;  // every packet is acknowledged: RoCE asks for it (NicConfig::ack_interval)
  bool telemetry = false;    // INT: switches stamp it, acknowledgements bring it back (CcAck::telemetry)
  bool path_rate = false;    // RCP's header in data, which switches lower; back in CcAck::path_rate
  // BFC: data names its queue pair's queue, and pauses of queues hold queue pairs back (CcFlow::hold). The
  // rate is one for ever.
  bool queue_pauses = false;
  bool feedback = false;     // switches send feedback to a flow's source (CongestionControl::on_feedback)
  bool lazy_rate = false;    // a waiting burst is never brought forward (pacer.h)
  bool paces_reads = false;  // READ requests are paced by what they ask for: Mittal, 3.4
};

// The QP for which an algorithm is made.
struct CcContext {
  Rate line_rate;
  std::uint32_t path_mtu = 1024;  // bytes of payload
  std::uint32_t bdp_cap = 0;      // packets that fill the longest path (IRN's cap); 0: unknown
};

// The network of a run, by which an algorithm completes parameters that a scenario leaves open.
struct CcNetwork {
  Duration base_rtt;  // of a full packet and its ACK on the longest path, without queues
  Rate fastest_link;
};

// Data that is paced as one burst and timed as one RTT sample.
struct CcBurst {
  Bytes segment;  // Params::segment, at least a byte; 0: each packet on its own, no RTTs are taken
  Rate rate;      // inside the burst; 0: line rate
};

// Marking that goes with a set of parameters: as EcnConfig of the switch.
struct CcMarking {
  Bytes k_min, k_max;
  double p_max = 1;
  double average = 1;
};

// A named set of parameters, where sources disagree. An algorithm's first one is its default.
template <class Params>
struct CcPresetOf {
  const char* name;
  const char* source;
  Params params{};
  CcMarking marking{};  // where kNeeds.marks
};

}  // namespace rocelab
