#include "emu/runner/workloads/permutation.h"

#include <utility>
#include <vector>

#include "emu/runner/workload_parts.h"

namespace rocelab {

namespace {

// The next on one random cycle (Sattolo): nobody sends to itself, nobody receives twice. Receivers that are
// another NIC of their sender are exchanged; where no exchange helps, the pair is left out.
void draw_cycle(FlowDraw& draw, const std::vector<std::uint32_t>& senders) {
  std::vector<std::uint32_t> to = senders;
  for (std::size_t i = to.size(); i > 1; --i) std::swap(to[i - 1], to[draw.rng().below(i - 1)]);
  const auto fits = [&](std::size_t from, std::size_t receiver) {
    return may_send(draw.workload(), draw.topology(), senders[from], to[receiver]);
  };
  for (std::size_t i = 0; i < senders.size(); ++i)
    for (std::size_t j = 0; j < senders.size() && senders.size() > 1 && !fits(i, i); ++j)
      if (fits(i, j) && fits(j, i)) std::swap(to[i], to[j]);
  for (std::size_t i = 0; i < senders.size(); ++i)
    if (fits(i, i)) draw.add(senders[i], to[i]);
}

}  // namespace

// With NICs of one number among themselves, a cycle for each number.
void Permutation::draw(FlowDraw& draw) const {
  if (draw.topology().nics_per_host == 1 || draw.workload().nic_pairs == NicPairs::kAny)
    return draw_cycle(draw, draw.senders());
  for (std::uint32_t number = 0; number < draw.topology().nics_per_host; ++number) {
    std::vector<std::uint32_t> senders = draw.senders();
    std::erase_if(senders, [&](std::uint32_t nic) { return draw.topology().nic_number_of(nic) != number; });
    draw_cycle(draw, senders);
  }
}

}  // namespace rocelab
