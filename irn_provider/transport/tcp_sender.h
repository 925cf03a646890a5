// TcpSender: TCP's loss recovery over one sequence space of packets: the transport of iWARP, to compare IRN
// with. Source: Mittal, 4.3.6; RFC 6675 (SACK-based recovery: pipe, IsLost, NextSeg rules 1 to 3, limited
// transmit), RFC 6298 (timer), RFC 5681, 3.1 (after a timeout everything that is not acknowledged counts as
// lost). The window is congestion control's (aimd.h with slow start), given by take_window(); there is no
// BDP-FC, only the receiver's bitmap. The peer is IRN's receiver: it acknowledges every packet and names
// those that come out of order, as a TCP receiver with SACK does. Connection set-up, byte streams and delayed
// ACKs are not modelled. DupThresh is RFC 6675's 3, or nack_threshold where that is more: TCP for networks
// that reorder. Beside RC3's other loop (two_loops.h) it skips what has arrived by that one: such a packet
// counts as selectively acknowledged in the pipe, says nothing about losses, and opens no window.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "irn_provider/cc/congestion_control.h"
#include "irn_provider/transport/nic_config.h"
#include "irn_provider/transport/psn_bitmap.h"
#include "irn_provider/transport/rto.h"
#include "irn_provider/transport/sender_window.h"

namespace rocelab {

class TcpSender final : public SenderWindow {
 public:
  // `elsewhere`: what has arrived by another loop, everything below its head included; null: there is none.
  TcpSender(const IrnConfig& config, bool timers, UnwrappedPsn first, const PsnBitmap* elsewhere = nullptr);

  bool has_more(UnwrappedPsn limit) const override;
  UnwrappedPsn peek(UnwrappedPsn limit) const override { return next_segment(limit).value_or(next_); }
  NextPacket pull(UnwrappedPsn limit, Time now) override { return pull(limit, now, true); }
  NextPacket pull(UnwrappedPsn limit, Time now, bool timed);  // timed: its round trip is a sample
  void on_ack(UnwrappedPsn expected, Time now) override;
  void on_nack(UnwrappedPsn expected, std::optional<UnwrappedPsn> sack, Time now) override;
  void on_go_back(UnwrappedPsn expected, Time now) override;
  TimeoutKind on_timeout(Time now) override;
  Time next_timeout() const override { return rto_.deadline(); }
  bool take_window(std::int64_t packets) override {
    window_ = packets;
    return true;
  }
  bool in_recovery() const override { return una_ < recovery_end_; }
  std::int64_t pipe() const;  // packets that are believed to be in the network

  // --- beside another loop
  void skip_arrived();  // `elsewhere` has changed
  // Everything below has arrived, which opens no window. True: it waits for nothing that it has sent.
  bool absorb(UnwrappedPsn expected, Time now);
  void unskip(UnwrappedPsn psn);  // it was skipped, and is to be sent after all
  // Packets sent here that a cumulative value has covered, and those that none has.
  std::int64_t covered() const { return covered_; }
  std::int64_t own_out() const;

 private:
  UnwrappedPsn lost_end() const;  // packets below it that are not acknowledged count as lost
  std::optional<UnwrappedPsn> next_segment(UnwrappedPsn limit) const;
  std::int64_t unacknowledged(UnwrappedPsn from, UnwrappedPsn to) const;
  bool has_arrived(UnwrappedPsn psn) const {
    return elsewhere_ != nullptr && (psn < elsewhere_->head() || elsewhere_->test(psn));
  }
  UnwrappedPsn first_missing(UnwrappedPsn from) const;
  void forget_skipped();
  void note_sack(UnwrappedPsn psn);
  void advance(UnwrappedPsn expected, Time now);
  void lose_everything();
  void maybe_recover();

  Rto rto_;
  RttTimer rtt_;
  std::int64_t window_ = kNoWindow;    // cwnd
  PsnBitmap sacked_;                   // head is una
  std::vector<UnwrappedPsn> highest_;  // the DupThresh highest ones selectively acknowledged, falling
  UnwrappedPsn resent_end_;            // HighRxt + 1: below it lost packets have been resent
  UnwrappedPsn timeout_end_;           // after a timeout: everything below counts as lost
  UnwrappedPsn recovery_end_;          // RecoveryPoint + 1
  bool resend_at_once_ = false;        // RFC 6675, 5 (4.3): the first one needs no room in the window
  bool by_timeout_ = false;            // the present recovery

  const PsnBitmap* elsewhere_;
  std::unique_ptr<PsnBitmap> skipped_;  // of sacked_: not sent, since it has arrived by the other loop
  std::int64_t covered_ = 0;            // packets sent here that a cumulative value has covered
};

}  // namespace rocelab
