#include "irn_provider/live/port_turn.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace rocelab {

Time next_departure(std::span<const VfIntent> vfs, Time port_free) {
  Time first = Time::never();
  for (const VfIntent& vf : vfs) first = std::min(first, std::max(vf.wants_port, port_free));
  return first;
}

Turn next_turn(std::span<const VfIntent> vfs, Time port_free, ClassTurns& classes,
               std::span<const std::uint32_t, kTrafficClasses> last_sender, Time limit) {
  const auto leaves = [&](std::uint32_t vf) { return std::max(vfs[vf].wants_port, port_free); };
  const auto n = static_cast<std::uint32_t>(vfs.size());
  Turn input;
  Time departure = input.at = limit;
  TcMask sendable = 0;
  for (std::uint32_t vf = 0; vf < n; ++vf) {
    if (vfs[vf].input < input.at) input = {Turn::What::kInputs, vf, vfs[vf].input};
    if (leaves(vf) < departure) departure = leaves(vf), sendable = 0;
    if (leaves(vf) == departure) sendable |= vfs[vf].sendable;
  }
  if (departure >= input.at) return input.what != Turn::What::kNone ? input : Turn{};
  RL_CHECK(sendable != 0);  // a VF that wants the port says of which classes
  const TcMask of = classes.take(sendable);
  std::uint32_t vf = last_sender[static_cast<std::size_t>(std::countr_zero(of))];
  do vf = (vf + 1) % n;
  while (leaves(vf) != departure || (vfs[vf].sendable & of) == 0);
  return {Turn::What::kDeparture, vf, departure, of};
}

}  // namespace rocelab
