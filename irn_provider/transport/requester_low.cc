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
  std::uint64_t& number = window_.loops().next_message();
  number = std::max(number, fresh_);
  for (; number < queue_.end_number(); ++number) {
    SendEntry& entry = queue_.at(number);
    const bool waits = entry.wqe.fence || entry.invalidates();
    if (!entry.ends_by_ack() || waits || credit_limit(entry) < entry.end || !keys_are_good(entry)) return;
    // A shared receive queue gives none of its WQEs to what comes at a lower level.
    const bool refused = peer_shares_ && entry.takes_receive_wqe();
    if (entry.end - entry.first > 1 && !refused && !window_.add_to_low(entry.first, entry.end)) return;
  }
}

PayloadSource Requester::pull_low(Packet& packet, Time now) {
  const PayloadSource source = window_.pull_low(qp_, packet, [&](UnwrappedPsn psn) {
    SendEntry& entry = queue_.find(psn);
    // Messages up to this one have begun: SQD lets them end.
    for (std::uint64_t number = std::max(fresh_, queue_.front_number()); number <= entry.number; ++number)
      if (!queue_.at(number).started) note_started(queue_.at(number));
    return build(packet, entry, psn);
  });
  if (verbs_deadline_.is_never()) arm_verbs_timer(now);
  return source;
}

// A cumulative value of TCP's own level, which answers of lower levels may have said before.
void Requester::acknowledge_primary(UnwrappedPsn expected, Time now) {
  if (expected <= window_.acknowledged()) return;
  const bool progress = expected > window_->una();
  window_->on_ack(expected, now);
  if (!progress) return;
  note_progress(now);
  complete_in_order(now);
}

// It says what has arrived, and nothing else.
void Requester::on_low_answer(const Packet& packet, const OpcodeInfo& info, Time now) {
  const bool says = info.operation == Operation::kAck || info.operation == Operation::kNack ||
                    info.operation == Operation::kAckBlocks;
  const UnwrappedPsn una = window_->una();
  if (!says || !is_ack(packet.roce.syndrome)) return count_stray();
  if (!window_.on_low_answer(qp_, packet, info, now)) return;
  if (window_->una() == una) return;
  note_progress(now);
  complete_in_order(now);
}

}  // namespace rocelab
