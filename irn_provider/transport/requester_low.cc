// Requester: RC3's low-priority loop (Mittal, chapter 2; two_loops.h). A message is its unit (2.3.2: a chunk
// that is handed over): SENDs and WRITEs of more than a packet, in the order in which they were posted.
#include <algorithm>

#include "base/wire/aeth.h"
#include "irn_provider/transport/requester.h"

namespace rocelab {

// The loop gets what could start now, and all before it: nothing is known against its keys and credits, and
// it waits for no other request. READs and atomics have no loop.
void Requester::add_to_low() {
  if (qp_.failed() || qp_.attr.state != QpState::kRts) return;
  std::uint64_t& number = low_->next_message();
  number = std::max(number, fresh_);
  for (; number < queue_.end_number(); ++number) {
    SendEntry& entry = queue_.at(number);
    const bool waits = entry.wqe.fence || entry.invalidates();
    if (!entry.ends_by_ack() || waits || credit_limit(entry) < entry.end || !keys_are_good(entry)) return;
    // A shared receive queue gives none of its WQEs to what comes at a lower level.
    const bool refused = peer_shares_ && entry.takes_receive_wqe();
    if (entry.end - entry.first > 1 && !refused && !add_to_low(entry)) return;
  }
}

// False: it reaches further than the two ends keep account of what has arrived. A message that is longer than
// that goes in parts, each with levels of its own.
bool Requester::add_to_low(const SendEntry& entry) {
  UnwrappedPsn from = std::max(low_->added_end(), entry.first);
  while (from < entry.end) {
    const bool whole = entry.end - entry.first <= low_->reach();
    const UnwrappedPsn end = whole ? entry.end : std::min(entry.end, from + low_->reach() / 2);
    if (end > low_->reach_end()) return false;
    low_->add(from, end);
    from = end;
  }
  return true;
}

PayloadSource Requester::pull_low(Packet& packet, Time now) {
  const LowPacket next = low_->pull_low();
  SendEntry& entry = queue_.find(next.psn);
  // Messages up to this one have begun: SQD lets them end.
  for (std::uint64_t number = std::max(fresh_, queue_.front_number()); number <= entry.number; ++number)
    if (!queue_.at(number).started) note_started(queue_.at(number));
  const PayloadSource source = build(packet, entry, next.psn);
  qp_.mark_level(packet, next.level);
  packet.ecn = Ecn::kNotEct;  // no window would follow a mark
  ++qp_.counters().rlp_packets;
  if (verbs_deadline_.is_never()) arm_verbs_timer(now);
  return source;
}

// A cumulative value of TCP's own level, which answers of lower levels may have said before.
void Requester::acknowledge_primary(UnwrappedPsn expected, Time now) {
  if (expected <= acknowledged()) return;
  const bool progress = expected > window_->una();
  window_->on_ack(expected, now);
  if (!progress) return;
  note_progress(now);
  complete_in_order(now);
}

// It says what has arrived, and nothing else.
void Requester::on_low_answer(const Packet& packet, const OpcodeInfo& info, Time now) {
  const bool nack = info.operation == Operation::kNack;
  if (!nack && (info.operation != Operation::kAck || !is_ack(packet.roce.syndrome))) return count_stray();
  const UnwrappedPsn una = window_->una(), expected = unwrap(packet.roce.psn, una);
  const UnwrappedPsn sack = nack ? unwrap(packet.roce.sack, una) : expected;
  if (expected > sent_end() || sack > sent_end() - (nack ? 1 : 0)) return count_stray();
  low_->on_low_answer(std::max(expected, una),
                      sack > std::max(expected, una) ? std::optional(sack) : std::nullopt, now);
  if (window_->una() == una) return;
  note_progress(now);
  complete_in_order(now);
}

}  // namespace rocelab
