// Responder: the side of a QP that receives requests: executes them, answers, and sends READ responses.
// RoCE's is GbnResponder (gbn_responder.h), IRN's has a reordering window and a READ response space of its
// own. Answers are state that the NIC pulls; nothing is pushed out. Contract: packets come parsed, with a
// known opcode of the QP's class; everything else about them is untrusted. A fatal error queues its NAK,
// makes its CQE and calls QpContext::fail(). The queue pair calls flush() when it enters ERR; NAKs and ACKs
// already queued still leave.
#pragma once

#include <optional>

#include "base/packet.h"
#include "base/psn.h"
#include "base/wire/opcode.h"
#include "irn_provider/transport/payload.h"

namespace rocelab {

class Responder {
 public:
  virtual ~Responder() = default;

  virtual void start(Time now) = 0;  // INIT to RTR: numbers from attr.rq_psn; and RESET: nothing is left
  virtual void refresh() {}          // attributes changed meanwhile
  virtual std::optional<UnwrappedPsn> expected_psn()
      const = 0;  // after start(); null: of no type that has one
  virtual void on_request(const Packet& packet, const OpcodeInfo& info, Time now) = 0;
  virtual void on_read_ack(const Packet& packet, const OpcodeInfo& info,
                           Time now) = 0;  // Role::kReadAck, IRN only
  // ERR: no new answers; receive WQEs are the queue pair's. READ responses are dropped, and what would leave
  // behind them, unless that is a NAK of its own.
  virtual void flush(Time now) = 0;

  virtual bool has_ack() const = 0;
  virtual void pull_ack(Packet& packet, Time now) = 0;            // precondition: has_ack()
  virtual unsigned next_ack_level() const { return 0; }           // RC3: of that packet
  virtual bool has_data() const = 0;                              // READ responses
  virtual PayloadSource pull_data(Packet& packet, Time now) = 0;  // precondition: has_data()
  virtual unsigned next_data_level() const { return 0; }          // RC3: of that packet
  virtual Time not_before() const { return Time::zero(); }        // as SenderWindow

  virtual void on_timeout(Time now) = 0;
  virtual Time next_timeout() const = 0;
};

}  // namespace rocelab
