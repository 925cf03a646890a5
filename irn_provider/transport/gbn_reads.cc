#include "irn_provider/transport/gbn_reads.h"

#include <algorithm>
#include <limits>

#include "base/wire/aeth.h"
#include "irn_provider/transport/requester.h"

namespace rocelab {

void GbnReads::on_posted(SendEntry& read) {
  read.response_first = read.response_next = read.first;
  read.response_end = read.end;
}

void GbnReads::on_request_sent(SendEntry& read, Time /*now*/) { requested_.push_back(read.number); }

void GbnReads::flush() {
  requested_.clear();
  implied_nak_followed_ = false;
}

SendEntry& GbnReads::oldest() const { return requester_.queue().at(requested_.front()); }

UnwrappedPsn GbnReads::ack_barrier() const {
  return requested_.empty() ? std::numeric_limits<UnwrappedPsn>::max() : oldest().response_next;
}

void GbnReads::on_implied_nak(Time now) {
  if (implied_nak_followed_ || requested_.empty() || qp_.failed()) return;
  ++qp_.counters().implied_nak_seq_err;
  requester_.go_back(ack_barrier(), now);
  if (qp_.cc) qp_.cc->on_loss(CcLoss::kRecovery, now);
  implied_nak_followed_ = true;
}

void GbnReads::on_response(const Packet& packet, const OpcodeInfo& info, Time now) {
  if (requested_.empty()) return;  // of a READ that is finished
  SendEntry& read = oldest();
  const UnwrappedPsn psn = unwrap(packet.roce.psn, read.response_next);
  if (psn >= requester_.window().next()) return requester_.count_stray();
  if (psn < read.response_next) {
    ++qp_.counters().spurious_retransmissions;
    qp_.trace(TraceKind::kDuplicate, now, psn, packet.frame_length);
    return;
  }
  requester_.acknowledge(read.response_next, now);  // all before the READ has arrived
  if (psn > read.response_next) {
    on_implied_nak(now);
    return;
  }
  if (!well_formed(read, packet, info)) {
    requester_.fail(read, WcStatus::kBadRespErr, now);
    return;
  }
  const auto offset = static_cast<std::uint64_t>(psn - read.first) * qp_.attr.path_mtu;
  const bool placed = read.is_atomic() ? requester_.place_original(read, packet, now)
                                       : requester_.place_response(read, offset, packet, now);
  if (!placed) return;
  if (++read.response_next == read.end) {
    requested_.pop_front();
    requester_.finish_read(read, now);
  }
  requester_.acknowledge(psn + 1, now);
}

// Where a response's packet stands is told by its PSN alone: peers differ in what they call the first packet
// after a repeated request.
bool GbnReads::well_formed(const SendEntry& read, const Packet& packet, const OpcodeInfo& info) const {
  const auto offset = static_cast<std::uint32_t>(read.response_next - read.first) * qp_.attr.path_mtu;
  const std::uint32_t expected = std::min(qp_.attr.path_mtu, read.length - offset);
  const bool last = read.response_next + 1 == read.end;
  if (info.has(Header::kAeth) && !is_ack(packet.roce.syndrome)) return false;
  if (read.is_atomic() || info.operation == Operation::kAtomicAck)
    return read.is_atomic() && info.operation == Operation::kAtomicAck;
  return packet.payload_length == expected && info.ends_message() == last;
}

}  // namespace rocelab
