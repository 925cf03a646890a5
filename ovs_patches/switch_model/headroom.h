// Headroom: the bytes above XOFF that an ingress port must keep free so that no frame of a lossless class is
// ever lost, and the PFC thresholds that follow. Source: IEEE 802.1Qbb (Annex O of 802.1Q) in spirit; here
// the links are store-and-forward in whole picoseconds, so the bound is exact, not an estimate.
//
// Let M be the maximum frame, w(f) the wire time of a frame of f bytes (FCS, preamble and gap included), D
// the delay one way, R the peer's response time.
//  - A frame counts when its last bit is here. XOFF is decided when the bytes held exceed XOFF. Before that
//  frame, F0, they were at most XOFF:
//    F0 itself costs up to M.
//  - F0 is here at t0. Our sender on that port may have begun a maximum frame 1 ps earlier (at t0 the PFC
//  frame would go first), so the PFC frame starts at
//    t0 - 1 ps + w(M), and is at the peer w(60) + D later.
//  - From R after that instant on the peer starts no frame; one that it started up to 1 ps earlier still
//  comes, whole.
//  - Behind F0, whose last bit left the peer at t0 - D, the peer sends back to back. So a frame is still sent
//  if those between F0 and it take at most
//        X = 2 D + w(M) + w(60) + R - 2 ps.
//    The last of them costs up to M. Those before it carry the most bytes when they are few: with B the bytes
//    that pass in X, as many maximum frames as fit into B, and one more frame for the rest (less its 24 bytes
//    of overhead; if less than 60 bytes are left for it, a neighbour lends them). Nothing drains in the worst
//    case: the class may be paused at every egress port.
//
//        headroom = M + M floor(B / (M + 24)) + max(0, B mod (M + 24) - 24) + M
//
// Mechanisms may need more. With Escape a switch's port sends what stands in its dedicated queue although it
// is paused, up to a pool of frames that are data again at the next switch: so many maximum frames more
// behind a switch (Menikkumbura, 4.4.3, case 2: "a sufficiently large headroom").
//
// At rates where a byte takes whole picoseconds this is attained to the byte; otherwise it is a few bytes
// above.
#pragma once

#include "ovs_patches/switch_model/switch_config.h"

namespace rocelab {

Bytes headroom_for(const PortConfig& link, Bytes max_frame, Duration response_time);

// What holds at one ingress port for each of its lossless classes.
struct PfcThresholds {
  Bytes xoff;      // more than this held: the peer is asked to pause
  Bytes xon;       // at most this held: it may go on
  Bytes headroom;  // above xoff; a frame that does not fit is lost
};
PfcThresholds thresholds_for(const SwitchConfig& config, const PortConfig& link);

// The least ingress buffer of a lossless class that holds headroom, XOFF and XON of this port.
Bytes least_ingress_buffer(const SwitchConfig& config, const PortConfig& link);

// Resolves kOneMaxFrame.
Duration response_time_of(const SwitchConfig& config, const PortConfig& link);

}  // namespace rocelab
