#include "irn_provider/live/live_nics.h"

namespace rocelab {

LiveNics::LiveNics(const lockstep::Segment& segment, const Schedule* schedule,
                   const std::vector<std::uint32_t>& slots) {
  for (const std::uint32_t slot : slots)
    nics_.push_back(std::make_unique<LiveNic>(segment, schedule, segment.vfs()[slot].host, slot));
}

Time LiveNics::next_event() {
  Time next = Time::never();
  for (const auto& nic : nics_) next = std::min(next, nic->next_event());
  return next;
}

void LiveNics::advance(Time t) {
  for (const auto& nic : nics_) nic->advance(t);
}

bool LiveNics::run_until(Time limit) {
  if (nics_.size() == 1) return nics_.front()->run_until(limit);
  // Not before now(): to a process that time has gone on without frames may come late.
  for (Time t = std::max(next_event(), now()); t < limit; t = std::max(next_event(), now()))
    if (run_inputs(t) || depart_all(t)) return true;
  for (const auto& nic : nics_) nic->run_until(limit);  // nothing is left to run: their clocks go on
  return false;
}

bool LiveNics::run_to_posts(Time t) {
  if (nics_.size() == 1) return nics_.front()->run_to_posts(t);
  return run_until(t) || run_inputs(t);
}

bool LiveNics::run_inputs(Time t) {
  bool completed = false;
  for (const auto& nic : nics_) completed |= nic->run_inputs(t);
  return completed;
}

bool LiveNics::depart_all(Time t) {
  bool completed = false;
  Bytes sent;
  for (const auto& nic : nics_) completed |= nic->depart(t, kAllClasses, sent);
  return completed;
}

// The other NICs' clocks go along: threads may post to any.
bool LiveNics::depart(std::size_t nic, Time t, TcMask of, Bytes& sent) {
  for (std::size_t other = 0; other < nics_.size(); ++other)
    if (other != nic) nics_[other]->run_inputs(t);
  return nics_[nic]->depart(t, of, sent);
}

std::vector<VfIntent> LiveNics::intents(Time threads) {
  std::vector<VfIntent> all;
  for (const auto& nic : nics_) all.push_back(nic->intent());
  const auto first = std::ranges::min_element(all, {}, &VfIntent::input);
  const Time input = std::min(first->input, threads);
  for (VfIntent& intent : all) intent.input = input;
  return all;
}

std::uint64_t LiveNics::completions() {
  std::uint64_t made = 0;
  for (const auto& nic : nics_) made += nic->nic().completions();
  return made;
}

std::uint64_t LiveNics::messages_placed() const {
  std::uint64_t placed = 0;
  for (const auto& nic : nics_) placed += nic->messages_placed();
  return placed;
}

void LiveNics::stop_at_messages() {
  for (const auto& nic : nics_) nic->stop_at_messages();
}

void LiveNics::publish_counters() {
  for (const auto& nic : nics_) nic->publish_counters();
}

void LiveNics::finish() {
  for (const auto& nic : nics_) nic->finish();
}

}  // namespace rocelab
