// IrnReadRequester: IRN's side of a READ at the data sink: responses are numbered in the rPSN space, placed
// as they come, acknowledged one by one by READ_ACK or READ_NACK (with RC3 at the level of the response), and
// the READ is finished when everything up to its last response is there. Source: Mittal, 4.4.2 and 4.4.4; a
// response also proves that its request and all requests before it have arrived.
#pragma once

#include <cstdint>
#include <memory>

#include "base/ring.h"
#include "irn_provider/transport/answer_queue.h"
#include "irn_provider/transport/irn_receiver.h"
#include "irn_provider/transport/path_echo.h"
#include "irn_provider/transport/qp_context.h"
#include "irn_provider/transport/read_requester.h"

namespace rocelab {

class Requester;

class IrnReadRequester final : public ReadRequester {
 public:
  IrnReadRequester(QpContext& qp, Requester& requester) : qp_(qp), requester_(requester) {}

  void start(UnwrappedPsn first) override;
  void on_posted(SendEntry& read) override;
  void on_request_sent(SendEntry& read, Time now) override;
  void on_response(const Packet& packet, const OpcodeInfo& info, Time now) override;
  UnwrappedPsn ack_barrier() const override;
  void on_implied_nak(Time) override {}
  void on_progress() override {}
  void on_verbs_timeout() override;
  std::uint32_t outstanding() const override {
    return reads_ ? static_cast<std::uint32_t>(reads_->outstanding.size()) : 0;
  }
  void flush() override;
  bool has_ack() const override { return reads_ && !reads_->answers.empty(); }
  unsigned next_ack_level() const override { return reads_->answers.next_level(); }
  void pull_ack(Packet& packet, Time now) override;

 private:
  struct Answer {
    UnwrappedPsn expected = 0;
    UnwrappedPsn trigger = 0;  // the response that draws it; above expected: READ_NACK
    bool marked = false;       // which came with an ECN mark
  };

  struct Reads {
    Reads(const QpContext& qp, UnwrappedPsn first);
    IrnReceiver receiver;             // over rPSN
    UnwrappedPsn next_rpsn;           // first one of the next READ posted
    Ring<std::uint64_t> outstanding;  // numbers of the READs requested and not finished, oldest first
    AnswerQueue<Answer> answers;
    bool marked = false;  // the response in hand has an ECN mark
    PathEcho echo;        // beside answers of the primary's level
  };

  SendEntry* find(UnwrappedPsn rpsn);  // the outstanding READ that the response belongs to
  void answer(UnwrappedPsn rpsn, unsigned level);
  void push_answer(const Answer& answer, unsigned level);
  void finish_in_order(Time now);

  QpContext& qp_;
  Requester& requester_;
  UnwrappedPsn first_ = 0;
  std::unique_ptr<Reads> reads_;  // since the first READ was posted, which few queue pairs do
};

}  // namespace rocelab
