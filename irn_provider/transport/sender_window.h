// SenderWindow: loss detection and recovery over one sequence space, at the data's source. RoCE's go-back-N
// (go_back_n.h) and IRN (irn_sender.h) are the two laws; the requester (sPSN space) and IRN's READ responder
// (rPSN space) own one each. It decides WHICH packet leaves next and when a timer fires. It knows nothing of
// messages, headers, retry counts, credits or RNR waits. Contract:
//  1. PSNs are unwrapped. [una, next) has been sent and is not acknowledged; una <= next always.
//  2. The owner has checked what comes from the network: on_ack, on_nack and on_go_back get una <= expected
//     <= next, and on_nack a sack (the PSN that triggered the NACK) with expected < sack < next. A repeated
//     or stale value changes nothing.
//  3. Acknowledging everything below `expected` is part of on_ack, on_nack and on_go_back alike.
//  4. `now` never decreases. on_timeout may be called early or twice; next_timeout may be early, and is
//     Time::never() when nothing is in flight.
#pragma once

#include <cstdint>
#include <optional>

#include "base/check.h"
#include "base/psn.h"
#include "base/units.h"

namespace rocelab {

enum class TimeoutKind : std::uint8_t { kNone, kRtoHigh, kRtoLow };

struct NextPacket {
  UnwrappedPsn psn = 0;
  bool retransmission = false;  // it was sent before
  bool by_timeout = false;      // a retransmission that a timer began
};

class SenderWindow {
 public:
  virtual ~SenderWindow() = default;

  // `limit` is one past the last PSN that exists: new packets come from [next, limit).
  virtual bool has_more(UnwrappedPsn limit) const = 0;
  virtual UnwrappedPsn peek(
      UnwrappedPsn limit) const = 0;  // that pull(limit) would give; precondition: as pull()
  virtual NextPacket pull(UnwrappedPsn limit,
                          Time now) = 0;  // precondition: has_more(limit); marks it sent, arms the timer

  // The packet just pulled also stands for the PSNs up to `end`: in RoCE a READ request takes as many PSNs as
  // its response (IBTA 9.7.3.1). Never called in IRN mode, where requests and READ responses are numbered
  // apart.
  virtual void extend(UnwrappedPsn /*end*/) { RL_CHECK(false); }

  virtual void on_ack(UnwrappedPsn expected, Time now) = 0;  // everything below `expected` has arrived
  // A sequence error: the receiver waits for `expected`. IRN also names the packet that arrived instead;
  // without `sack` only the cumulative value is known.
  virtual void on_nack(UnwrappedPsn expected, std::optional<UnwrappedPsn> sack, Time now) = 0;
  virtual void on_go_back(
      UnwrappedPsn expected,
      Time now) = 0;  // RNR NAK, other NAKs, a READ to be requested again: resend all from there on
  virtual TimeoutKind on_timeout(Time now) = 0;  // what fired; kNone: nothing was due, nothing changed

  virtual Time next_timeout() const = 0;
  // The next packet that pull() would give may leave then; at or before `now`: at once.
  virtual Time not_before() const { return Time::zero(); }
  // A window of congestion control, in packets, for those that count what is out themselves (tcp_sender.h).
  // False: the owner bounds `limit` by it, at una + window.
  virtual bool take_window(std::int64_t /*packets*/) { return false; }
  UnwrappedPsn una() const { return una_; }    // oldest unacknowledged
  UnwrappedPsn next() const { return next_; }  // first never sent
  virtual bool in_recovery() const = 0;
  // Recoveries begun so far by what the peer said or a timer, not by on_go_back: each stands for new losses.
  std::uint32_t recoveries() const { return recoveries_; }

 protected:
  explicit SenderWindow(UnwrappedPsn first) : una_(first), next_(first) {}
  UnwrappedPsn una_, next_;
  std::uint32_t recoveries_ = 0;
};

}  // namespace rocelab
