// SenderStream: the packets that one side of a queue pair sends in one sequence space: requests (sPSN) or
// READ responses (rPSN). It is a SenderWindow and, with RC3 (two_loops.h), the low-priority loop that sends
// beside it: what either has sent, which of them is next, and what answers of all levels say. The owner
// builds the packets and keeps its work.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>

#include "irn_provider/transport/qp_context.h"
#include "irn_provider/transport/sender_window.h"
#include "irn_provider/transport/two_loops.h"

namespace rocelab {

class SenderStream {
 public:
  void use(std::unique_ptr<SenderWindow> window) {
    window_ = std::move(window);
    low_ = nullptr;
  }
  void use_irn(const QpContext& qp, UnwrappedPsn first);
  void reset() { use(nullptr); }

  explicit operator bool() const { return window_ != nullptr; }
  SenderWindow* operator->() const { return window_.get(); }
  SenderWindow& window() const { return *window_; }

  // The window's own account of its packets; with RC3 that of its primary.
  UnwrappedPsn acknowledged() const { return low_ != nullptr ? low_->acknowledged() : window_->una(); }
  std::int64_t covered() const { return low_ != nullptr ? low_->covered() : window_->una(); }
  std::int64_t own_out() const {
    return low_ != nullptr ? low_->own_out() : window_->next() - window_->una();
  }
  UnwrappedPsn sent_end() const { return low_ != nullptr ? low_->sent_end() : window_->next(); }

  // --- the loop, with RC3
  bool has_loop() const { return low_ != nullptr; }
  TwoLoops& loops() const { return *low_; }  // precondition: has_loop()
  bool has_low() const { return low_ != nullptr && low_->has_low(); }
  // Of the packet that leaves next; new ones of the window end at `limit`. Precondition: there is one.
  unsigned next_level(UnwrappedPsn limit) const {
    return low_ != nullptr && !window_->has_more(limit) ? low_->next_level() : 0;
  }
  // A message is the loop's to send. False: it reaches further than the two ends keep account of what has
  // arrived, and is to be offered again.
  bool add_to_low(UnwrappedPsn first, UnwrappedPsn end);
  // The loop's next packet as `build`, of its PSN, makes it, at its level.
  template <class Build>
  PayloadSource pull_low(const QpContext& qp, Packet& packet, Build&& build) {
    const LowPacket next = low_->pull_low();
    const PayloadSource source = build(next.psn);
    qp.mark_level(packet, next.level);
    packet.ecn = Ecn::kNotEct;  // no window would follow a mark
    ++qp.counters().rlp_packets;
    return source;
  }

  // --- (READ_)ACK_BLOCKS and answers of lower levels; untrusted
  // False: a block ends before it begins, or names what was never sent.
  bool blocks_are_good(const Packet& answer) const;
  void note_blocks(const Packet& answer, Time now);  // that are good
  // False, and nothing changes: it names what was never sent, and is counted.
  bool on_low_answer(const QpContext& qp, const Packet& answer, const OpcodeInfo& info, Time now);

 private:
  std::unique_ptr<SenderWindow> window_;  // null before it is used
  TwoLoops* low_ = nullptr;               // the same, with RC3
};

}  // namespace rocelab
