#include "emu/runner/workloads/permutation.h"

#include <utility>

namespace rocelab {

// The next on one random cycle (Sattolo): nobody sends to itself, nobody receives twice.
void Permutation::draw(FlowDraw& draw) const {
  const std::vector<std::uint32_t>& senders = draw.senders();
  std::vector<std::uint32_t> to = senders;
  for (std::size_t i = to.size(); i > 1; --i) std::swap(to[i - 1], to[draw.rng().below(i - 1)]);
  for (std::size_t i = 0; i < senders.size(); ++i)
    if (to[i] != senders[i]) draw.add(senders[i], to[i]);
}

}  // namespace rocelab
