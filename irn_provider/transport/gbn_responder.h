// GbnResponder: RoCE's responder. It executes requests strictly in PSN order and drops what comes early.
// Source: IBTA Vol 1, 9.7.4.1 (checks and their order), 9.7.5.1 (answers), 9.7.5.2.8 (RNR); where the
// specification leaves room it does as Linux rxe: one NAK for a sequence error until the expected packet
// comes, one ACK per AckReq, an ACK for each duplicate, no credits (syndrome 0x1f). XRC targets are such
// responders, too (xrc_target.h).
#pragma once

#include <optional>

#include "base/ring.h"
#include "irn_provider/transport/path_echo.h"
#include "irn_provider/transport/qp_context.h"
#include "irn_provider/transport/receive_queue.h"
#include "irn_provider/transport/responder.h"

namespace rocelab {

class GbnResponder final : public Responder {
 public:
  GbnResponder(QpContext& qp, ReceiveQueue& receive_queue)
      : qp_(qp), receive_queue_(receive_queue), echo_(qp.nic.config.cc.needs()) {}

  void start(Time now) override;
  std::optional<UnwrappedPsn> expected_psn() const override { return expected_; }
  void on_request(const Packet& packet, const OpcodeInfo& info, Time now) override;
  void on_read_ack(const Packet&, const OpcodeInfo&, Time) override {}  // no such packets in RoCE
  void flush(Time now) override;

  bool has_ack() const override { return !answers_.empty() && !answers_.front().read; }  // atomics' too
  void pull_ack(Packet& packet, Time now) override;
  bool has_data() const override { return !answers_.empty() && answers_.front().read; }
  PayloadSource pull_data(Packet& packet, Time now) override;

  void on_timeout(Time) override {}
  Time next_timeout() const override { return Time::never(); }

 private:
  // An ACK, NAK or atomic acknowledgement, or a READ response of which packets [next, end) are still to be
  // sent. They leave in this order: an ACK that overtook a READ response would tell the requester that the
  // response was lost.
  struct Answer {
    bool read = false, atomic = false;
    std::uint8_t syndrome = 0;
    std::uint32_t msn = 0;
    UnwrappedPsn next = 0;  // ACK, atomic: the PSN that it carries
    UnwrappedPsn start = 0, end = 0;
    std::uint64_t va = 0;  // atomic: what was in memory before
    std::uint32_t left = 0;
    RKey rkey;
    Pdn pd{};
    bool repeated = false;  // the requester had its answer once, or will have: it does not count it any more
  };
  enum class Message : std::uint8_t { kNone, kSend, kWrite };
  using Refusal = std::optional<std::uint8_t>;  // AETH syndrome of the NAK; null: accepted
  static constexpr std::size_t kMaxAnswers = 4096;

  void on_gap();
  void on_duplicate(const Packet& packet, const OpcodeInfo& info, UnwrappedPsn psn, Time now);
  bool may_acknowledge_all(UnwrappedPsn psn) const;
  void repeat_read(const Packet& packet, UnwrappedPsn psn);
  std::size_t find_read(UnwrappedPsn psn) const;
  bool earlier_behind(std::size_t place) const;
  void take_out(std::size_t place);
  void repeat_atomic(UnwrappedPsn psn);
  bool turn_to_srq(const Packet& packet);
  Refusal execute(const Packet& packet, const OpcodeInfo& info, Time now);
  bool in_sequence(const OpcodeInfo& info) const;
  bool length_fits(const Packet& packet, const OpcodeInfo& info) const;
  Refusal on_send(const Packet& packet, const OpcodeInfo& info, Time now);
  Refusal on_write(const Packet& packet, const OpcodeInfo& info, Time now);
  Refusal on_read(const Packet& packet);
  Refusal on_atomic(const Packet& packet, const OpcodeInfo& info);
  void answer_atomic(UnwrappedPsn psn, std::uint32_t msn, std::uint64_t original, bool repeated);
  bool has_room() const { return reads_pending_ < qp_.attr.max_dest_rd_atomic; }
  bool has_room_to_repeat() const { return repeats_pending_ < qp_.attr.max_dest_rd_atomic; }
  void count(const Answer& a, int by) { (a.repeated ? repeats_pending_ : reads_pending_) += by; }
  Refusal no_receive_wqe();
  void end_message(const Packet& packet, const OpcodeInfo& info, std::uint32_t length, Time now);
  void answer(std::uint8_t syndrome, UnwrappedPsn psn);
  std::int64_t read_packets(std::uint32_t length) const;

  QpContext& qp_;
  ReceiveQueue& receive_queue_;
  Ring<Answer> answers_;
  PathEcho echo_;  // of the ACKs and NAKs among them; READs and atomics have no payload to be stamped
  // READs and atomics among them, for the first time and again. A peer that was answered late asks again,
  // takes the answers and goes on: only the first may count against what it may have outstanding.
  std::uint32_t reads_pending_ = 0, repeats_pending_ = 0;
  // The last max_dest_rd_atomic atomics, for those that are asked for again: they must not be executed twice
  // (IBTA 9.4.5, 9.7.4.1.2).
  struct AtomicResult {
    UnwrappedPsn psn = 0;
    std::uint32_t msn = 0;
    std::uint64_t original = 0;
  };
  Ring<AtomicResult> atomics_;
  UnwrappedPsn expected_ = 0;
  UnwrappedPsn last_fetched_ = 0;    // last PSN of the latest READ or atomic executed
  UnwrappedPsn responses_sent_ = 0;  // one past the highest READ response that ever left
  std::uint32_t msn_ = 0;
  bool refused_ = false;   // the last answer is a fatal NAK; what was asked before it is still answered
  bool nak_sent_ = false;  // for the packet now expected: further ones that are early are dropped silently
  Pdn pd_ = qp_.init.pd;   // of the regions that a request may name
  // The message in progress.
  Message message_ = Message::kNone;
  std::uint32_t received_ = 0;  // bytes so far
  std::uint64_t va_ = 0;        // WRITE: from the RETH
  std::uint32_t dma_length_ = 0;
  RKey rkey_;
};

}  // namespace rocelab
