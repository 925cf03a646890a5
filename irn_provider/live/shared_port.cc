#include "irn_provider/live/shared_port.h"

#include <array>
#include <bit>

#include "lockstep/futex.h"

namespace rocelab {

using lockstep::HostPort;

SharedPort::SharedPort(const lockstep::Segment& segment, std::uint32_t vf)
    : segment_(segment), slot_(segment.vfs()[vf]), port_(segment.host_ports()[slot_.host]) {}

bool SharedPort::begin(Time limit) {
  limit_ = limit;
  return std::popcount(port_.members.load()) > 1;
}

TcMask SharedPort::ready_elsewhere() const {
  TcMask ready = 0;
  for (const lockstep::VfSlot& slot : segment_.share_of(slot_.host).vfs)
    if (slot.vf != slot_.vf) ready |= slot.ready_classes.load();
  return ready;
}

void SharedPort::publish(const VfIntent& intent) {
  slot_.input_ps.store(intent.input.ps());
  slot_.wants_port_ps.store(intent.wants_port.ps());
  slot_.sendable_classes.store(intent.sendable);
  slot_.ready_classes.store(intent.ready);
}

void SharedPort::check_in(const VfIntent& intent) {
  publish(intent);
  if (port_.checked_in.fetch_add(1) + 1 == static_cast<std::uint32_t>(std::popcount(port_.members.load())))
    decide();
}

Turn SharedPort::my_turn() const {
  if (port_.turn.load() != slot_.vf) return {};
  const TcMask of = port_.departure.load();
  return {of != 0 ? Turn::What::kDeparture : Turn::What::kInputs, slot_.vf, Time::from_ps(port_.at_ps.load()),
          of};
}

bool SharedPort::over() const { return port_.turn.load() == HostPort::kOver; }
bool SharedPort::abandoned() const { return port_.turn.load() == HostPort::kAbandoned; }

void SharedPort::hand_on(const VfIntent& intent, Bytes sent) {
  publish(intent);
  if (const TcMask of = port_.departure.load(); of != 0) {
    const auto ready = static_cast<TcMask>(intent.ready | ready_elsewhere());
    if (sent == 0_B) {
      port_.classes.passed(ready);
    } else {
      port_.classes.sent(sent, ready);
      port_.last_sender[static_cast<std::size_t>(std::countr_zero(of))] = slot_.vf;
    }
  }
  decide();
}

void SharedPort::leave(bool in_turn, Bytes sent) {
  if (std::popcount(port_.members.load()) < 2) return;
  if (in_turn) {
    hand_on({}, sent);  // programs end in their turn: what follows is as good as any other window
  } else {
    port_.turn.store(HostPort::kAbandoned);
    lockstep::futex_wake_all(port_.turn);
  }
}

// Only ever called by the VF whose turn it was, or by the last to check in: nobody else writes.
void SharedPort::decide() {
  std::array<VfIntent, kMaxVfsPerHost> intents;
  const std::uint32_t vfs = segment_.header().vfs_per_host, first = slot_.host * vfs;
  for (std::uint32_t vf = 0; vf < vfs; ++vf) {
    if ((port_.members.load() & (1u << vf)) == 0) continue;
    const lockstep::VfSlot& slot = segment_.vfs()[first + vf];
    intents[vf] = {Time::from_ps(slot.input_ps.load()), Time::from_ps(slot.wants_port_ps.load()),
                   slot.sendable_classes.load(), slot.ready_classes.load()};
  }
  const Turn turn =
      next_turn(std::span(intents).first(vfs), port_free(), port_.classes, port_.last_sender, limit_);
  port_.departure.store(turn.of);
  port_.at_ps.store(turn.at.ps());
  std::uint32_t before = port_.turn.load();
  const std::uint32_t next = turn.what == Turn::What::kNone ? HostPort::kOver : turn.vf;
  // Abandoned by the coordinator meanwhile: it stays so.
  while (before != HostPort::kAbandoned && !port_.turn.compare_exchange_weak(before, next)) {
  }
  if (next != slot_.vf) lockstep::futex_wake_all(port_.turn);
}

void SharedPort::wait(std::int64_t wall_ns) const {
  const std::uint32_t seen = port_.turn.load();
  if (seen != slot_.vf && seen != HostPort::kOver && seen != HostPort::kAbandoned)
    lockstep::futex_wait(port_.turn, seen, wall_ns);
}

}  // namespace rocelab
