#include "irn_provider/live/port_turn.h"

#include <algorithm>

namespace rocelab {

Turn next_turn(std::span<const VfIntent> vfs, Time port_free, std::uint32_t last_sender, Time limit) {
  Turn input, departure;
  input.at = departure.at = limit;
  const auto n = static_cast<std::uint32_t>(vfs.size());
  for (std::uint32_t vf = 0; vf < n; ++vf)
    if (vfs[vf].input < input.at) input = {Turn::What::kInputs, vf, vfs[vf].input};
  for (std::uint32_t i = 1; i <= n; ++i) {
    const std::uint32_t vf = (last_sender + i) % n;
    const Time leaves = std::max(vfs[vf].wants_port, port_free);
    if (leaves < departure.at) departure = {Turn::What::kDeparture, vf, leaves};
  }
  if (departure.what != Turn::What::kNone && departure.at < input.at) return departure;
  return input.what != Turn::What::kNone ? input : Turn{};
}

}  // namespace rocelab
