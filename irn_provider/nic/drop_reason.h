// Why the NIC dropped a frame before any QP saw it: TraceRecord.mark of kDrop at a host. Each has a counter
// of NicCounters.
#pragma once

#include <cstdint>

namespace rocelab {

enum class NicDropReason : std::uint8_t {
  kNone = 0,
  kMalformed = 1,  // unknown opcode, payload where there is none, another transport version or partition key:
                   // rx_malformed
  kUnknownQp = 2,  // rx_unknown_qp
  kWrongMode = 3,  // RoCE against IRN, or a transport class that the NIC does not have: rx_wrong_mode
  kWrongState = 4,        // the QP does not take such packets in its state: rx_wrong_state
  kBadIcrc = 5,           // rx_icrc_encapsulated
  kBadFeedback = 6,       // of a switch, that cannot be right: rp_fair_rates_refused
  kFeedbackOfNoFlow = 7,  // rp_fair_rates_unknown_flow
  kNotInGroup = 8,        // multicast of which no QP here is a member: rx_not_in_group
  kWrongPeer = 9,  // for a connected QP, but not from its peer's address or not to its own: rx_wrong_peer
  kEdgeAqm = 10,   // slack.edge: it waited too long in the network: rx_edge_drops
};

}  // namespace rocelab
