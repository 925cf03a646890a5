// TraceSink: where the state machines report what happened, in the order in which it happened at one node.
// A sink is a mask and a function: kinds outside the mask cost one test. Hashing, event files and pictures
// are sinks of the live and virtual-time drivers; base/trace_hash.h holds the one that makes trace_hash.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "base/units.h"

namespace rocelab {

// The kinds of records, in the order of their numbers: X(enumerator, name, text). The enumeration, the names
// in run.sqlite and the table of docs/reference/metrics.md follow. `mark`, `port`, ... are fields of
// TraceRecord.
// clang-format off
#define ROCELAB_TRACE_KINDS(X)                                                                              \
  X(Deliver, deliver, "a node accepted a frame; `port`, `flow`, `psn`, `bytes`: frame, `mark`: ECN")        \
  X(Drop, drop, "a frame was dropped; `mark`: reason, of the component that dropped it")                    \
  X(Mark, mark, "ECN CE was set; `bytes`: queue length")                                                    \
  X(Xoff, xoff,                                                                                             \
    "the node asked its link peer on `port` to pause class `mark`; `bytes`: ingress occupancy")             \
  X(Xon, xon, "it allowed class `mark` again")                                                              \
  X(Paused, paused, "the node's transmission on `port` of class `mark` stopped")                            \
  X(Resumed, resumed, "it may go on")                                                                       \
  X(Complete, complete,                                                                                     \
    "a CQE was made; `flow`: QPN, `psn`: low 24 bits of wr_id, `bytes`: byte_len, `mark`: status")          \
  X(Placed, placed,                                                                                         \
    "responder or READ requester: all bytes of a message are in order in memory; `psn`: its last "          \
    "packet, `bytes`: length")                                                                              \
  X(Retransmit, retransmit, "a packet left again; `mark`: 0 by NAK or NACK, 1 by a timeout")                \
  X(Timeout, timeout,                                                                                       \
    "a retransmission timer fired; `mark`: 0 RTO_high or the verbs timeout, 1 RTO_low, 2 READ "             \
    "responder")                                                                                            \
  X(Duplicate, duplicate, "a data packet arrived that was here already: a spurious retransmission")         \
  X(Sample, sample, "periodic, of a flow or port; `psn`: class, `bytes`: queue length, or bytes so far")    \
  X(Posted, posted, "the first WQE of a message was posted; `flow`: QPN, `bytes`: length")                  \
  X(FairRate, fair_rate,                                                                                    \
    "RoCC: a congestion point's period; `mark`: class, `bytes`: fair rate in bit/s, `psn`: queue "          \
    "length in bytes, `flow`: CNPs sent. At a host that computes the rate `flow`: QPN, `psn`: queue "       \
    "in Delta^Q, `peer`: the point's address; the switch then says 0 `bytes`")                              \
  X(Storm, storm,                                                                                           \
    "PFC watchdog: class `mark` of this port has been paused for too long; `bytes`: queue length")          \
  X(Rtt, rtt,                                                                                               \
    "a segment's round trip; `flow`: QPN, `psn`: the segment's last packet, `bytes`: picoseconds "          \
    "without its serialisation")                                                                            \
  X(Loop, loop,                                                                                             \
    "Loop Breaker: the queue of class `mark` is a loop's master; `psn`: its links, `bytes`: queue "         \
    "length, `peer`: ingress port of the frames that wait for themselves")                                  \
  X(Culprit, culprit,                                                                                       \
    "CaPFC: the queue of class `mark` at `port` holds ingress port `peer` responsible (`flow` 1), or no "   \
    "longer (`flow` 0); `bytes`: queue length, `psn`: the port's contribution, in the unit of "             \
    "`capfc.count`")                                                                                        \
  X(Feedback, feedback,                                                                                     \
    "the switch sent feedback of class `mark` towards a flow's source, by way of port `peer`; `port`: "     \
    "where it saw congestion, `bytes`: frame")                                                              \
  X(Slack, slack,                                                                                           \
    "a NIC received data with slack; `bytes`: picoseconds that it could have waited longer, or with "       \
    "`mark` 1 that it waited too long; `port`: congestion points, `peer`: time waited in ns")               \
  X(Hop, hop,                                                                                               \
    "a delivery as it is kept: of every 16th PSN; at a switch `port`: ingress, `peer`: egress port")        \
  X(Carried, carried,                                                                                       \
    "periodic, of a switch port's link; `bytes`: wire bytes so far, `mark`: 0 sent, 1 received")            \
  X(Allowed, allowed,                                                                                       \
    "with `congestion_control.trace_rates`: congestion control lets a queue pair send at `bytes` bit/s, "   \
    "of wire bytes, from now on; `flow`: QPN (of a limiter that several share: of the first)")
// clang-format on

enum class TraceKind : std::uint8_t {
#define X(enumerator, name, text) k##enumerator,
  ROCELAB_TRACE_KINDS(X)
#undef X
      kCount
};

struct TraceKindInfo {
  std::string_view name, text;
};
inline constexpr std::array<TraceKindInfo, static_cast<std::size_t>(TraceKind::kCount)> kTraceKinds = {{
#define X(enumerator, name, text) {#name, text},
    ROCELAB_TRACE_KINDS(X)
#undef X
}};

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

// Event files keep the deliveries of these PSNs only, as kHop: enough to see where packets waited.
constexpr bool is_kept_hop(const TraceRecord& r) { return r.kind == TraceKind::kDeliver && r.psn % 16 == 0; }

// trace_hash covers every frame delivered, dropped, marked or paused on, every completion, and the slack with
// which frames arrive.
inline constexpr std::uint32_t kHashedKinds =
    TraceSink::bit(TraceKind::kDeliver) | TraceSink::bit(TraceKind::kDrop) |
    TraceSink::bit(TraceKind::kMark) | TraceSink::bit(TraceKind::kXoff) | TraceSink::bit(TraceKind::kXon) |
    TraceSink::bit(TraceKind::kPaused) | TraceSink::bit(TraceKind::kResumed) |
    TraceSink::bit(TraceKind::kComplete) | TraceSink::bit(TraceKind::kSlack);

}  // namespace rocelab
