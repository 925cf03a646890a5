#include "emu/des/horizons.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace rocelab::des {
namespace {

Duration sum(Duration a, Duration b) {
  return a == Duration::infinite() || b == Duration::infinite() ? Duration::infinite() : a + b;
}

}  // namespace

// Floyd and Warshall's, whose ways from a part to itself begin with none: only those over others count.
Horizons::Horizons(std::vector<Duration> between)
    : parts_(static_cast<std::uint32_t>(std::lround(std::sqrt(between.size())))), ways_(between.size()) {
  RL_CHECK(std::size_t{parts_} * parts_ == between.size());
  for (std::uint32_t to = 0; to < parts_; ++to)
    for (std::uint32_t from = 0; from < parts_; ++from)
      ways_[to * parts_ + from] = from == to ? Duration::infinite() : between[from * parts_ + to];
  for (std::uint32_t by = 0; by < parts_; ++by)
    for (std::uint32_t to = 0; to < parts_; ++to)
      for (std::uint32_t from = 0; from < parts_; ++from)
        ways_[to * parts_ + from] = std::min(way(from, to), sum(way(from, by), way(by, to)));
}

Time Horizons::find(std::span<const Time> next, Time most, std::span<Time> horizons) const {
  Time earliest = most;
  for (std::uint32_t to = 0; to < parts_; ++to) {
    Time horizon = most;
    for (std::uint32_t from = 0; from < parts_; ++from)
      horizon = std::min(horizon, next[from] + way(from, to));
    horizons[to] = horizon;
    earliest = std::min(earliest, horizon);
  }
  return earliest;
}

}  // namespace rocelab::des
