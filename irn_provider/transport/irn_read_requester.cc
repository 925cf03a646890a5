#include "irn_provider/transport/irn_read_requester.h"

#include <algorithm>
#include <limits>

#include "base/wire/roce_packet.h"
#include "irn_provider/transport/requester.h"

namespace rocelab {

IrnReadRequester::Reads::Reads(const QpContext& qp, UnwrappedPsn first)
    : receiver(qp.nic.config.irn, first, qp.rc3()), next_rpsn(first), echo(qp.nic.config.cc.needs()) {}

void IrnReadRequester::start(UnwrappedPsn first) {
  first_ = first;
  reads_ = nullptr;
}

void IrnReadRequester::on_posted(SendEntry& read) {
  if (!reads_) reads_ = std::make_unique<Reads>(qp_, first_);
  const std::uint32_t mtu = qp_.attr.path_mtu;
  read.response_first = read.response_next = reads_->next_rpsn;
  reads_->next_rpsn += std::max<std::int64_t>(1, (std::int64_t{read.length} + mtu - 1) / mtu);
  read.response_end = reads_->next_rpsn;
}

void IrnReadRequester::on_request_sent(SendEntry& read, Time /*now*/) {
  reads_->outstanding.push_back(read.number);
}

SendEntry* IrnReadRequester::find(UnwrappedPsn rpsn) {
  for (std::size_t i = 0; i < reads_->outstanding.size(); ++i) {
    SendEntry& read = requester_.queue().at(reads_->outstanding[i]);
    if (rpsn < read.response_end) return rpsn >= read.response_first ? &read : nullptr;
  }
  return nullptr;
}

void IrnReadRequester::on_response(const Packet& packet, const OpcodeInfo& info, Time now) {
  if (!reads_) return requester_.count_stray();
  const unsigned level = qp_.level_of(packet);
  if (level == 0) {
    reads_->marked = packet.ecn == Ecn::kCe;
    reads_->echo.on_packet(packet);
  }
  const UnwrappedPsn rpsn = unwrap(packet.roce.psn, reads_->receiver.expected());
  const Arrival arrival = reads_->receiver.classify(rpsn);
  NicCounters& c = qp_.counters();
  if (arrival == Arrival::kDuplicate) {
    if (level > 0) return ++c.rlp_duplicates, answer(rpsn, level);
    ++c.spurious_retransmissions;
    qp_.trace(TraceKind::kDuplicate, now, rpsn, packet.frame_length);
    return answer(rpsn, level);
  }
  if (arrival == Arrival::kBeyondBitmap) {
    ++c.rx_beyond_bitmap;
    return;
  }
  SendEntry* read = find(rpsn);
  if (read == nullptr) return requester_.count_stray();
  const auto offset = static_cast<std::uint64_t>(rpsn - read->response_first) * qp_.attr.path_mtu;
  const bool first = rpsn == read->response_first, last = rpsn == read->response_end - 1;
  const std::uint64_t length = last ? read->length - offset : qp_.attr.path_mtu;
  const bool atomic = info.operation == Operation::kAtomicAck;
  if (info.starts_message() != first || info.ends_message() != last || atomic != read->is_atomic() ||
      packet.payload_length != (atomic ? 0 : length))
    return requester_.fail(*read, WcStatus::kBadRespErr, now);
  if (arrival == Arrival::kOutOfOrder) {
    ++c.implied_nak_seq_err;
    if (reads_->receiver.discards_out_of_order()) {
      if (reads_->receiver.take_nack_due()) answer(rpsn, level);
      return;
    }
  }
  if (!(atomic ? requester_.place_original(*read, packet, now)
               : requester_.place_response(*read, offset, packet, now)))
    return;
  if (info.has(Header::kAeth)) requester_.take_credits(packet);
  if (arrival == Arrival::kOutOfOrder && length > 0) ++c.ooo_placed_packets;
  reads_->receiver.accept(rpsn, last);
  answer(rpsn, level);
  if (arrival == Arrival::kInOrder) finish_in_order(now);
}

void IrnReadRequester::finish_in_order(Time now) {
  while (!reads_->outstanding.empty()) {
    const std::uint64_t number = reads_->outstanding.front();
    SendEntry& read = requester_.queue().at(number);
    read.response_next = std::min(reads_->receiver.expected(), read.response_end);
    if (read.response_next < read.response_end) break;
    reads_->outstanding.pop_front();
    if (read.end > requester_.window().una()) requester_.acknowledge(read.end, now);
    requester_.finish_read(requester_.queue().at(number), now);
  }
  requester_.note_progress(now);  // last, so that no timer runs when nothing is outstanding
}

// BTH PSN of an answer is the cumulative value; a NACK also names the response that came instead (4.2.1).
void IrnReadRequester::answer(UnwrappedPsn rpsn, unsigned level) {
  push_answer({reads_->receiver.expected(), rpsn, level == 0 && reads_->marked}, level);
}

void IrnReadRequester::push_answer(const Answer& answer, unsigned level) {
  const bool dropped = reads_->answers.push(answer, level);
  if (level > 0) return;
  if (dropped) reads_->echo.drop_oldest();
  reads_->echo.on_answer();
}

// The request has arrived and is not sent again, as RC's would be: the responder, which may have given up,
// hears from its acknowledgement that somebody waits.
void IrnReadRequester::on_verbs_timeout() {
  if (outstanding() > 0)
    push_answer({reads_->receiver.expected(), reads_->receiver.expected() - 1, false}, 0);
}

void IrnReadRequester::pull_ack(Packet& packet, Time /*now*/) {
  const auto [answer, level] = reads_->answers.take();
  const bool blocks = reads_->receiver.has_blocks(), nack = answer.trigger > answer.expected;
  qp_.begin(packet,
            blocks ? Operation::kReadAckBlocks
            : nack ? Operation::kReadNack
                   : Operation::kReadAck,
            answer.expected);
  packet.kind = PacketKind::kAck;
  packet.ecn = Ecn::kNotEct;
  qp_.mark_as_ack(packet);
  if (blocks)
    put_irn_blocks(packet.roce, reads_->receiver.blocks(answer.trigger));
  else if (nack)
    packet.roce.sack = wrap(answer.trigger);
  packet.roce.becn = answer.marked;
  qp_.finish(packet, 0);
  if (level == 0) return reads_->echo.put(packet);
  qp_.mark_level(packet, level);
}

UnwrappedPsn IrnReadRequester::ack_barrier() const { return std::numeric_limits<UnwrappedPsn>::max(); }

void IrnReadRequester::flush() {
  if (reads_) reads_->outstanding.clear();
}

}  // namespace rocelab
