#include "irn_provider/transport/irn_read_requester.h"

#include <algorithm>
#include <limits>

#include "base/wire/roce_packet.h"
#include "irn_provider/transport/requester.h"

namespace rocelab {

void IrnReadRequester::start(UnwrappedPsn first) {
  receiver_.emplace(qp_.nic.config.irn, first, qp_.rc3());
  next_rpsn_ = first;
  reads_.clear();
  answers_.start(qp_.rc3());
  echo_.clear();
}

void IrnReadRequester::on_posted(SendEntry& read) {
  const std::uint32_t mtu = qp_.attr.path_mtu;
  read.response_first = read.response_next = next_rpsn_;
  next_rpsn_ += std::max<std::int64_t>(1, (std::int64_t{read.length} + mtu - 1) / mtu);
  read.response_end = next_rpsn_;
}

void IrnReadRequester::on_request_sent(SendEntry& read, Time /*now*/) { reads_.push_back(read.number); }

SendEntry* IrnReadRequester::find(UnwrappedPsn rpsn) {
  for (std::size_t i = 0; i < reads_.size(); ++i) {
    SendEntry& read = requester_.queue().at(reads_[i]);
    if (rpsn < read.response_end) return rpsn >= read.response_first ? &read : nullptr;
  }
  return nullptr;
}

void IrnReadRequester::on_response(const Packet& packet, const OpcodeInfo& info, Time now) {
  if (!receiver_) return;
  const unsigned level = qp_.level_of(packet);
  if (level == 0) {
    marked_ = packet.ecn == Ecn::kCe;
    echo_.on_packet(packet);
  }
  const UnwrappedPsn rpsn = unwrap(packet.roce.psn, receiver_->expected());
  const Arrival arrival = receiver_->classify(rpsn);
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
    if (receiver_->discards_out_of_order()) {
      if (receiver_->take_nack_due()) answer(rpsn, level);
      return;
    }
  }
  if (!(atomic ? requester_.place_original(*read, packet, now)
               : requester_.place_response(*read, offset, packet, now)))
    return;
  if (info.has(Header::kAeth)) requester_.take_credits(packet);
  if (arrival == Arrival::kOutOfOrder && length > 0) ++c.ooo_placed_packets;
  receiver_->accept(rpsn, last);
  answer(rpsn, level);
  if (arrival == Arrival::kInOrder) finish_in_order(now);
}

void IrnReadRequester::finish_in_order(Time now) {
  while (!reads_.empty()) {
    const std::uint64_t number = reads_.front();
    SendEntry& read = requester_.queue().at(number);
    read.response_next = std::min(receiver_->expected(), read.response_end);
    if (read.response_next < read.response_end) break;
    reads_.pop_front();
    if (read.end > requester_.window().una()) requester_.acknowledge(read.end, now);
    requester_.finish_read(requester_.queue().at(number), now);
  }
  requester_.note_progress(now);  // last, so that no timer runs when nothing is outstanding
}

// BTH PSN of an answer is the cumulative value; a NACK also names the response that came instead (4.2.1).
void IrnReadRequester::answer(UnwrappedPsn rpsn, unsigned level) {
  push_answer({receiver_->expected(), rpsn, level == 0 && marked_}, level);
}

void IrnReadRequester::push_answer(const Answer& answer, unsigned level) {
  const bool dropped = answers_.push(answer, level);
  if (level > 0) return;
  if (dropped) echo_.drop_oldest();
  echo_.on_answer();
}

// The request has arrived and is not sent again, as RC's would be: the responder, which may have given up,
// hears from its acknowledgement that somebody waits.
void IrnReadRequester::on_verbs_timeout() {
  if (!reads_.empty()) push_answer({receiver_->expected(), receiver_->expected() - 1, false}, 0);
}

void IrnReadRequester::pull_ack(Packet& packet, Time /*now*/) {
  const auto [answer, level] = answers_.take();
  const bool blocks = receiver_->has_blocks(), nack = answer.trigger > answer.expected;
  qp_.begin(packet,
            blocks ? Operation::kReadAckBlocks
            : nack ? Operation::kReadNack
                   : Operation::kReadAck,
            answer.expected);
  packet.kind = PacketKind::kAck;
  packet.ecn = Ecn::kNotEct;
  qp_.mark_as_ack(packet);
  if (blocks)
    put_irn_blocks(packet.roce, receiver_->blocks(answer.trigger));
  else if (nack)
    packet.roce.sack = wrap(answer.trigger);
  packet.roce.becn = answer.marked;
  qp_.finish(packet, 0);
  if (level == 0) return echo_.put(packet);
  qp_.mark_level(packet, level);
}

UnwrappedPsn IrnReadRequester::ack_barrier() const { return std::numeric_limits<UnwrappedPsn>::max(); }

void IrnReadRequester::flush() { reads_.clear(); }

}  // namespace rocelab
