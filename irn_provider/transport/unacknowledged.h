// Unacknowledged: the sender's law of the unreliable classes (UC, UD): each packet leaves once and is
// forgotten when it has left. Source: IBTA Vol 1, 9.8.1.1 (UC), 9.8.3 (UD): no acknowledgements, no timers,
// no window.
#pragma once

#include "irn_provider/transport/sender_window.h"

namespace rocelab {

class Unacknowledged final : public SenderWindow {
 public:
  explicit Unacknowledged(UnwrappedPsn first) : SenderWindow(first) {}

  bool has_more(UnwrappedPsn limit) const override { return next_ < limit; }
  UnwrappedPsn peek(UnwrappedPsn) const override { return next_; }
  NextPacket pull(UnwrappedPsn, Time) override {
    una_ = next_ + 1;
    return {next_++, false, false};
  }
  void on_ack(UnwrappedPsn, Time) override {}
  void on_nack(UnwrappedPsn, std::optional<UnwrappedPsn>, Time) override {}
  void on_go_back(UnwrappedPsn, Time) override {}
  TimeoutKind on_timeout(Time) override { return TimeoutKind::kNone; }
  Time next_timeout() const override { return Time::never(); }
  bool in_recovery() const override { return false; }
};

}  // namespace rocelab
