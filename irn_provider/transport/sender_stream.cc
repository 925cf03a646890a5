#include "irn_provider/transport/sender_stream.h"

#include "base/wire/roce_packet.h"
#include "irn_provider/transport/irn_window.h"

namespace rocelab {

void SenderStream::use_irn(const QpContext& qp, UnwrappedPsn first) {
  const NicConfig& config = qp.nic.config;
  if (!qp.rc3()) return use(make_irn_sender(config, first));
  auto both = std::make_unique<TwoLoops>(config.irn, config.rc3, config.recovery_timers, first);
  low_ = both.get();
  window_ = std::move(both);
}

// A message that is longer than what the two ends keep account of goes in parts, each with levels of its own.
bool SenderStream::add_to_low(UnwrappedPsn first, UnwrappedPsn end) {
  const bool whole = end - first <= low_->reach();
  for (UnwrappedPsn from = std::max(low_->added_end(), first); from < end;) {
    const UnwrappedPsn to = whole ? end : std::min(end, from + low_->reach() / 2);
    if (to > low_->reach_end()) return false;
    low_->add(from, to);
    from = to;
  }
  return true;
}

bool SenderStream::blocks_are_good(const Packet& answer) const {
  const UnwrappedPsn una = window_->una(), sent = sent_end();
  for (const IrnBlocks::Block& block : irn_blocks_of(answer.roce).blocks) {
    const UnwrappedPsn end = unwrap(block.end, una);
    if (block.first != block.end && (unwrap(block.first, una) > end || end > sent)) return false;
  }
  return true;
}

// What an answer that was overtaken says is true; its packet that is expected has not arrived.
void SenderStream::note_blocks(const Packet& answer, Time now) {
  if (low_ == nullptr) return;
  const UnwrappedPsn una = window_->una(), expected = std::max(una, unwrap(answer.roce.psn, una));
  for (const IrnBlocks::Block& block : irn_blocks_of(answer.roce).blocks)
    if (block.first != block.end)
      low_->note_arrived(std::max(unwrap(block.first, una), expected + 1), unwrap(block.end, una), now);
}

bool SenderStream::on_low_answer(const QpContext& qp, const Packet& answer, const OpcodeInfo& info,
                                 Time now) {
  const bool blocks = info.has(Header::kIrnBlocks), names = blocks || info.has(Header::kIrnSack);
  const UnwrappedPsn una = window_->una(), sent = sent_end();
  const UnwrappedPsn expected = unwrap(answer.roce.psn, una);
  const UnwrappedPsn trigger = names ? unwrap(answer.roce.sack, una) : expected;
  if (expected > sent || (names && trigger >= sent) || (blocks && !blocks_are_good(answer)))
    return qp.count_stray(), false;
  const UnwrappedPsn known = std::max(expected, una);
  low_->on_low_answer(known, trigger > known ? std::optional(trigger) : std::nullopt, now);
  if (blocks) note_blocks(answer, now);
  return true;
}

}  // namespace rocelab
