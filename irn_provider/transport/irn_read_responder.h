// IrnReadResponder: the read WQE buffer of an IRN responder and the responses that it sends.
// Source: Mittal, 4.4.2 (read (N)ACKs, timeouts at the responder), 4.4.3 (read_WQE_SN indexes the read WQE
// buffer, where a request that came out of order waits), 4.4.4 (rPSN: responses are numbered apart from
// requests), 4.2.2 (BDP-FC holds for responses too). A slot is taken from the request's arrival until its
// last response is acknowledged. The requester keeps at most max_dest_rd_atomic READs outstanding, so that
// request n says that n - max_dest_rd_atomic is complete there: lost READ_ACKs never fill the buffer. It has
// that many slots; more for a while when the number became smaller. An atomic is a READ of one packet
// (4.4.2): it is executed once, in its turn, and its slot keeps the answer for resends. A peer of which
// nothing has come for retry_cnt + 1 periods of the verbs timeout gets no more, until it asks again: by a
// READ_ACK, or a further READ (DEVIATIONS.md#irn). With RC3 responses of more than a packet are sent by its
// loop, too, as messages of a requester are.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "irn_provider/transport/payload.h"
#include "irn_provider/transport/qp_context.h"
#include "irn_provider/transport/sender_stream.h"

namespace rocelab {

class IrnReadResponder {
 public:
  explicit IrnReadResponder(QpContext& qp);

  // Sets the first rPSN; drops everything.
  void start(UnwrappedPsn first_rpsn);
  void refresh();                     // max_dest_rd_atomic may have changed
  void flush() { started_ = false; }  // no response leaves any more

  // --- the read WQE buffer
  std::int64_t next_sn() const { return next_; }  // of the request that is executed next
  // Whether request `sn` has a slot: not executed yet, less than the buffer's size ahead, and what held the
  // slot is done or implied to be done.
  bool fits(std::int64_t sn) const;
  void insert(std::int64_t sn, const RoceHeaders& request, Time now);  // precondition: fits(sn)
  // Everything before request next_sn() has arrived: its responses may leave. Returns false when it is not in
  // the buffer.
  bool execute_next(std::uint32_t msn);

  // --- READ_ACK, READ_NACK; untrusted
  void on_read_ack(const Packet& packet, const OpcodeInfo& info, Time now);

  // --- responses
  bool has_data() const { return sends() && (sender_.has_low() || sender_->has_more(send_limit())); }
  unsigned next_level() const { return sender_.next_level(send_limit()); }  // precondition: has_data()
  // What has been asked for is not acknowledged yet, and may still be.
  bool is_answering() const { return sends() && sender_->una() < limit_; }
  PayloadSource pull(Packet& packet, std::uint8_t syndrome, Time now);
  Time not_before() const { return sender_->not_before(); }  // precondition: has_data()
  void on_timeout(Time now);
  Time next_timeout() const { return sends() ? std::min(sender_->next_timeout(), guard_) : Time::never(); }

 private:
  struct Slot {
    std::int64_t sn = -1;  // -1: free
    std::uint64_t va = 0;
    RKey rkey;
    std::uint32_t length = 0;
    bool atomic = false;
    Operation operation = Operation::kReadRequest;
    std::uint64_t swap_or_add = 0, compare = 0;  // atomic
    std::uint64_t original = 0;                  // atomic, once it is executed
    std::uint32_t msn = 0;                       // of the READ itself
    UnwrappedPsn first = 0;                      // its responses, once it is executed: [first, end)
    UnwrappedPsn end = 0;
  };
  bool sends() const { return started_ && !gave_up_; }
  void begin();  // with the first request: most queue pairs get none, and what serves them is large
  Slot& slot(std::int64_t sn) { return slots_[static_cast<std::size_t>(sn) % slots_.size()]; }
  const Slot& slot(std::int64_t sn) const { return slots_[static_cast<std::size_t>(sn) % slots_.size()]; }
  const Slot& slot_of(UnwrappedPsn rpsn) const;
  // One past the last response that may leave for now: all that were asked for, inside the window of
  // congestion control.
  UnwrappedPsn send_limit() const {
    if (!qp_.cc || !qp_.cc->governs(CcStream::kResponses) || sender_->take_window(qp_.cc->window()))
      return limit_;
    return std::min(limit_, sender_->una() + std::max<std::int64_t>(1, qp_.cc->window()));
  }
  bool execute_atomic_of(Slot& s);
  bool hear(const Packet& packet, const OpcodeInfo& info, Time now);
  PayloadSource pull_low(Packet& packet, std::uint8_t syndrome);
  PayloadSource source_of(const Slot& s, UnwrappedPsn rpsn) const;
  void add_to_low();
  void build(Packet& packet, const Slot& s, UnwrappedPsn rpsn, std::uint8_t syndrome) const;
  void note_resent(const NextPacket& next, const Packet& packet, Time now);
  void note_answer_to_cc(std::int64_t covered_before, const Packet& answer, Time now);
  void note_losses_to_cc(CcLoss loss, Time now);
  void note_progress(UnwrappedPsn una_before, Time now);
  void go_on(Time now);
  void on_guard(Time now);
  void resend_by_guard(Time now);
  void count_timeout(Time now);

  QpContext& qp_;
  bool started_ = false;  // there are requests, and the QP is not in ERR
  bool gave_up_ = false;  // no response leaves until the peer is heard again
  std::vector<Slot> slots_;
  SenderStream sender_;                // over rPSN
  std::int64_t next_ = 0;              // read_WQE_SN to be executed next
  std::int64_t oldest_ = 0;            // oldest executed one with responses that are not acknowledged
  UnwrappedPsn limit_ = 0;             // one past the last rPSN of all executed requests
  std::uint32_t recoveries_seen_ = 0;  // of the sender: congestion control knows of them
  Time guard_ = Time::never();         // end of a period of the verbs timeout without progress
  std::uint32_t idle_periods_ = 0;
  UnwrappedPsn resent_by_guard_ = 0;  // resends below it were begun by the guard
};

}  // namespace rocelab
