// GbnReads: READ responses in RoCE. A READ takes as many PSNs as its response has packets and the responses
// carry them; one that is missing is noticed by a later response or ACK (implied NAK, IBTA Vol 1, 9.7.5.2.2)
// or by a timer, and the READ is requested again from there.
#pragma once

#include "base/ring.h"
#include "irn_provider/transport/qp_context.h"
#include "irn_provider/transport/read_requester.h"

namespace rocelab {

class Requester;

class GbnReads final : public ReadRequester {
 public:
  GbnReads(QpContext& qp, Requester& requester) : qp_(qp), requester_(requester) {}

  void start(UnwrappedPsn) override { flush(); }
  void on_posted(SendEntry& read) override;
  void on_request_sent(SendEntry& read, Time now) override;
  void on_response(const Packet& packet, const OpcodeInfo& info, Time now) override;
  UnwrappedPsn ack_barrier() const override;
  void on_implied_nak(Time now) override;
  void on_progress() override { implied_nak_followed_ = false; }
  std::uint32_t outstanding() const override { return static_cast<std::uint32_t>(requested_.size()); }
  void flush() override;
  bool has_ack() const override { return false; }
  void pull_ack(Packet&, Time) override { RL_CHECK(false); }

 private:
  bool well_formed(const SendEntry& read, const Packet& packet, const OpcodeInfo& info) const;
  SendEntry& oldest() const;

  QpContext& qp_;
  Requester& requester_;
  Ring<std::uint64_t> requested_;      // numbers of READs requested and not finished, oldest first
  bool implied_nak_followed_ = false;  // one per gap
};

}  // namespace rocelab
