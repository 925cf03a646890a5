// QpContext: what the parts of one queue pair share: its attributes, the NIC's tables and counters, how
// packets begin and how work completes. A part that meets a fatal error says so by fail(); the queue pair
// then moves to ERR and flushes (IBTA Vol 1, 10.3.1 and 9.9.3).
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>

#include "base/packet.h"
#include "base/rng.h"
#include "base/trace.h"
#include "base/wire/opcode.h"
#include "irn_provider/cc/cc_flow.h"
#include "irn_provider/transport/async_events.h"
#include "irn_provider/transport/completion_queue.h"
#include "irn_provider/transport/counters.h"
#include "irn_provider/transport/handle_table.h"
#include "irn_provider/transport/memory_windows.h"
#include "irn_provider/transport/nic_config.h"
#include "irn_provider/transport/payload.h"
#include "irn_provider/transport/shared_receive_queue.h"
#include "irn_provider/transport/verbs_types.h"

namespace rocelab {

// Where datagrams go.
struct AddressHandle {
  Pdn pd;
  PathAddress path;
};

// What every QP of a NIC uses; owned by the NIC, outlives the QPs.
struct NicServices {
  const NicConfig& config;
  NicCounters& counters;
  MemoryRegions& regions;
  MemoryWindows& windows;
  HandleTable<AddressHandle>& address_handles;
  SrqTable& srqs;
  Memory& memory;
  TraceSink& trace;
  std::uint64_t& completions;  // CQEs made, over all CQs
  AsyncEvents& events;
  Rng rng{0};  // a QP's own stream is forked by its number, a shared limiter's by its host's
  std::unordered_map<std::uint32_t, std::weak_ptr<CcFlow>> limiters = {};  // shared ones, by host; looked up
};

enum class RetransmitCause : std::uint8_t { kNak = 0, kTimeout = 1 };  // TraceRecord.mark of kRetransmit
enum class TimeoutMark : std::uint8_t { kHigh = 0, kLow = 1, kReadResponder = 2 };  // of kTimeout

class QpContext {
 public:
  // `send`, `recv`: null where the QP's type has none.
  QpContext(NicServices& services, Qpn number, const QpInit& attributes, CompletionQueue* send,
            CompletionQueue* recv)
      : nic(services),
        qpn(number),
        init(attributes),
        send_cq(send),
        recv_cq(recv),
        transport_(transport_of(attributes.type, services.config.mode)) {}

  NicServices& nic;
  const Qpn qpn;
  const QpInit init;
  CompletionQueue* const send_cq;
  CompletionQueue* recv_cq;    // XRC target: of the SRQ that the message in hand names
  QpAttr attr;                 // attr.state is the current state
  std::shared_ptr<CcFlow> cc;  // congestion control, which QPs may share; null: none

  TransportClass transport() const { return transport_; }  // of all its packets
  void use_transport_of(TransportMode mode) { transport_ = transport_of(init.type, mode); }
  bool irn() const { return transport_ == TransportClass::kIrn; }
  bool reliable() const { return init.type != QpType::kUc && init.type != QpType::kUd; }
  // Without acknowledgements a rate is controlled by CNPs and switches' feedback alone.
  bool controlled() const {
    const CcNeeds& needs = nic.config.cc.needs();
    return reliable() || (init.type == QpType::kUc && (needs.cnps || needs.feedback || needs.queue_pauses));
  }
  NicCounters& counters() const { return nic.counters; }
  void count_stray() const { ++counters().rx_stray_answers; }  // an answer to what was never sent
  Duration verbs_timeout()
      const;  // one period of the local ACK timeout (IBTA 9.7.6.1.3); infinite when it is off
  MemoryView view() const { return view(init.pd); }
  MemoryView view(Pdn pd) const { return MemoryView{nic.regions, nic.memory, pd}; }
  // Where [va, va + length) of the region or window that a peer of this QP names by `key` is; null: refused
  // (MemoryRegions::translate, MemoryWindows::translate).
  std::optional<std::uint64_t> find_remote(RKey key, Pdn pd, std::uint64_t va, std::uint64_t length,
                                           std::uint32_t rights) const {
    const auto addr = nic.regions.translate(key, pd, va, length, rights);
    return addr ? addr : nic.windows.translate(key, pd, qpn, va, length, rights);
  }

