#include "lockstep/vf_end.h"

#include <unistd.h>

#include <algorithm>
#include <vector>

#include "lockstep/futex.h"

namespace rocelab::lockstep {
namespace {

bool claim(const Segment& segment, std::uint32_t vf, bool gateway) {
  VfSlot& slot = segment.vfs()[vf];
  std::uint32_t free_pid = 0;
  if (!slot.pid.compare_exchange_strong(free_pid, static_cast<std::uint32_t>(getpid()))) return false;
  slot.tenure.fetch_add(1);
  slot.gateway.store(gateway ? 1 : 0);
  slot.promise_ps.store(Time::never().ps());
  if (gateway || slot.lead == vf) slot.hold.store(1);
  slot.state.store(VfState::kClaimed);
  announce(segment.header());
  return true;
}

// It leaves again, with its process, since another one came in between.
std::uint32_t give_up(const Segment& segment, std::uint32_t vf) {
  segment.vfs()[vf].state.store(VfState::kLeft);
  segment.vfs()[vf].hold.store(0);
  announce(segment.header());
  return kNoSlot;
}

std::uint32_t first_nic_of(const Segment& segment, std::uint32_t host) {
  return host - segment.hosts()[host].nic_number;
}

// By any slot of the host: calls use(slot).
template <class Use>
void for_slots_of_host(const Segment& segment, std::uint32_t first_nic, Use&& use) {
  const std::uint32_t vfs = segment.header().vfs_per_host, nics = segment.hosts()[first_nic].nics;
  for (std::uint32_t vf = first_nic * vfs; vf < (first_nic + nics) * vfs; ++vf) use(segment.vfs()[vf]);
}

bool has_program(const Segment& segment, std::uint32_t first_nic) {
  bool found = false;
  for_slots_of_host(segment, first_nic,
                    [&](const VfSlot& slot) { found |= slot.pid.load() != 0 && slot.gateway.load() == 0; });
  return found;
}

}  // namespace

bool has_gateway(const Segment& segment, std::uint32_t host) {
  bool found = false;
  for_slots_of_host(segment, host, [&](const VfSlot& slot) { found |= slot.gateway.load() != 0; });
  return found;
}

std::uint32_t claim_vf(const Segment& segment, std::uint32_t host) {
  const std::uint32_t vfs = segment.header().vfs_per_host, first = host * vfs;
  for (std::uint32_t vf = first; vf < first + vfs && !has_gateway(segment, host); ++vf) {
    // Whoever has the lead may have the others, once they are given back by the process before.
    const std::vector<std::uint32_t> slots = segment.slots_of(vf);
    const auto is_free = [&](std::uint32_t slot) { return segment.vfs()[slot].pid.load() == 0; };
    if (!std::ranges::all_of(slots, is_free) || !claim(segment, vf, false)) continue;
    bool whole = true;
    for (std::size_t nic = 1; nic < slots.size() && whole; ++nic) whole = claim(segment, slots[nic], false);
    // A gateway that did not see these slots is seen now.
    if (whole && !has_gateway(segment, host)) return vf;
    for (const std::uint32_t slot : slots)
      if (segment.vfs()[slot].pid.load() == static_cast<std::uint32_t>(getpid())) give_up(segment, slot);
  }
  return kNoSlot;
}

std::uint32_t claim_for_gateway(const Segment& segment, std::uint32_t host) {
  const std::uint32_t vf = host * segment.header().vfs_per_host, first_nic = first_nic_of(segment, host);
  if (has_program(segment, first_nic) || !claim(segment, vf, true)) return kNoSlot;
  return has_program(segment, first_nic) ? give_up(segment, vf) : vf;
}

void finish_window(const Segment& segment, std::uint32_t vf, std::uint32_t seq) {
  segment.vfs()[vf].done_seq.store(seq);
  Header& header = segment.header();
  if (header.pending.fetch_sub(1) == 1) futex_wake_all(header.pending);
}

VfFrames::VfFrames(const Segment& segment, std::uint32_t vf) : refill_(segment.refill(vf)) {
  const std::uint32_t first = segment.first_frame(vf);
  for (std::uint32_t i = segment.header().frames_per_vf; i-- > 0;) home_.push_back(first + i);
}

std::optional<std::uint32_t> VfFrames::take() {
  if (home_.empty()) {
    for (const std::uint32_t* f = refill_.front(); f != nullptr; f = refill_.front()) {
      home_.push_back(*f);
      refill_.pop();
    }
    if (home_.empty()) return std::nullopt;
  }
  const std::uint32_t frame = home_.back();
  home_.pop_back();
  return frame;
}

}  // namespace rocelab::lockstep
