// Requester: the side of a QP that sends requests: work requests to packets, answers to completions. Source:
// IBTA Vol 1, 9.7.3 (segmentation), 9.7.5.1 and 9.9.2 (answers, retries, errors), 9.7.7.2 (end-to-end
// credits), 9.7.8 (RNR); AckReq as Linux rxe. It is the same for RoCE and IRN: which packet leaves next and
// when a loss timer fires is the SenderWindow's (go_back_n.h, irn_sender.h), what happens to READ responses
// the ReadRequester's. The requester keeps the WQEs, builds their packets, and decides when to give up.
//
// Two kinds of timers (docs/explanation/architecture.md): the scenario's, inside the window, recover and cost
// nothing; the verbs timeout, here, counts periods without progress against retry_cnt. Where the window has
// no timer of its own the verbs timeout also resends.
//
// With RC3 (two_loops.h) the window sends at several levels: requester_low.cc.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <span>

#include "irn_provider/transport/qp_context.h"
#include "irn_provider/transport/read_requester.h"
#include "irn_provider/transport/send_queue.h"
#include "irn_provider/transport/sender_stream.h"

namespace rocelab {

class Requester {
 public:
  explicit Requester(QpContext& qp);
  ~Requester();

  void start(Time now);  // RTR to RTS: numbers from attr.sq_psn
  PostResult post(const SendWqe& wqe, Time now);
  PostResult check(std::span<const SendWqe> wqes) const;  // of posting them all
  bool sends_by(Ahn ah) const;  // datagrams that have not left go by that address handle
  // First that has not left; null: before start(), after flush() and reset().
  std::optional<UnwrappedPsn> next_psn() const {
    return window_ ? std::optional(window_->next()) : std::nullopt;
  }
  // Something has begun and is not complete: SQD lets it end.
  bool draining() const { return !queue_.empty() && (queue_.front().started || queue_.front().continued); }
  void on_response(const Packet& packet, const OpcodeInfo& info, Time now);  // Role::kResponse
  void on_timeout(Time now);
  Time next_timeout() const {
    if (!window_) return Time::never();
    if (!rnr_until_.is_never()) return rnr_until_;  // the peer is alive: other timers stand still
    return std::min(window_->next_timeout(), verbs_deadline_);
  }
  void refresh(Time now);  // after a change of state: SQD holds back what has not begun
  void flush(Time now);    // ERR: everything completes with kWrFlushErr; READ_ACKs still leave
  void reset();            // RESET: everything is forgotten

  bool has_data() const { return sends() && (window_->has_more(limit_) || has_low()); }
  unsigned next_level() const { return window_.next_level(limit_); }  // RC3: of pull_data()'s packet
  PayloadSource pull_data(Packet& packet, Time now);                  // precondition: has_data()
  Time not_before() const { return window_->not_before(); }           // precondition: has_data()
  Tc next_class();  // of the packet that pull_data() would give; precondition: has_data()
  bool has_ack() const { return has_reads_ && reads_->has_ack(); }
  unsigned next_ack_level() const { return reads_->next_ack_level(); }  // precondition: has_ack()
  void pull_ack(Packet& packet, Time now) { reads_->pull_ack(packet, now); }

  // --- for the ReadRequester
  SendQueue& queue() { return queue_; }
  SenderWindow& window() { return window_.window(); }
  // Places one READ response; false: it failed and the QP is in error.
  bool place_response(SendEntry& read, std::uint64_t offset, const Packet& packet, Time now);
  bool place_original(SendEntry& atomic, const Packet& packet, Time now);  // the same for an atomic's
  void finish_read(SendEntry& read, Time now);        // all its data is placed: traces, completes in order
  void acknowledge(UnwrappedPsn expected, Time now);  // everything below has arrived; completes WQEs
  void go_back(UnwrappedPsn expected, Time now);      // request again from there
  void take_credits(const Packet& packet);            // of an AETH: end-to-end credits
  void count_stray() { qp_.count_stray(); }
  void note_progress(Time now);  // the peer moved on: retries and timers start anew
  // The WQE completes with `status`, unfinished ones before it are flushed, and the QP goes to ERR.
  void fail(SendEntry& entry, WcStatus status, Time now);

 private:
  static constexpr UnwrappedPsn kMaxOutstanding =
      (1 << 23) - 1;  // a PSN must be nearer than half the space (IBTA 9.7.1)

  // requester_local.cc
  PostResult check_local(const SendWqe& wqe) const;
  bool execute_local(SendEntry& entry, Time now);
  bool execute(const SendWqe& wqe) const;

