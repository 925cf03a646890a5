#include "emu/des/engine.h"

#include <algorithm>

namespace rocelab::des {

bool Engine::step(Time stop) {
  const Time begin = network_.next_event();
  if (begin >= stop) return false;
  const std::size_t nodes = network_.nodes();
  ++steps_;
  if (driver_ == Driver::kGlobalOrder) {
    std::size_t first = 0;
    while (network_.next_event(first) != begin) ++first;
    network_.run(first, begin + Duration::from_ps(1));
    now_ = begin;  // other nodes may have events at this instant
    return true;
  }
  const Time end = std::min(begin + network_.lookahead(), stop);
  for (std::size_t node = 0; node < nodes; ++node)
    if (network_.next_event(node) < end) network_.run(node, end);
  now_ = end;
  return true;
}

}  // namespace rocelab::des
