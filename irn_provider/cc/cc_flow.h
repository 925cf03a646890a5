// CcFlow: congestion control of one queue pair: the algorithm that the NIC's configuration names, the pacer
// that turns its rate into departure times, and the RTTs of its segments. The transport owns one per QP (none
// at all when congestion control is off) and reports what it sends and what comes back. No I/O, no clock.
#pragma once

#include <memory>
#include <optional>

#include "base/psn.h"
#include "irn_provider/cc/cc_config.h"
#include "irn_provider/cc/cc_needs.h"
#include "irn_provider/cc/congestion_control.h"
#include "irn_provider/cc/heard_rates.h"
#include "irn_provider/cc/pacer.h"
#include "irn_provider/cc/segment_clock.h"

namespace rocelab {

// What a QP sends: requests with their data, and READ responses. They share one rate, and each its own
// window.
enum class CcStream : std::uint8_t { kRequests, kResponses };

struct CcPacket {
  UnwrappedPsn psn = 0;
  Bytes frame;                // Ethernet header to ICRC
  std::uint32_t payload = 0;  // bytes
  bool ends_message = false;
  bool retransmission = false;
};

// When a READ was requested, for its RTT.
struct CcReadMark {
  Time sent_at;
  Bytes wire, total_before;
  bool clean = false;
};

class CcFlow {
 public:
  // `hear`: of each rate, where config.trace_rates. Precondition: config.in_use().
  CcFlow(const CcConfig& config, const CcContext& context, HeardRates::Hear hear = {});

  void seed(const Rng& rng) { algorithm_->seed(rng); }  // before start()
  void start(Time now);  // the QP has been connected, or has another path: it may have READs under way

  // False: packets of this stream are neither paced nor windowed here.
  bool governs(CcStream stream) const { return stream == CcStream::kRequests || !reads_at_requester(); }
  // READs are governed where they are requested: requests are paced by the bytes that they ask for (3.4).
  bool reads_at_requester() const { return needs_.paces_reads; }
  // READs are requested in pieces of at most so many bytes; 0: whole.
  std::uint32_t read_segment() const { return reads_at_requester() ? burst_.payload : 0; }

  // --- departures
  // The earliest departure of the next data packet. After `now`: held back until then, ask again at
  // wake_at().
  Time not_before(Time now) { return pacer_.not_before(algorithm_->rate(now), now); }
  Time wake_at(Time not_before) const {
    return needs_.lazy_rate ? not_before : std::min(not_before, algorithm_->next_change());
  }
  // The flow's queue is paused, or no longer: nothing leaves meanwhile. Where kNeeds.queue_pauses.
  void hold(bool on, Time now) { pacer_.hold(on, algorithm_->rate(now)); }
  // Packets in flight that a stream may have.
  std::int64_t window() const { return algorithm_->window(); }
  // Whether a data packet with this payload would end a segment whose RTT is taken: RoCE asks for an ACK
  // there.
  bool ends_timed_segment(std::uint32_t payload, bool ends_message) const {
    return takes_rtts() && timed_.ends(payload, ends_message, path_mtu_);
  }

  // --- events
  void on_sent(CcStream stream, const CcPacket& packet, Time now);
  // A READ request has left that asks for `wire` bytes on the responder's wire.
  CcReadMark on_read_requested(Bytes frame, Bytes wire, bool retransmission, Time now);
  // The READ's RTT, of which the algorithm knows; null: none was taken. `last`: PSN of its last response.
  std::optional<RttSample> on_read_done(const CcReadMark& mark, UnwrappedPsn last, Time now);
  void on_ack(CcStream stream, const CcAck& ack, Time now);
  // After on_ack() of the request stream: the RTT of the next segment that is complete up to `una`, of which
  // the algorithm knows; null: no more.
  std::optional<RttSample> next_rtt(UnwrappedPsn una, Time now);
  void on_loss(CcLoss loss, Time now) { algorithm_->on_loss(loss, now); }
  void on_cnp(Time now) { algorithm_->on_cnp(now); }
  FeedbackResult on_feedback(const Packet& feedback, Time now) {
    return algorithm_->on_feedback(feedback, now);
  }

  RcpHeader path_request() const { return algorithm_->path_request(); }

  const CongestionControl& algorithm() const { return *algorithm_; }
  Rate rate(Time now) { return algorithm_->rate(now); }

 private:
  // Where a stream of packets is cut into segments of at most `payload` bytes, and at the ends of messages.
  struct Segments {
    std::uint32_t payload = 0;  // bytes; 0: each packet is one
    std::uint32_t sent = 0;     // of the present one

    bool ends(std::uint32_t next, bool ends_message, std::uint32_t path_mtu) const {
      return ends_message || sent + next + path_mtu > payload;
    }
    void add(std::uint32_t next, bool ends) { sent = ends ? 0 : sent + next; }
  };

  bool takes_rtts() const { return timed_.payload > 0; }
  Segments segments_of(Bytes size) const;

  CcNeeds needs_;
  Rate line_;
  std::unique_ptr<CongestionControl> algorithm_;
  Pacer pacer_;
  SegmentClock clock_;  // of the request stream
  Bytes total_;         // wire bytes that counted against the rate
  std::uint32_t path_mtu_;
  Rate burst_rate_;  // at most line_
  Bytes burst_size_, timed_size_;
  Segments burst_;  // paced as one
  Segments timed_;  // timed as one; no payload: no RTT is taken
};

}  // namespace rocelab
