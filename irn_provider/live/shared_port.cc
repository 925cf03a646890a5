#include "irn_provider/live/shared_port.h"

#include <array>
#include <bit>

#include "lockstep/futex.h"

namespace rocelab {

using lockstep::HostPort;

SharedPort::SharedPort(const lockstep::Segment& segment, std::uint32_t lead)
    : segment_(segment),
      slots_(segment.slots_of(lead)),
      lead_(segment.vfs()[lead]),
      turns_(segment.host_ports()[lead_.host]) {}

bool SharedPort::begin(Time limit) {
  limit_ = limit;
  return std::popcount(turns_.members.load()) > 1;
}

TcMask SharedPort::ready_elsewhere(std::size_t nic) const {
  TcMask ready = 0;
  for (const lockstep::VfSlot& slot : segment_.share_of(this->slot(nic).host).vfs)
    if (slot.vf != lead_.vf) ready |= slot.ready_classes.load();
  return ready;
}

void SharedPort::publish(Intents intents) {
  for (std::size_t nic = 0; nic < slots_.size(); ++nic) {
    const VfIntent& intent = intents[nic];
    slot(nic).input_ps.store(intent.input.ps());
    slot(nic).wants_port_ps.store(intent.wants_port.ps());
    slot(nic).sendable_classes.store(intent.sendable);
    slot(nic).ready_classes.store(intent.ready);
  }
}

void SharedPort::check_in(Intents intents) {
  publish(intents);
  if (turns_.checked_in.fetch_add(1) + 1 == static_cast<std::uint32_t>(std::popcount(turns_.members.load())))
    decide();
}

Turn SharedPort::my_turn() const {
  if (turns_.turn.load() != lead_.vf) return {};
  const TcMask of = turns_.departure.load();
  return {of != 0 ? Turn::What::kDeparture : Turn::What::kInputs, lead_.vf,
          Time::from_ps(turns_.at_ps.load()), of, turns_.nic.load()};
}

bool SharedPort::over() const { return turns_.turn.load() == HostPort::kOver; }
bool SharedPort::abandoned() const { return turns_.turn.load() == HostPort::kAbandoned; }

void SharedPort::hand_on(Intents intents, Bytes sent) {
  publish(intents);
  if (const TcMask of = turns_.departure.load(); of != 0) {
    const std::uint32_t nic = turns_.nic.load();
    HostPort& port = this->port(nic);
    const auto ready = static_cast<TcMask>(intents[nic].ready | ready_elsewhere(nic));
    if (sent == 0_B) {
      port.classes.passed(ready);
    } else {
      port.classes.sent(sent, ready);
      port.last_sender[static_cast<std::size_t>(std::countr_zero(of))] = lead_.vf;
    }
  }
  decide();
}

void SharedPort::leave(bool in_turn, Bytes sent) {
  if (std::popcount(turns_.members.load()) < 2) return;
  if (in_turn) {  // programs end in their turn: what follows is as good as any other window
    hand_on(std::vector<VfIntent>(slots_.size()), sent);
  } else {
    turns_.turn.store(HostPort::kAbandoned);
    lockstep::futex_wake_all(turns_.turn);
  }
}

// The departures of the NIC that can send first, and all inputs.
Turn SharedPort::choose() const {
  std::array<VfIntent, kMaxVfsPerHost> intents, first;
  const std::uint32_t vfs = segment_.header().vfs_per_host;
  std::uint32_t chosen = 0;
  Time departure = Time::never();
  for (std::uint32_t nic = 0; nic < slots_.size(); ++nic) {
    for (std::uint32_t vf = 0; vf < vfs; ++vf) {
      if ((turns_.members.load() & (1u << vf)) == 0) continue;
      const lockstep::VfSlot& slot = segment_.vfs()[segment_.slot_of(this->slot(nic).host, vf)];
      intents[vf] = {Time::from_ps(slot.input_ps.load()), Time::from_ps(slot.wants_port_ps.load()),
                     slot.sendable_classes.load(), slot.ready_classes.load()};
    }
    const Time next = next_departure(std::span(intents).first(vfs), port_free(nic));
    if (nic > 0 && next >= departure) continue;
    chosen = nic, departure = next, first = intents;
  }
  HostPort& port = this->port(chosen);
  Turn turn =
      next_turn(std::span(first).first(vfs), port_free(chosen), port.classes, port.last_sender, limit_);
  turn.nic = chosen;
  return turn;
}

// Only ever called by the VF whose turn it was, or by the last to check in: nobody else writes.
void SharedPort::decide() {
  const Turn turn = choose();
  turns_.departure.store(turn.of);
  turns_.nic.store(turn.nic);
  turns_.at_ps.store(turn.at.ps());
  std::uint32_t before = turns_.turn.load();
  const std::uint32_t next = turn.what == Turn::What::kNone ? HostPort::kOver : turn.vf;
  // Abandoned by the coordinator meanwhile: it stays so.
  while (before != HostPort::kAbandoned && !turns_.turn.compare_exchange_weak(before, next)) {
  }
  if (next != lead_.vf) lockstep::futex_wake_all(turns_.turn);
}

void SharedPort::wait(std::int64_t wall_ns) const {
  const std::uint32_t seen = turns_.turn.load();
  if (seen != lead_.vf && seen != HostPort::kOver && seen != HostPort::kAbandoned)
    lockstep::futex_wait(turns_.turn, seen, wall_ns);
}

}  // namespace rocelab
