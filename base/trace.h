// TraceSink: where the state machines report what happened, in the order in which it happened at one node.
// A sink is a mask and a function: kinds outside the mask cost one test. Hashing, event files and pictures
// are sinks of the live and virtual-time drivers; base/trace_hash.h holds the one that makes trace_hash.
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/units.h"

namespace rocelab {

enum class TraceKind : std::uint8_t {
  kDeliver = 0,  // a frame was accepted by this node; port, flow, psn, bytes = frame, mark = ECN
  kDrop = 1,     // a frame was dropped; mark = DropReason of the dropping component
  kMark = 2,     // ECN CE set; bytes = queue length
  kXoff = 3,     // this node asked its link peer on `port` to pause class `mark`; bytes = ingress occupancy
  kXon = 4,
  kPaused = 5,  // this node's transmission on `port` of class `mark` stopped; kResumed: may go on
  kResumed = 6,
  kComplete = 7,  // a CQE was made; flow = QPN, psn = low 24 bits of wr_id, bytes = byte_len, mark = status
  kPlaced = 8,  // responder or READ requester: all bytes of a message are in order in memory; psn = its last
                // packet, bytes = length
  kRetransmit = 9,  // a packet left again; mark = RetransmitCause
  kTimeout = 10,  // a retransmission timer fired; mark = 0 RTO_high or attribute, 1 RTO_low, 2 read responder
  kDuplicate = 11,  // a data packet arrived that was already here (the sender's retransmission was spurious)
  kSample =
      12,  // periodic: flow or port, psn = class, bytes = queue length or bytes so far (see the sampler)
  kPosted = 13,    // first packet-bearing WQE of a message posted; flow = QPN, bytes = length
  kFairRate = 14,  // RoCC: a congestion point's period; mark = class, bytes = fair rate in bit/s, psn = queue
                   // length in bytes, flow = CNPs sent. At a host that computes it (3.3.6): flow = QPN, psn =
                   // queue in Delta^Q, peer = the point's address; the switch then says 0 bytes
  kStorm = 15,  // PFC watchdog: class `mark` of this port has been paused for too long; bytes = queue length
  kRtt = 16,    // a segment's round trip; flow = QPN, psn = the segment's last packet, bytes = picoseconds
                // without its serialisation (irn_provider/cc/segment_clock.h)
  kLoop = 17,   // Loop Breaker: the queue of class `mark` is a loop's master; psn = its links,
                // bytes = queue length, peer = ingress port of the frames that wait for themselves
  kCount = 18,
};

// Flat and without padding: hashed and written as it stands (little-endian machines only, which the build
// checks).
struct TraceRecord {
  Time time;
  TraceKind kind = TraceKind::kDeliver;
  std::uint8_t mark = 0;
  std::uint16_t port = 0;
  std::uint32_t flow = 0;
  std::uint64_t bytes = 0;
  std::uint32_t psn = 0;
  std::uint32_t peer = 0;  // drivers' own use: remote QPN or ingress port
};
static_assert(sizeof(TraceRecord) == 32 && std::is_trivially_copyable_v<TraceRecord>);

class TraceSink {
 public:
  static constexpr std::uint32_t bit(TraceKind kind) { return 1u << static_cast<unsigned>(kind); }
  explicit TraceSink(std::uint32_t mask) : mask_(mask) {}
  virtual ~TraceSink() = default;
  bool wants(TraceKind kind) const { return (mask_ & bit(kind)) != 0; }
  void record(const TraceRecord& r) {
    if (wants(r.kind)) on_record(r);
  }

 protected:
  virtual void on_record(const TraceRecord& r) = 0;

 private:
  std::uint32_t mask_;
};

// For drivers and tests that want no trace.
class NullTrace final : public TraceSink {
 public:
  NullTrace() : TraceSink(0) {}

 private:
  void on_record(const TraceRecord&) override {}
};

// What goes into trace_hash: every frame delivered, dropped, marked or paused on, and every completion.
inline constexpr std::uint32_t kHashedKinds =
    TraceSink::bit(TraceKind::kDeliver) | TraceSink::bit(TraceKind::kDrop) |
    TraceSink::bit(TraceKind::kMark) | TraceSink::bit(TraceKind::kXoff) | TraceSink::bit(TraceKind::kXon) |
    TraceSink::bit(TraceKind::kPaused) | TraceSink::bit(TraceKind::kResumed) |
    TraceSink::bit(TraceKind::kComplete);

}  // namespace rocelab
