// IrnSender: IRN's loss recovery and BDP-FC over one sequence space, at the data's source.
// Source: Mittal, 4.2.1, 4.2.2 and 4.5.2 (txFree, receiveAck, timeout); factor switches: 4.3.3;
// nack_threshold: 4.6. The law: a NACK or a timeout begins recovery; the cumulative packet is resent first,
// then every packet below the highest selectively acknowledged one that is not acknowledged itself; then new
// packets, while next - una < cap. After a timeout a partial cumulative acknowledgement names a hole, too:
// the packet that it asks for is resent (DEVIATIONS.md#irn). Recovery ends when the cumulative
// acknowledgement passes the last packet that had been sent when it began. Invariant: between two timeouts no
// packet is resent twice, whatever the number of recovery episodes. On a network that keeps order,
// retransmissions outside timeout recovery (and outside on_go_back) therefore never exceed the packets
// dropped: DEVIATIONS.md#irn.
#pragma once

#include <optional>

#include "irn_provider/transport/nic_config.h"
#include "irn_provider/transport/psn_bitmap.h"
#include "irn_provider/transport/rto.h"
#include "irn_provider/transport/sender_window.h"

namespace rocelab {

class IrnSender final : public SenderWindow {
 public:
  // `timers` off: no recovery timer ever fires (4.3.1 with PFC). `first` is the first PSN to be sent.
  IrnSender(const IrnConfig& config, bool timers, UnwrappedPsn first);

  bool has_more(UnwrappedPsn limit) const override;
  UnwrappedPsn peek(UnwrappedPsn) const override { return lost_packet().value_or(next_); }
  NextPacket pull(UnwrappedPsn limit, Time now) override;
  void on_ack(UnwrappedPsn expected, Time now) override;
  void on_nack(UnwrappedPsn expected, std::optional<UnwrappedPsn> sack, Time now) override;
  void on_go_back(UnwrappedPsn expected, Time now) override;
  TimeoutKind on_timeout(Time now) override;
  Time next_timeout() const override { return rto_.deadline(); }
  Time not_before() const override { return fetched_at_; }
  bool in_recovery() const override { return recovery_ != Recovery::kNone; }
  std::int64_t window() const { return window_; }

 private:
  enum class Recovery : std::uint8_t { kNone, kNack, kTimeout, kGoBack };  // what began the episode

  std::int64_t in_flight() const { return next_ - una_; }
  std::optional<UnwrappedPsn> lost_packet() const;  // the next packet to resend
  bool knows_of_hole() const;                       // the bitmap shows a lost packet that has not been resent
  void advance(UnwrappedPsn expected, Time now);
  void heard_from_peer(Time now);
  void take_nack(UnwrappedPsn expected, std::optional<UnwrappedPsn> sack, Time now);
  void look_ahead(Time now);  // after every event: the fetch of the next packet to resend begins
  void begin(Recovery recovery);
  void go_back(Recovery recovery);

  IrnConfig config_;
  std::int64_t window_;  // the BDP cap, or what the bitmap holds
  Rto rto_;
  RttTimer rtt_;             // dynamic RTO only
  PsnBitmap sacked_;         // head is una
  UnwrappedPsn sacked_end_;  // one past the highest selectively acknowledged PSN; una when there is none
  Recovery recovery_ = Recovery::kNone;
  UnwrappedPsn recovery_psn_ = 0;  // recovery sequence: last regular packet sent when the episode began
  UnwrappedPsn retransmit_next_;   // below it everything was acknowledged or resent since the last timeout
  UnwrappedPsn go_back_end_;       // below it all that is not acknowledged is resent (go-back-N)
  UnwrappedPsn
      last_go_back_;  // go-back-N: cumulative value of the last NACK followed, so that its repetition is not
  bool cumulative_due_ = false;           // the packet at una counts as lost without a SACK above it
  std::optional<UnwrappedPsn> fetching_;  // retransmit_fetch: the packet that is read again from host memory
  Time fetched_at_;                       // and when it will be there
  std::uint32_t nacks_ = 0;               // without cumulative progress, outside recovery
};

}  // namespace rocelab
