#include "verbs_app/perf/statistics.h"

#include <algorithm>
#include <numeric>

namespace rocelab::app {

Spread spread_of(std::vector<std::int64_t> samples) {
  std::sort(samples.begin(), samples.end());
  const std::size_t n = samples.size(), middle = n / 2;
  const auto at = [&](std::size_t i) { return static_cast<double>(samples[i]); };
  return {.min = at(0),
          .median = n % 2 == 1 ? at(middle) : (at(middle - 1) + at(middle)) / 2,
          .max = at(n - 1),
          .mean = static_cast<double>(std::accumulate(samples.begin(), samples.end(), std::int64_t{0})) /
                  static_cast<double>(n)};
}

double gbps(std::uint64_t bytes, std::int64_t ns) {
  return ns > 0 ? static_cast<double>(bytes) * 8 / static_cast<double>(ns) : 0;
}

}  // namespace rocelab::app