  // requester_send.cc
  bool sends() const { return window_ && rnr_until_.is_never(); }
  bool keys_are_good(SendEntry& entry);
  bool may_start(SendEntry& entry, Time now);
  UnwrappedPsn credit_limit(
      const SendEntry& entry) const;  // one past the last PSN of the entry that credits allow
  void update_limit(Time now);
  [[gnu::always_inline]] inline void find_limit(Time now);
  PayloadSource build(Packet& packet, SendEntry& entry, UnwrappedPsn psn);
  PayloadSource build_read(Packet& packet, SendEntry& entry, UnwrappedPsn psn);
  PayloadSource address_datagram(Packet& packet, const SendEntry& entry) const;
  PayloadSource build_atomic(Packet& packet, SendEntry& entry, UnwrappedPsn psn);
  void note_started(SendEntry& entry);
  void note_sent(SendEntry& entry, const NextPacket& next, const Packet& packet, Time now);
  bool wants_ack(bool must);
  void note_sent_to_cc(SendEntry& entry, const NextPacket& next, const Packet& packet, Time now);

  // requester_low.cc
  bool has_low() const { return window_.has_low() && qp_.attr.state == QpState::kRts; }
  PayloadSource pull_low(Packet& packet, Time now);
  void add_to_low();
  [[gnu::always_inline]] inline void cover(UnwrappedPsn expected, Time now);
  void acknowledge_primary(UnwrappedPsn expected, Time now);
  void on_low_answer(const Packet& packet, const OpcodeInfo& info, Time now);

  // requester.cc
  void note_answer_to_cc(std::int64_t covered_before, const Packet& answer, Time now);
  void note_losses_to_cc(CcLoss loss, Time now);
  void on_ack(const Packet& packet, Time now);
  void on_nack(const Packet& packet, Time now);  // IRN's, with the PSN that triggered it
  void on_ack_blocks(const Packet& packet, Time now);
  void on_nak(const Packet& packet, Time now);  // sequence, RNR or fatal
  void on_rnr_nak(std::uint8_t syndrome, UnwrappedPsn expected, Time now);
  void on_fatal_nak(std::uint8_t syndrome, UnwrappedPsn expected, Time now);
  std::int64_t without_receive_wqe_behind(std::int64_t msn) const;
  PostResult check(const SendWqe& wqe) const;
  PostResult check_class(const SendWqe& wqe, std::uint64_t length) const;
  std::int64_t packets_of(std::uint64_t length) const;
  void push(const SendWqe& wqe, std::uint32_t length);
  std::uint32_t read_piece(std::uint64_t length) const;
  void push_in_pieces(const SendWqe& read, std::uint32_t length, std::uint32_t piece);
  void end_work();
  void on_verbs_timeout(Time now);
  void complete_in_order(Time now);
  void complete(const SendEntry& entry, WcStatus status, Time now);
  void arm_verbs_timer(Time now);
  bool waits_for_peer() const { return window_->una() < window_->next() || reads_->outstanding() > 0; }

  QpContext& qp_;
  SendQueue queue_;
  SenderStream window_;  // none before RTS
  std::unique_ptr<ReadRequester> reads_;
  bool window_has_timer_ = false;
  bool has_reads_ = false;  // a READ has been posted since start()

  UnwrappedPsn limit_ = 0;           // new packets below it may leave now
  std::uint64_t fresh_ = 0;          // number of the WQE whose packet is the first never sent
  std::uint32_t since_ack_req_ = 0;  // packets since the last AckReq
  std::uint32_t receive_wqe_sn_ = 0, read_wqe_sn_ = 0;  // of the next WQE posted

  // End-to-end credits. A WQE's send sequence number is its entry number + 1, but that local operations are
  // not counted; the limit is the last one that the responder has room for.
  std::int64_t local_done_ = 0;  // local operations executed
  bool credits_known_ = false;
  bool peer_shares_ = false;       // its receive WQEs are of an SRQ: it has said that it gives no credits
  std::int64_t credit_limit_ = 0;  // LSN, IBTA 9.7.7.2.5

  std::uint32_t recoveries_seen_ = 0;  // of the window: congestion control knows of them

  std::uint8_t retries_left_ = 0, rnr_retries_left_ = 0;
  Time verbs_deadline_ = Time::never();
  Time rnr_until_ = Time::never();      // waits after an RNR NAK; never: does not wait
  UnwrappedPsn resent_by_timeout_ = 0;  // resends below it were begun by the verbs timeout
};

}  // namespace rocelab
