// CongestionControl: what one QP's congestion control is told and what it answers: a rate and a window. One
// file per algorithm implements it (dcqcn_rp.h, timely.h, hpcc.h ...); CcFlow (cc_flow.h) connects it to
// the transport, measures RTTs and turns the rate into departure times. Contract:
//  1. start() first, and again whenever the QP is connected anew; `now` never decreases.
//  2. Timers of an algorithm are evaluated when somebody looks: rate(now) first does what was due up to
//  `now`.
//     So a flow that is not held back costs no timer event; next_change() says when the rate will change by
//     itself, for those that wait for it.
//  3. Rates count wire bytes (preamble and gap included), so that the line rate means no pacing at all.
// An algorithm overrides what it listens to.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "base/psn.h"
#include "base/rcp.h"
#include "base/rng.h"
#include "base/units.h"
#include "base/wire/telemetry.h"

namespace rocelab {

struct Packet;

// One acknowledgement, positive or negative, that concerns what the flow has sent.
struct CcAck {
  std::int64_t packets =
      0;                // newly acknowledged by the cumulative PSN; 0: it only names a packet out of order
  bool marked = false;  // the receiver echoes an ECN mark
  UnwrappedPsn una = 0, next = 0;  // oldest unacknowledged and first never sent, after this acknowledgement
  const Telemetry* telemetry = nullptr;  // INT that the receiver echoes; null: none
  std::optional<RcpHeader> path_rate{};  // that the receiver echoes; null: none
};

// One completed segment: from the departure of its first packet to the acknowledgement of its last.
struct RttSample {
  Duration rtt;           // without the segment's serialisation: propagation, store and forward, queues, ACK
  Duration elapsed;       // with it
  Bytes sent;             // wire bytes that the flow sent within `elapsed`, the segment's own included
  UnwrappedPsn last = 0;  // PSN of its last packet; of a READ: of the last response
};

// The answer of an algorithm to a switch's feedback.
struct FeedbackResult {
  bool accepted = false;    // false: it cannot be right, or is not for this algorithm
  bool computed = false;    // the host has computed `rate` from what the switch says, which is traced
  Rate rate;                // that the feedback makes
  std::uint32_t queue = 0;  // as the switch gives its length
  std::uint32_t point = 0;  // the congestion point
};

enum class CcLoss : std::uint8_t { kRecovery, kTimeout };  // what showed a loss: a (N)ACK, or a timer

inline constexpr std::int64_t kNoWindow = std::numeric_limits<std::int64_t>::max() / 4;

class CongestionControl {
 public:
  virtual ~CongestionControl() = default;

  // A stream of the QP's own, for what an algorithm draws; before start().
  virtual void seed(const Rng& /*rng*/) {}
  virtual void start(Time now) = 0;
  virtual void on_sent(Bytes /*frame*/, Time /*now*/) {}  // one data packet has left
  virtual void on_ack(const CcAck& /*ack*/, Time /*now*/) {}
  virtual void on_rtt(const RttSample& /*sample*/, Time /*now*/) {}
  virtual void on_loss(CcLoss /*loss*/, Time /*now*/) {}  // once for each recovery that begins
  virtual void on_cnp(Time /*now*/) {}
  // A switch's feedback to this flow, of any form (base/wire/controls.h). Untrusted.
  virtual FeedbackResult on_feedback(const Packet& /*feedback*/, Time /*now*/) { return {}; }

  // Where kNeeds.path_rate: what the next data packet asks its path for.
  virtual RcpHeader path_request() const { return {}; }

  virtual Rate rate(Time now) = 0;
  virtual Time next_change() const { return Time::never(); }
  virtual std::int64_t window() const { return kNoWindow; }  // packets in flight, at least 1
};

}  // namespace rocelab
