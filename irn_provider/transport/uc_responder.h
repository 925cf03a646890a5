// UcResponder: the receiving side of an unreliable connection: messages whose packets all come, in order, are
// executed; of all others nothing is heard again. Source: IBTA Vol 1, 9.8.2.2 (a packet out of sequence ends
// the message in progress; the next first or only packet begins anew, whatever its PSN), 9.9.3.1.4 (what
// would draw a NAK in RC is dropped). A message that finds no receive WQE, or whose address is not allowed,
// is dropped; one that is longer than its receive WQE completes it with an error and ends the QP. Each is
// counted by what was wrong.
#pragma once

#include "irn_provider/transport/qp_context.h"
#include "irn_provider/transport/receive_queue.h"
#include "irn_provider/transport/receive_wqe.h"
#include "irn_provider/transport/responder.h"

namespace rocelab {

class UcResponder final : public Responder {
 public:
  UcResponder(QpContext& qp, ReceiveQueue& receive_queue) : qp_(qp), receive_queue_(receive_queue) {}

  void start(Time now) override;
  std::optional<UnwrappedPsn> expected_psn() const override { return expected_; }
  void on_request(const Packet& packet, const OpcodeInfo& info, Time now) override;
  void on_read_ack(const Packet&, const OpcodeInfo&, Time) override {}
  void flush(Time) override { message_ = Message::kNone; }
  bool has_ack() const override { return false; }
  void pull_ack(Packet&, Time) override { RL_CHECK(false); }
  bool has_data() const override { return false; }
  PayloadSource pull_data(Packet&, Time) override;
  void on_timeout(Time) override {}
  Time next_timeout() const override { return Time::never(); }

 private:
  enum class Message : std::uint8_t { kNone, kSend, kWrite };

  bool begin(const Packet& packet, const OpcodeInfo& info);
  bool place(const Packet& packet, Time now);
  void end(const Packet& packet, const OpcodeInfo& info, Time now);
  void drop(RefusalCounter why);

  QpContext& qp_;
  ReceiveQueue& receive_queue_;
  UnwrappedPsn expected_ = 0;
  // The message in progress; none: packets are dropped until one begins.
  Message message_ = Message::kNone;
  std::uint32_t received_ = 0;  // bytes so far
  std::uint64_t va_ = 0;        // WRITE: from the RETH
  std::uint32_t dma_length_ = 0;
  RKey rkey_;
};

}  // namespace rocelab
