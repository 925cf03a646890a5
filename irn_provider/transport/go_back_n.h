// GoBackN: RoCE's loss recovery at the sender: a NAK or a timeout sends everything again from the PSN that
// the responder expects. Source: IBTA Vol 1, 9.7.5.1.1 and 9.7.6.1.1; what Linux rxe does (a NAK is followed
// to exactly its PSN). There is no window but the PSN space's.
#pragma once

#include <optional>

#include "irn_provider/transport/sender_window.h"

namespace rocelab {

class GoBackN final : public SenderWindow {
 public:
  // `rto` infinite: no timer of its own (the requester's verbs timeout then goes back).
  // `restart_on_any_ack`: at each ACK and NAK that is not an old one, not only at progress. `first` is the
  // first PSN to be sent.
  GoBackN(Duration rto, bool restart_on_any_ack, UnwrappedPsn first)
      : SenderWindow(first), rto_(rto), restart_on_any_ack_(restart_on_any_ack), send_(first) {}

  bool has_more(UnwrappedPsn limit) const override { return send_ < limit; }
  UnwrappedPsn peek(UnwrappedPsn) const override { return send_; }
  NextPacket pull(UnwrappedPsn limit, Time now) override;
  void extend(UnwrappedPsn end) override;
  void on_ack(UnwrappedPsn expected, Time now) override;
  void on_nack(UnwrappedPsn expected, std::optional<UnwrappedPsn> sack, Time now) override;
  void on_go_back(UnwrappedPsn expected, Time now) override;
  TimeoutKind on_timeout(Time now) override;
  Time next_timeout() const override { return deadline_; }
  bool in_recovery() const override { return send_ < next_; }

 private:
  void restart_timer(Time now) { deadline_ = una_ < next_ ? now + rto_ : Time::never(); }

  Duration rto_;
  bool restart_on_any_ack_;
  UnwrappedPsn send_;  // what leaves next: una <= send <= next
  Time deadline_ = Time::never();
  std::optional<UnwrappedPsn> followed_nak_;  // repeated without progress it is a copy, not news
  bool by_timeout_ = false;
};

}  // namespace rocelab
