// UdResponder: the receiving side of an unreliable datagram QP: each packet is a message. Source: IBTA Vol
// 1, 9.8.3 and 10.2.5 (Q_Key), 11.4.1.2 (the first 40 bytes of the receive buffer are the GRH; over IPv4,
// annex A17.4.5.3, its last 20 are the IP header). A datagram without a receive WQE is dropped; one that is
// longer than its receive WQE completes it with an error and ends the QP; to QP1 none longer than a MAD comes
// so far, or anybody could end it. PSNs are not looked at.
#pragma once

#include "irn_provider/transport/qp_context.h"
#include "irn_provider/transport/receive_queue.h"
#include "irn_provider/transport/responder.h"

namespace rocelab {

class UdResponder final : public Responder {
 public:
  UdResponder(QpContext& qp, ReceiveQueue& receive_queue) : qp_(qp), receive_queue_(receive_queue) {}

  void start(Time) override {}
  std::optional<UnwrappedPsn> expected_psn() const override { return std::nullopt; }
  // The edge has put the GRH's kGrhBytes in front of packet.payload, when there are bytes at all.
  void on_request(const Packet& packet, const OpcodeInfo& info, Time now) override;
  void on_read_ack(const Packet&, const OpcodeInfo&, Time) override {}
  void flush(Time) override {}
  bool has_ack() const override { return false; }
  void pull_ack(Packet&, Time) override { RL_CHECK(false); }
  bool has_data() const override { return false; }
  PayloadSource pull_data(Packet&, Time) override;
  void on_timeout(Time) override {}
  Time next_timeout() const override { return Time::never(); }

 private:
  QpContext& qp_;
  ReceiveQueue& receive_queue_;
};

}  // namespace rocelab
