// TwoLoops: RC3's sender (Mittal, chapter 2): TCP as it is (tcp_sender.h), the primary, and beside it a loop
// that sends the rest of the messages from the back at lower priorities whenever the primary does not
// (low_priority_loop.h). What the loop sends has arrived when an answer of its level says so: the primary
// skips it, and jumps where a cumulative value is ahead of it (2.3.1). Answers of lower levels move no
// window, begin no recovery and send nothing (2.1.1), and neither do the blocks of any answer: the primary
// hears of its own packets only, and counts them as out until an answer of its own level covers them.
// Completion goes by the cumulative value of either kind: nothing completes because it is selectively
// acknowledged. As a SenderWindow it is the primary; una() is that of both.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>

#include "irn_provider/transport/low_priority_loop.h"
#include "irn_provider/transport/sender_window.h"
#include "irn_provider/transport/tcp_sender.h"

namespace rocelab {

class TwoLoops final : public SenderWindow {
 public:
  TwoLoops(const IrnConfig& config, const Rc3Config& rc3, bool timers, UnwrappedPsn first);

  bool has_more(UnwrappedPsn limit) const override { return primary_.has_more(limit); }
  UnwrappedPsn peek(UnwrappedPsn limit) const override { return primary_.peek(limit); }
  NextPacket pull(UnwrappedPsn limit, Time now) override;
  void on_ack(UnwrappedPsn expected, Time now) override;
  void on_nack(UnwrappedPsn expected, std::optional<UnwrappedPsn> sack, Time now) override;
  void on_go_back(UnwrappedPsn expected, Time now) override;
  TimeoutKind on_timeout(Time now) override;
  Time next_timeout() const override { return primary_.next_timeout(); }
  bool take_window(std::int64_t packets) override { return primary_.take_window(packets); }
  bool in_recovery() const override { return primary_.in_recovery(); }

  // --- the primary, which hears of its own packets only: everything below acknowledged(), of which it has
  // sent covered(), and so many are out
  UnwrappedPsn acknowledged() const { return primary_.una(); }
  std::int64_t covered() const { return primary_.covered(); }
  std::int64_t own_out() const { return primary_.own_out(); }
  UnwrappedPsn sent_end() const {  // of either
    return loop_ ? std::max(next_, loop_->sent_end()) : next_;
  }

  // --- the loop
  // A message, or a part of one, which ends at or before reach_end(); in the order of PSNs.
  void add(UnwrappedPsn first, UnwrappedPsn end);
  UnwrappedPsn added_end() const { return added_end_; }  // one past the last PSN that was added
  // Number of the first work request that was not added whole: the owner's to keep.
  std::uint64_t& next_message() { return next_message_; }
  UnwrappedPsn reach_end() const { return arrived_.end(); }
  std::int64_t reach() const { return static_cast<std::int64_t>(arrived_.capacity()); }
  bool has_low() const { return loop_ && loop_->has_next(); }
  unsigned next_level() const { return loop_->next_level(); }  // precondition: has_low()
  LowPacket pull_low() { return loop_->pull(); }               // precondition: has_low()
  // The packet that pull() would give was sent by the loop, too, and nobody has said that it arrived.
  bool would_repeat(UnwrappedPsn limit) const { return loop_ && loop_->has_sent(peek(limit)); }
  // Of a lower level: una() <= expected <= sent_end(), expected < sack < sent_end().
  void on_low_answer(UnwrappedPsn expected, std::optional<UnwrappedPsn> sack, Time now);

  // Of any level: so many above the packet that is expected; parts beyond what is kept account of are left.
  void note_arrived(UnwrappedPsn from, UnwrappedPsn to, Time now);

 private:
  void hear(UnwrappedPsn expected);
  void follow();

  PsnBitmap arrived_;  // what answers of lower levels have said; head is una()
  TcpSender primary_;
  Rc3Config levels_;
  std::unique_ptr<LowPriorityLoop> loop_;  // since the first message: one end of most connections has none
  UnwrappedPsn added_end_ = 0;
  std::uint64_t next_message_ = 0;
};

}  // namespace rocelab