  // --- packets. begin() sets what all packets of the QP share; finish() adds payload length, pad and frame
  // length.
  void connect(Time now);       // attr.path and attr.path_mtu were set: congestion control begins
  void path_changed(Time now);  // attr.path became another one meanwhile: congestion control begins anew
  void begin(Packet& packet, Operation operation, UnwrappedPsn psn) const;
  void finish(Packet& packet, std::uint32_t payload_length) const;
  void finish_datagram(Packet& packet, std::uint32_t payload_length, const PathAddress& path) const;
  void finish_ack(Packet& packet, std::uint8_t syndrome,
                  std::uint32_t msn) const;  // AETH; kind kAck, without ECT, of ack_tc()
  void begin_cnp(Packet& packet) const;      // a whole CNP: class and ECN are its own
  // What a message of `length` bytes occupies on the wire as packets of the path MTU without extension
  // headers.
  Bytes wire_bytes_of(std::uint32_t length) const;
  void mark_as_ack(Packet& packet) const { ack_mark_.put(packet); }    // DSCP and class of
  void mark_as_read(Packet& packet) const { read_mark_.put(packet); }  // nic.ack_dscp, nic.read_dscp
  Tc tc() const { return mark_.tc; }
  Tc ack_tc() const { return ack_mark_.tc; }
  Tc read_tc() const { return read_mark_.tc; }  // of READ requests and responses
  // RC3 (two_loops.h): a packet's level is told by its DSCP. Not of a QP that was connected with another DSCP
  // than the NIC's.
  bool rc3() const { return level_marks_ > 0 && irn(); }
  unsigned level_of(const Packet& packet) const {
    for (unsigned level = 1; level < level_marks_; ++level)
      if (packet.roce.dscp == nic.config.rc3.dscp[level]) return level;
    return 0;
  }
  Tc tc_of_level(unsigned level) const { return level_mark(level).tc; }
  Tc tc_of_ack_level(unsigned level) const { return level > 0 ? tc_of_level(level) : ack_tc(); }
  void mark_level(Packet& packet, unsigned level) const { level_mark(level).put(packet); }
  // Whether not all data of the QP is of tc(): datagrams go to addresses with a class of their own.
  bool data_class_varies() const { return varies_; }
  Tc class_of(const PathAddress& path) const { return mark_of(path).tc; }

  // --- completions
  enum class Queue : std::uint8_t { kSend, kRecv };
  // Into a CQ that is full: the CQE is lost, and the QP fails (IBTA Vol 1, 11.6.3.1: what prevents the report
  // of a completion is a catastrophic error of the work queue).
  void complete(Queue queue, Cqe cqe, Time now);
  bool take_completion_lost() { return std::exchange(completion_lost_, false); }

  // --- trace: a record with this QP's number as flow and the peer's as peer
  void trace(TraceKind kind, Time now, UnwrappedPsn psn, std::uint64_t bytes, std::uint8_t mark = 0) const;
  void trace_rtt(const RttSample& sample, Time now) const {
    trace(TraceKind::kRtt, now, sample.last, static_cast<std::uint64_t>(sample.rtt.ps()));
  }

  // --- fatal errors
  // kSend: of a send queue without a connection to lose (UC, UD), which then stops alone (IBTA 10.3.1, SQE).
  enum class Failure : std::uint8_t { kNone, kSend, kQp };
  void fail() { failure_ = Failure::kQp; }
  void fail_send() { failure_ = reliable() ? Failure::kQp : Failure::kSend; }
  bool failed() const { return failure_ != Failure::kNone; }
  Failure take_failure() { return std::exchange(failure_, Failure::kNone); }

 private:
  static TransportClass transport_of(QpType type, TransportMode mode);
  // The DSCP that a packet leaves with, and its class here.
  struct Mark {
    std::uint8_t dscp = 0;
    Tc tc;
    void put(Packet& packet) const {
      packet.roce.dscp = dscp;
      packet.tc = tc;
    }
  };
  Mark mark_of(std::uint8_t dscp) const { return {dscp, nic.config.class_map.of(dscp)}; }
  Mark mark_of(const PathAddress& path) const { return mark_of(nic.config.dscp_of(path.traffic_class)); }
  Mark level_mark(unsigned level) const { return mark_of(nic.config.rc3.dscp[level]); }
  void follow_path();
  void take_limiter(Time now);
  void finish(Packet& packet, std::uint32_t payload_length, std::uint32_t overhead) const;
  void put_cc_shim(Packet& packet) const;

  TransportClass transport_;
  Mark mark_, ack_mark_, read_mark_;
  bool varies_ = false;
  enum class CcShim : std::uint8_t { kNone, kRcp, kBfc };
  CcShim cc_shim_ = CcShim::kNone;  // that congestion control puts into data
  std::uint32_t overhead_ = 0;      // bytes of a frame around BTH, extension headers and payload
  std::uint8_t level_marks_ = 0;    // levels of RC3, if the QP has it
  Failure failure_ = Failure::kNone;
  bool completion_lost_ = false;
};

}  // namespace rocelab
