#include "emu/world/replay_differences.h"

namespace rocelab {

ReplayDifferences& ReplayDifferences::operator+=(const ReplayDifferences& other) {
  moved += other.moved;
  strange += other.strange;
  early += other.early;
  unequal += other.unequal;
  return *this;
}

std::string ReplayDifferences::problem(const std::string& original, std::uint64_t drops) const {
  if (drops > 0)
    return "in the replay of " + original + " " + std::to_string(drops) +
           " frames were dropped, and nothing may be: raise switch.lossy_buffer";
  if (moved + strange + early + unequal == 0) return {};
  return "this is no replay of " + original + ": " + std::to_string(moved) +
         " packets left their NICs at another instant, " + std::to_string(strange) +
         " are not those of the original, " + std::to_string(early) +
         " came sooner than over an idle network, and of " + std::to_string(unequal) +
         " the lateness is not the slack that is left";
}

}  // namespace rocelab
