#include "irn_provider/transport/qp_context.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "base/wire/roce_packet.h"
#include "base/wire/shim_bfc.h"
#include "base/wire/shim_rcp.h"
#include "irn_provider/cc/cc_limiter.h"

namespace rocelab {
namespace {

constexpr std::uint32_t kEthernetBytes = 14, kIpv4Bytes = 20, kIpv6Bytes = 40, kUdpBytes = 8, kIcrcBytes = 4;

std::uint32_t overhead_of(const PathAddress& path) {
  return kEthernetBytes + (path.is_ipv4() ? kIpv4Bytes : kIpv6Bytes) + kUdpBytes + kIcrcBytes;
}

}  // namespace

TransportClass QpContext::transport_of(QpType type, TransportMode mode) {
  if (type == QpType::kUc) return TransportClass::kUc;
  if (type == QpType::kUd) return TransportClass::kUd;
  if (type == QpType::kXrcIni || type == QpType::kXrcTgt) return TransportClass::kXrc;
  return mode == TransportMode::kIrn ? TransportClass::kIrn : TransportClass::kRc;
}

Duration QpContext::verbs_timeout() const {
  constexpr Duration kUnit = 4'096_ns;
  return attr.timeout == 0 ? Duration::infinite() : kUnit * (std::int64_t{1} << (attr.timeout & 0x1f));
}

void QpContext::follow_path() {
  overhead_ = overhead_of(attr.path);
  const auto chosen = [&](std::uint8_t dscp) {
    return dscp == NicConfig::kOfQueuePair ? mark_ : mark_of(dscp);
  };
  mark_ = mark_of(attr.path);
  ack_mark_ = chosen(nic.config.ack_dscp);
  read_mark_ = chosen(nic.config.read_dscp);
  varies_ = init.type == QpType::kUd || read_mark_.tc != mark_.tc || rc3();
}

void QpContext::connect(Time now) {
  const bool plain = init.type == QpType::kRc && mark_of(attr.path).dscp == nic.config.roce_dscp;
  level_marks_ = plain && !attr.without_rc3 ? nic.config.rc3.levels : std::uint8_t{0};
  follow_path();
  if (nic.config.cc.in_use() && controlled()) take_limiter(now);
  const CcNeeds& needs = nic.config.cc.needs();
  cc_shim_ = cc && needs.path_rate ? CcShim::kRcp : cc && needs.queue_pauses ? CcShim::kBfc : CcShim::kNone;
}

// A new one, or that which other QPs to the host have: of a shared one the first QP sets MTU and start.
void QpContext::take_limiter(Time now) {
  const NicConfig& config = nic.config;
  const bool shared = shares_limiter(config.cc);
  const std::uint32_t host = attr.path.dst_node.value;
  cc.reset();
  if (shared && (cc = nic.limiters[host].lock())) return;
  CcConfig own = config.cc;
  if (!reliable()) own.rtt_segment = {};  // of what nobody acknowledges there are no RTTs
  // Not by this context: a shared limiter may outlive the QP.
  const auto hear = [&nic = nic, flow = qpn.value](Rate rate, Time at) {
    if (!nic.trace.wants(TraceKind::kAllowed)) return;
    TraceRecord record;
    record.time = at;
    record.kind = TraceKind::kAllowed;
    record.flow = flow;
    record.bytes = static_cast<std::uint64_t>(rate.bps());
    nic.trace.record(record);
  };
  const CcContext context{config.link_rate, attr.path_mtu, irn() ? config.irn.bdp_cap : 0};
  cc = std::make_shared<CcFlow>(own, context, hear);
  cc->seed(shared ? nic.rng.fork("hosts").fork(std::to_string(host))
                  : nic.rng.fork(std::to_string(qpn.value)));
  cc->start(now);
  if (shared) nic.limiters[host] = cc;
}

// What was learned belongs to the path that was.
void QpContext::path_changed(Time now) {
  follow_path();
  if (!cc) return;
  if (shares_limiter(nic.config.cc)) return take_limiter(now);
  cc->start(now);
}

void QpContext::begin(Packet& packet, Operation operation, UnwrappedPsn psn) const {
  packet.kind = PacketKind::kData;
  packet.flow = qpn.value;
  mark_.put(packet);
  packet.ecn = nic.config.ecn_capable ? Ecn::kEct0 : Ecn::kNotEct;
  packet.dst = attr.path.dst_node;
  packet.roce.opcode = make_opcode(transport_, operation);
  packet.roce.dest = attr.dest_qpn;
  packet.roce.psn = wrap(psn);
}

void QpContext::finish(Packet& packet, std::uint32_t payload_length) const {
  finish(packet, payload_length, overhead_);
}

void QpContext::finish_datagram(Packet& packet, std::uint32_t payload_length, const PathAddress& path) const {
  packet.dst = path.dst_node;
  mark_of(path).put(packet);
  finish(packet, payload_length, overhead_of(path));
}

void QpContext::finish(Packet& packet, std::uint32_t payload_length, std::uint32_t overhead) const {
  packet.payload_length = payload_length;
  packet.roce.pad = pad_bytes(payload_length);
  const std::uint32_t frame =
      overhead + opcode_info(packet.roce.opcode).header_bytes + payload_length + packet.roce.pad;
  packet.frame_length = std::max(frame, static_cast<std::uint32_t>(kMinFrameBytes.count()));
  if (const SlackConfig& slack = nic.config.slack; slack.on()) [[unlikely]] {
    PacketPool::put_slack(packet, {});  // written when it leaves; what paces it counts it
    if (slack.switches > 0) PacketPool::put_hop_times(packet, HopTimes::room_for(slack.switches));
    packet.frame_length += slack.shim_bytes();
  }
  if (cc_shim_ != CcShim::kNone) [[unlikely]]
    put_cc_shim(packet);
}

void QpContext::put_cc_shim(Packet& packet) const {
  if (cc_shim_ == CcShim::kRcp && packet.payload_length > 0) {
    put_rcp(packet, cc->path_request());
    packet.frame_length += kRcpShimBytes;
  }
  if (cc_shim_ == CcShim::kBfc && packet.kind == PacketKind::kData) {
    put_bfc_queue(packet, bfc_queue_of(qpn));
    packet.frame_length += kBfcShimBytes;
  }
}

void QpContext::finish_ack(Packet& packet, std::uint8_t syndrome, std::uint32_t msn) const {
  packet.kind = PacketKind::kAck;
  packet.ecn = Ecn::kNotEct;
  mark_as_ack(packet);
  packet.roce.syndrome = syndrome;
  packet.roce.msn = Msn{msn & Psn::kMask};
  finish(packet, 0);
}

// IBTA annex A17.9: to the QP that sends the marked packets, BECN set, ahead of data in a class of its own.
void QpContext::begin_cnp(Packet& packet) const {
  packet.kind = PacketKind::kCnp;
  packet.flow = qpn.value;
  mark_of(nic.config.cnp_dscp).put(packet);
  packet.ecn = Ecn::kNotEct;
  packet.dst = attr.path.dst_node;
  packet.roce.opcode = kCnpOpcode;
  packet.roce.becn = true;
  packet.roce.dest = attr.dest_qpn;
  finish(packet, 0);
}

Bytes QpContext::wire_bytes_of(std::uint32_t length) const {
  const std::int64_t packets =
      std::max<std::int64_t>(1, (std::int64_t{length} + attr.path_mtu - 1) / attr.path_mtu);
  const std::size_t around = overhead_ + kBthBytes + nic.config.slack.shim_bytes();
  return Bytes::from_count(length) +
         packets * wire_bytes(Bytes::from_count(static_cast<std::int64_t>(around)));
}

void QpContext::complete(Queue queue, Cqe cqe, Time now) {
  cqe.qpn = qpn;
  cqe.time = now;
  NicCounters& c = counters();
  const bool error = cqe.status != WcStatus::kSuccess;
  if (error) {
    cqe.solicited = true;
    const bool flushed = cqe.status == WcStatus::kWrFlushErr;
    ++(queue == Queue::kSend ? c.req_cqe_error : c.resp_cqe_error);
    if (flushed) ++(queue == Queue::kSend ? c.req_cqe_flush_error : c.resp_cqe_flush_error);
  }
  trace(TraceKind::kComplete, now, static_cast<UnwrappedPsn>(cqe.wr_id & Psn::kMask), cqe.byte_len,
        static_cast<std::uint8_t>(cqe.status));
  ++nic.completions;
  CompletionQueue* const into = queue == Queue::kSend ? send_cq : recv_cq;
  RL_CHECK(into != nullptr);
  CompletionQueue& cq = *into;
  const bool was_overrun = cq.overrun();
  if (cq.push(cqe)) return;
  if (!was_overrun) nic.events.raise({AsyncEvent::Kind::kCqError, cq.number.value});
  completion_lost_ = true;
  fail();
}

void QpContext::trace(TraceKind kind, Time now, UnwrappedPsn psn, std::uint64_t bytes,
                      std::uint8_t mark) const {
  if (!nic.trace.wants(kind)) return;
  TraceRecord record;
  record.time = now;
  record.kind = kind;
  record.mark = mark;
  record.flow = qpn.value;
  record.bytes = bytes;
  record.psn = wrap(psn).value();
  record.peer = attr.dest_qpn.value;
  nic.trace.record(record);
}

}  // namespace rocelab
