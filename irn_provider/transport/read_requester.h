// ReadRequester: what the requester does with READ responses: detect loss in them, place them, acknowledge
// them (IRN) and finish the READ. RoCE's is GbnReads (gbn_reads.h); IRN's numbers responses in the rPSN space
// and sends READ_ACK and READ_NACK (Mittal, 4.4.2, 4.4.4). An implementation works on its Requester's
// entries and reports back to it: place_response(), finish_read(), acknowledge(), go_back(), fail().
#pragma once

#include "base/packet.h"
#include "base/wire/opcode.h"
#include "irn_provider/transport/send_queue.h"

namespace rocelab {

class ReadRequester {
 public:
  virtual ~ReadRequester() = default;

  virtual void start(UnwrappedPsn first) = 0;                   // the QP enters RTS with this first PSN
  virtual void on_posted(SendEntry& read) = 0;                  // numbers its responses
  virtual void on_request_sent(SendEntry& read, Time now) = 0;  // for the first time
  virtual void on_response(const Packet& packet, const OpcodeInfo& info, Time now) = 0;
  // No PSN from here on may count as acknowledged by an ACK (RoCE: the READ response that is missing); a
  // large number when there is none.
  virtual UnwrappedPsn ack_barrier() const = 0;
  // An ACK for a PSN beyond the barrier came: a READ response was lost (IBTA Vol 1, 9.7.5.2.2 implied NAK).
  virtual void on_implied_nak(Time now) = 0;
  virtual void on_progress() = 0;     // cumulative progress or a resend: an implied NAK may be followed again
  virtual void on_verbs_timeout() {}  // a period without progress: the peer may have to be asked again
  virtual std::uint32_t outstanding() const = 0;  // READs requested and not finished
  virtual void flush() = 0;

  virtual bool has_ack() const = 0;                      // READ_ACK or READ_NACK to be sent (IRN)
  virtual unsigned next_ack_level() const { return 0; }  // RC3: of that packet
  virtual void pull_ack(Packet& packet, Time now) = 0;
};

}  // namespace rocelab
